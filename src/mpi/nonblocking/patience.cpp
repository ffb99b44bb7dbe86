#include "mpi/nonblocking/patience.hpp"

#include "mpi/process/library.hpp"
#include "mpi/setup/facts.hpp"
#include "mpi/setup/surroundings.hpp"

namespace espalier::mpi {

bool has_core() noexcept {
  const World& world = Library::get().world();
  static const bool has = world.has_met() ? !world.has_too_few_cores() : probe_cores_for_all();
  return has;
}

void let_others_advance() noexcept {
  if (!has_core()) let_others_run();
}

void poke_native() noexcept { Library::get().progress().poke(); }

Patience::Patience()
    : waiter_(Waiting::yield, has_core() ? static_cast<std::uint32_t>(Library::get().settings().wait_spin) : 0) {}

}  // namespace espalier::mpi
