#pragma once
// What one node does in a plan, phase by phase, counted from its steps: the columns of Qian, Rashti and Afsahi's
// Table 1.

#include <string>
#include <vector>

#include "plan/program.hpp"

namespace espalier::plan {

/// So many ranks (or connections), each with so many bytes.
struct Share {
  int count = 0;
  Bytes bytes = 0;

  bool operator==(const Share&) const = default;
};

/// Connections that carry `steps` messages of `bytes` each, one behind the other.
struct Stream {
  Bytes bytes = 0;
  int connections = 0;
  int steps = 0;

  bool operator==(const Stream&) const = default;
};

/// Shared memory in one phase of the programs (Program::phases; steps outside have the name ""). Single copies count as
/// reads (pull) and writes (push).
struct PhaseAccount {
  std::string name;
  std::vector<Share> writes;
  std::vector<Share> reads;
};

struct Accounting {
  /// Most connections of the node that have messages under way at the same time, each rank at its own busiest moment.
  int connections_in = 0;
  int connections_out = 0;
  /// Outgoing.
  std::vector<Stream> network;
  std::vector<PhaseAccount> phases;
};

/// Throws Error when the plan has no such node.
Accounting account_for(const Plan& plan, NodeId node);

}  // namespace espalier::plan
