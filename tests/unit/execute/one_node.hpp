#pragma once
// What tests of ranks on one node stand on: who they are, and memory as a board has it.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "base/bytes.hpp"
#include "topology/topology.hpp"

namespace espalier::execute {

inline topology::Topology one_node(int ranks) {
  return topology::Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

/// Gives back what begins on a page.
struct ReleasePages {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{4096}); }
};
using Memory = std::unique_ptr<std::byte[], ReleasePages>;

inline Memory zeroed(Bytes bytes) { return Memory(new (std::align_val_t{4096}) std::byte[bytes]()); }

}  // namespace espalier::execute
