#include "mpi/calls/fitted.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

using execute::Ending;
using plan::Operation;
using plan::Problem;

/// What the problem says of the blocks that a rank brings, or takes.
class Wanted {
 public:
  Wanted(const Problem& problem, int ranks, int me) : problem_(problem), ranks_(ranks), me_(me) {}

  Bytes input(int block) const {
    return problem_.operation == Operation::scatter    ? size(block)
           : problem_.operation == Operation::alltoall ? size(me_ * ranks_ + block)
                                                       : size(me_);
  }
  Bytes output(int block) const {
    return problem_.operation == Operation::scatter    ? size(me_)
           : problem_.operation == Operation::alltoall ? size(block * ranks_ + me_)
                                                       : size(block);
  }

 private:
  Bytes size(int index) const {
    return problem_.counts.empty() ? problem_.bytes : problem_.counts[static_cast<std::size_t>(index)];
  }

  const Problem& problem_;
  int ranks_, me_;
};

/// The first `bytes` of a block, all of it at most.
int pack_front(const Side& block, Bytes bytes, std::byte* into, MPI_Comm comm) {
  if (block.bytes() <= bytes) return block.pack(into, comm);
  std::vector<std::byte> whole(block.bytes());
  const int code = block.pack(whole.data(), comm);
  if (bytes > 0) std::memcpy(into, whole.data(), bytes);
  return code;
}

int unpack_front(const Side& block, Bytes bytes, const std::byte* from, MPI_Comm comm) {
  if (!block.is_plain()) return block.front(bytes).unpack(from, comm);
  if (const Bytes taken = std::min(bytes, block.bytes()); taken > 0) std::memcpy(block.plain(), from, taken);
  return MPI_SUCCESS;
}

template <class SizeOf>
std::vector<Bytes> sizes_of(const Side* side, SizeOf size_of) {
  std::vector<Bytes> sizes;
  for (int b = 0; side != nullptr && b < side->blocks(); ++b) sizes.push_back(size_of(b));
  return sizes;
}

FittedSide fit_input(const Stage& stage, const Side* side) {
  const Wanted wanted(stage.problem, stage.communicator.ranks(), stage.communicator.rank());
  return FittedSide(side, sizes_of(side, [&](int block) { return wanted.input(block); }));
}
FittedSide fit_output(const Stage& stage, const Side* side) {
  const Wanted wanted(stage.problem, stage.communicator.ranks(), stage.communicator.rank());
  return FittedSide(side, sizes_of(side, [&](int block) { return wanted.output(block); }));
}

}  // namespace

FittedSide::FittedSide(const Side* side, std::vector<Bytes> sizes)
    : sizes_(std::move(sizes)), memory_(std::accumulate(sizes_.begin(), sizes_.end(), Bytes{0})) {
  if (side != nullptr) side_ = *side;
}

bool FittedSide::holds_callers() const {
  for (std::size_t b = 0; b < sizes_.size(); ++b)
    if (side_->block_bytes(static_cast<int>(b)) > sizes_[b]) return false;
  return true;
}

bool FittedSide::fits_callers() const {
  for (std::size_t b = 0; b < sizes_.size(); ++b)
    if (side_->block_bytes(static_cast<int>(b)) < sizes_[b]) return false;
  return true;
}

int FittedSide::fetch(MPI_Comm comm) {
  std::byte* at = memory_.data();
  int code = MPI_SUCCESS;
  for (std::size_t b = 0; b < sizes_.size() && code == MPI_SUCCESS; at += sizes_[b++])
    code = pack_front(side_->block(static_cast<int>(b)), sizes_[b], at, comm);
  return code;
}

int FittedSide::deliver(MPI_Comm comm) {
  const std::byte* at = memory_.data();
  int code = MPI_SUCCESS;
  for (std::size_t b = 0; b < sizes_.size() && code == MPI_SUCCESS; at += sizes_[b++])
    code = unpack_front(side_->block(static_cast<int>(b)), sizes_[b], at, comm);
  return code;
}

Fitted::Fitted(const Stage& stage, const Sides& sides)
    : input_(fit_input(stage, sides.input)), output_(fit_output(stage, sides.output)) {
  buffers_ = {input_.memory(), output_.memory()};
}

int Fitted::deliver(MPI_Comm comm, Ending& ending) {
  const int code = output_.deliver(comm);
  if (!input_.holds_callers() || !output_.fits_callers()) ending = {Ending::truncated};
  return code;
}

bool fits_lines(const Entry& entry, const Sides& sides) {
  const bool goes_in_lines = entry.kind == Entry::Kind::tiny && entry.problem.counts.empty();
  const bool is_ready = goes_in_lines && sides.input != nullptr && sides.output != nullptr && sides.input->is_plain() &&
                        sides.output->is_plain() && sides.output->blocks() > 1;
  return is_ready && sides.output->block_bytes(0) >= std::max<Bytes>(entry.problem.bytes, 1);
}

std::optional<int> run_in_lines(Communicator& communicator, MPI_Comm comm, Entry& entry, const Sides& sides) {
  if (communicator.is_broken) return fail(communicator, comm);
  const Ending ending = communicator.engine()->run_with_room(entry, sides.input->plain(), sides.output->plain(),
                                                             sides.output->block_bytes(0));
  return conclude(communicator, comm, &entry.problem, ending);
}

}  // namespace espalier::mpi
