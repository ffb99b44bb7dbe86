#include "base/transport.hpp"

#include "base/error.hpp"

namespace espalier {

const char* name(Transport transport) { return transport == Transport::ucx ? "ucx" : "mpi"; }

Transport parse_transport(std::string_view text) {
  for (const Transport transport : {Transport::mpi, Transport::ucx})
    if (text == name(transport)) return transport;
  throw Error("write mpi or ucx");
}

}  // namespace espalier
