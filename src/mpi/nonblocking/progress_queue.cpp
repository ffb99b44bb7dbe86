#include "mpi/nonblocking/progress_queue.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "mpi/nonblocking/patience.hpp"
#include "mpi/process/communicator.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {

ProgressQueue& ProgressQueue::get() {
  static ProgressQueue* const queue = new ProgressQueue;  // MPI may call back as late as MPI_Finalize
  return *queue;
}

/// Null: it has no calls.
ProgressQueue::Queue* ProgressQueue::find(MPI_Comm comm) noexcept {
  for (Queue& queue : queues_)
    if (queue.comm == comm) return queue.calls.empty() ? nullptr : &queue;
  return nullptr;
}

ProgressQueue::Queue& ProgressQueue::find_or_make(MPI_Comm comm) {
  for (Queue& queue : queues_)
    if (queue.comm == comm) return queue;
  return queues_.emplace_back(Queue{comm});
}

bool ProgressQueue::decide(MPI_Comm comm, Pending& call) noexcept {
  const Queue* const queue = find(comm);
  const bool are_decided = queue == nullptr || queue->decided == queue->calls.size();
  return are_decided && call.decide(queue == nullptr);
}

void ProgressQueue::add(MPI_Comm comm, std::unique_ptr<Pending> call) {
  find_or_make(comm).calls.push_back(std::move(call));
  // Blocking calls look for pending ones only where they look for their state.
  if (!busy_.exchange(true, std::memory_order_relaxed)) Communicator::forget_last_used();
  advance();
}

void ProgressQueue::advance() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || std::exchange(is_advancing_, true)) return;
  for (std::size_t q = 0; q < queues_.size(); ++q)
    if (!queues_[q].calls.empty()) advance(queues_[q]);
  is_advancing_ = false;
  if (!is_idle()) return;
  if (queues_.size() > most_idle) queues_.clear();
  busy_.store(false, std::memory_order_relaxed);
  for (const auto& work : std::exchange(works_, {})) work();
}

bool ProgressQueue::is_idle() const noexcept {
  return std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.calls.empty(); });
}

// What native does may be over before those in front of it.
void ProgressQueue::advance(Queue& queue) noexcept {
  auto& calls = queue.calls;
  std::size_t left = 0;
  for (std::size_t at = 0; at < calls.size(); ++at) {
    const bool is_next = left == 0;
    if (at == queue.decided && !calls[at]->decide(is_next)) break;
    queue.decided = std::max(queue.decided, at + 1);
    if (calls[at]->advance(is_next))
      calls[at] = nullptr;
    else
      ++left;
  }
  if (left == queue.decided) return;
  std::erase(calls, nullptr);
  queue.decided = left;
}

void ProgressQueue::when_idle(std::function<void()> work) noexcept {
  const std::unique_lock lock(mutex_);
  if (is_idle()) return work();
  try {
    works_.push_back(std::move(work));
  } catch (const std::bad_alloc&) {
    // what it would have freed stays
  }
}

bool ProgressQueue::has(MPI_Comm comm) noexcept {
  const std::unique_lock lock(mutex_);
  return find(comm) != nullptr;
}

void ProgressQueue::finish(MPI_Comm comm) noexcept {
  wait_while_busy([&] { return !has(comm); });
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
