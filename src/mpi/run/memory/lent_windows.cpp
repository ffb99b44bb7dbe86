#include "mpi/run/memory/lent_windows.hpp"

namespace espalier::mpi {

// Filled with pages by the process that will write it, so that they lie on its NUMA node.
std::optional<Bytes> ArenaWindows::take() noexcept {
  const std::optional<Bytes> place = arena_->allocate(bytes_, 1);
  if (!place || !transports::Arena::is_long(bytes_) || arena_->populate(*place, bytes_)) return place;
  arena_->release(*place);
  return std::nullopt;
}

}  // namespace espalier::mpi
