#include "execute/waiting/waiting.hpp"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace espalier::execute {
namespace {

// A poke costs 50 to 300 ns, a look at a flag a few: one in 256 is lost in the noise, and still comes every 10 us.
constexpr std::uint32_t looks_per_poke = 256;
// A yield costs about a microsecond, more when it does hand the core over.
constexpr std::uint32_t yields_per_poke = 8;
// Sleeps end by themselves, because nobody wakes us when it is MPI that needs a poke. Short at first, for neighbours
// that wait for our part of a message, and from a millisecond on a tenth of the time that was slept before: so such a
// neighbour waits hardly longer than it has anyhow, and ranks that are idle for long leave others alone. A thousand
// wake-ups a second of each of six took a fifth of the speed of two that exchanged messages (docs/adr/0045).
constexpr std::chrono::microseconds first_sleep{100};
constexpr std::chrono::microseconds doubles_to{1000};

// The eight ranks of two cores hand a core round in a few yields. If it has not come after so many, somebody else has
// it (20 and 500 did as well, idle and beside another process).
constexpr std::uint32_t patient_yields = 100;

std::uint32_t first_sleep_after(Waiting scheme, std::uint32_t spin) noexcept {
  if (scheme == Waiting::futex) return spin;
  if (scheme == Waiting::auto_) return spin + patient_yields;
  return std::numeric_limits<std::uint32_t>::max();
}

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // unlike yield it really waits a little
#endif
}

}  // namespace

PatientWaiter::PatientWaiter(Waiting scheme, std::uint32_t spin) noexcept
    : scheme_(scheme), spin_(spin), sleeps_from_(first_sleep_after(scheme, spin)) {}

bool PatientWaiter::pause(std::uint32_t attempt, Bell* bell) noexcept {
  if (attempt <= sleeps_from_) {  // before the first sleep of this wait
    announced_at_ = nullptr;
    patience_ = first_sleep;
  }
  if (scheme_ == Waiting::spin || attempt < spin_) {
    relax();
    if (attempt % looks_per_poke == looks_per_poke - 1) poke();
    return false;
  }
  if (attempt >= sleeps_from_ && bell != nullptr) return doze(*bell);
  if (is_standing_ && keeps_core(attempt)) return false;
  spin_ > 0 ? give_away() : yield();
  if (attempt % yields_per_poke == yields_per_poke - 1) poke();
  return false;
}

/// Yields, and looks what that says about who else is here.
void PatientWaiter::give_away() noexcept {
  const Company::Time begin = now();
  yield();
  const Company::Time end = now();
  const Company::Advice advice = company_.note_yield(end - begin, end);
  if (advice == Company::Advice::nap) nap();
  if (advice != Company::Advice::stand) return;
  is_standing_ = true;
  stands_until_ = end + Company::standing;
}

/// Looks once more without yielding; false when that has gone on for long enough.
bool PatientWaiter::keeps_core(std::uint32_t attempt) noexcept {
  relax();
  if (attempt % looks_per_poke != looks_per_poke - 1) return true;
  poke();
  return is_standing_ = now() < stands_until_;
}

void PatientWaiter::yield() noexcept { sched_yield(); }

/// The shortest sleep there is: the kernel's slack for timers, 50 us.
void PatientWaiter::nap() noexcept {
  const timespec moment{0, 1};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
}

Company::Time PatientWaiter::now() const noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

/// In turn announces and sleeps. The caller looks in between, as Bell wants it: with the announcement made, and for the
/// same neighbour, or there is another bell and another announcement.
bool PatientWaiter::doze(Bell& bell) noexcept {
  if (announced_at_ != &bell) {
    poke();
    announced_at_ = &bell;
    ticket_ = bell.announce();
    return false;
  }
  bell.sleep(ticket_, patience_);
  patience_ = std::min(patience_ < doubles_to ? 2 * patience_ : patience_ * 11 / 10, longest_sleep());
  announced_at_ = nullptr;
  return true;
}

}  // namespace espalier::execute
