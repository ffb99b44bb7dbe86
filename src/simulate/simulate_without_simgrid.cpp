// Stands in for simulate_simgrid.cpp where SimGrid is missing.

#include "base/error.hpp"
#include "simulate/simulate.hpp"

namespace espalier::simulate {

bool has_simgrid() { return false; }

Result simulate_simgrid(const plan::Plan&, const Network&, const cost::Parameters&, const Options&) {
  throw Error(
      "espalier-simulator was built without SimGrid: choose --solver fluid, or install SimGrid "
      "(Debian: apt-get install libsimgrid-dev) and build Espalier again");
}

}  // namespace espalier::simulate
