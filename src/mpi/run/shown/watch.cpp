#include "mpi/run/shown/watch.hpp"

#include "mpi/run/engine.hpp"
#include "watch/sighting.hpp"

namespace espalier::mpi {
namespace {

/// Ticks of the clock are as long on most systems. Nearly all waits are over by then.
constexpr std::uint64_t shown_after = 4'000'000;

}  // namespace

thread_local constinit const plan::Call* ToldAs::made_ = nullptr;

Watch::Watch(const execute::Board& board, LocalRank me, const Identity& identity) : line_(board.watch(me)) {
  introduce(board, me, identity);
}

void Watch::introduce(const execute::Board& board, LocalRank rank, const Identity& identity) {
  execute::WatchLine& line = board.watch(rank);
  line.community = identity.community;
  line.pid = identity.pid;
  line.world_rank = identity.world_rank;
  line.rank = identity.rank;
  line.ranks = identity.ranks;
  line.mark.store(execute::WatchLine::written, std::memory_order_release);
}

Watch::~Watch() {
  if (!is_to_stay_) line_.mark.store(0, std::memory_order_relaxed);
}

void Watch::look() noexcept {
  if (engine_ == nullptr) return;
  plan::Call what = engine_->call_at_hand();
  what.number = count();
  look(engine_->calls(), what);
}

void Watch::begin_long_wait() noexcept {
  if (engine_ != nullptr) engine_->begin_long_wait();
}

void Watch::end_long_wait() noexcept {
  if (engine_ != nullptr) engine_->end_long_wait();
}

void Watch::look(std::uint64_t call, const plan::Call& what) noexcept {
  const std::uint64_t now = watch::read_coarse_clock();
  if (call != call_) {
    call_ = call;
    since_ = now;
    return;
  }
  if (now - since_ < shown_after) return;
  if (line_.call.load(std::memory_order_relaxed) != call_)
    line_.show_waiting(call_, what, watch::to_milliseconds(since_));
}

void Watch::begin_left(execute::LeftToMpi::Doing doing, plan::Call call) noexcept {
  call.number = count();
  line_.begin_left(doing, call);
}

void Watch::end_left() noexcept {
  line_.left.store(execute::LeftToMpi::end(line_.left.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

}  // namespace espalier::mpi
