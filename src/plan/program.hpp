#pragma once
// What one rank does in one collective, and what all ranks do together.

#include <cstdint>
#include <vector>

#include "plan/choice.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"
#include "topology/topology.hpp"

namespace espalier::plan {

/// Where a part of a program begins that has a name of its own, for those who look at it.
struct Phase {
  const char* name;  ///< static
  std::size_t first_step;

  bool operator==(const Phase&) const = default;
};

/// One rank's flat list of steps. A value: no pointers, equal for equal inputs, reusable for any number of calls.
struct Program {
  std::vector<Step> steps;
  Bytes scratch_bytes = 0;
  /// Message slots the steps use: 0 … slots - 1.
  std::uint32_t slots = 0;
  /// How much of each bank of its own window the rank writes.
  Bytes window_bytes = 0;
  /// Neighbours pull from or push into this rank's buffers: their addresses must be shown before the first step.
  bool is_exposed = false;
  /// What neighbours read in windows, only one of them reads: lines may go over to it (execute/closeness.hpp).
  bool has_one_reader = false;
  /// How get and copy write private memory.
  Stores stores = Stores::cached;
  /// In the order of steps; most programs have none.
  std::vector<Phase> phases = {};

  bool operator==(const Program&) const = default;

  /// Memory that keeping this program costs.
  Bytes footprint() const { return sizeof(Program) + steps.capacity() * sizeof(Step); }
};

/// All ranks' programs, for those who look at the whole: verifier, explain, cost. A running rank only has its own.
struct Plan {
  topology::Topology topology;
  Problem problem;
  Choice choice;
  std::vector<Program> programs;
};

}  // namespace espalier::plan
