#include "mpi/calls/fitted.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

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

/// One side's blocks as the problem wants them, one behind the other.
class Staged {
 public:
  template <class SizeOf>
  Staged(const Side* side, SizeOf size_of) : side_(side) {
    for (int b = 0; side != nullptr && b < side->blocks(); ++b) {
      sizes_.push_back(size_of(b));
      bytes_ += sizes_.back();
    }
    memory_.resize(bytes_);
  }

  std::byte* memory() { return side_ == nullptr ? nullptr : memory_.data(); }
  /// Whether all that the caller has finds room in what the problem wants, or the reverse.
  bool holds_callers() const {
    return all([&](int b, Bytes size) { return side_->block_bytes(b) <= size; });
  }
  bool fits_callers() const {
    return all([&](int b, Bytes size) { return side_->block_bytes(b) >= size; });
  }

  int fetch(MPI_Comm comm) {
    return each([&](int b, Bytes size, std::byte* at) { return pack_front(side_->block(b), size, at, comm); });
  }
  int deliver(MPI_Comm comm) {
    return each([&](int b, Bytes size, std::byte* at) { return unpack_front(side_->block(b), size, at, comm); });
  }

 private:
  template <class Holds>
  bool all(Holds holds) const {
    for (std::size_t b = 0; b < sizes_.size(); ++b)
      if (!holds(static_cast<int>(b), sizes_[b])) return false;
    return true;
  }
  template <class Act>
  int each(Act act) {
    std::byte* at = memory_.data();
    int code = MPI_SUCCESS;
    for (std::size_t b = 0; b < sizes_.size() && code == MPI_SUCCESS; at += sizes_[b++])
      code = act(static_cast<int>(b), sizes_[b], at);
    return code;
  }

  const Side* side_;
  std::vector<Bytes> sizes_;
  Bytes bytes_ = 0;
  std::vector<std::byte> memory_;
};

/// Ranks' own sizes may well differ from each other, and lines say each: with room for all that the caller has room
/// for, nothing is lost. None: the data have to be staged.
Bytes room_of(const Entry& entry, const Sides& sides) {
  const bool goes_in_lines = entry.kind == Entry::Kind::tiny && entry.problem.counts.empty();
  const bool is_ready = goes_in_lines && sides.input != nullptr && sides.output != nullptr && sides.input->is_plain() &&
                        sides.output->is_plain() && sides.output->blocks() > 1;
  return is_ready && sides.output->block_bytes(0) >= entry.problem.bytes ? sides.output->block_bytes(0) : 0;
}

}  // namespace

int run_fitted(Communicator& communicator, MPI_Comm comm, Entry& entry, const Sides& sides) {
  if (communicator.is_broken) return fail(communicator, comm);
  if (const Bytes room = room_of(entry, sides); room > 0) {
    const Ending ending =
        communicator.engine()->run_with_room(entry, sides.input->plain(), sides.output->plain(), room);
    return conclude(communicator, comm, ending);
  }
  const Wanted wanted(entry.problem, communicator.ranks(), communicator.rank());
  Staged input(sides.input, [&](int b) { return wanted.input(b); });
  Staged output(sides.output, [&](int b) { return wanted.output(b); });
  int code = input.fetch(comm);
  if (code != MPI_SUCCESS) return code;
  Ending ending = communicator.engine()->run(entry, input.memory(), output.memory());
  if (ending.kind == Ending::broken) return fail(communicator, comm);
  code = output.deliver(comm);
  if (!input.holds_callers() || !output.fits_callers()) ending = {Ending::truncated};
  return code == MPI_SUCCESS ? conclude(communicator, comm, ending) : code;
}

}  // namespace espalier::mpi
