#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "execute/board.hpp"
#include "transports/arena.hpp"

namespace espalier::bindings {

namespace nb = nanobind;

namespace {

Bytes least_shared_memory(int ranks) {
  if (ranks < 1) throw Error("a communicator has a rank at least");
  return transports::Arena::least_limit(execute::Board::desk_bytes(ranks));
}

}  // namespace

void bind_memory(nb::module_& module) {
  module.def("least_shared_memory", &least_shared_memory, nb::arg("ranks"),
             "The least ESPALIER_SHM_LIMIT with which a communicator of so many ranks on one node is served, in bytes; "
             "with less, it is left to the MPI.");
}

}  // namespace espalier::bindings
