#pragma once
// Which pages of an arena are whose: plain data in the arena itself, for all processes that map it.

#include <cstdint>
#include <optional>

#include "base/ids.hpp"

namespace espalier::transports {

/// Counted in pages of 4 KB from the beginning of the arena.
using Pages = std::uint32_t;
inline constexpr Bytes page_bytes = 4096;
constexpr Pages pages_for(Bytes bytes) { return static_cast<Pages>((bytes + page_bytes - 1) / page_bytes); }

/// What is known of a block, kept at the number of its first page.
struct Block {
  Pages pages;         ///< as many as its class has
  Pages next;          ///< the next free one of its class; 0: none
  std::int32_t users;  ///< who have not released it yet
};

/// Free blocks are kept by size and given out again whole: boards, rings and windows come in few sizes. Sizes are
/// rounded up to one of eight classes between a power of two and the next.
///
/// Its changes are such that a process which dies in the middle of one leaves at worst a block that nobody has. The
/// caller holds a lock.
class BlockList {
 public:
  /// In `span` pages; those before `first` are the arena's own.
  void init(Pages first, Pages span) {
    top_ = first;
    span_ = span;
  }
  /// From now on new blocks come out of these pages; free ones stay.
  void move_to(Pages first, Pages end) {
    top_ = first;
    span_ = end;
  }

  static Pages rounded(Pages pages);

  /// A free block of at least so many pages, or else new ones at the top; 0 where there is neither. `table[p]` is the
  /// block that begins at page p; entries up to the block's are written.
  Pages take(Block* table, Pages pages);
  void give_back(Block* table, Pages first);

  /// All pages below have been given out once.
  Pages top() const { return top_; }

 private:
  static constexpr int classes = 8 * 22;
  static int class_of(Pages pages);
  Pages take_free(Block* table, int from_class);

  Pages top_;
  Pages span_;
  Pages free_[classes];  ///< zero is none
};

}  // namespace espalier::transports
