// One rank of a simulated job: runs collectives one after the other, by this library or by the native one, checks what
// they deliver, and has rank 0 write down how long they took. `espalier simulate --execute` starts it.
//
//     espalier-executor.so ours|native OPERATION:BYTES:ROOT[:EARLY,EARLY…] …
//
// EARLY are microseconds before the common start at which each rank comes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "cost/parameters.hpp"
#include "mpi/native/abi.hpp"
// Wants mpi.h in front of it.
#include "espalier/espalier.h"
#include "mpi/simulated/neighbourhood.hpp"
#include "plan/problem.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using Word = std::int32_t;

/// Calls begin at fixed points in time: a barrier would skew the ranks. So long apart that each is over before.
constexpr double microseconds_per_slot = 1e6;
/// The first call sets things up; the second is measured.
constexpr int calls = 2;

struct Case {
  Operation operation;
  int words;  ///< of the message or vector, or of each block
  int root;
  std::vector<double> early;  ///< microseconds before the common start, by rank; empty: all come together

  double early_of(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < early.size() ? early[at] : 0;
  }
};

/// Numbers between commas, from `at` on.
std::vector<double> parse_numbers(const std::string& text, std::size_t at) {
  std::vector<double> numbers;
  for (; at < text.size(); at = std::min(text.find(',', at), text.size()) + 1)
    numbers.push_back(std::atof(text.c_str() + at));
  return numbers;
}

Case parse_case(const std::string& text) {
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  const std::size_t third = second == text.npos ? second : text.find(':', second + 1);
  const long bytes = std::atol(text.c_str() + first + 1);
  return {plan::parse_operation(text.substr(0, first)), static_cast<int>(bytes / static_cast<long>(sizeof(Word))),
          second == text.npos ? 0 : std::atoi(text.c_str() + second + 1),
          third == text.npos ? std::vector<double>() : parse_numbers(text, third + 1)};
}

struct World {
  int rank = 0;
  int size = 0;
};

/// The buffers of one rank for one case: what it brings, and what is to be there afterwards.
class Data {
 public:
  Data(const Case& it, World world)
      : it_(it), world_(world), brings_(brought()), gets_(received()), sums_(sums_of(summed(it.operation, world))) {}

  Word* input() { return brings_.data(); }
  Word* output() { return gets_.data(); }

  void fill() {
    for (std::size_t i = 0; i < brings_.size(); ++i) brings_[i] = value(world_.rank, i);
    std::fill(gets_.begin(), gets_.end(), -1);
    // A broadcast has one buffer.
    if (it_.operation == Operation::broadcast && world_.rank == it_.root)
      for (std::size_t i = 0; i < gets_.size(); ++i) gets_[i] = value(it_.root, i);
  }

  bool is_right() const {
    for (std::size_t i = 0; i < gets_.size(); ++i)
      if (gets_[i] != expected(i)) return false;
    return true;
  }

 private:
  std::size_t words() const { return static_cast<std::size_t>(it_.words); }
  std::size_t blocks() const { return words() * static_cast<std::size_t>(world_.size); }
  bool is_root() const { return world_.rank == it_.root; }

  std::size_t brought() const {
    switch (it_.operation) {
      case Operation::broadcast:
      case Operation::barrier:
      case Operation::neighbor_allgather:  // which SimGrid's MPI does not have
      case Operation::neighbor_alltoall: return 0;
      case Operation::scatter: return is_root() ? blocks() : 0;
      case Operation::alltoall:
      case Operation::reduce_scatter: return blocks();
      case Operation::gather:
      case Operation::allgather:
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::scan:
      case Operation::exscan: break;
    }
    return words();
  }
  std::size_t received() const {
    switch (it_.operation) {
      case Operation::barrier:
      case Operation::neighbor_allgather:
      case Operation::neighbor_alltoall: return 0;
      case Operation::gather: return is_root() ? blocks() : 0;
      case Operation::reduce: return is_root() ? words() : 0;
      case Operation::allgather:
      case Operation::alltoall: return blocks();
      case Operation::broadcast:
      case Operation::scatter:
      case Operation::allreduce:
      case Operation::reduce_scatter:
      case Operation::scan:
      case Operation::exscan: break;
    }
    return words();
  }

  /// Small enough for the sum over all ranks.
  static Word value(int rank, std::size_t i) {
    return static_cast<Word>((static_cast<std::size_t>(rank) * 31 + i) % period);
  }
  static constexpr std::size_t period = 997;  // a prime: of so many ranks in a row each brings another value

  /// How many ranks' values a result is made of.
  static int summed(Operation operation, World world) {
    if (operation == Operation::scan) return world.rank + 1;
    return operation == Operation::exscan ? world.rank : world.size;
  }

  /// By i modulo `period`: the values at i of that many ranks, together. What every rank of thousands compares every
  /// word with, so that adding up a thousand values each time would take longer than the simulation.
  static std::vector<Word> sums_of(int ranks) {
    constexpr int all = static_cast<int>(period);
    std::vector<Word> sums(period, ranks / all * (all * (all - 1) / 2));
    for (int rank = ranks / all * all; rank < ranks; ++rank)
      for (std::size_t i = 0; i < period; ++i) sums[i] += value(rank, i);
    return sums;
  }

  Word expected(std::size_t i) const {
    const std::size_t mine = static_cast<std::size_t>(world_.rank) * words();
    const int from = static_cast<int>(i / std::max<std::size_t>(words(), 1));
    switch (it_.operation) {
      case Operation::broadcast: return value(it_.root, i);
      case Operation::scatter: return value(it_.root, mine + i);
      case Operation::gather:
      case Operation::allgather: return value(from, i % words());
      case Operation::alltoall: return value(from, mine + i % words());
      case Operation::reduce_scatter: return sums_[(mine + i) % period];
      case Operation::exscan: return world_.rank == 0 ? -1 : sums_[i % period];
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::scan:
      case Operation::barrier:
      case Operation::neighbor_allgather:
      case Operation::neighbor_alltoall: break;
    }
    return sums_[i % period];
  }

  Case it_;
  World world_;
  std::vector<Word> brings_, gets_, sums_;
};

/// The native library's arithmetic, which a simulation would give away: a sum that takes the time ours is charged.
double sum_fixed, sum_rate;
void add_up(void* from, void* into, int* words, MPI_Datatype*) {
  const Word* left = static_cast<const Word*>(from);
  Word* right = static_cast<Word*>(into);
  for (int i = 0; i < *words; ++i) right[i] += left[i];
  let_time_pass(cost::Line{sum_fixed, sum_rate}.of(*words * double{sizeof(Word)}));
}

MPI_Op make_sum(const Case& it, World world) {
  const plan::Problem problem{it.operation, static_cast<Bytes>(it.words) * sizeof(Word)};
  const cost::Line sum = cost::Parameters{}.with_data_of(cost::bytes_of_a_rank(problem, world.size)).reduce;
  sum_fixed = sum.fixed, sum_rate = sum.rate;
  MPI_Op op;
  PMPI_Op_create(add_up, true, &op);
  return op;
}

// The same arguments for both; neither name is looked up again at run time, so none can take the other's place.
#define ESPALIER_PICK(name) (is_ours ? Espalier_##name : PMPI_##name)

int call(const Case& it, bool is_ours, MPI_Op sum, Data& data) {
  Word *in = data.input(), *out = data.output();
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Datatype type = MPI_INT32_T;
  const int words = it.words, root = it.root;
  switch (it.operation) {
    case Operation::broadcast: return ESPALIER_PICK(Bcast)(out, words, type, root, world);
    case Operation::scatter: return ESPALIER_PICK(Scatter)(in, words, type, out, words, type, root, world);
    case Operation::gather: return ESPALIER_PICK(Gather)(in, words, type, out, words, type, root, world);
    case Operation::allgather: return ESPALIER_PICK(Allgather)(in, words, type, out, words, type, world);
    case Operation::alltoall: return ESPALIER_PICK(Alltoall)(in, words, type, out, words, type, world);
    case Operation::reduce: return ESPALIER_PICK(Reduce)(in, out, words, type, sum, root, world);
    case Operation::allreduce: return ESPALIER_PICK(Allreduce)(in, out, words, type, sum, world);
    case Operation::reduce_scatter: return ESPALIER_PICK(Reduce_scatter_block)(in, out, words, type, sum, world);
    case Operation::scan: return ESPALIER_PICK(Scan)(in, out, words, type, sum, world);
    case Operation::exscan: return ESPALIER_PICK(Exscan)(in, out, words, type, sum, world);
    case Operation::barrier: return ESPALIER_PICK(Barrier)(world);
    case Operation::neighbor_allgather:
    case Operation::neighbor_alltoall: break;
  }
  return MPI_ERR_ARG;
}

struct Outcome {
  double microseconds;  ///< from the common start of the measured call, when the last rank comes, to this rank's end
  double is_wrong;
};

Outcome run(const Case& it, bool is_ours, World world, int& slot) {
  Data data(it, world);
  const MPI_Op sum = is_ours ? MPI_SUM : make_sum(it, world);
  Outcome outcome{};
  for (int i = 0; i < calls; ++i) {
    data.fill();
    const double start = ++slot * microseconds_per_slot;
    simgrid::s4u::this_actor::sleep_until(start - it.early_of(world.rank));
    const bool is_fine = call(it, is_ours, sum, data) == MPI_SUCCESS;
    outcome.microseconds = simulated_now() - start;
    if (!is_fine || !data.is_right()) outcome.is_wrong = 1;
  }
  return outcome;
}

std::string describe(const Case& it, bool is_ours) {
  char text[256] = "";
  if (is_ours)
    Espalier_Describe(name(it.operation), static_cast<MPI_Aint>(it.words) * static_cast<MPI_Aint>(sizeof(Word)),
                      it.root, MPI_COMM_WORLD, text, sizeof text);
  return text;
}

/// One line per case: bytes, microseconds of the last rank, how many ranks got wrong data, and the choice.
void report(const Case& it, bool is_ours, World world, const Outcome& mine) {
  std::vector<Outcome> all(static_cast<std::size_t>(world.size));
  PMPI_Gather(&mine, 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (world.rank != 0) return;
  double last = 0;
  int wrong = 0;
  for (const Outcome& outcome : all) {
    last = std::max(last, outcome.microseconds);
    wrong += outcome.is_wrong != 0;
  }
  std::printf("%s\t%ld\t%.9g\t%d\t%s\n", name(it.operation), static_cast<long>(it.words) * long{sizeof(Word)}, last,
              wrong, describe(it, is_ours).c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace espalier::mpi

extern "C" __attribute__((visibility("default"))) int main(int argc, char** argv) {
  using namespace espalier::mpi;
  PMPI_Init(&argc, &argv);
  World world;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
  const bool is_ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  int slot = 0;
  for (int i = 2; i < argc; ++i) {
    const Case it = parse_case(argv[i]);
    report(it, is_ours, world, run(it, is_ours, world, slot));
  }
  PMPI_Finalize();
  return 0;
}
