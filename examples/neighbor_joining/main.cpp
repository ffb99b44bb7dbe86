// A tree of life from a distance matrix or an alignment: parallel neighbour joining, the program of Subramoni et al.,
// section III-D (WindJammer), written anew. Two broadcasts of a row per iteration; each comes from another rank.
//
//   mpiexec -n 4 neighbor_joining FILE [TIMES]     FILE: PHYLIP matrix or aligned FASTA; - is standard input
//
// Standard output is the tree in Newick's format and depends on FILE alone. TIMES: a file for seconds spent.

#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <stdexcept>

#include "distances.hpp"
#include "joining.hpp"

namespace {

Distances read_input(const std::string& name) {
  if (name == "-") return read_distances(std::cin);
  std::ifstream file(name);
  if (!file) throw std::runtime_error("cannot be read");
  return read_distances(file);
}

/// Rank 0's distances to all; names stay there.
void share(Distances& distances, int rank) {
  int taxa = distances.taxa();
  MPI_Bcast(&taxa, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0) {
    distances.names.resize(static_cast<std::size_t>(taxa));
    distances.values.resize(static_cast<std::size_t>(taxa) * static_cast<std::size_t>(taxa));
  }
  for (int row = 0; row < taxa; ++row)  // row by row: a matrix may have more elements than an int can count
    MPI_Bcast(&distances.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(taxa)], taxa, MPI_DOUBLE, 0,
              MPI_COMM_WORLD);
}

int run(const std::string& name, const char* times) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Distances distances;
  if (rank == 0) {
    try {
      distances = read_input(name);
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "neighbor_joining: %s: %s\n", name.c_str(), problem.what());
    }
  }
  share(distances, rank);
  if (distances.taxa() == 0) return 1;
  const double begin = MPI_Wtime();
  const std::vector<Joint> joints = join_neighbors(distances, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;
  if (rank != 0) return 0;
  std::cout << to_newick(distances.names, joints) << "\n";
  if (times != nullptr) std::ofstream(times) << seconds << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 2;
  if (argc < 2)
    std::fprintf(stderr, "usage: neighbor_joining FILE [TIMES]\n");
  else
    code = run(argv[1], argc > 2 ? argv[2] : nullptr);
  MPI_Finalize();
  return code;
}
