#pragma once
// One way of doing a collective, and all that anybody asks of it. An algorithm is one file,
// algorithms/<operation>/<name>.cpp, whose row is called as the file is:
//
//     extern const Algorithm broadcast_chain = {…};          in algorithms/broadcast/chain.cpp
//
// The build lists the rows by the names of their files (CMakeLists.txt); nothing else names an algorithm before it is
// chosen. What several of them share has a header of its own, in their folder or in parts/ and prices/.

#include <string>
#include <string_view>

#include "plan/choice.hpp"
#include "plan/program.hpp"
#include "trees/layout.hpp"

namespace espalier::plan {
class Builder;
}

namespace espalier::algorithms {

class Candidates;
struct Algorithm;
struct Scene;

/// Emits one rank's steps. Problem and choice are valid together (limits.hpp).
using Build = void (*)(plan::Builder&, const plan::Problem&, const plan::Choice&);
/// Why a choice does not apply, for a person, beyond what why_invalid() asks of all; empty: it does. A function of
/// agreed facts only.
using Limits = std::string (*)(const topology::Topology&, const plan::Problem&, const plan::Choice&);
/// Adds what the built-in choice should compare on several nodes: the choice given, and some values of its knobs
/// (candidates/candidates.hpp).
using Propose = void (*)(Candidates&, const Algorithm&, plan::Choice);
/// What a message between nodes meets on its way (prices/ways.hpp).
using Way = topology::Way (*)(const topology::Distances&, const plan::Choice&);
/// Microseconds from the common start to the last rank's end, in closed form, of a problem that has bytes.
using Price = double (*)(const Scene&);

struct Algorithm {
  plan::Operation operation;
  /// Its name among those of its operation: the file's.
  plan::Between between;
  /// Algorithms of an operation are listed in this order, the simplest first: of those that cost the same the first is
  /// chosen. Rows of other operations do not count.
  int place;
  /// Where it is described.
  const char* source;
  /// What it does, its rounds and what one leader sends, for N nodes.
  const char* summary;
  /// The knobs that change it (plan/knobs.hpp), between spaces; where it knows some values only, with those:
  /// "radix exchange=ring|bruck".
  const char* knobs;
  Build build;
  Limits limits = nullptr;  ///< null: none of its own
  /// Null: not on several nodes, since another does the same with less.
  Propose propose = nullptr;
  /// The tree or ring that nodes sit in, which is laid onto the network (parts/node_order.hpp); flat: neither.
  trees::Shape shape = trees::Shape::flat;
  Way way;
  Price price;
  /// A segment bounds its messages between nodes; else they are as long as what travels.
  bool is_cut = false;
  /// Its messages hold the vectors of all ranks of a node, one beside the other.
  bool sends_all_vectors = false;
  /// On one node, where there is nothing to do between nodes, it still is another way than those listed before it.
  bool differs_on_one_node = false;
  /// There, whether another does better whatever the model says of both; null: no.
  bool (*is_outdone_on_one_node)(const Candidates& candidates) = nullptr;

  /// Unique: "broadcast_chain".
  std::string name() const { return std::string(plan::name(operation)) + "_" + between.name(); }
  bool has_knob(std::string_view name) const;
};

}  // namespace espalier::algorithms
