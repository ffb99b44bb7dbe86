#include "execute/lines/tiny_run.hpp"

#include <sched.h>

namespace espalier::execute {
namespace {

/// Blocks of the message that `rank` writes in such a call; 0: it writes none.
int blocks_of(const plan::Problem& problem, int ranks, int rank) {
  using enum plan::Operation;
  const bool is_root = rank == problem.root.value, is_last = rank == ranks - 1;
  switch (problem.operation) {
    case broadcast: return is_root ? 1 : 0;
    case scatter: return is_root ? ranks : 0;
    case gather:
    case reduce: return is_root ? 0 : 1;
    case scan:
    case exscan: return is_last ? 0 : 1;
    case barrier:
    case allgather:
    case allreduce: return 1;
    case alltoall:
    case reduce_scatter: return ranks;
    case neighbor_allgather:
    case neighbor_alltoall: break;
  }
  return 0;
}

/// Whether `rank` reads something that `owner`, another, writes.
bool reads_from(const plan::Problem& problem, int rank, int owner, int ranks) {
  using enum plan::Operation;
  if (blocks_of(problem, ranks, owner) == 0) return false;
  if (problem.operation == gather || problem.operation == reduce) return rank == problem.root.value;
  if (problem.operation == scan || problem.operation == exscan) return owner < rank;
  return true;
}

bool may_write(Seat& seat, const plan::Problem& problem) noexcept {
  const int blocks = blocks_of(problem, seat.ranks(), seat.me().value);
  return blocks == 0 || seat.may_place(count_lines(problem.bytes) * static_cast<std::uint32_t>(blocks));
}

/// Whether what `owner` writes for this rank is there. Of the current call, or `ahead` of it.
bool is_there(const Seat& seat, const plan::Problem& problem, int owner, std::uint64_t ahead) noexcept {
  const int blocks = blocks_of(problem, seat.ranks(), owner), me = seat.me().value;
  const std::uint32_t lines = count_lines(problem.bytes);
  const RingPlace place = seat.peek_place(LocalRank(owner), lines * static_cast<std::uint32_t>(blocks));
  const std::uint32_t block = blocks == 1 ? 0 : static_cast<std::uint32_t>(me);
  const Line& last = seat.message_at(LocalRank(owner), place)[lines * (block + 1) - 1];  // they are written in order
  return last.call.load(std::memory_order_acquire) ==
         LineWord(seat.call() + ahead, 0, problem.bytes).at(place.begin).value();
}

}  // namespace

// Whoever others wait for writes before it looks: what it looks at is on its way between caches.
bool is_at_hand(Seat& seat, const plan::Problem& problem) noexcept {
  const int ranks = seat.ranks(), me = seat.me().value;
  const bool writes = blocks_of(problem, ranks, me) > 0;
  if (writes && !may_write(seat, problem)) return false;
  for (int r = 0; r < ranks; ++r) {
    const bool reads = r != me && reads_from(problem, me, r, ranks);
    if (reads && (writes || !is_there(seat, problem, r, 1))) return false;
  }
  return true;
}

TinyRun::TinyRun(Seat& seat, const plan::Problem& problem, const Buffers& buffers, const Reducer* reducer) noexcept
    : seat_(seat),
      problem_(problem),
      buffers_(buffers),
      call_(std::in_place, seat, problem, reducer, problem.bytes, moments_) {}

TinyRun::~TinyRun() {
  if (call_) call_->break_off();
}

std::optional<Ending> TinyRun::advance() noexcept try {
  if (!has_written_) {
    if (!may_write(seat_, problem_)) return std::nullopt;
    perform<Half::first>(*call_, problem_, buffers_.input, buffers_.output, own_);
    has_written_ = true;
  }
  if (!may_read()) return std::nullopt;
  perform<Half::second>(*call_, problem_, buffers_.input, buffers_.output, own_);
  const Ending ending = call_->ending();
  call_.reset();
  return ending;
} catch (const GivenUp&) {
  return Ending{Ending::broken};
}

// Whether somebody does something else is looked for now and then only: to look takes the writer's lines away.
bool TinyRun::may_read() noexcept {
  const int ranks = seat_.ranks();
  for (; there_ < ranks; ++there_, now_and_then_.begin_again()) {
    const int owner = (seat_.me().value + there_) % ranks;  // not all at the same line at once
    if (!reads_from(problem_, seat_.me().value, owner, ranks) || is_there(seat_, problem_, owner, 0)) continue;
    if (!now_and_then_.is_due() || !call_->does_other(LocalRank(owner), blocks_of(problem_, ranks, owner)))
      return false;
  }
  return true;
}

// Whoever has begun to write a message goes on with it, unless it dies.
bool TinyRun::Moments::pause(std::uint32_t, Bell*) noexcept {
  sched_yield();
  return false;
}

bool TinyRun::Moments::has_hope(bool) noexcept {
  constexpr std::uint32_t most = 1 << 16;
  return ++questions_ < most;
}

}  // namespace espalier::execute
