#pragma once
// The threads that compute what takes longer than microseconds.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "service/fair_queue.hpp"

namespace espalier::service {

/// Some threads that take any job, and one that takes only those of little work: what is short never waits for what is
/// long, not even for the one that has begun. Jobs do not throw.
class Workers {
 public:
  using Job = std::function<void()>;
  /// Work that counts as little, as fabric::Weight has it: about a tenth of a second.
  static constexpr std::uint64_t kLittle = 1 << 21;

  explicit Workers(int threads);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Has the job done some time, by a thread of ours; never after stop().
  void submit(const std::string& address, std::uint64_t work, Job job);
  /// Waits for the jobs that have begun, and forgets the others.
  void stop();

 private:
  void serve(std::uint64_t most);

  std::mutex mutex_;
  std::condition_variable news_;
  FairQueue<Job> queue_;  ///< under mutex_, as is
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace espalier::service
