#pragma once
// When the last rank of a host came to a call: shared by the host's ranks of one communicator, told by their clock.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace espalier::mpi {

/// A view of memory that all of them map, zero at first. Who came last in a call is kept in one word, the time above
/// the rank, so that the greatest is the last. Words are used in turn; times only grow, so none has to be cleared.
class Arrivals {
 public:
  static constexpr std::uint64_t turns = 64;  ///< a broadcast's root may be far ahead; beyond this it is not noticed
  static constexpr int most_ranks = 1 << 12;
  struct alignas(64) Word {
    std::atomic<std::uint64_t> latest;
  };
  static constexpr std::size_t bytes = turns * sizeof(Word);

  Arrivals() = default;
  explicit Arrivals(std::byte* memory) : words_(reinterpret_cast<Word*>(memory)) {}
  explicit operator bool() const { return words_ != nullptr; }

  /// `now` in nanoseconds since the communicator's first call: what lasts longer than 52 days is not told apart.
  void come(std::uint64_t call, std::uint64_t now, int rank) const noexcept {
    std::atomic<std::uint64_t>& word = words_[call % turns].latest;
    const std::uint64_t mine = now << rank_bits | static_cast<std::uint64_t>(rank);
    std::uint64_t known = word.load(std::memory_order_relaxed);
    while (known < mine && !word.compare_exchange_weak(known, mine, std::memory_order_relaxed)) continue;
  }

  struct Last {
    std::uint64_t time;
    int rank;
  };
  /// Of those that have come so far.
  Last last(std::uint64_t call) const noexcept {
    const std::uint64_t word = words_[call % turns].latest.load(std::memory_order_relaxed);
    return {word >> rank_bits, static_cast<int>(word & (most_ranks - 1))};
  }

 private:
  static constexpr int rank_bits = 12;
  Word* words_ = nullptr;
};

}  // namespace espalier::mpi
