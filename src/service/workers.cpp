#include "service/workers.hpp"

namespace espalier::service {

Workers::Workers(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(~std::uint64_t{0}); });
  threads_.emplace_back([this] { serve(kLittle); });
}

void Workers::submit(const std::string& address, std::uint64_t work, Job job) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push(address, work, std::move(job));
  }
  // All of them: a job that is much would wake the one in vain that takes only little.
  news_.notify_all();
}

void Workers::serve(std::uint64_t most) {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    auto job = queue_.pop(most);
    if (!job) {
      news_.wait(lock);
      continue;
    }
    lock.unlock();
    (*job)();
    job.reset();
    lock.lock();
  }
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  news_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace espalier::service
