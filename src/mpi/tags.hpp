#pragma once
// Numbers that tell this process's communicators apart in messages to it.

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace espalier::mpi {

/// Thread safe. A tag is this process's alone: its communicator's other ranks are told, so that nobody has to agree.
class Tags {
 public:
  /// Of messages by which a rank leaves a communicator for good: each holds the receiver's tag there.
  static constexpr std::int32_t of_leavers = 0;
  static constexpr std::int32_t first = 2;
  /// A communicator has two tags: the one it is known by, and one of messages that say what their sender does.
  static constexpr std::int32_t of_frames(std::int32_t tag) { return tag + 1; }

  /// One that no live communicator has.
  std::int32_t take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::exchange(next_, next_ + 2);
    const std::int32_t tag = free_.back();
    free_.pop_back();
    return tag;
  }
  /// No message with it is under way any more.
  void give_back(std::int32_t tag) {
    const std::lock_guard lock(mutex_);
    free_.push_back(tag);
  }

  /// Somebody has left the communicator of this process that has the tag.
  void note_left(std::int32_t tag) {
    const std::lock_guard lock(mutex_);
    left_.push_back(tag);
  }
  bool is_left(std::int32_t tag) {
    const std::lock_guard lock(mutex_);
    return std::find(left_.begin(), left_.end(), tag) != left_.end();
  }

 private:
  std::mutex mutex_;
  std::int32_t next_ = first;
  std::vector<std::int32_t> free_, left_;
};

}  // namespace espalier::mpi
