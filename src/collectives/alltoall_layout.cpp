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
/// A rank's blocks for one node: what one more copy of costs less than another read.
constexpr Bytes longest_bundled = 512;

int runs_of(int nodes) { return (nodes - 1 + run_length - 1) / run_length; }
int batch_of(int distance, int batches) { return (distance - 1) / run_length % batches; }

int groups_of(const Choice& choice) { return choice.between == plan::Between::multi_group ? choice.groups : 1; }

Choice with_groups(Choice choice) {
  choice.groups = groups_of(choice);
  return choice;
}

/// The other nodes' distances, bundle by bundle.
std::vector<int> order_distances(int nodes, int bundled, const Choice& choice) {
  const int bundles = (nodes - 1 + bundled - 1) / bundled;
  std::vector<int> order(static_cast<std::size_t>(bundles));
  std::iota(order.begin(), order.end(), 1);
  if (!goes_by_relays(choice)) order = groups::spread_distances(bundles + 1);
  std::vector<int> distances;
  for (const int bundle : order)
    for (int distance = (bundle - 1) * bundled + 1; distance <= std::min(bundle * bundled, nodes - 1); ++distance)
      distances.push_back(distance);
  return distances;
}

/// Groups that one rank speaks for, where a node has fewer ranks.
int most_turns(const Topology& topology, int groups) {
  if (groups == 1) return 1;
  int least = groups;
  for (int node = 0; node < topology.nodes(); ++node) least = std::min(least, topology.size_of(NodeId(node)));
  return (groups + least - 1) / least;
}

int round_up(int number, int unit) { return (number + unit - 1) / unit * unit; }

/// Numbers of one group, of so many in all.
int share_of(int numbers, int groups, int bundled) {
  return round_up(round_up(numbers, bundled), groups * bundled) / groups;
}

/// How the other nodes are dealt out among a node's ranks.
struct Dealing {
  int groups, bundled, turns;
};

/// The most that a rank's cells hold of a batch when all blocks are equal.
Bytes most_of_equal(const Topology& topology, const Problem& problem, const Dealing& dealing, int batches) {
  const int numbers = std::min(topology.nodes() - 1, (runs_of(topology.nodes()) + batches - 1) / batches * run_length);
  const int led = std::min(numbers, share_of(numbers, dealing.groups, dealing.bundled) * dealing.turns);
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

/// The least number from `first` to `last` that does, where all above one that does do, too; 0 if none does.
template <class Does>
int least_that(const Does& does, int first, int last) {
  if (first > last || !does(last)) return 0;
  while (first < last) {
    const int middle = first + (last - first) / 2;
    if (does(middle))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

}  // namespace

int count_batches(const Topology& topology, const Problem& problem, const Choice& choice) {
  const Bytes room = choice.cell * static_cast<Bytes>(choice.cells);
  const bool is_counted = !problem.counts.empty();
  const int groups = groups_of(choice);
  const Dealing dealing{groups, bundled_nodes(topology, problem, choice), most_turns(topology, groups)};
  const auto fits = [&](int batches) {
    const Bytes most = is_counted ? most_of_counted(topology, problem, choice, batches)
                                  : most_of_equal(topology, problem, dealing, batches);
    return most <= (batches == 1 ? room : room / 2);
  };
  const int runs = runs_of(topology.nodes());
  if (!is_counted) return fits(1) ? 1 : least_that(fits, 2, runs);
  for (int batches = 1; batches <= runs; batches *= 2)
    if (fits(batches)) return batches;
  return 0;
}

bool lays_by_target(const Topology& topology, const Problem& problem, const Choice& choice) {
  const bool are_many = 2 * groups_of(choice) >= topology.largest_node() && topology.largest_node() > 1;
  return topology.nodes() > few_nodes && are_many && problem.counts.empty();
}

int bundled_nodes(const Topology& topology, const Problem& problem, const Choice& choice) {
  const Bytes stretch = problem.bytes * static_cast<Bytes>(topology.largest_node());
  if (!lays_by_target(topology, problem, choice) || stretch > longest_bundled) return 1;
  const int others = topology.nodes() - 1, groups = groups_of(choice), share = share_of(others, groups, 1);
  for (int bundled = run_length; bundled > 1; bundled /= 2)
    if (2 * bundled <= share && share_of(others, groups, bundled) <= share + share / 8) return bundled;
  return 1;
}

bool goes_by_relays(const Choice& choice) { return choice.exchange == plan::Exchange::bruck; }

AlltoallLayout::AlltoallLayout(const Topology& topology, const Problem& problem, const Choice& choice, int batches)
    : topology_(topology),
      problem_(problem),
      blocks_(problem, topology.ranks()),
      masters_(topology, problem, with_groups(choice)),
      bundled_(bundled_nodes(topology, problem, choice)),
      distances_(order_distances(topology.nodes(), bundled_, choice)) {
  std::stable_sort(distances_.begin(), distances_.end(),
                   [&](int a, int b) { return batch_of(a, batches) < batch_of(b, batches); });
  for (int batch = 0, number = 0; batch <= batches; ++batch) {
    while (number < topology.nodes() - 1 && batch_of(distance(number), batches) < batch) ++number;
    first_.push_back(number);
  }
  bundle(batches);
}

void AlltoallLayout::bundle(int batches) {
  for (int batch = 0; batch < batches; ++batch) {
    first_bundle_.push_back(static_cast<int>(bundles_.size()));
    for (int number = first(batch); number < first(batch + 1); ++number) {
      const bool goes_on =
          number > first(batch) && (distance(number) - 1) / bundled_ == (distance(number - 1) - 1) / bundled_;
      if (!goes_on) bundles_.push_back({number, 0, static_cast<int>(bundles_.size()) % groups()});
      ++bundles_.back().count;
      bundle_at_.push_back(static_cast<int>(bundles_.size()) - 1);
    }
  }
  first_bundle_.push_back(static_cast<int>(bundles_.size()));
}

std::span<const AlltoallLayout::Bundle> AlltoallLayout::bundles(int batch) const {
  const auto at = static_cast<std::size_t>(batch);
  return std::span(bundles_).subspan(static_cast<std::size_t>(first_bundle_[at]),
                                     static_cast<std::size_t>(first_bundle_[at + 1] - first_bundle_[at]));
}

std::vector<int> AlltoallLayout::by_source(int node, const Bundle& bundle) const {
  std::vector<int> numbers(static_cast<std::size_t>(bundle.count));
  std::iota(numbers.begin(), numbers.end(), bundle.first);
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) { return left(node, a) < left(node, b); });
  return numbers;
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
  std::vector<int> numbers;
  for (const Bundle& bundle : bundles(batch))
    for (int number = bundle.first; bundle.group == group && number < bundle.first + bundle.count; ++number)
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
