#include "execute/lines/tiny_counts.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "execute/lines/line_call.hpp"

namespace espalier::execute {
namespace {

using Counts = std::span<const Bytes>;

Bytes sum_of(Counts counts, int blocks) { return std::accumulate(counts.begin(), counts.begin() + blocks, Bytes{0}); }

std::uint32_t lines_of(Counts counts, int blocks) {
  std::uint32_t lines = 0;
  for (int b = 0; b < blocks; ++b) lines += count_lines(counts[static_cast<std::size_t>(b)]);
  return lines;
}

bool overlap(const std::byte* a, const std::byte* b, Bytes bytes) { return a < b + bytes && b < a + bytes; }

/// Reads a block that is to have so many bytes. What was written with other counts is not looked for: where it would
/// lie nobody here knows.
void read(LineCall& call, const Message& message, const Line* first, std::byte* into, Bytes bytes, Ending& ending) {
  if (call.read(message, first, into, bytes)) return;
  if (!call.stated()) call.follow(message.owner);
  ending = {Ending::truncated};
}

Ending allgather(LineCall& call, Counts counts, const std::byte* input, std::byte* output) {
  Ending ending;
  const int me = call.me().value;
  const Bytes own = counts[static_cast<std::size_t>(me)];
  const Message mine = call.open(count_lines(own));
  call.write(mine, mine.lines, input, own);
  Bytes begin = sum_of(counts, me);
  if (own > 0 && input != output + begin) std::memcpy(output + begin, input, own);
  begin += own;
  for (int i = 1; i < call.ranks(); ++i) {
    const int r = (me + i) % call.ranks();  // not all at the same line at once
    if (r == 0) begin = 0;
    const Bytes bytes = counts[static_cast<std::size_t>(r)];
    const Message message = call.place(LocalRank(r), count_lines(bytes));
    read(call, message, message.lines, output + begin, bytes, ending);
    begin += bytes;
  }
  call.prefetch_next(count_lines(own));
  return ending;
}

/// Each from a line of its own, but for rank `unread`'s, which nobody will read.
void write_blocks(LineCall& call, const Message& message, Counts counts, int unread, const std::byte* input) {
  Line* line = message.lines;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const Bytes bytes = counts[r];
    if (static_cast<int>(r) != unread) call.write(message, line, input, bytes);
    line += count_lines(bytes);
    input += bytes;
  }
}

/// Every message has all blocks; this rank folds its block of each.
Ending reduce_scatter(LineCall& call, Counts counts, const std::byte* input, std::byte* output,
                      const Reducer& reducer) {
  Ending ending;
  const int me = call.me().value, last = call.ranks() - 1;
  const std::uint32_t lines = lines_of(counts, call.ranks()), my_line = lines_of(counts, me);
  const Bytes bytes = counts[static_cast<std::size_t>(me)];
  const Message mine = call.open(lines);
  const std::byte* const own = input + sum_of(counts, me);
  const bool is_own_lost = overlap(own, output, bytes);  // in place: only in the lines it stays whole
  write_blocks(call, mine, counts, is_own_lost ? -1 : me, input);
  for (int r = last; r >= 0; --r) {
    const Message message = r == me ? mine : call.place(LocalRank(r), lines);
    const bool is_here = r == me && !is_own_lost;
    if (r == last && is_here) {
      if (bytes > 0) std::memcpy(output, own, bytes);
    } else if (r == last) {
      read(call, message, message.lines + my_line, output, bytes, ending);
    } else if (is_here) {
      reducer.combine(own, output, bytes);
    } else {
      alignas(line_bytes) std::byte left[plan::tiny_bytes];
      read(call, message, message.lines + my_line, left, bytes, ending);
      if (ending.kind == Ending::done) reducer.combine(left, output, bytes);
    }
  }
  call.prefetch_next(lines);
  return ending;
}

/// What all ranks know to be alike if their counts are: what lines say of the size of blocks.
Bytes check_of(Counts counts) {
  std::uint64_t sum = 0;
  for (const Bytes count : counts) sum = (sum + count) * 0x9e37'79b9'7f4a'7c15;
  return (sum >> 52) & (LineWord::of_blocks >> 1);
}

}  // namespace

Bytes stated_bytes(const plan::Problem& problem) {
  const bool is_told_by_counts =
      problem.operation == plan::Operation::allgather || problem.operation == plan::Operation::reduce_scatter;
  return is_told_by_counts && !problem.counts.empty() ? check_of(problem.counts) : problem.bytes;
}

std::uint32_t longest_message_of_counts(const plan::Problem& problem) {
  if (problem.operation != plan::Operation::allgather)
    return lines_of(problem.counts, static_cast<int>(problem.counts.size()));
  return count_lines(*std::max_element(problem.counts.begin(), problem.counts.end()));
}

Ending run_tiny_counts(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
                       const Reducer* reducer, Waiter& waiter) {
  LineCall call(seat, stated_bytes(problem), waiter);
  if (problem.operation == plan::Operation::allgather) return allgather(call, problem.counts, input, output);
  return reduce_scatter(call, problem.counts, input, output, *reducer);
}

}  // namespace espalier::execute
