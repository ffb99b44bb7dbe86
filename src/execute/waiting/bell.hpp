#pragma once
// How a rank that sleeps hears that a neighbour has gone on. Part of what the neighbour writes in shared memory; ranks
// that never sleep pay nothing for it.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace espalier::execute {

/// One owner rings, any neighbours wait; in memory that all of them map, zero before first use. Even: nobody sleeps.
/// Odd: somebody does, or is about to. What is above the lowest bit counts rings.
///
///     owner                              neighbour
///     write data, raise flags            ticket = announce()
///     ring()                             look at the flag; not there yet:
///                                        sleep(ticket, …), then look again
///
/// No wake-up is lost. ring() and announce() are read-modify-writes of the same word, so one of them comes first:
///  - announce() first: ring() reads an odd word, counts, and wakes. The count makes the ticket stale before the
///    wake: a neighbour that is not asleep by then never will be, because the system compares word and ticket under the
///    lock that a wake takes. A later announcement does not make an old ticket good again, as counts do not come back
///    (not within 2^31 rings).
///  - ring() first: announce() reads what it, or a later read-modify-write, left, and that synchronises (release,
///    acquire): all that the owner wrote before is visible to the look that follows.
/// The owner's two changes in ring() need not be one: meanwhile neighbours only set a bit that is set. A neighbour that
/// gave up, or died, leaves it set; that costs the next ring() one system call.
class Bell {
 public:
  using Ticket = std::uint32_t;

  /// After writes that neighbours may wait for; by the owner only. A system call only if somebody sleeps.
  void ring() noexcept {
    if (word_.fetch_add(0, std::memory_order_acq_rel) & 1) wake();
  }

  /// Before the look at what to wait for.
  Ticket announce() noexcept { return word_.fetch_or(1, std::memory_order_acq_rel) | 1; }

  /// Returns once the owner has rung since the ticket, and no later than the time given; sooner, too, when the system
  /// likes. Look again in any case.
  void sleep(Ticket ticket, std::chrono::microseconds at_most) noexcept;

 private:
  void wake() noexcept;

  std::atomic<std::uint32_t> word_;
};
static_assert(sizeof(Bell) == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace espalier::execute
