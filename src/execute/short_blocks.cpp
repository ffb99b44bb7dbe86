#include "execute/short_blocks.hpp"

#include <algorithm>

#include "execute/line_call.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;

/// What precedes a block in its first line: its size, or that not all blocks are short.
using Word = std::uint64_t;
constexpr Word not_short = ~Word{0};
constexpr Bytes first_bytes = Line::payload_bytes - sizeof(Word);

/// Lines kept for a block. Sizes are unknown to those who only keep count of a ring's messages, so it is always these.
std::uint32_t lines_per_block(Operation operation, int ranks) {
  return operation == Operation::gather ? tiny_lines : tiny_lines / static_cast<std::uint32_t>(ranks);
}

/// What the root of a gather writes: a word, and maybe sizes.
std::uint32_t lines_of_root(int ranks) {
  const Bytes sizes = tells_sizes(Operation::gather, ranks) ? static_cast<Bytes>(ranks) * sizeof(Bytes) : 0;
  return count_lines(sizeof(Word) + sizes);
}

void copy(const Block& from, const Block& into) noexcept {
  if (from.bytes > 0 && from.data != into.data) std::memcpy(into.data, from.data, from.bytes);
}

class ShortCall : public LineCall {
 public:
  ShortCall(Seat& seat, const ShortKind& kind, Waiter& waiter) noexcept
      : LineCall(seat, waiter), lines_(lines_per_block(kind.operation, seat.ranks())), longest_(kind.longest) {}

  std::uint32_t lines() const noexcept { return lines_; }
  std::uint32_t all_lines() const noexcept { return lines_ * static_cast<std::uint32_t>(ranks()); }

  bool is_short(const Block& block) const noexcept { return block.bytes <= longest_; }
  bool are_short(const MaybeBlocks& blocks) const noexcept {
    return blocks && std::all_of(blocks->begin(), blocks->end(), [&](const Block& it) { return is_short(it); });
  }

  /// The lines of block `b` in a message.
  Line* line_of(const Message& message, int b) const noexcept {
    return message.lines + static_cast<std::size_t>(b) * lines_;
  }

  void write_word(Line* line, Word word) noexcept {
    std::memcpy(line->payload, &word, sizeof word);
    publish(*line);
  }
  void write_block(Line* line, const Block& block) noexcept { write_behind(line, block.bytes, block); }
  /// That not all blocks are short, and how long they are.
  void write_sizes(Line* line, std::span<Bytes> sizes) noexcept { write_behind(line, not_short, as_block(sizes)); }
  void read_sizes(LocalRank owner, const Line* line, std::span<Bytes> sizes) noexcept {
    read_behind(owner, line, as_block(sizes));
  }

  /// For the next call's block `b`, of a message of so many lines: as long as this one.
  void prefetch_block(std::uint32_t lines, int b, const Block& block) const noexcept {
    prefetch_next(lines, static_cast<std::uint32_t>(b) * lines_, count_lines(sizeof(Word) + block.bytes));
  }
  /// For the next call's message to all.
  void prefetch_blocks(std::span<const Block> blocks) const noexcept {
    for (int r = 0; r < ranks(); ++r)
      if (LocalRank(r) != me()) prefetch_block(all_lines(), r, blocks[static_cast<std::size_t>(r)]);
  }

  Word read_word(LocalRank owner, const Line* line) noexcept {
    wait_for(owner, *line);
    Word word;
    std::memcpy(&word, line->payload, sizeof word);
    return word;
  }
  /// False, and nothing is written, where another size came.
  bool read_block(LocalRank owner, const Line* line, const Block& into) noexcept {
    if (read_word(owner, line) != into.bytes) return false;
    read_behind(owner, line, into);
    return true;
  }

 private:
  static Block as_block(std::span<Bytes> sizes) noexcept {
    return {reinterpret_cast<std::byte*>(sizes.data()), sizes.size_bytes()};
  }

  /// A word and what follows it, in its line and the next ones.
  void write_behind(Line* line, Word word, const Block& block) noexcept {
    const Bytes first = std::min(block.bytes, first_bytes);
    if (first > 0) copy_tiny(line->payload + sizeof(Word), block.data, first);
    write_word(line, word);
    if (block.bytes > first) write(line + 1, block.data + first, block.bytes - first);
  }
  /// The same back, once the word has been read.
  void read_behind(LocalRank owner, const Line* line, const Block& into) noexcept {
    const Bytes first = std::min(into.bytes, first_bytes);
    if (first > 0) copy_tiny(into.data, line->payload + sizeof(Word), first);
    if (into.bytes > first) read(owner, line + 1, into.data + first, into.bytes - first);
  }

  std::uint32_t lines_;
  Bytes longest_;
};

ShortOutcome outcome_of(bool fits) { return fits ? ShortOutcome::done : ShortOutcome::mismatched; }

ShortOutcome scatter_from(ShortCall& call, LocalRank root, const MaybeBlocks& input, const MaybeBlocks& output,
                          std::span<Bytes> sizes) {
  const bool is_short = call.are_short(input);
  const Message mine = call.open(call.all_lines());
  for (int r = 0; r < call.ranks(); ++r) {
    if (LocalRank(r) == root) continue;
    if (is_short)
      call.write_block(call.line_of(mine, r), (*input)[static_cast<std::size_t>(r)]);
    else
      call.write_sizes(call.line_of(mine, r), sizes);
  }
  if (!is_short) return ShortOutcome::too_long;
  const Block& own = (*input)[static_cast<std::size_t>(root.value)];
  call.prefetch_blocks(*input);
  if (!output || output->front().bytes != own.bytes) return ShortOutcome::mismatched;
  copy(own, output->front());
  return ShortOutcome::done;
}

/// What the root told instead of short blocks.
ShortOutcome take_sizes(ShortCall& call, LocalRank root, const Line* line, std::span<Bytes> sizes) {
  call.read_sizes(root, line, sizes);
  return ShortOutcome::too_long;
}

ShortOutcome scatter_to(ShortCall& call, LocalRank root, const MaybeBlocks& output, std::span<Bytes> sizes) {
  const Line* const line = call.line_of(call.place(root, call.all_lines()), call.me().value);
  if (call.read_word(root, line) == not_short) return take_sizes(call, root, line, sizes);
  return outcome_of(output && call.read_block(root, line, output->front()));
}

/// A leaf does not know whether all blocks are short when it sends its own; the root says so, likely before it asks.
ShortOutcome gather_to(ShortCall& call, LocalRank root, const MaybeBlocks& input, std::span<Bytes> sizes) {
  const bool is_short = call.are_short(input);
  const Message mine = call.open(call.lines());
  if (is_short)
    call.write_block(mine.lines, input->front());
  else
    call.write_word(mine.lines, not_short);
  for (int r = 0; r < call.ranks(); ++r)
    if (LocalRank(r) != root && LocalRank(r) != call.me()) call.place(LocalRank(r), call.lines());
  const Line* const line = call.place(root, lines_of_root(call.ranks())).lines;
  if (call.read_word(root, line) == not_short) return take_sizes(call, root, line, sizes);
  if (is_short) call.prefetch_block(call.lines(), 0, input->front());
  return outcome_of(is_short);
}

ShortOutcome gather_from(ShortCall& call, LocalRank root, const MaybeBlocks& input, const MaybeBlocks& output,
                         std::span<Bytes> sizes) {
  const bool is_short = call.are_short(output);
  Line* const line = call.open(lines_of_root(call.ranks())).lines;
  if (is_short)
    call.write_word(line, 0);
  else
    call.write_sizes(line, sizes);
  bool fits = true;
  for (int r = 0; r < call.ranks(); ++r) {
    if (LocalRank(r) == root) continue;
    const Message message = call.place(LocalRank(r), call.lines());
    if (is_short) fits = call.read_block(message.owner, message.lines, (*output)[static_cast<std::size_t>(r)]) && fits;
  }
  if (!is_short) return ShortOutcome::too_long;
  const Block& own = (*output)[static_cast<std::size_t>(root.value)];
  if (!input || input->front().bytes != own.bytes) return ShortOutcome::mismatched;
  copy(input->front(), own);
  return outcome_of(fits);
}

void write_blocks(ShortCall& call, const MaybeBlocks& input) {
  const bool is_short = call.are_short(input);
  const Message mine = call.open(call.all_lines());
  for (int i = 1; i < call.ranks(); ++i) {
    const int r = (call.me().value + i) % call.ranks();
    if (is_short)
      call.write_block(call.line_of(mine, r), (*input)[static_cast<std::size_t>(r)]);
    else
      call.write_word(call.line_of(mine, r), not_short);
  }
}

/// Every rank reads what all others say before it takes anything: inputs may lie where outputs go.
ShortOutcome exchange(ShortCall& call, const MaybeBlocks& input, const MaybeBlocks& output) {
  const int me = call.me().value;
  write_blocks(call, input);
  const Line* lines[most_short_ranks];
  bool all_short = call.are_short(input);
  for (int i = 1; i < call.ranks(); ++i) {
    const LocalRank owner((me + i) % call.ranks());
    lines[owner.value] = call.line_of(call.place(owner, call.all_lines()), me);
    all_short = call.read_word(owner, lines[owner.value]) != not_short && all_short;
  }
  if (!all_short) return ShortOutcome::too_long;
  call.prefetch_blocks(*input);
  if (!output) return ShortOutcome::mismatched;
  bool fits = true;
  for (int r = 0; r < call.ranks(); ++r) {
    const auto index = static_cast<std::size_t>(r);
    if (r != me)
      fits = call.read_block(LocalRank(r), lines[r], (*output)[index]) && fits;
    else if ((*input)[index].bytes == (*output)[index].bytes)
      copy((*input)[index], (*output)[index]);
    else
      fits = false;
  }
  return outcome_of(fits);
}

}  // namespace

Bytes longest_short_block(Operation operation, int ranks) {
  if (ranks > most_short_ranks) return 0;
  const std::uint32_t lines = lines_per_block(operation, ranks);
  return lines * Line::payload_bytes - sizeof(Word);
}

bool tells_sizes(Operation operation, int ranks) {
  return operation != Operation::alltoall && ranks <= most_told_ranks;
}

ShortOutcome run_short_blocks(Seat& seat, const ShortKind& kind, LocalRank root, MaybeBlocks input, MaybeBlocks output,
                              std::span<Bytes> sizes, Waiter& waiter) noexcept {
  ShortCall call(seat, kind, waiter);
  const bool is_root = call.me() == root;
  switch (kind.operation) {
    case Operation::scatter:
      return is_root ? scatter_from(call, root, input, output, sizes) : scatter_to(call, root, output, sizes);
    case Operation::gather:
      return is_root ? gather_from(call, root, input, output, sizes) : gather_to(call, root, input, sizes);
    default: return exchange(call, input, output);
  }
}

}  // namespace espalier::execute
