#pragma once
// What a process tells of collectives on communicators that have no desks: their first calls, those of communicators
// that Espalier does not serve, and set-up itself. For whoever asks why a job stands still (src/watch).

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/watch_line.hpp"

namespace espalier::execute {

/// `count` ranks of MPI_COMM_WORLD, every `stride`-th from `first` on.
struct RankSpan {
  std::int32_t first = 0;
  std::int32_t stride = 1;
  std::int32_t count = 0;

  std::int32_t at(std::int32_t i) const { return first + i * stride; }
  friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

/// Those of a communicator, by rank: few where it was cut out of the world evenly.
inline std::vector<RankSpan> to_spans(std::span<const int> ranks) {
  std::vector<RankSpan> spans;
  for (const int rank : ranks) {
    RankSpan* const last = spans.empty() ? nullptr : &spans.back();
    if (last != nullptr && last->count == 1) last->stride = rank - last->first;
    if (last != nullptr && last->at(last->count) == rank)
      ++last->count;
    else
      spans.push_back({rank, 1, 1});
  }
  return spans;
}

/// Of that rank of the communicator; -1 where they do not say.
inline std::int32_t world_rank_of(std::span<const RankSpan> members, std::int32_t rank) {
  for (const RankSpan& span : members) {
    if (rank < span.count) return span.at(rank);
    rank -= span.count;
  }
  return -1;
}

/// A group's latest call. Written by its process alone; `left` last, so that who reads it before and after the rest
/// knows whether that belongs to it. What it says stays there when the call is over.
struct alignas(64) UnservedCall {
  /// Groups that take more are told without their members.
  static constexpr int most_spans = 17;

  struct Span {
    std::atomic<std::int32_t> first, stride, count;
  };

  std::atomic<std::uint64_t> left;        ///< LeftToMpi, with calls as all of a group's ranks count; 0: nothing is told
  std::atomic<std::uint64_t> bytes;       ///< WatchLine::bytes, as its root
  std::atomic<std::uint32_t> community;   ///< equal on all ranks of a group, and on no other's
  std::atomic<std::uint32_t> number;      ///< as the program counts calls of the communicator
  std::atomic<std::int32_t> rank, ranks;  ///< in the communicator
  std::atomic<std::int32_t> root;
  std::atomic<std::int32_t> spans;  ///< 0: who the members are is not told
  Span members[most_spans];

  /// What its process has last told; operation and blocks are LeftToMpi's. Each store and look is such that one at
  /// `left` afterwards tells whether it is of that call.
  void tell(const plan::Call& what, std::uint64_t word) noexcept {
    constexpr auto release = std::memory_order_release;
    number.store(static_cast<std::uint32_t>(what.number), release);
    bytes.store(what.bytes.value_or(0), release);
    root.store(what.root, release);
    left.store(word, release);
  }
  plan::Call what() const noexcept {
    constexpr auto acquire = std::memory_order_acquire;
    return {.root = root.load(acquire), .bytes = told_bytes(bytes.load(acquire)), .number = number.load(acquire)};
  }
};
static_assert(sizeof(UnservedCall) == 256);

/// A page of shared memory, which its process gets when it first needs it. Several threads may each be in a call.
struct UnservedPage {
  /// Tells it from whatever else lies there: no flag of a desk counts so far.
  static constexpr std::uint64_t written = 0x4553'5055'4e53'5256;  // "ESPUNSRV"
  static constexpr int most_calls = 15;

  std::atomic<std::uint64_t> mark;
  std::uint32_t job;  ///< WatchLine::community of MPI_COMM_WORLD
  std::int32_t pid;
  std::int32_t world_rank;
  UnservedCall calls[most_calls];
};
static_assert(sizeof(UnservedPage) <= 4096);

}  // namespace espalier::execute
