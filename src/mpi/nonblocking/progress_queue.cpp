#include "mpi/nonblocking/progress_queue.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/patience.hpp"
#include "mpi/process/communicator.hpp"
#include "mpi/process/library.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {

ProgressQueue& ProgressQueue::get() {
  static ProgressQueue* const queue = new ProgressQueue;  // MPI may call back as late as MPI_Finalize
  return *queue;
}

/// Null: it has no calls.
ProgressQueue::Queue* ProgressQueue::find(const Channel& channel) noexcept {
  for (Queue& queue : queues_)
    if (queue.channel == channel) return queue.calls.empty() ? nullptr : &queue;
  return nullptr;
}

ProgressQueue::Queue& ProgressQueue::find_or_make(const Channel& channel) {
  for (Queue& queue : queues_)
    if (queue.channel == channel) return queue;
  for (Queue& queue : queues_)
    if (queue.calls.empty() && queues_.size() > most_idle) {
      queue.channel = channel;
      return queue;
    }
  return queues_.emplace_back(Queue{channel});
}

bool ProgressQueue::decide(MPI_Comm comm, Pending& call) noexcept {
  const Queue* const queue = find({comm});
  const bool are_decided = queue == nullptr || queue->decided == queue->calls.size();
  return are_decided && call.decide(queue == nullptr);
}

// Most short calls are over before they would be queued.
void ProgressQueue::add(const Channel& channel, Pending& call) {
  const bool is_next = find(channel) == nullptr;
  const bool is_decided = is_next && call.decide(true);
  const bool is_helped = finds_help(call);  // whether or not its turn has come
  if (is_decided && !is_helped && call.advance(true)) return call.leave();
  Queue& queue = find_or_make(channel);
  if (is_decided || (queue.decided == queue.calls.size() && call.decide(false))) ++queue.decided;
  queue.calls.push_back(&call);
  // Blocking calls look for pending ones only where they look for their state.
  if (!busy_.exchange(true, std::memory_order_relaxed)) Communicator::forget_last_used();
}

/// Whether somebody else goes on with it at once, who is called in any case. What a thread finds to do when it begins a
/// call, it does: it copies all that is there.
bool ProgressQueue::finds_help(const Pending& call) noexcept {
  if (!call.wants_help()) return false;
  wants_help_.store(true);
  cries_for_help_.fetch_add(1, std::memory_order_relaxed);
  return wake_helper();
}

void ProgressQueue::advance() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_advancing_) return;
  advance([](Queue& queue, std::size_t at, bool is_next) {
    Pending& call = *queue.calls[at];
    if (at == queue.decided && !call.decide(is_next)) return Step::stop;
    queue.decided = std::max(queue.decided, at + 1);
    return call.advance(is_next) ? Step::over : Step::on;
  });
  part();
  if (!are_all_over()) return;
  if (queues_.size() > most_idle) queues_.clear();
  busy_.store(false, std::memory_order_relaxed);
  wants_help_.store(false, std::memory_order_relaxed);
  look_whether_idle();
}

void ProgressQueue::advance_aside() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_advancing_) return;
  advance([](Queue& queue, std::size_t at, bool is_next) {
    if (at == queue.decided) return Step::stop;
    return queue.calls[at]->advance_aside(is_next) ? Step::over : Step::on;
  });
  if (are_all_over()) wants_help_.store(false, std::memory_order_relaxed);
}

template <class TakeStep>
void ProgressQueue::advance(const TakeStep& take_step) noexcept {
  is_advancing_ = true;
  for (std::size_t q = 0; q < queues_.size(); ++q)
    if (!queues_[q].calls.empty()) advance(queues_[q], take_step);
  is_advancing_ = false;
}

// What native does may be over before those in front of it.
template <class TakeStep>
void ProgressQueue::advance(Queue& queue, const TakeStep& take_step) noexcept {
  auto& calls = queue.calls;
  std::size_t left = 0;
  for (std::size_t at = 0; at < calls.size(); ++at) {
    const Step step = take_step(queue, at, left == 0);
    if (step == Step::stop) break;
    if (step == Step::on) {
      ++left;
      continue;
    }
    calls[at]->next_ = left_;
    left_ = std::exchange(calls[at], nullptr);
  }
  if (left == queue.decided) return;
  std::erase(calls, nullptr);
  queue.decided = left;
}

void ProgressQueue::part() noexcept {
  while (left_ != nullptr) std::exchange(left_, left_->next_)->leave();
}

bool ProgressQueue::are_all_over() const noexcept {
  return std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.calls.empty(); });
}

void ProgressQueue::when_idle(std::function<void()> work) noexcept {
  const std::unique_lock lock(mutex_);
  try {
    works_.push_back(std::move(work));
  } catch (const std::bad_alloc&) {
    return;  // what it would have freed stays
  }
  look_whether_idle();
}

void ProgressQueue::look_whether_idle() noexcept {
  if (works_.empty() || !are_all_over() || Requests::has_persistent()) return;
  for (const auto& work : std::exchange(works_, {})) work();
}

bool ProgressQueue::has(MPI_Comm comm, bool of_all_channels) noexcept {
  const std::unique_lock lock(mutex_);
  if (!of_all_channels) return find({comm}) != nullptr;
  return std::any_of(queues_.begin(), queues_.end(),
                     [&](const Queue& queue) { return queue.channel.comm == comm && !queue.calls.empty(); });
}

void ProgressQueue::finish(MPI_Comm comm) noexcept {
  wait_while_busy([&] { return !has(comm, false); });
}

void ProgressQueue::finish_channels(MPI_Comm comm) noexcept {
  wait_while_busy([&] { return !has(comm, true); });
}

void ProgressQueue::finish_all() noexcept {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point last = Clock::now() + std::chrono::seconds(10);
  bool is_late = false;
  wait_while_busy([&] { return is_late = Clock::now() > last; });
  if (is_late)
    Library::get().say_once(
        "nonblocking collectives were pending when MPI_Finalize was called: some rank never began, "
        "or never completed, the same ones");
}

}  // namespace espalier::mpi
