#include "watch/sighting.hpp"

#include <algorithm>
#include <ctime>

#include "execute/board.hpp"

namespace espalier::watch {
namespace {

using execute::Board;
using execute::UnservedCall;
using execute::UnservedPage;
using execute::WatchLine;

// Of all that a rank may do after a call, the last is to raise its flag for it; flags count up.
std::uint64_t last_finished(const Board& board, LocalRank rank) {
  return board.flag(rank, plan::Flag::done).load(std::memory_order_acquire) >> plan::tick_bits;
}

/// Of milliseconds modulo 2^32; 0 where the rank has come after the clock was read.
double seconds_between(std::uint32_t since, std::uint32_t now) {
  return std::max(static_cast<std::int32_t>(now - since), 0) * 1e-3;
}

Sighting look_at(const Board& board, LocalRank rank, std::uint64_t now) {
  const WatchLine& line = board.watch(rank);
  Sighting seen{line.community, line.pid, line.world_rank, line.rank, line.ranks};
  seen.finished = last_finished(board, rank);
  seen.call = line.call.load(std::memory_order_acquire);
  seen.what = line.what();
  seen.seconds = seconds_between(line.since.load(std::memory_order_relaxed), to_milliseconds(now));
  seen.left = execute::LeftToMpi::from_word(line.left.load(std::memory_order_relaxed));
  return seen;
}

void look_at(const Board& board, std::uint64_t now, std::vector<Sighting>& found) {
  std::uint32_t community = 0;
  for (LocalRank r(0); r.value < board.shape().ranks; ++r.value) {
    const WatchLine& line = board.watch(r);
    if (line.mark.load(std::memory_order_acquire) != WatchLine::written) continue;
    if (community == 0) community = line.community;
    if (line.community == community) found.push_back(look_at(board, r, now));
  }
}

/// Nothing where the spans are none that its owner has written, all of them.
std::vector<execute::RankSpan> read_members(const UnservedCall& call, int ranks) {
  std::vector<execute::RankSpan> spans;
  std::int64_t count = 0;
  const int most = std::min(call.spans.load(std::memory_order_acquire), UnservedCall::most_spans);
  for (int i = 0; i < most; ++i) {
    const UnservedCall::Span& span = call.members[i];
    spans.push_back({span.first.load(std::memory_order_acquire), span.stride.load(std::memory_order_acquire),
                     span.count.load(std::memory_order_acquire)});
    count += spans.back().count;
  }
  if (count != ranks) spans.clear();
  return spans;
}

void look_at(const UnservedPage& page, std::vector<Sighting>& found) {
  for (int place = 0; place < UnservedPage::most_calls; ++place) {
    const UnservedCall& call = page.calls[place];
    const std::uint64_t word = call.left.load(std::memory_order_acquire);
    Sighting seen{call.community.load(std::memory_order_acquire), page.pid, page.world_rank,
                  call.rank.load(std::memory_order_acquire), call.ranks.load(std::memory_order_acquire)};
    seen.what = call.what();
    seen.left = execute::LeftToMpi::from_word(word);
    seen.job = page.job;
    seen.place = place;
    seen.members = read_members(call, seen.ranks);
    if (word != 0 && call.left.load(std::memory_order_relaxed) == word) found.push_back(std::move(seen));
  }
}

}  // namespace

std::vector<Sighting> find_ranks(const transports::Arena& arena) {
  std::vector<Sighting> found;
  const std::uint64_t now = read_coarse_clock();
  for (const auto& [offset, bytes] : arena.blocks()) {
    const auto* const page = reinterpret_cast<const UnservedPage*>(arena.at(offset));
    if (bytes >= sizeof(UnservedPage) && page->mark.load(std::memory_order_acquire) == UnservedPage::written)
      look_at(*page, found);
    else
      look_at(Board(arena.at(offset), {static_cast<int>(bytes / Board::desk_bytes(1)), 0}), now, found);
  }
  return found;
}

std::uint64_t read_coarse_clock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace espalier::watch
