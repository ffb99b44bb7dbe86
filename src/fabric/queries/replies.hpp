#pragma once
// The line protocol's replies about one fabric (docs/reference/protocol.md). Each appends whole lines. Pure.

#include <string>
#include <string_view>

#include "fabric/delays.hpp"
#include "fabric/routes.hpp"

namespace espalier::fabric {

/// These take a pair as it stands in the request and throw ProtocolError for unknown hosts and where no route is.
void append_query(const Fabric& fabric, std::string_view pair, std::string& reply);
void append_route(const Fabric& fabric, std::string_view pair, std::string& reply);
void append_hops(const Fabric& fabric, std::string_view pair, std::string& reply);

void append_hosts(const Fabric& fabric, std::string& reply);

/// The rows of a matrix. Numbers read back to the same double.
void append_rows(const Delays& delays, const Question& question, std::string& reply);

}  // namespace espalier::fabric
