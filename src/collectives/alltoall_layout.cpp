#include "collectives/alltoall_layout.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/words.hpp"
#include "groups/distances.hpp"

namespace espalier::collectives {

using topology::Topology;

namespace {

constexpr int run_length = 8;
constexpr int few_nodes = 8;

int runs_of(int nodes) { return (nodes - 1 + run_length - 1) / run_length; }
int batch_of(int distance, int batches) { return (distance - 1) / run_length % batches; }

int groups_of(const Choice& choice) { return choice.between == plan::Between::multi_group ? choice.groups : 1; }

Choice with_groups(Choice choice) {
  choice.groups = groups_of(choice);
  return choice;
}

std::vector<int> order_distances(int nodes, const Choice& choice) {
  if (!goes_by_relays(choice)) return groups::spread_distances(nodes);
  std::vector<int> ascending(static_cast<std::size_t>(nodes - 1));
  std::iota(ascending.begin(), ascending.end(), 1);
  return ascending;
}

/// Groups that one rank speaks for, where a node has fewer ranks.
int most_turns(const Topology& topology, int groups) {
  int least = groups;
  for (int node = 0; node < topology.nodes(); ++node) least = std::min(least, topology.size_of(NodeId(node)));
  return (groups + least - 1) / least;
}

/// The most that a rank's cells hold of a batch when all blocks are equal.
Bytes most_of_equal(const Topology& topology, const Problem& problem, int groups, int turns, int batches) {
  const int numbers = std::min(topology.nodes() - 1, (runs_of(topology.nodes()) + batches - 1) / batches * run_length);
  const int led = std::min(numbers, (numbers + groups - 1) / groups * turns);
  const auto ranks = static_cast<Bytes>(topology.largest_node());
  return problem.bytes * ranks * (static_cast<Bytes>(numbers - led + 1) + static_cast<Bytes>(led) * ranks);
}

Bytes most_of_counted(const Topology& topology, const Problem& problem, const Choice& choice, int batches) {
  const AlltoallLayout layout(topology, problem, choice, batches);
  Bytes most = 0;
  for (const Rank rank : topology.by_node())
    for (int batch = 0; batch < batches; ++batch) most = std::max(most, layout.places(rank, batch).end);
  return most;
}

}  // namespace

int count_batches(const Topology& topology, const Problem& problem, const Choice& choice) {
  const Bytes room = choice.cell * static_cast<Bytes>(choice.cells);
  const bool is_counted = !problem.counts.empty();
  const int groups = groups_of(choice), turns = most_turns(topology, groups);
  for (int batches = 1; batches <= runs_of(topology.nodes()); batches += is_counted ? batches : 1) {
    const Bytes most = is_counted ? most_of_counted(topology, problem, choice, batches)
                                  : most_of_equal(topology, problem, groups, turns, batches);
    if (most <= (batches == 1 ? room : room / 2)) return batches;
  }
  return 0;
}

bool lays_by_target(const Topology& topology, const Problem& problem, const Choice& choice) {
  const bool are_many = 2 * groups_of(choice) >= topology.largest_node() && topology.largest_node() > 1;
  return topology.nodes() > few_nodes && are_many && problem.counts.empty();
}

bool goes_by_relays(const Choice& choice) { return choice.exchange == plan::Exchange::bruck; }

AlltoallLayout::AlltoallLayout(const Topology& topology, const Problem& problem, const Choice& choice, int batches)
    : topology_(topology),
      problem_(problem),
      blocks_(problem, topology.ranks()),
      masters_(topology, problem, with_groups(choice)),
      distances_(order_distances(topology.nodes(), choice)) {
  std::stable_sort(distances_.begin(), distances_.end(),
                   [&](int a, int b) { return batch_of(a, batches) < batch_of(b, batches); });
  for (int batch = 0, number = 0; batch <= batches; ++batch) {
    while (number < topology.nodes() - 1 && batch_of(distance(number), batches) < batch) ++number;
    first_.push_back(number);
  }
}

Bytes AlltoallLayout::bytes_to_node(Rank from, int node) const {
  if (problem_.counts.empty()) return problem_.bytes * static_cast<Bytes>(topology_.size_of(NodeId(node)));
  Bytes sum = 0;
  for (const Rank to : ranks_on(node)) sum += blocks_.bytes(from, to);
  return sum;
}

Bytes AlltoallLayout::message(int from, int to) const {
  if (problem_.counts.empty()) return bytes_to_node(Rank(0), to) * static_cast<Bytes>(topology_.size_of(NodeId(from)));
  Bytes sum = 0;
  for (const Rank rank : ranks_on(from)) sum += bytes_to_node(rank, to);
  return sum;
}

Bytes AlltoallLayout::begin_on_node(Rank from, Rank to) const {
  if (problem_.counts.empty()) return problem_.bytes * static_cast<Bytes>(topology_.local_rank(to).value);
  Bytes sum = 0;
  for (const Rank rank : ranks_on(topology_.node_of(to).value)) {
    if (rank == to) break;
    sum += blocks_.bytes(from, rank);
  }
  return sum;
}

AlltoallLayout::Places AlltoallLayout::places(Rank rank, int batch) const {
  const int node = topology_.node_of(rank).value, begin = first(batch), end = first(batch + 1);
  const auto count = static_cast<std::size_t>(end - begin);
  Places places{std::vector<Bytes>(count), std::vector<Bytes>(count)};
  for (const int number : ascending(node, batch)) {
    if (leads(rank, number)) continue;
    (number == here ? places.on_node : places.own[static_cast<std::size_t>(number - begin)]) = places.end;
    places.end += bytes_to_node(rank, right(node, number));
  }
  for (const int group : groups_of(rank))
    for (const int number : numbers_of(group, batch)) {
      places.incoming[static_cast<std::size_t>(number - begin)] = places.end;
      places.end += message(left(node, number), node);
    }
  return places;
}

std::vector<int> AlltoallLayout::numbers_of(int group, int batch) const {
  const int begin = first(batch), groups = masters_.groups();
  std::vector<int> numbers;
  for (int number = begin + (group - begin % groups + groups) % groups; number < first(batch + 1); number += groups)
    numbers.push_back(number);
  return numbers;
}

std::vector<int> AlltoallLayout::ascending(int node, int batch) const {
  std::vector<int> numbers;
  if (batch == 0) numbers.push_back(here);
  for (int number = first(batch); number < first(batch + 1); ++number) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) { return right(node, a) < right(node, b); });
  return numbers;
}

}  // namespace espalier::collectives
