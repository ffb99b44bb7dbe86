#include "execute/uneven_blocks.hpp"

#include <algorithm>
#include <bitset>

#include "execute/line_call.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;

/// What precedes a block in its first line: its size, or that it does not come this way.
using Word = std::uint64_t;
constexpr Word not_sent = ~Word{0};
constexpr Bytes first_bytes = Line::payload_bytes - sizeof(Word);

/// Lines kept for a block. Sizes are unknown to those who only keep count of a ring's messages, so it is always these.
std::uint32_t lines_per_block(Operation operation, int ranks) {
  return operation == Operation::gather ? tiny_lines : tiny_lines / static_cast<std::uint32_t>(ranks);
}

Bytes bytes_in(std::uint32_t lines) { return lines * Line::payload_bytes - sizeof(Word); }

template <class Object>
Block as_block(Object& object) {
  return {reinterpret_cast<std::byte*>(&object), sizeof object};
}
Block as_block(std::span<Bytes> sizes) { return {reinterpret_cast<std::byte*>(sizes.data()), sizes.size_bytes()}; }

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
    return blocks && std::all_of(blocks->begin(), blocks->end(), [&](const Block& it) { return it.bytes <= longest_; });
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
    if (read_word(owner, line, into.bytes) != into.bytes) return false;
    if (is_in_lines(into.bytes))
      read_behind(owner, line, into);
    else
      copy_from(owner, read_place(owner, line), into);
    return true;
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

/// Of the ranks' blocks, that of one.
const Block& block_of(const MaybeBlocks& blocks, int rank) { return (*blocks)[static_cast<std::size_t>(rank)]; }

/// For every other rank, beginning behind this one: not all at the same rank at once.
template <class Each>
void for_each_other(const BlockCall& call, Each each) {
  for (int i = 1; i < call.ranks(); ++i) each((call.me().value + i) % call.ranks());
}

/// The ranks that read blocks out of this rank's own memory.
using Takers = std::bitset<most_uneven_ranks>;

/// Says that this rank is done, and waits until those are.
void wait_for(BlockCall& call, const Takers& takers) noexcept {
  call.finish();
  for_each_other(call, [&](int r) {
    if (takers[static_cast<std::size_t>(r)]) call.wait_for_finish(LocalRank(r));
  });
}

/// Every rank's block into this rank's message, or that they do not come.
Takers write_blocks(BlockCall& call, const MaybeBlocks& blocks, std::span<Bytes> sizes) noexcept {
  const bool are_sent = call.may_send(blocks);
  const Message mine = call.open(call.all_lines());
  Takers takers;
  for_each_other(call, [&](int r) {
    Line* const line = call.line_of(mine, r);
    if (are_sent)
      takers[static_cast<std::size_t>(r)] = call.write_block(line, block_of(blocks, r));
    else
      call.write_refusal(line, sizes);
  });
  return takers;
}

UnevenOutcome scatter_from(BlockCall& call, const UnevenCall& it) noexcept {
  const Takers takers = write_blocks(call, it.input, it.sizes);
  if (!call.may_send(it.input)) return call.refuse();
  const bool fits = it.output && call.copy_own(block_of(it.input, it.root.value), it.output->front());
  call.prefetch_blocks(*it.input);
  wait_for(call, takers);
  return call.outcome(fits);
}

UnevenOutcome scatter_to(BlockCall& call, const UnevenCall& it) noexcept {
  const Line* const line = call.line_of(call.place(it.root, call.all_lines()), call.me().value);
  if (call.takes_any_size() && !it.output) return call.refuse();
  if (!call.takes_any_size() && call.read_word(it.root, line) == not_sent)
    return call.take_refusal(it.root, line, it.sizes);
  const bool fits = it.output && call.read_block(it.root, line, it.output->front());
  return call.outcome(fits);
}

/// Lines of the root's reply to one leaf of a gather: where its block is to be copied, or that none goes this way, and
/// maybe all sizes. There is room for one to each in a message.
std::uint32_t lines_per_reply(const UnevenCall& it) {
  return count_lines(sizeof(Word) + std::max(2 * sizeof(Bytes), it.sizes.size_bytes()));
}
std::uint32_t lines_of_replies(const BlockCall& call, const UnevenCall& it) {
  return lines_per_reply(it) * static_cast<std::uint32_t>(call.ranks());
}
Line* reply_to(int leaf, const Message& replies, const UnevenCall& it) {
  return replies.lines + static_cast<std::size_t>(leaf) * lines_per_reply(it);
}

/// Whether a leaf copies its block to the root: the longest do, all at a time. The root copies shorter ones out of the
/// leaves' memory, which the system does faster. Two ranks, native ÷ ours, pulled / pushed, on a busy machine: blocks
/// of 6K 1.29 / 1.16, 24K 1.23 / 1.13, 384K 1.03 / 1.20, 1.5M 0.99 / 1.55.
bool is_pushed(const BlockCall& call, Bytes bytes) {
  constexpr Bytes most_by_the_root = 48 << 10;
  const Bytes longest_by_the_root = most_by_the_root / static_cast<Bytes>(call.ranks() - 1);
  return !call.is_in_lines(bytes) && bytes > std::max(longest_by_the_root, call.longest_in_window());
}

/// Where blocks may be too long, a leaf does not know whether others' are when it sends its own; the root says so,
/// likely before it asks. One that is pushed waits in either case.
UnevenOutcome gather_to(BlockCall& call, const UnevenCall& it) noexcept {
  const bool is_sent = call.may_send(it.input);
  const Message mine = call.open(call.lines());
  bool is_read_here = false;  // by the root
  if (!is_sent)
    call.write_refusal(mine.lines, {});
  else if (is_pushed(call, it.input->front().bytes))
    call.write_address(mine.lines, it.input->front());
  else
    is_read_here = call.write_block(mine.lines, it.input->front());
  for_each_other(call, [&](int r) {
    if (LocalRank(r) != it.root) call.place(LocalRank(r), call.lines());
  });
  const Line* const reply = reply_to(call.me().value, call.place(it.root, lines_of_replies(call, it)), it);
  if (!call.takes_any_size() && call.read_word(it.root, reply) == not_sent)
    return call.take_refusal(it.root, reply, it.sizes);
  if (!is_sent) return call.takes_any_size() ? call.refuse() : UnevenOutcome::mismatched;
  const Block& block = it.input->front();
  call.prefetch_block(call.lines(), 0, block);
  if (is_pushed(call, block.bytes)) {
    call.push_block(it.root, reply, block);
  } else if (is_read_here) {
    call.finish();
    call.wait_for_finish(it.root);
  }
  return call.outcome(true);
}

/// Tells all leaves that no block is taken, or those where it goes that push theirs. Those that have to know whether
/// all blocks may be sent, too.
void write_replies(BlockCall& call, const UnevenCall& it, const Message& replies, bool are_taken) noexcept {
  for_each_other(call, [&](int r) {
    Line* const reply = reply_to(r, replies, it);
    if (!are_taken)
      call.write_refusal(reply, it.sizes);
    else if (!call.takes_any_size() || is_pushed(call, block_of(it.output, r).bytes))
      call.write_address(reply, block_of(it.output, r));
  });
}

/// False where another size than expected was sent. Whoever pushes a block waits for a reply even then.
bool take_block(BlockCall& call, const Message& message, const Block& into, Line* reply) noexcept {
  const Word sent = call.read_word(message.owner, message.lines, into.bytes);
  const bool is_right = sent == into.bytes;
  if (!is_pushed(call, into.bytes)) {
    if (!is_right && call.takes_any_size()) call.write_refusal(reply, {});
    return is_right && call.read_block(message.owner, message.lines, into);
  }
  if (is_right) call.wait_for_finish(message.owner);
  return is_right;
}

UnevenOutcome gather_from(BlockCall& call, const UnevenCall& it) noexcept {
  const bool are_taken = call.may_send(it.output);
  const Message replies = call.open(lines_of_replies(call, it));
  write_replies(call, it, replies, are_taken);
  bool fits = are_taken && it.input && call.copy_own(it.input->front(), block_of(it.output, it.root.value));
  for_each_other(call, [&](int r) {
    const Message message = call.place(LocalRank(r), call.lines());
    if (are_taken) fits = take_block(call, message, block_of(it.output, r), reply_to(r, replies, it)) && fits;
  });
  return are_taken ? call.outcome(fits) : call.refuse();
}

/// Where blocks may be too long, every rank reads what all others say before it takes anything.
UnevenOutcome exchange(BlockCall& call, const UnevenCall& it) noexcept {
  const int me = call.me().value;
  const Takers takers = write_blocks(call, it.input, {});
  const Line* lines[most_uneven_ranks];
  bool are_all_sent = call.may_send(it.input);
  for_each_other(call, [&](int r) {
    lines[r] = call.line_of(call.place(LocalRank(r), call.all_lines()), me);
    if (!call.takes_any_size()) are_all_sent = call.read_word(LocalRank(r), lines[r]) != not_sent && are_all_sent;
  });
  if (!are_all_sent) return call.refuse();
  bool fits = it.output && call.copy_own(block_of(it.input, me), block_of(it.output, me));
  for_each_other(call, [&](int r) {
    if (it.output) fits = call.read_block(LocalRank(r), lines[r], block_of(it.output, r)) && fits;
  });
  call.prefetch_blocks(*it.input);
  wait_for(call, takers);
  return call.outcome(fits);
}

}  // namespace

Bytes longest_in_lines(Operation operation, int ranks) {
  return ranks > most_uneven_ranks ? 0 : bytes_in(lines_per_block(operation, ranks));
}

bool tells_sizes(const UnevenKind& kind, int ranks) {
  return kind.operation != Operation::alltoall && kind.longest != any_size && ranks <= most_told_ranks;
}

UnevenOutcome run_uneven_blocks(Seat& seat, const UnevenKind& kind, const UnevenCall& it, SingleCopy* single_copy,
                                Waiter& waiter) noexcept {
  BlockCall call(seat, kind, single_copy, waiter);
  const bool is_root = call.me() == it.root;
  switch (kind.operation) {
    case Operation::scatter: return is_root ? scatter_from(call, it) : scatter_to(call, it);
    case Operation::gather: return is_root ? gather_from(call, it) : gather_to(call, it);
    default: return exchange(call, it);
  }
}

}  // namespace espalier::execute
