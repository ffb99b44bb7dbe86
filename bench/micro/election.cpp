// What electing leaders adds to the first collective of a process and of a communicator, part by part.
//
//   bench_election [MACHINE.xml...]
//
// 1. Finding this process's place, which a process does once: 1 to 16 processes at the same time, as on a node. Median
//    and worst over 20 rounds.
// 2. Electing on nodes that are such machines, every processor with a rank: the speakers of all nodes, as a root that
//    serves everyone asks for them; and the masters of four groups on one node. Medians.

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "leaders/speakers.hpp"
#include "machine/mapping.hpp"
#include "machine/place.hpp"
#include "machine/readers.hpp"
#include "timing.hpp"

namespace {

using namespace espalier;

/// What processes tell each other; zero to begin with.
struct Board {
  std::atomic<int> present;
  double took[64];
};

// One process that finds its place when all are there.
void find_place(Board& board, int index, int processes) {
  for (++board.present; board.present < processes;) sched_yield();
  board.took[index] = microseconds([] { machine::probe_place({}); });
}

// The slowest of processes that begin together: the collective waits for it.
double slowest_place(int processes) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Board& board = *static_cast<Board*>(memory);
  for (int i = 0; i < processes; ++i)
    if (fork() == 0) {
      find_place(board, i, processes);
      _exit(0);
    }
  for (int i = 0; i < processes; ++i) wait(nullptr);
  const double slowest = *std::max_element(board.took, board.took + processes);
  munmap(memory, sizeof(Board));
  return slowest;
}

void measure_places() {
  std::printf("processes   place, us: median   worst\n");
  for (const int processes : {1, 2, 4, 8, 16}) {
    std::vector<double> rounds;
    for (int round = 0; round < 20; ++round) rounds.push_back(slowest_place(processes));
    std::printf("%9d %19.0f %7.0f\n", processes, median(rounds), *std::max_element(rounds.begin(), rounds.end()));
  }
}

topology::Topology cluster_of(const machine::Node& node, int nodes) {
  const machine::NicsInUse use = machine::derive_nics_in_use(node, {});
  std::vector<machine::RankFacts> facts;
  std::vector<int> node_of;
  for (int n = 0; n < nodes; ++n)
    for (int i = 0; i < node.cpus.count(); ++i) {
      node_of.push_back(n);
      facts.push_back(machine::derive_rank_facts(node, use, derive_binding(node, machine::Mapping::packed, i)));
    }
  return topology::Topology::from_nodes(node_of, {}, facts);
}

void measure_elections(const std::string& file) {
  const machine::Node node = machine::probe_snapshot(file);
  std::printf("\n%s, %d ranks per node\n    nodes   speakers, us   four masters, us\n", file.c_str(),
              node.cpus.count());
  for (const int nodes : {2, 16, 256}) {
    const topology::Topology topology = cluster_of(node, nodes);
    std::vector<double> all, masters;
    for (int round = 0; round < 101; ++round) {
      const leaders::Speakers speakers(topology, {plan::Operation::broadcast, 1}, leaders::Policy::near);
      all.push_back(microseconds([&] {
        for (int n = 0; n < nodes; ++n) speakers.of(NodeId(n));
      }));
      masters.push_back(microseconds([&] { speakers.near(NodeId(1), 4); }));
    }
    std::printf("%9d %14.1f %18.1f\n", nodes, median(all), median(masters));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure_places();
    for (int i = 1; i < argc; ++i) measure_elections(argv[i]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_election: %s\n", error.what());
    return 1;
  }
}
