#pragma once
// Ranks that have a core each and yet begin on one.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace espalier::execute {

/// Tells by how long yields take whether somebody else is on this rank's core, and what gives the kernel a reason to
/// part the two (docs/adr/0021).
///
/// A launcher that binds nothing starts ranks wherever it runs itself. The kernel parts those that keep a core busy:
/// one waits for it while the other spins, and is taken elsewhere by the next core that looks for work. It leaves alone
/// those that ran a moment ago (half a millisecond), for the sake of their caches; and two that yield to each other
/// have always just run. So they stay together for tens of milliseconds, each call taking both their turns.
///
///     nap     the kernel looks for an idle core for whoever wakes up: that is all it takes, as a rule
///     stand   keep the core for a tick of the kernel's, so that the other waits long enough to be taken
///
/// In turn, at once and then ever more seldom: where no core is idle, because others work there, neither helps.
class Company {
 public:
  using Time = std::chrono::nanoseconds;
  enum class Advice : std::uint8_t { none, nap, stand };

  /// A yield has taken so long and is over `now`, by any clock that does not go back.
  Advice note_yield(Time took, Time now) noexcept {
    if (took < shortest_turn) return Advice::none;
    // One alone may have been an interrupt, or the host's of a virtual machine.
    const bool is_second = now - last_ <= Time(chance);
    last_ = now;
    if (!is_second || now < next_) return Advice::none;
    if (now - next_ > Time(memory)) {
      interval_ = first_interval;
      advice_ = Advice::stand;
    }
    next_ = now + interval_;
    interval_ = std::min(2 * interval_, longest_interval);
    return advice_ = advice_ == Advice::nap ? Advice::stand : Advice::nap;
  }

  /// How long to stand: a tick of 250 a second, and what the kernel calls a moment.
  static constexpr Time standing = std::chrono::microseconds(4500);

 private:
  /// With nobody else there a yield takes 0.3 to 1 us. Another rank's turn is 2000 looks, 40 to 80 us; another
  /// program's a time slice.
  static constexpr Time shortest_turn = std::chrono::microseconds(10);
  static constexpr Time chance = std::chrono::milliseconds(10);
  static constexpr Time first_interval = std::chrono::milliseconds(1);
  /// A nap of 60 us and a stand in twice this time are not felt, neither here nor by a thread of the program that has
  /// work to do on this core while we wait.
  static constexpr Time longest_interval = std::chrono::milliseconds(1024);
  static constexpr Time memory = std::chrono::seconds(1);

  Time last_{Time::min() / 2}, next_{Time::min() / 2};
  Time interval_ = first_interval;
  Advice advice_ = Advice::stand;
};

}  // namespace espalier::execute
