#pragma once
// Numbers that tell this process's communicators apart in messages to it.

#include <cstdint>
#include <mutex>
#include <vector>

namespace espalier::mpi {

/// Thread safe. A tag is this process's alone: its communicator's other ranks are told, so that nobody has to agree.
class Tags {
 public:
  /// One that no live communicator has, from 0 on.
  std::int32_t take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return next_++;
    const std::int32_t tag = free_.back();
    free_.pop_back();
    return tag;
  }
  /// No message with it is under way any more.
  void give_back(std::int32_t tag) {
    const std::lock_guard lock(mutex_);
    free_.push_back(tag);
  }

 private:
  std::mutex mutex_;
  std::int32_t next_ = 0;
  std::vector<std::int32_t> free_;
};

}  // namespace espalier::mpi
