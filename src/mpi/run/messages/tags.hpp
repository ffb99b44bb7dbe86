#pragma once
// Numbers that tell this process's communicators apart in messages to it.

#include <algorithm>
#include <cstdint>
#include <deque>
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
    if (free_.size() < least_resting) return std::exchange(next_, next_ + 2);
    const std::int32_t tag = free_.front();
    free_.pop_front();
    std::erase(left_, tag);
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
  /// So many rest before one is used again. Where some rank of its communicator left a call, this one may not have
  /// noticed, and what was under way then is to be nobody's.
  static constexpr std::size_t least_resting = 4096;

  std::mutex mutex_;
  std::int32_t next_ = first;
  std::deque<std::int32_t> free_;
  std::vector<std::int32_t> left_;
};

}  // namespace espalier::mpi
