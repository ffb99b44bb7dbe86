#pragma once
// The built-in choice, for machines without a tuned table: whatever the cost model finds to be fastest.

#include <string>
#include <vector>

#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::choice {

/// A choice and its time in microseconds, by closed form (estimate.hpp).
struct Estimated {
  plan::Choice choice;
  double microseconds = 0;
};

struct Decision {
  plan::Choice choice;
  /// Why, in a sentence for `espalier explain`.
  std::string reason;
};

/// What jobs do themselves: longer inputs or results of a rank they leave to native. Messages carry their size as an
/// int; half of its range leaves room for everything that a leader may send at once.
constexpr Bytes largest_result = Bytes{1} << 30;

/// Whether the dedicated path of short messages (execute/lines/tiny.hpp) is taken where it can be: not where many
/// ranks, each with a core, read so much of a neighbour's lines that cells, which are read at a rush, are faster.
bool prefers_tiny(const topology::Topology& topology, const plan::Problem& problem);

/// The valid candidates (candidates.hpp), fastest first; among equals the simpler first, and an allgather's ring or
/// gathering to masters before doubling that is less than 2 % faster. Where nothing is known of the network between
/// more than 8 nodes, its cables are supposed to be narrow (crowding.hpp), and 10 % count as much as 2. Pure
/// function of agreed facts; equal on every rank. Empty only when the result is so large that it does not fit the
/// network underneath or the ticks of a call: more than 1G, or half a million cells.
std::vector<Estimated> rank_choices(const topology::Topology& topology, const plan::Problem& problem,
                                    const cost::Parameters& parameters = {});

/// The first of them, found without sorting the others; where there is none, a choice that is not valid. O(log ranks),
/// 10 to 30 us for any number of ranks.
plan::Choice choose(const topology::Topology& topology, const plan::Problem& problem,
                    const cost::Parameters& parameters = {});

/// The same with its reason.
Decision decide(const topology::Topology& topology, const plan::Problem& problem,
                const cost::Parameters& parameters = {});

}  // namespace espalier::choice
