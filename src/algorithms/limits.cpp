// When a choice applies: what every algorithm needs of a job, and what each one asks for beside it.

#include "algorithms/limits.hpp"

#include <algorithm>

#include "algorithms/catalogue.hpp"
#include "algorithms/words.hpp"
#include "base/bytes.hpp"
#include "smp/domains.hpp"

namespace espalier::algorithms {

using plan::Within;

namespace {

/// The larger of the two buffers of the rank that has most.
Bytes largest_buffer(const topology::Topology& topology, const plan::Problem& problem) {
  Bytes most = 0;
  const int ranks = problem.counts.empty() ? 1 : topology.ranks();  // without counts the root has most
  for (int i = 0; i < ranks; ++i) {
    const Rank rank((problem.root.value + i) % topology.ranks());
    most =
        std::max({most, input_bytes(problem, topology.ranks(), rank), output_bytes(problem, topology.ranks(), rank)});
  }
  return most;
}

/// The largest single message between nodes, at most, for limits of the network underneath.
Bytes largest_message(const topology::Topology& topology, const plan::Problem& problem, const Choice& choice,
                      const Algorithm& algorithm) {
  if (topology.nodes() == 1) return 0;
  const Bytes whole = largest_buffer(topology, problem);
  const Bytes largest = algorithm.is_cut && choice.segment > 0 ? std::min(choice.segment, whole) : whole;
  return algorithm.sends_all_vectors ? largest * static_cast<Bytes>(topology.largest_node()) : largest;
}

/// Whether a piece ends where a segment does, whatever the way through memory.
bool ends_pieces_on_segments(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::allgather;
}

/// Pieces that the busiest writer of a node passes on, at most: each takes up to two ticks of its flag.
Bytes count_pieces(const topology::Topology& topology, const plan::Problem& problem, const Choice& choice) {
  const Bytes ranks = static_cast<Bytes>(topology.ranks());
  const bool is_swap = problem.operation == Operation::alltoall || problem.operation == Operation::reduce_scatter;
  const bool is_uneven_swap = is_swap && !problem.counts.empty();
  // In a swap everyone takes as many turns as the longest block needs.
  const Bytes result = is_uneven_swap ? ranks * *std::max_element(problem.counts.begin(), problem.counts.end())
                                      : largest_buffer(topology, problem);
  const Bytes segment =
      choice.segment > 0 && (choice.within == Within::single_copy || ends_pieces_on_segments(problem.operation))
          ? choice.segment
          : result + 1;
  // Levels of a reduction need two halves of a cell and as many ticks as there are.
  const Bytes cell = choice.cell / static_cast<Bytes>(choice.levels * choice.levels);
  const Bytes unit = choice.within == Within::cells ? std::min(std::max<Bytes>(cell, 1), segment) : segment;
  return result / unit + 2 * ranks;  // each block may end in a piece of its own
}

}  // namespace

std::string why_invalid(const topology::Topology& topology, const plan::Problem& problem, const Choice& choice) {
  const Algorithm& algorithm = find_algorithm(problem.operation, choice.between);
  const topology::Capabilities& can = topology.capabilities();
  if (choice.within == Within::single_copy && !can.single_copy)
    return "single copy is switched off or forbidden by the system";
  if (choice.within == Within::cells && choice.cell * static_cast<Bytes>(choice.cells) > can.window_bytes)
    return "cells of " + format_bytes(choice.cell) + " x " + std::to_string(choice.cells) + " exceed the window of " +
           format_bytes(can.window_bytes) + " (ESPALIER_SHM_WINDOW)";
  if (choice.levels > 1 && !smp::has_levels(topology, choice.levels))
    return choice.levels > 2
               ? "no node has ranks on several last-level caches (as far as is known), or more than 8 of them"
               : "no node has ranks on several NUMA nodes, or on several last-level caches of one (as far "
                 "as is known)";
  if (!has_edges(problem.operation)) {  // else no rank knows what others have
    if (largest_message(topology, problem, choice, algorithm) > (Bytes{1} << 30))
      return "a message between nodes would exceed 1G: set segment";
    if (2 * count_pieces(topology, problem, choice) >= plan::max_tick)
      return "too many pieces: use larger cells or segments";
  }
  return algorithm.limits == nullptr ? "" : algorithm.limits(topology, problem, choice);
}

}  // namespace espalier::algorithms
