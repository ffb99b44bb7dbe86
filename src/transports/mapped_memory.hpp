#pragma once
// Single copy between processes by mapping each other's memory (XPMEM), with care about when that pays.

#include <array>
#include <memory>
#include <vector>

#include "execute/seams.hpp"
#include "transports/xpmem.hpp"

namespace espalier::transports {

/// When and how much to attach. Attaching costs a system call, a page fault for every page touched and, at the end, a
/// detachment; MPICH attached every buffer of a broadcast that programs use once, and was four times slower for it
/// (issues 7334 and 7348, 900 000 mappings at MPI_Finalize). So memory is attached in few large chunks, and only where
/// copies keep coming back to.
struct Attaching {
  /// Unit, at multiples of itself: a power of two, whole pages.
  Bytes chunk = Bytes{2} << 20;
  /// What must have been copied from or to a chunk before it is attached: eight times over. 0 attaches at once.
  Bytes worth = Bytes{16} << 20;
  /// Chunks of one neighbour attached at a time; the one used least recently makes room.
  std::size_t most = 64;
};

/// One neighbour's memory, as far as it is attached.
///
/// Addresses may change their memory while attached: the owner frees a buffer and maps another one there. The kernel
/// module watches the owner's address space and takes the stale pages out of every attachment (its MMU notifier), and
/// the next access faults in what is there now. So nothing needs to be watched here, as long as memory is touched only
/// while its owner vouches for it, between two of its flags: the rule that all plans keep.
class NeighbourMemory {
 public:
  /// `xpmem` outlives it. Nothing is attached yet.
  NeighbourMemory(const Xpmem& xpmem, XpmemSegment segment, const Attaching& attaching);
  NeighbourMemory(NeighbourMemory&&) noexcept;
  NeighbourMemory& operator=(NeighbourMemory&&) = delete;
  ~NeighbourMemory();

  /// Where `bytes` of the neighbour's memory at `theirs`, all in one chunk, lie here. Null where the chunk is not
  /// attached: not worth it yet, or refused by the system. Counts as a copy.
  std::byte* find(const std::byte* theirs, Bytes bytes) noexcept;

  std::size_t attached() const noexcept { return chunks_.size(); }

 private:
  struct Chunk {
    std::uintptr_t begin;
    std::byte* here;
    std::uint64_t last_use;
  };
  struct Candidate {
    std::uintptr_t begin = 0;
    Bytes copied = 0;
  };
  bool is_worth(std::uintptr_t begin, Bytes bytes) noexcept;
  std::byte* attach(std::uintptr_t begin) noexcept;
  void make_room() noexcept;

  const Xpmem* xpmem_;
  XpmemSegment segment_;
  Attaching attaching_;
  std::int64_t permission_ = 0;  ///< got when first needed
  std::uint64_t uses_ = 0;
  std::vector<Chunk> chunks_;  ///< its room is reserved
  std::array<Candidate, 64> candidates_{};
};

/// Copies by mapping where that has paid off or will, otherwise by other means.
class MappedMemory final : public execute::SingleCopy {
 public:
  /// `segments` by local rank. `otherwise` serves what is not attached; may be null.
  MappedMemory(const Xpmem& xpmem, const std::vector<XpmemSegment>& segments, const Attaching& attaching,
               std::unique_ptr<execute::SingleCopy> otherwise);

  /// False: neither attached nor copied otherwise.
  bool read(LocalRank owner, const std::byte* theirs, std::byte* mine, Bytes bytes) noexcept override;
  bool write(LocalRank owner, std::byte* theirs, const std::byte* mine, Bytes bytes) noexcept override;

 private:
  template <class Copy, class Otherwise>
  bool for_each_chunk(LocalRank owner, const std::byte* theirs, Bytes bytes, Copy copy, Otherwise otherwise) noexcept;

  Bytes chunk_;
  std::vector<NeighbourMemory> neighbours_;
  std::unique_ptr<execute::SingleCopy> otherwise_;
};

}  // namespace espalier::transports
