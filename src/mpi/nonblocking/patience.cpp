#include "mpi/nonblocking/patience.hpp"

#include <algorithm>

#include "mpi/process/library.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {

bool has_core() noexcept {
  static const bool has = [] {
    const Facts facts = Library::get().make_facts();
    return std::max(facts.processes_on_host, 1) <= std::min(facts.cores, facts.host_cores);
  }();
  return has;
}

void let_others_advance() noexcept {
  if (!has_core()) let_others_run();
}

Patience::Patience()
    : waiter_(Waiting::yield, has_core() ? static_cast<std::uint32_t>(Library::get().settings().wait_spin) : 0) {}

}  // namespace espalier::mpi
