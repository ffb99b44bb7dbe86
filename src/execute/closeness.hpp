#pragma once
// How fast a rank writes where another has looked: whether two copies through memory take less than one by the
// system, and in which way the two had better pass cells on.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/ids.hpp"

namespace espalier::execute {

/// How a cell goes from its writer to its one reader. Where both find the lines in the end is theirs alone to know: all
/// ways move the same bytes (docs/adr/0017 has what each takes).
struct Way {
  /// The writer goes past the caches, and the reader fetches the lines from memory. What is folded into a cell never
  /// does: there lines are taken over all the same, which costs no more after these.
  bool is_streamed = false;
  /// The reader takes the lines over: it writes one byte of each again, as it is. Taking lines away from a reader that
  /// has copies, one by one, is what the writer would spend its time with otherwise.
  bool is_taken = false;
  /// Part of a trial, and not how cells go otherwise.
  bool is_trial = false;
  /// The writer looks how long it takes.
  bool is_timed = false;
};

/// What one rank has found: how fast it writes to its window, whose lines their readers have had in their caches. Found
/// from time to time, since processes, and the processors of a virtual machine, move about. It is this rank's own
/// opinion, so it may choose only what nobody else has to know beforehand.
class Closeness {
 public:
  using Time = std::chrono::nanoseconds;

  /// How the next cell goes. In trials, some cells in a row, lines come back as they do not otherwise, and the last
  /// ones are timed; the first trial comes at once. Of the others one in 64 is, past no caches: lines that were taken
  /// over come back alike however they were written. So this rank soon finds out that processors have moved.
  Way next(bool may_stream) noexcept {
    const std::uint32_t at = count_++ % between_left, then = at % between_taken;
    const Way usual = best(may_stream);
    if (at < trial) return look(false, at, trial);
    if (!usual.is_taken && left_ > longest_if_left && then >= trial && then < 2 * trial)
      return look(true, then, 2 * trial);
    if (at < 2 * trial || at % between_looks != between_looks - 1) return usual;
    least_ = Time::max();
    return {false, usual.is_taken, true, true};
  }

  /// Takes note of how long it took to write this much, this way. The least of a trial counts: others may have had the
  /// processor meanwhile.
  void learn(const Way& way, Bytes bytes, Time time) noexcept {
    least_ = std::min(least_, time * 1024 / static_cast<std::int64_t>(bytes));
    (way.is_taken ? taken_ : left_) = least_;
    is_close_ = least_ < longest_if_close;
  }

  /// Whether the writer finds so little to take away that a call of the system takes longer than two copies. Not before
  /// something was learnt.
  bool is_close() const noexcept { return is_close_; }

 private:
  /// A cell of a trial that ends at `end`.
  Way look(bool is_taken, std::uint32_t at, std::uint32_t end) noexcept {
    if (at == end - timed) least_ = Time::max();
    return {false, is_taken, true, at >= end - timed};
  }

  Way best(bool may_stream) const noexcept {
    const bool is_taken = left_ > longest_if_left && taken_ * least_gain < left_;
    const bool is_streamed = may_stream && (is_taken ? taken_ : left_) > longest_through_caches;
    return {is_streamed, is_taken};
  }

  /// Cells of a trial. Those that are timed have to have been read in this trial: so there are more of them than a
  /// pipeline has cells, in two banks.
  static constexpr std::uint32_t trial = 40, timed = 4;
  /// From one trial of lines that are left with their reader to the next, and of lines that it takes over where these
  /// seemed to gain too little. The former take two to four times as long where they are slow at all: they shall cost
  /// a few percent.
  static constexpr std::uint32_t between_left = 4096, between_taken = 1024;
  static constexpr std::uint32_t between_looks = 64;

  /// All for a KB. Two ranks, 8 KB: 80 ns between processors that share a cache (a line's round trip 110 to 140 ns),
  /// 200 to 230 ns between others (550 to 690 ns). So fast a window is read as fast, and a call of the system alone
  /// takes longer.
  static constexpr Time longest_if_close{17};
  /// Left with their reader, a KB of lines is written in 10 ns near and 28 ns far where they are taken away fast, in 21
  /// ns between two threads of one core; where not, in 110 ns near and 560 ns far.
  static constexpr Time longest_if_left{40};
  /// Taken over by the reader, in 30 ns near and 80 to 120 ns far. That takes the reader longer, so the writer has to
  /// gain this factor: where the cells of many ranks fall out of the caches, it gains less, and both together lose.
  static constexpr int least_gain = 2;
  /// Past the caches in 25 ns, but then they are read in 80 to 110 and not in 30.
  static constexpr Time longest_through_caches{60};

  std::uint32_t count_ = 0;
  bool is_close_ = false;
  Time left_{0}, taken_{0};  ///< as last found
  Time least_ = Time::max();
};

}  // namespace espalier::execute
