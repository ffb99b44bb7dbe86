#include "simulate/nodes/line_plan.hpp"

#include "base/error.hpp"

namespace espalier::simulate {
namespace {

using plan::Flag;
using plan::Operation;
using plan::Step;

constexpr Bytes payload = 56;  // of a line of 64 bytes (execute/lines/line_word.hpp)

class LineProgram {
 public:
  LineProgram(const plan::Problem& problem, int ranks, int me)
      : problem_(problem),
        ranks_(ranks),
        me_(me),
        lines_(std::max<Bytes>(1, (problem.bytes + payload - 1) / payload)) {}

  plan::Program build() {
    const int root = problem_.root.value;
    switch (problem_.operation) {
      case Operation::broadcast: me_ == root ? write(1) : read(root, 0); break;
      case Operation::scatter: me_ == root ? write(ranks_) : read(root, me_); break;
      case Operation::gather:
      case Operation::reduce: me_ == root ? read_others(0, ranks_) : write(1); break;
      case Operation::barrier:
      case Operation::allgather:
      case Operation::allreduce: write(1), read_others(0, ranks_); break;
      case Operation::alltoall:
      case Operation::reduce_scatter: write(ranks_), read_others(me_, ranks_); break;
      case Operation::scan:
      case Operation::exscan: write(1), read_others(0, me_); break;
      case Operation::neighbor_allgather:
      case Operation::neighbor_alltoall: throw Error("not a short message");
    }
    const Bytes folded = read_ * problem_.bytes;
    if (plan::is_reduction(problem_.operation) && folded > 0)
      program_.steps.push_back(Step::reduce(LocalRank(me_), plan::Buffer::scratch, 0, plan::Buffer::output, 0, folded));
    program_.steps.push_back(Step::post(Flag::done, 1));
    program_.scratch_bytes = folded;
    return std::move(program_);
  }

 private:
  /// A message of so many blocks, each from a line of its own.
  void write(int blocks) {
    for (Bytes line = 1; line <= lines_ * static_cast<Bytes>(blocks); ++line)
      program_.steps.push_back(Step::post(Flag::ready, line));
  }

  void read(int owner, int block) {
    const Bytes first = lines_ * static_cast<Bytes>(block);
    for (Bytes line = 1; line <= lines_; ++line)
      program_.steps.push_back(Step::await(LocalRank(owner), Flag::ready, first + line));
    ++read_;
  }

  /// The block of each rank before `end` but this one; all-gathers begin with the next rank, reductions with the last.
  void read_others(int block, int end) {
    const bool is_fold = plan::is_reduction(problem_.operation);
    for (int i = 1; i <= ranks_; ++i) {
      const int owner = is_fold ? ranks_ - i : (me_ + i) % ranks_;
      if (owner < end && owner != me_) read(owner, block);
    }
  }

  const plan::Problem& problem_;
  int ranks_, me_;
  Bytes lines_;
  Bytes read_ = 0;
  plan::Program program_;
};

}  // namespace

plan::Plan build_line_plan(const topology::Topology& topology, const plan::Problem& problem) {
  plan::Plan plan{topology, problem, {}, {}};
  for (int rank = 0; rank < topology.ranks(); ++rank)
    plan.programs.push_back(LineProgram(problem, topology.ranks(), rank).build());
  return plan;
}

}  // namespace espalier::simulate
