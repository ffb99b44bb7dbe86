// Bells in a simulation: instead of the system's sleep, simulated time passes. Takes the place of
// execute/waiting/bell.cpp.

#include "execute/waiting/bell.hpp"

#include "mpi/simulated/neighbourhood.hpp"

namespace espalier::execute {

void Bell::sleep(Ticket, std::chrono::microseconds) noexcept { mpi::Neighbourhood::here().sleep_at(*this); }

void Bell::wake() noexcept {
  word_.fetch_add(1, std::memory_order_release);
  mpi::Neighbourhood::here().wake_at(*this);
}

}  // namespace espalier::execute
