#pragma once
// A rank's blocks that can be used as they lie, told at one glance: those of almost every call. What this does not tell
// of is looked at in earnest, as Side does.

#include <array>

#include "execute/lines/uneven_blocks.hpp"
#include "mpi/buffers/side.hpp"

namespace espalier::mpi {

/// Whether elements at `buffer` are just bytes: of a predefined type without gaps, and at a real address.
inline bool are_bytes(const void* buffer, MPI_Datatype type, Layout& layout) {
  if (buffer == nullptr || buffer == MPI_IN_PLACE || type == native().datatype_null) return false;
  layout = describe(type);
  return layout.is_named && layout.is_dense;
}

/// The blocks of one side of a v-form of at most execute::most_uneven_ranks ranks.
class ReadyBlocks {
 public:
  /// Whether all of a rank's parts are ready, and none is longer than that. If not, there are no blocks.
  bool take(const Parts& parts, int ranks, Bytes longest) {
    Layout layout;
    if (parts.counts.is_missing() || parts.displacements.is_missing() || !are_bytes(parts.buffer, parts.type, layout))
      return false;
    for (int r = 0; r < ranks; ++r)
      if (!add({parts.buffer, parts.counts[r], parts.type}, parts.displacements[r], layout, longest)) return false;
    return true;
  }
  /// The same of the only block.
  bool take(const Run& run, Bytes longest) {
    Layout layout;
    return are_bytes(run.buffer, run.type, layout) && add(run, 0, layout, longest);
  }

  /// Whether the only block is that rank's of all.
  bool is_block_of(const ReadyBlocks& all, int rank) const {
    const execute::Block& theirs = all.all_[static_cast<std::size_t>(rank)];
    return all_[0].data == theirs.data && all_[0].bytes > 0 && theirs.bytes > 0;
  }

  std::span<const execute::Block> all() const { return {all_.data(), count_}; }

 private:
  bool add(const Run& run, MPI_Count displacement, const Layout& layout, Bytes longest) {
    const Bytes bytes = multiply(run.count, layout.size);
    auto* const begin = const_cast<std::byte*>(static_cast<const std::byte*>(run.buffer));
    all_[count_++] = {begin + displacement * layout.extent, bytes};
    return run.count >= 0 && bytes <= longest;
  }

  std::size_t count_ = 0;
  std::array<execute::Block, execute::most_uneven_ranks> all_;
};

}  // namespace espalier::mpi
