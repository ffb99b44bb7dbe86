#include "transports/ucx/parts.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>

namespace espalier::transports::ucx {
namespace {

using Clock = std::chrono::steady_clock;

// Networks whose peers still wanted something when they were destroyed, and those that broke. Guarded by the worker's
// mutex; never destroyed itself, as the worker is not.
std::vector<std::unique_ptr<Parts>>& left_behind() {
  static auto& left = *new std::vector<std::unique_ptr<Parts>>;
  return left;
}

}  // namespace

bool Parts::has_parted() noexcept {
  bool has_parted = true;
  for (const auto& connection : connections)
    if (connection != nullptr && !connection->has_parted()) has_parted = false;
  return has_parted;
}

bool Parts::is_lost() const noexcept {
  return std::ranges::any_of(connections, [](const auto& c) { return c != nullptr && c->endpoint.is_broken(); });
}

void part(std::unique_ptr<Parts> parts, double seconds) {
  Worker& worker = parts->worker;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (std::uint32_t look = 0;; ++look) {
    {
      const std::lock_guard lock(worker.mutex());
      worker.progress();
      if (parts->has_parted()) return parts.reset();
      if (look % 64 == 0)
        for (const auto& connection : parts->connections)
          if (connection != nullptr) connection->endpoint.look_after_peer();
      if (parts->is_lost() || Clock::now() >= end) return left_behind().push_back(std::move(parts));
    }
    sched_yield();
  }
}

void tidy() {
  Worker& worker = Worker::get();
  const std::lock_guard lock(worker.mutex());
  if (left_behind().empty()) return;
  worker.progress();
  std::erase_if(left_behind(), [](const auto& parts) { return parts->has_parted(); });
}

}  // namespace espalier::transports::ucx
