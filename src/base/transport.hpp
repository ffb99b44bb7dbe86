#pragma once
// What carries messages between nodes.

#include <cstdint>
#include <string_view>

namespace espalier {

enum class Transport : std::uint8_t {
  mpi,  ///< point-to-point messages of the MPI underneath
  ucx,  ///< writes into remote memory by UCX (docs/ideas/ucx.md)
};

/// "mpi", "ucx".
const char* name(Transport transport);
/// Reads what name() writes. Throws Error.
Transport parse_transport(std::string_view text);

}  // namespace espalier
