#pragma once
// Which of a node's NICs the MPI uses. MPI has no call that tells, so: what the user says, what the user told the
// transport below MPI, and else what transports take by themselves, the fastest that are up.

#include <string>
#include <vector>

#include "machine/node.hpp"

namespace espalier::machine {

/// A variable and its value, "UCX_NET_DEVICES" and "mlx5_0:1".
struct NicHint {
  std::string name;
  std::string value;
};

/// What the environment says, most telling first: ESPALIER_NIC (`setting`, when not empty), then the transports'
/// variables that are set.
std::vector<NicHint> probe_nic_hints(const std::string& setting);

/// Indexes into Node::nics in ascending order, and why these: one clause for people.
struct NicsInUse {
  std::vector<int> nics;
  std::string reason;
};

/// The first hint that names or excludes NICs of this node decides. Values are lists with commas, of device names with
/// or without a port (":1"); a "^" in front excludes; "all", addresses and unknown names say nothing. Without such a
/// hint: fabric before Ethernet, then all that are up and as fast as the fastest. At most most_nics of them: the first.
/// None when the node has no NIC that is up.
NicsInUse derive_nics_in_use(const Node& node, const std::vector<NicHint>& hints);

/// More NICs than this per node take no part.
inline constexpr int most_nics = 8;

}  // namespace espalier::machine
