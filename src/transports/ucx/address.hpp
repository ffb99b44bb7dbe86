#pragma once
// The bytes by which ranks find each other.

#include <cstddef>
#include <span>
#include <vector>

#include "transports/ucx/endpoint.hpp"
#include "transports/ucx/ucx.hpp"

namespace espalier::transports::ucx {

/// Pure.
std::vector<std::byte> write_address(const PeerAddress& address, const UcxOptions& options);

/// Refers to `bytes`. Throws Error when it is no address or was written with other options.
PeerAddress read_address(std::span<const std::byte> bytes, const UcxOptions& options);

}  // namespace espalier::transports::ucx
