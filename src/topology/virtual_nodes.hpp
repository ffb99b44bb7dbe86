#pragma once
// One machine dressed up as several nodes, so that every hierarchical path runs on a laptop.

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace espalier::topology {

/// How ESPALIER_VIRTUAL_NODES splits the ranks of one machine.
///   "4"        four blocks of nearly equal size
///   "3,1,4"    blocks of these sizes, repeated while ranks remain
///   "cyclic:4" round robin over four nodes
class VirtualNodes {
 public:
  /// One node: nothing is split.
  VirtualNodes() = default;
  /// Throws Error naming the text when it has none of the three forms. The empty text means one node.
  static VirtualNodes parse(std::string_view text);

  /// The virtual node of the process with this index among `count` processes.
  int node_of(int index, int count) const;
  /// How many processes with lower indices share its virtual node. O(count).
  int index_on_node(int index, int count) const;

 private:
  enum class Form { blocks, sizes, cyclic };
  Form form_ = Form::blocks;
  int count_ = 1;
  std::vector<int> sizes_;
};

}  // namespace espalier::topology
