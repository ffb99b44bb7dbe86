#pragma once
// What a plan moves, counted from its steps.

#include <cstdint>
#include <vector>

#include "plan/program.hpp"

namespace espalier::plan {

/// Counts for one node, or for all of them together.
struct Traffic {
  std::uint64_t messages_out = 0;  ///< to other nodes
  std::uint64_t messages_in = 0;
  Bytes bytes_out = 0;
  Bytes bytes_in = 0;
  std::uint64_t connections_out = 0;  ///< distinct (sender, receiver) pairs of ranks
  std::uint64_t connections_in = 0;
  Bytes shared_written = 0;  ///< put
  Bytes shared_read = 0;     ///< get
  Bytes single_copied = 0;   ///< pull, push
  std::uint64_t steps = 0;
};

/// One entry per node, in node order. Of a plan in part (algorithms::build_part), true of nodes that are there whole.
std::vector<Traffic> count_traffic(const Plan& plan);

/// The longest program of the plan, in steps.
std::uint64_t longest_program(const Plan& plan);

}  // namespace espalier::plan
