#pragma once
// One call of blocks whose sizes no rank knows all of, as one rank makes it: how a block travels, in lines or by its
// place. Who sends which to whom is in uneven_blocks.cpp.

#include <algorithm>

#include "execute/copy.hpp"
#include "execute/lines/line_call.hpp"
#include "execute/lines/uneven_blocks.hpp"

namespace espalier::execute {

/// What precedes a block in its first line: its size, or that it does not come this way.
using Word = std::uint64_t;
inline constexpr Word not_sent = ~Word{0};
inline constexpr Bytes first_bytes = Line::payload_bytes - sizeof(Word);

/// Lines kept for a block. Sizes are unknown to those who only keep count of a ring's messages, so it is always these.
inline std::uint32_t lines_per_block(plan::Operation operation, int ranks) {
  return operation == plan::Operation::gather ? tiny_lines : tiny_lines / static_cast<std::uint32_t>(ranks);
}
/// The same where longer blocks go another way. Then a leaf of a gather among several keeps fewer: whenever its ring
/// comes round it looks at the flags of all others, whose lines have moved to other caches meanwhile.
inline std::uint32_t lines_per_block(const UnevenKind& kind, int ranks) {
  constexpr std::uint32_t few = 16;
  const std::uint32_t lines = lines_per_block(kind.operation, ranks);
  const bool is_gather = kind.operation == plan::Operation::gather && ranks > 2;
  return is_gather && kind.longest == any_size ? few : lines;
}

/// A longer block goes through a window in such pieces: its reader copies one while its sender writes the next.
inline constexpr Bytes piece_bytes = 8 << 10;

inline Bytes bytes_in(std::uint32_t lines) { return lines * Line::payload_bytes - sizeof(Word); }

/// Of a block that came; none: there was no room for it.
using MaybeBytes = std::optional<Bytes>;

template <class Object>
Block as_block(Object& object) {
  return {reinterpret_cast<std::byte*>(&object), sizeof object};
}
inline Block as_block(std::span<Bytes> sizes) {
  return {reinterpret_cast<std::byte*>(sizes.data()), sizes.size_bytes()};
}

class BlockCall : public LineCall {
 public:
  BlockCall(Seat& seat, const UnevenKind& kind, SingleCopy* single_copy, Waiter& waiter)
      : LineCall(seat, LineWord::of_blocks, waiter),
        single_copy_(single_copy),
        lines_(lines_per_block(kind, seat.ranks())),
        longest_(kind.longest),
        longest_in_window_(kind.longest_in_window),
        longest_if_close_(kind.longest_if_close),
        root_copies_(kind.root_copies) {}

  std::uint32_t lines() const noexcept { return lines_; }
  /// Of a message with a block for each other rank. None is kept for the own block: whenever a ring comes round its
  /// writer looks at its readers' flags, whose lines have moved to other caches meanwhile, and of two ranks in every
  /// second call if messages were twice as long (scatterv of 4 bytes, near cores: as long as Open MPI's own).
  std::uint32_t all_lines() const noexcept { return lines_ * static_cast<std::uint32_t>(std::max(1, ranks() - 1)); }

  bool root_copies() const noexcept { return root_copies_; }
  bool takes_any_size() const noexcept { return longest_ == any_size; }
  /// Whether the blocks may go this way.
  bool may_send(const MaybeBlocks& blocks) const {
    if (!blocks || takes_any_size()) return blocks.has_value();
    return std::all_of(blocks->begin(), blocks->end(), [&](const Block& it) { return it.bytes <= longest_; });
  }
  /// The outcome where they may not.
  UnevenOutcome refuse() const noexcept { return takes_any_size() ? UnevenOutcome::unknown : UnevenOutcome::too_long; }
  UnevenOutcome outcome(bool fits) const {
    return is_broken_ ? UnevenOutcome::broken : fits ? UnevenOutcome::done : UnevenOutcome::truncated;
  }

  /// Another rank's block in a message to all, as a message from there on.
  Message block_of(const Message& message, int rank) const {
    return part_of(message, static_cast<std::size_t>(place_of(message.owner, rank)) * lines_);
  }
  /// The same from a line on.
  static Message part_of(const Message& message, std::size_t line) {
    return {message.owner, message.begin, message.lines + line};
  }

  bool is_in_lines(Bytes bytes) const noexcept { return bytes <= bytes_in(lines_); }
  /// Whether a block is copied straight between its ends, as both know: where the window had all its room for it, and
  /// whatever its sender thinks of their closeness.
  bool is_straight(Bytes bytes) const noexcept { return !is_in_lines(bytes) && bytes > longest_in_window_; }

  /// Whether its taker reads it out of this rank's own memory, so that it must stay there; then `part`, from its front,
  /// is all that it copies.
  bool write_block(const Message& to, const Block& block, Bytes part) {
    if (is_in_lines(block.bytes)) {
      write_behind(to, block.bytes, block);
      return false;
    }
    const bool is_staged = takes_window(block.bytes);
    if (is_staged)
      stage(to, block);
    else
      write_address(to, block, part);
    return !is_staged;
  }
  /// Where this rank has the block, or room for it, how long it is, and how much of it, from its front, whoever reads
  /// this is to copy.
  void write_address(const Message& to, const Block& block, Bytes part) {
    write_place(to, block.bytes, {block.data, part});
  }
  /// Instead of a block; and how long all are, where that is to be told.
  void write_refusal(const Message& to, std::span<Bytes> sizes) { write_behind(to, not_sent, as_block(sizes)); }

  /// `expected`: bytes that will have been sent, likely.
  Word read_word(Message& from, Bytes expected = 0) {
    while (!wait_for(from, *from.lines, expected > first_bytes && is_in_lines(expected))) move(from);
    saw_line(from.owner);
    Word word;
    std::memcpy(&word, from.lines->payload, sizeof word);
    return word;
  }
  /// What came, in the front of the room for it; nothing where more came than there is room for.
  MaybeBytes read_block(Message& from, const Block& room) {
    const Word sent = read_word(from, room.bytes);
    if (sent > room.bytes) return std::nullopt;
    read_sent(from, {room.data, sent});
    return sent;
  }
  /// The same after the word was read: all that was sent.
  void read_sent(const Message& from, const Block& into) {
    if (is_in_lines(into.bytes))
      read_behind(from, into);
    else
      copy_from(from.owner, read_place(from), into);
  }
  /// Copies a block to where its owner wants it, as much of it as that says; nothing where that has less room, or none.
  /// Whether the owner copies the rest.
  bool push_block(Message& to, const Block& block) {
    const Word room = read_word(to);
    if (room == not_sent || room < block.bytes) return false;
    const Place place = read_place(to);
    const Bytes part = std::min(place.part, block.bytes);
    return push(to.owner, place.address, {block.data, part}) && part < block.bytes;
  }
  /// The rest of such a block, whose word was read and found right: all behind `part`.
  void pull_rest(const Message& from, const Block& into, Bytes part) {
    if (part < into.bytes) pull(from.owner, read_place(from).address + part, behind(into, part));
  }

  /// As read_block(), where the owner may copy a part of the block: then that waits for answer().
  MaybeBytes read_shared_block(Message& from, const Block& room) {
    const Word sent = read_word(from, room.bytes);
    const bool has_room = sent <= room.bytes;
    const bool is_shared = answer(from, sent, has_room ? room.data : nullptr);
    if (!has_room) return std::nullopt;
    if (is_shared) {
      const Place place = read_place(from);
      pull(from.owner, place.address, {room.data, place.part});
      finish();
      wait_for_finish(from.owner);
    } else {
      read_sent(from, {room.data, sent});
    }
    return sent;
  }
  /// Tells the owner of a block, whose word was read, where it is to copy its part, if it has one; null: nowhere.
  /// Whether it has.
  bool answer(const Message& from, Word sent, std::byte* address) {
    if (!root_copies_ || sent == not_sent || !is_straight(sent)) return false;
    const Place place = read_place(from);
    if (place.address == nullptr || place.part == sent) return false;
    const Place own{address, 0};
    std::memcpy(open_window(), &own, sizeof own);
    tell_written(sizeof own);
    return true;
  }
  /// Copies all behind `part` of a block to where its taker answers. Whether the system did.
  bool push_rest(LocalRank taker, const Block& from, Bytes part) {
    wait_for_written(taker, sizeof(Place));
    Place place;
    std::memcpy(&place, window_of(taker), sizeof place);
    return place.address == nullptr || push(taker, place.address + part, behind(from, part));
  }
  /// What a refusal tells, which the word has announced.
  UnevenOutcome take_refusal(const Message& from, std::span<Bytes> sizes) {
    read_behind(from, as_block(sizes));
    return UnevenOutcome::too_long;
  }

  /// A rank's own block stays.
  MaybeBytes copy_own(const Block& from, const Block& room) const noexcept {
    if (from.bytes > room.bytes) return std::nullopt;
    if (from.bytes > 0 && from.data != room.data) copy_bytes(room.data, from.data, from.bytes);
    return from.bytes;
  }

  /// For the next call's `b`th block of a message of so many lines: as long as this one.
  void prefetch_block(std::uint32_t lines, int b, const Block& block) {
    const Bytes bytes = is_in_lines(block.bytes) ? block.bytes : sizeof(Place);
    prefetch_next(lines, static_cast<std::uint32_t>(b) * lines_, count_lines(sizeof(Word) + bytes));
  }
  /// For the next call's message to all.
  void prefetch_blocks(std::span<const Block> blocks) {
    for (int r = 0; r < ranks(); ++r)
      if (LocalRank(r) != me()) prefetch_block(all_lines(), place_of(me(), r), blocks[static_cast<std::size_t>(r)]);
  }

 private:
  /// Which of the owner's blocks for the others is that rank's.
  static int place_of(LocalRank owner, int rank) noexcept { return rank < owner.value ? rank : rank - 1; }

  /// Of a block that does not travel in lines.
  struct Place {
    std::byte* address;  ///< in its owner's memory; how much of it who is told copies. Or null:
    Bytes part;          ///< where it begins in the owner's window
  };
  void write_place(const Message& to, Bytes bytes, Place place) { write_behind(to, bytes, as_block(place)); }
  Place read_place(const Message& from) {
    Place place;
    read_behind(from, as_block(place));
    return place;
  }

  /// Whether the next block goes through this rank's window. Of two ranks, some are tried there, close or not.
  bool takes_window(Bytes bytes) {
    const bool has_room = bytes <= window_bytes() - in_window_;
    if (!has_room || bytes > std::max(longest_in_window_, longest_if_close_)) return false;
    const bool is_short = bytes <= longest_in_window_, is_pair = ranks() == 2;
    way_ = bytes >= least_with_ways && (is_short || is_pair) ? next_way() : Way{};
    return is_short || (is_pair && (way_.is_trial || closeness().is_close()));
  }

  void stage(const Message& to, const Block& block) {
    std::byte* const room = (in_window_ == 0 ? open_window() : window_of(me())) + in_window_;
    for_each_piece(block.bytes, [&](Bytes offset, Bytes part) {
      copy_for_reader(room + offset, block.data + offset, part, way_, closeness());
      way_.is_timed = false;  // the first piece is: its reader is not in the way yet
      if (offset == 0)
        write_place(to, block.bytes, {nullptr, in_window_});
      else
        tell_written(in_window_ + offset + part);
    });
    in_window_ = std::min(lines_for(in_window_ + block.bytes) * line_bytes, window_bytes());
  }

  void copy_from(LocalRank owner, const Place& place, const Block& into) {
    if (place.address != nullptr) return pull(owner, place.address, into);
    std::byte* const room = window_of(owner) + place.part;
    for_each_piece(into.bytes, [&](Bytes offset, Bytes part) {
      if (offset > 0) wait_for_written(owner, place.part + offset + part);
      if (part >= least_with_ways && takes_over_from(owner))
        copy_taking_over(into.data + offset, room + offset, part);
      else
        copy_bytes(into.data + offset, room + offset, part);
    });
  }

  template <class Each>
  static void for_each_piece(Bytes bytes, Each each) {
    for (Bytes offset = 0; offset < bytes; offset += piece_bytes) each(offset, std::min(piece_bytes, bytes - offset));
  }

  /// Up to where a window is written, counted in lines of memory: as many ticks as the largest window has of them.
  static std::uint64_t lines_for(Bytes bytes) noexcept { return (bytes + line_bytes - 1) / line_bytes; }
  void tell_written(Bytes end) noexcept { post(plan::Flag::ready, lines_for(end)); }
  void wait_for_written(LocalRank owner, Bytes end) {
    LineCall::wait_for_flag(owner, plan::Flag::ready, lines_for(end));
  }

  static Block behind(const Block& block, Bytes part) noexcept { return {block.data + part, block.bytes - part}; }
  void pull(LocalRank owner, const std::byte* address, const Block& into) noexcept {
    is_broken_ = !single_copy_->read(owner, address, into.data, into.bytes) || has_left(owner) || is_broken_;
  }
  bool push(LocalRank owner, std::byte* address, const Block& from) noexcept {
    if (!has_left(owner) && single_copy_->write(owner, address, from.data, from.bytes)) return true;
    is_broken_ = true;
    break_off();
    return false;
  }

  /// The message was not where this rank thought: the cursors have come apart when ranks had sizes that do not fit
  /// together.
  void move(Message& from) {
    from.lines += static_cast<std::ptrdiff_t>(found().begin()) - static_cast<std::ptrdiff_t>(from.begin);
    from.begin = follow(from.owner).begin;
  }

  /// A word and what follows it, in its line and the next ones.
  void write_behind(const Message& to, Word word, const Block& block) {
    const Bytes first = std::min(block.bytes, first_bytes);
    if (first > 0) copy_tiny(to.lines->payload + sizeof(Word), block.data, first);
    std::memcpy(to.lines->payload, &word, sizeof word);
    publish(to, *to.lines);
    if (block.bytes > first) write(to, to.lines + 1, block.data + first, block.bytes - first);
  }
  /// The same back, once the word has been read.
  void read_behind(const Message& from, const Block& into) {
    const Bytes first = std::min(into.bytes, first_bytes);
    if (first > 0) copy_tiny(into.data, from.lines->payload + sizeof(Word), first);
    if (into.bytes > first) read(from, from.lines + 1, into.data + first, into.bytes - first);
  }

  SingleCopy* single_copy_;
  std::uint32_t lines_;
  Bytes longest_;
  Bytes longest_in_window_;
  Bytes longest_if_close_;
  Way way_;  ///< how the next block goes through the window
  bool root_copies_;
  Bytes in_window_ = 0;  ///< of this call, so far
  bool is_broken_ = false;
};

}  // namespace espalier::execute
