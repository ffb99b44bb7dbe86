#include "mpi/run/watch.hpp"

#include "mpi/run/engine.hpp"
#include "watch/sighting.hpp"

namespace espalier::mpi {
namespace {

/// Ticks of the clock are as long on most systems. Nearly all waits are over by then.
constexpr std::uint64_t shown_after = 4'000'000;

}  // namespace

thread_local constinit std::optional<CallName> Naming::name_{};

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
  Situation at = engine_->situation();
  if (calls_ != nullptr) at.number = *calls_;
  look(at);
}

void Watch::begin_long_wait() noexcept {
  if (engine_ != nullptr) engine_->begin_long_wait();
}

void Watch::end_long_wait() noexcept {
  if (engine_ != nullptr) engine_->end_long_wait();
}

void Watch::look(const Situation& at) noexcept {
  const std::uint64_t now = watch::read_coarse_clock();
  if (at.call != call_) {
    call_ = at.call;
    since_ = now;
    return;
  }
  if (now - since_ < shown_after) return;
  if (line_.call.load(std::memory_order_relaxed) != call_) show(at);
}

void Watch::begin_left(execute::LeftToMpi::Doing doing, const execute::LeftCall& call) noexcept {
  line_.begin_left(doing, call, calls_ != nullptr ? *calls_ : 0);
}

void Watch::end_left() noexcept {
  line_.left.store(execute::LeftToMpi::end(line_.left.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

void Watch::show(const Situation& at) noexcept {
  line_.call.store(0, std::memory_order_release);
  line_.operation.store(static_cast<std::uint8_t>(at.operation), std::memory_order_relaxed);
  line_.form.store(static_cast<std::uint8_t>(at.form), std::memory_order_relaxed);
  line_.blocks.store(static_cast<std::uint8_t>(at.blocks), std::memory_order_relaxed);
  line_.bytes.store(at.bytes, std::memory_order_relaxed);
  line_.root.store(at.root.value, std::memory_order_relaxed);
  line_.since.store(watch::to_milliseconds(since_), std::memory_order_relaxed);
  line_.number.store(static_cast<std::uint32_t>(at.number), std::memory_order_relaxed);
  line_.call.store(call_, std::memory_order_release);
}

}  // namespace espalier::mpi
