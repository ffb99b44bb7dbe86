#pragma once
// How fast a rank writes where its readers have looked: whether two copies through memory take less than one by the
// system, and whether stores had better go past the caches.

#include <chrono>
#include <cstdint>

#include "base/ids.hpp"

namespace espalier::execute {

/// What one rank has found: how fast it writes to its window, whose lines its readers have had in their caches. Where
/// both share a cache that takes no time to speak of; where they do not, each line is fetched from far away. Found from
/// time to time, since processes, and the processors of a virtual machine, move about. It is this rank's own opinion,
/// so it may choose only what nobody else has to know beforehand.
class Closeness {
 public:
  using Time = std::chrono::steady_clock::duration;

  /// Whether the next piece is to be timed: one of 64, so that clocks, and the slower way, cost next to nothing. The
  /// first is not: it meets memory that nobody has used.
  bool is_due() noexcept { return count_++ % period == 1; }

  /// Takes note of how long it took to write this much.
  void learn(Bytes bytes, Time time) noexcept {
    is_close_ = time < longest_if_close * (bytes >> 10);
    is_slow_ = time > longest_through_caches * (bytes >> 10);
  }

  /// Not before something was learnt.
  bool is_close() const noexcept { return is_close_; }
  /// Whether stores past the caches, whose lines one reader then fetches from memory, take less for both together. Not
  /// before something was learnt.
  bool is_slow() const noexcept { return is_slow_; }

 private:
  static constexpr std::uint32_t period = 64;
  /// Two ranks, 8 KB: 80 ns between processors that share a cache (a line's round trip 110 to 140 ns), 200 to 230 ns
  /// between others (550 to 690 ns). So fast a window is read as fast, and a call of the system alone takes longer.
  static constexpr std::chrono::nanoseconds longest_if_close{17};
  /// On some machines each line that a reader has a copy of is taken from it alone, before the next one. Two ranks, 16
  /// and 64 KB, written and read, in us: near cores 1.7 + 0.5 and 7.4 + 1.7, past the caches 0.6 + 1.3 and 4.2 + 3.4;
  /// far ones 6.5 + 1.1 and 27.8 + 3.3, past the caches 0.3 + 1.3 and 2.1 + 3.4. So a KB past the caches takes up to 65
  /// ns to write, and 20 to 50 ns more to read.
  static constexpr std::chrono::nanoseconds longest_through_caches{85};

  std::uint32_t count_ = 0;
  bool is_close_ = false;
  bool is_slow_ = false;
};

}  // namespace espalier::execute
