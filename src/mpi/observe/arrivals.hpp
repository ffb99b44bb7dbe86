#pragma once
// When the last rank of a host came to a call, and who has waited long in one: shared by the host's ranks of one
// communicator, told by their clock.

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
  /// The last call that a rank has waited long in, and the one before.
  struct Wait {
    std::atomic<std::uint64_t> call, since, call_before;
  };
  static constexpr std::size_t bytes(int ranks) {
    return turns * sizeof(Word) + static_cast<std::size_t>(ranks) * sizeof(Wait);
  }

  Arrivals() = default;
  Arrivals(std::byte* memory, int ranks)
      : words_(reinterpret_cast<Word*>(memory)), waits_(reinterpret_cast<Wait*>(words_ + turns)), ranks_(ranks) {}
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

  /// The rank waits in a call for longer than most do.
  void wait(std::uint64_t call, std::uint64_t since, int rank) const noexcept {
    Wait& mine = waits_[rank];
    if (const std::uint64_t before = mine.call.load(std::memory_order_relaxed); before != call)
      mine.call_before.store(before, std::memory_order_relaxed);
    mine.since.store(since, std::memory_order_relaxed);
    mine.call.store(call, std::memory_order_release);
  }
  /// For whom those did that are through. Who came last did not wait, or began to last of all: it has to wait when the
  /// others sleep meanwhile.
  struct Awaited {
    int candidates = 0;       ///< that have not waited long: who came last is one of them. 0: it is known
    int rank = -1;            ///< the first of these, or who came last
    std::uint64_t since = 0;  ///< when it had come, if that is known
  };
  Awaited awaited(std::uint64_t call) const noexcept {
    Awaited found, last;
    for (int rank = ranks_ - 1; rank >= 0; --rank) {
      const Wait& theirs = waits_[rank];
      const std::uint64_t in = theirs.call.load(std::memory_order_acquire);
      const std::uint64_t since = theirs.since.load(std::memory_order_relaxed);
      if (in == call && since >= last.since) last = {0, rank, since};
      if (in == call || theirs.call_before.load(std::memory_order_relaxed) >= call) continue;
      found = {found.candidates + 1, rank, in > call && found.candidates == 0 ? since : 0};
    }
    return found.candidates > 0 ? found : last;
  }

 private:
  static constexpr int rank_bits = 12;
  Word* words_ = nullptr;
  Wait* waits_ = nullptr;  ///< by rank
  int ranks_ = 0;
};

}  // namespace espalier::mpi
