// Stands in where the UCX headers were missing when this was built.

#include "base/error.hpp"
#include "transports/ucx/ucx.hpp"

namespace espalier::transports {

std::unique_ptr<UcxNetwork> UcxNetwork::open(Rank, int, const UcxOptions&) {
  throw Error("this Espalier was built without UCX: install its headers (Debian: libucx-dev) and build again");
}

}  // namespace espalier::transports
