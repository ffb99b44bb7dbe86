#pragma once
// One side of a neighbourhood collective: blocks of which each is an edge's, or nobody's.

#include <algorithm>
#include <span>

#include "mpi/buffers/side.hpp"

namespace espalier::mpi {

/// Where the blocks of a side lie behind one address: in the caller's memory, if they are plain bytes there, however
/// far apart; else where they are packed. Blocks of nobody (MPI_PROC_NULL) are neither looked at nor written.
class EdgeSide {
 public:
  /// `blocks`: those that have edges, each once; they outlive it.
  EdgeSide(const Side& side, std::span<const int> blocks) : side_(side), blocks_(blocks) {
    is_staged_ = !side_.has_plain_blocks();
    if (!is_staged_) base_ = first_address();
  }

  const Side& side() const { return side_; }
  bool is_staged() const { return is_staged_; }
  /// What all blocks are behind, unless they are staged.
  std::byte* base() const { return base_; }
  Bytes bytes(int block) const { return side_.block_bytes(block); }
  /// Equal blocks lie as if those of nobody were there, so that others know where they are.
  Bytes begin(int block) const {
    if (!is_staged_) return bytes(block) == 0 ? 0 : static_cast<Bytes>(side_.plain_block(block) - base_);
    if (!side_.has_parts()) return static_cast<Bytes>(block) * bytes(block);
    Bytes before = 0;
    for (const int other : blocks_)
      if (other < block) before += bytes(other);
    return before;
  }
  /// What staging takes.
  Bytes staged_bytes() const {
    Bytes end = 0;
    for (const int block : blocks_) end = std::max(end, is_staged_ ? begin(block) + bytes(block) : 0);
    return end;
  }

  /// From the caller's memory to where it is staged, and back. MPI's code.
  int pack(std::byte* staged, MPI_Comm comm) const {
    int code = MPI_SUCCESS;
    for (const int block : blocks_)
      if (code == MPI_SUCCESS && bytes(block) > 0) code = side_.block(block).pack(staged + begin(block), comm);
    return code;
  }
  int unpack(const std::byte* staged, MPI_Comm comm) const {
    int code = MPI_SUCCESS;
    for (const int block : blocks_)
      if (code == MPI_SUCCESS && bytes(block) > 0) code = side_.block(block).unpack(staged + begin(block), comm);
    return code;
  }

 private:
  /// Of equal blocks the first one's, whether it has an edge or not.
  std::byte* first_address() const {
    if (!side_.has_parts()) return side_.plain_block(0);
    std::byte* first = nullptr;
    for (const int block : blocks_)
      if (bytes(block) > 0 && (first == nullptr || side_.plain_block(block) < first)) first = side_.plain_block(block);
    return first;
  }

  Side side_;
  std::span<const int> blocks_;
  bool is_staged_ = false;
  std::byte* base_ = nullptr;
};

}  // namespace espalier::mpi
