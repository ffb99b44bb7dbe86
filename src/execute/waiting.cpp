#include "execute/waiting.hpp"

#include <sched.h>

#include <algorithm>
#include <limits>

namespace espalier::execute {
namespace {

// A poke costs 50 to 300 ns, a look at a flag a few: one in 256 is lost in the noise, and still comes every 10 us.
constexpr std::uint32_t looks_per_poke = 256;
// A yield costs about a microsecond, more when it does hand the core over.
constexpr std::uint32_t yields_per_poke = 8;
// Sleeps end by themselves, because nobody wakes us when it is MPI that needs a poke. Short at first, for neighbours
// that wait for our part of a message; a thousand wake-ups a second cost an idle rank about 1 % of a core.
constexpr std::chrono::microseconds first_sleep{100};
constexpr std::chrono::microseconds longest_sleep{1000};

// The eight ranks of two cores hand a core round in a few yields. If it has not come after so many, somebody else has
// it (20 and 500 did as well, idle and beside another process).
constexpr std::uint32_t patient_yields = 100;

std::uint32_t first_sleep_after(Waiting scheme, std::uint32_t spin) noexcept {
  if (scheme == Waiting::futex) return spin;
  if (scheme == Waiting::automatic) return spin + patient_yields;
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

void PatientWaiter::pause(std::uint32_t attempt, Bell* bell) noexcept {
  if (scheme_ == Waiting::spin || attempt < spin_) {
    relax();
    if (attempt % looks_per_poke == looks_per_poke - 1) poke();
    return;
  }
  if (attempt >= sleeps_from_ && bell != nullptr) return doze(attempt == sleeps_from_, *bell);
  sched_yield();
  if (attempt % yields_per_poke == yields_per_poke - 1) poke();
}

/// In turn announces and sleeps. The caller looks in between, as Bell wants it: with the announcement made, and for the
/// same neighbour, or there is another bell and another announcement.
void PatientWaiter::doze(bool is_new, Bell& bell) noexcept {
  if (is_new) {
    announced_at_ = nullptr;
    patience_ = first_sleep;
  }
  if (announced_at_ != &bell) {
    poke();
    announced_at_ = &bell;
    ticket_ = bell.announce();
    return;
  }
  bell.sleep(ticket_, patience_);
  patience_ = std::min(2 * patience_, longest_sleep);
  announced_at_ = nullptr;
}

}  // namespace espalier::execute
