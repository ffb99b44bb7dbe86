#include "mpi/waiter.hpp"

#include <sched.h>

namespace espalier::mpi {
namespace {

// A poke costs 50 to 300 ns, a look at a flag a few: one in 256 is lost in the noise, and still comes every 10 us.
constexpr std::uint32_t looks_per_poke = 256;
// A yield costs about a microsecond, more when it does hand the core over.
constexpr std::uint32_t yields_per_poke = 8;

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // unlike yield it really waits a little
#endif
}

}  // namespace

void MpiWaiter::pause(std::uint32_t attempt) noexcept {
  if (attempt < spin_) {
    relax();
    if (attempt % looks_per_poke == looks_per_poke - 1) poke();
    return;
  }
  sched_yield();
  if (attempt % yields_per_poke == yields_per_poke - 1) poke();
}

}  // namespace espalier::mpi
