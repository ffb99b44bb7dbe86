#pragma once
// One call of blocks whose sizes no rank knows all of, as one rank makes it: how a block travels, in lines or by its
// place. Who sends which to whom is in uneven_blocks.cpp.

#include <algorithm>

#include "execute/line_call.hpp"
#include "execute/uneven_blocks.hpp"

namespace espalier::execute {

/// What precedes a block in its first line: its size, or that it does not come this way.
using Word = std::uint64_t;
inline constexpr Word not_sent = ~Word{0};
inline constexpr Bytes first_bytes = Line::payload_bytes - sizeof(Word);

/// Lines kept for a block. Sizes are unknown to those who only keep count of a ring's messages, so it is always these.
inline std::uint32_t lines_per_block(plan::Operation operation, int ranks) {
  return operation == plan::Operation::gather ? tiny_lines : tiny_lines / static_cast<std::uint32_t>(ranks);
}

inline Bytes bytes_in(std::uint32_t lines) { return lines * Line::payload_bytes - sizeof(Word); }

template <class Object>
Block as_block(Object& object) {
  return {reinterpret_cast<std::byte*>(&object), sizeof object};
}
inline Block as_block(std::span<Bytes> sizes) {
  return {reinterpret_cast<std::byte*>(sizes.data()), sizes.size_bytes()};
}

class BlockCall : public LineCall {
 public:
  BlockCall(Seat& seat, const UnevenKind& kind, SingleCopy* single_copy, Waiter& waiter) noexcept
      : LineCall(seat, waiter),
        single_copy_(single_copy),
        lines_(lines_per_block(kind.operation, seat.ranks())),
        longest_(kind.longest),
        longest_in_window_(kind.longest_in_window) {}

  std::uint32_t lines() const noexcept { return lines_; }
  std::uint32_t all_lines() const noexcept { return lines_ * static_cast<std::uint32_t>(ranks()); }

  Bytes longest_in_window() const noexcept { return longest_in_window_; }
  bool takes_any_size() const noexcept { return longest_ == any_size; }
  /// Whether the blocks may go this way.
  bool may_send(const MaybeBlocks& blocks) const noexcept {
    if (!blocks || takes_any_size()) return blocks.has_value();
    return std::all_of(blocks->begin(), blocks->end(), [&](const Block& it) { return it.bytes <= longest_; });
  }
  /// The outcome where they may not.
  UnevenOutcome refuse() const noexcept { return takes_any_size() ? UnevenOutcome::unknown : UnevenOutcome::too_long; }
  UnevenOutcome outcome(bool fits) const noexcept {
    return is_broken_ ? UnevenOutcome::broken : fits ? UnevenOutcome::done : UnevenOutcome::mismatched;
  }

  /// The lines of block `b` in a message.
  Line* line_of(const Message& message, int b) const noexcept {
    return message.lines + static_cast<std::size_t>(b) * lines_;
  }

  bool is_in_lines(Bytes bytes) const noexcept { return bytes <= bytes_in(lines_); }

  /// Whether its taker reads it out of this rank's own memory, so that it must stay there.
  bool write_block(Line* line, const Block& block) noexcept {
    if (is_in_lines(block.bytes)) {
      write_behind(line, block.bytes, block);
      return false;
    }
    const bool fits_window = block.bytes <= std::min(longest_in_window_, window_bytes() - in_window_);
    write_place(line, block.bytes, fits_window ? stage(block) : Place{block.data, 0});
    return !fits_window;
  }
  /// Where the block is to go, and how long it is.
  void write_address(Line* line, const Block& block) noexcept { write_place(line, block.bytes, {block.data, 0}); }
  /// Instead of a block; and how long all are, where that is to be told.
  void write_refusal(Line* line, std::span<Bytes> sizes) noexcept { write_behind(line, not_sent, as_block(sizes)); }

  /// `expected`: bytes that will have been sent, likely.
  Word read_word(LocalRank owner, const Line* line, Bytes expected = 0) noexcept {
    wait_for(owner, *line, expected > first_bytes && is_in_lines(expected));
    saw_line(owner);
    Word word;
    std::memcpy(&word, line->payload, sizeof word);
    return word;
  }
  /// False, and nothing is written, where another size came.
  bool read_block(LocalRank owner, const Line* line, const Block& into) noexcept {
    const bool is_right = read_word(owner, line, into.bytes) == into.bytes;
    if (is_right) read_sent(owner, line, into);
    return is_right;
  }
  /// The same after the word was read and found right.
  void read_sent(LocalRank owner, const Line* line, const Block& into) noexcept {
    if (is_in_lines(into.bytes))
      read_behind(owner, line, into);
    else
      copy_from(owner, read_place(owner, line), into);
  }
  /// Copies a block to where its owner wants it; not where that expects another size, or none.
  void push_block(LocalRank owner, const Line* line, const Block& from) noexcept {
    if (read_word(owner, line) != from.bytes) return;
    if (single_copy_->write(owner, read_place(owner, line).address, from.data, from.bytes)) return;
    is_broken_ = true;
    break_off();
  }
  /// What a refusal tells, which the word has announced.
  UnevenOutcome take_refusal(LocalRank owner, const Line* line, std::span<Bytes> sizes) noexcept {
    read_behind(owner, line, as_block(sizes));
    return UnevenOutcome::too_long;
  }

  /// A rank's own block stays.
  bool copy_own(const Block& from, const Block& into) const noexcept {
    if (from.bytes != into.bytes) return false;
    if (from.bytes > 0 && from.data != into.data) std::memcpy(into.data, from.data, from.bytes);
    return true;
  }

  /// For the next call's block `b`, of a message of so many lines: as long as this one.
  void prefetch_block(std::uint32_t lines, int b, const Block& block) noexcept {
    const Bytes bytes = is_in_lines(block.bytes) ? block.bytes : sizeof(Place);
    prefetch_next(lines, static_cast<std::uint32_t>(b) * lines_, count_lines(sizeof(Word) + bytes));
  }
  /// For the next call's message to all.
  void prefetch_blocks(std::span<const Block> blocks) noexcept {
    for (int r = 0; r < ranks(); ++r)
      if (LocalRank(r) != me()) prefetch_block(all_lines(), r, blocks[static_cast<std::size_t>(r)]);
  }

 private:
  /// Of a block that does not travel in lines.
  struct Place {
    std::byte* address;  ///< in its owner's memory, or null:
    Bytes in_window;
  };
  void write_place(Line* line, Bytes bytes, Place place) noexcept { write_behind(line, bytes, as_block(place)); }
  Place read_place(LocalRank owner, const Line* line) noexcept {
    Place place;
    read_behind(owner, line, as_block(place));
    return place;
  }

  Place stage(const Block& block) noexcept {
    std::byte* const window = in_window_ == 0 ? open_window() : window_of(me());
    std::memcpy(window + in_window_, block.data, block.bytes);
    const Place place{nullptr, in_window_};
    in_window_ = std::min((in_window_ + block.bytes + line_bytes - 1) / line_bytes * line_bytes, window_bytes());
    return place;
  }

  void copy_from(LocalRank owner, const Place& place, const Block& into) noexcept {
    if (place.address == nullptr)
      std::memcpy(into.data, window_of(owner) + place.in_window, into.bytes);
    else
      is_broken_ = !single_copy_->read(owner, place.address, into.data, into.bytes) || is_broken_;
  }

  /// A word and what follows it, in its line and the next ones.
  void write_behind(Line* line, Word word, const Block& block) noexcept {
    const Bytes first = std::min(block.bytes, first_bytes);
    if (first > 0) copy_tiny(line->payload + sizeof(Word), block.data, first);
    std::memcpy(line->payload, &word, sizeof word);
    publish(*line);
    if (block.bytes > first) write(line + 1, block.data + first, block.bytes - first);
  }
  /// The same back, once the word has been read.
  void read_behind(LocalRank owner, const Line* line, const Block& into) noexcept {
    const Bytes first = std::min(into.bytes, first_bytes);
    if (first > 0) copy_tiny(into.data, line->payload + sizeof(Word), first);
    if (into.bytes > first) read(owner, line + 1, into.data + first, into.bytes - first);
  }

  SingleCopy* single_copy_;
  std::uint32_t lines_;
  Bytes longest_;
  Bytes longest_in_window_;
  Bytes in_window_ = 0;  ///< of this call, so far
  bool is_broken_ = false;
};

}  // namespace espalier::execute
