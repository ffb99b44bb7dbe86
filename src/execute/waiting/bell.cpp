#include "execute/waiting/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace espalier::execute {
namespace {

// Not FUTEX_PRIVATE: neighbours are processes.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void Bell::sleep(Ticket ticket, std::chrono::microseconds at_most) noexcept {
  const timespec timeout{at_most.count() / 1'000'000, at_most.count() % 1'000'000 * 1000};
  futex(word_, FUTEX_WAIT, ticket, &timeout);  // rung, timed out or interrupted: the caller looks again
}

void Bell::wake() noexcept {
  word_.fetch_add(1, std::memory_order_release);
  futex(word_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace espalier::execute
