#include "mpi/surroundings.hpp"

#include <sched.h>

#include "mpi/library.hpp"
#include "mpi/network.hpp"
#include "mpi/waiter.hpp"

namespace espalier::mpi {

void let_others_run() noexcept { sched_yield(); }

void disguise(Facts&) {}

std::unique_ptr<execute::Waiter> make_waiter(Library& library, bool is_oversubscribed, execute::Network* network) {
  const int spin = is_oversubscribed ? 0 : library.settings().wait_spin;
  return std::make_unique<MpiWaiter>(library.settings().waiting, static_cast<std::uint32_t>(spin), library.progress(),
                                     network);
}

std::unique_ptr<execute::Network> make_message_network(MPI_Comm comm) { return std::make_unique<MpiNetwork>(comm); }

std::unique_ptr<execute::Meter> make_meter(const topology::Topology&, Rank) { return nullptr; }

}  // namespace espalier::mpi
