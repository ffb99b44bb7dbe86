#include "algorithms/alltoall/layout.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "algorithms/words.hpp"
#include "groups/distances.hpp"

namespace espalier::algorithms {

using topology::Topology;

namespace {

constexpr int run_length = 8;
constexpr int few_nodes = 8;
/// A rank's blocks for one node: what one more copy of costs less than another read.
constexpr Bytes longest_bundled = 512;

int divide_up(int number, int by) { return (number + by - 1) / by; }
int round_up(int number, int unit) { return divide_up(number, unit) * unit; }

int runs_of(int parcels) { return divide_up(parcels, run_length); }

int groups_of(const Choice& choice) { return choice.between == plan::Between::multi_group ? choice.groups : 1; }

Choice with_groups(Choice choice) {
  choice.groups = groups_of(choice);
  return choice;
}

/// The other nodes' distances, bundle by bundle.
std::vector<int> order_distances(int nodes, int bundled, bool by_relays) {
  const int bundles = divide_up(nodes - 1, bundled);
  std::vector<int> order(static_cast<std::size_t>(bundles));
  std::iota(order.begin(), order.end(), 1);
  if (!by_relays) order = groups::spread_distances(bundles + 1);
  std::vector<int> distances;
  for (const int bundle : order)
    for (int distance = (bundle - 1) * bundled + 1; distance <= std::min(bundle * bundled, nodes - 1); ++distance)
      distances.push_back(distance);
  return distances;
}

/// Numbers of one group, of so many in all.
int share_of(int numbers, int groups, int bundled) {
  return round_up(round_up(numbers, bundled), groups * bundled) / groups;
}

/// Finds the form: slices, then batches; the rest follows from the slices.
class Divider {
 public:
  Divider(const Topology& topology, const Problem& problem, const Choice& choice)
      : topology_(topology),
        problem_(problem),
        choice_(choice),
        others_(topology.nodes() - 1),
        largest_(topology.largest_node()),
        groups_(groups_of(choice)),
        room_(choice.cell * static_cast<Bytes>(choice.cells)) {}

  AlltoallForm divide() const {
    const int most = goes_by_relays(choice_) ? 1 : largest_;
    int slices = std::clamp(groups_ / std::max(others_, 1), 1, most);
    AlltoallForm form = with_batches(slices);
    while (form.batches == 0 && slices < most) form = with_batches(slices = next(slices, most));
    return form;
  }

 private:
  bool is_counted() const { return !problem_.counts.empty(); }
  /// Trying out those with counts takes long.
  int next(int slices, int most) const { return is_counted() ? most : std::min(2 * slices, most); }

  AlltoallForm with_batches(int slices) const {
    AlltoallForm form{slices};
    const bool are_many = 2 * groups_ >= largest_ && largest_ > 1;
    form.is_by_target = (others_ + 1 > few_nodes || slices > 1) && are_many && !is_counted();
    form.bundled = bundled(form);
    form.batches = is_counted() ? batches_of_counted(form) : batches_of_equal(form);
    return form;
  }

  int bundled(const AlltoallForm& form) const {
    const Bytes stretch = problem_.bytes * static_cast<Bytes>(largest_);
    if (!form.is_by_target || form.slices > 1 || stretch > longest_bundled) return 1;
    const int share = share_of(others_, groups_, 1);
    for (int bundled = run_length; bundled > 1; bundled /= 2)
      if (2 * bundled <= share && share_of(others_, groups_, bundled) <= share + share / 8) return bundled;
    return 1;
  }

  bool fits(Bytes most, int batches) const { return most <= (batches == 1 ? room_ : room_ / 2); }

  /// The least number that does; all above one that does do, too.
  int batches_of_equal(const AlltoallForm& form) const {
    const auto does = [&](int batches) { return fits(most_of_equal(form, batches), batches); };
    if (does(1)) return 1;
    int first = 2, last = runs_of(others_ * form.slices);
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

  int batches_of_counted(AlltoallForm form) const {
    const int runs = runs_of(others_ * form.slices);
    for (form.batches = 1; form.batches <= runs; form.batches *= 2)
      if (fits(most_of_counted(form), form.batches)) return form.batches;
    return 0;
  }

  /// The most that a rank's cells hold of a batch.
  Bytes most_of_equal(const AlltoallForm& form, int batches) const {
    const int all = others_ * form.slices, numbers = std::min(all, divide_up(runs_of(all), batches) * run_length);
    const int led = std::min(numbers, share_of(numbers, groups_, form.bundled) * most_turns());
    const auto targets = static_cast<Bytes>(divide_up(largest_, form.slices));
    const auto on_node = static_cast<Bytes>(divide_up(largest_, batches)), ranks = static_cast<Bytes>(largest_);
    return problem_.bytes * (on_node + targets * (static_cast<Bytes>(numbers - led) + static_cast<Bytes>(led) * ranks));
  }

  /// Groups that one rank speaks for, where a node has fewer ranks.
  int most_turns() const { return divide_up(groups_, std::min(groups_, topology_.smallest_node())); }

  Bytes most_of_counted(const AlltoallForm& form) const {
    const AlltoallLayout layout(topology_, problem_, choice_, form);
    Bytes most = 0;
    for (int node = 0; node < topology_.nodes(); ++node)
      for (int batch = 0; batch < form.batches; ++batch)
        for (const auto& places : layout.places(node, batch)) most = std::max(most, places.end);
    return most;
  }

  const Topology& topology_;
  const Problem& problem_;
  const Choice& choice_;
  int others_;  ///< nodes
  int largest_;
  int groups_;
  Bytes room_;
};

}  // namespace

AlltoallForm derive_form(const Topology& topology, const Problem& problem, const Choice& choice) {
  return Divider(topology, problem, choice).divide();
}

bool goes_by_relays(const Choice& choice) { return choice.exchange == plan::Exchange::bruck; }

int AlltoallLayout::batch_of(const Parcel& parcel, const AlltoallForm& form) {
  return ((parcel.distance - 1) * form.slices + parcel.slice) / run_length % form.batches;
}

std::vector<AlltoallLayout::Parcel> AlltoallLayout::order_parcels(int nodes, const AlltoallForm& form, bool by_relays) {
  std::vector<Parcel> parcels;
  const std::vector<int> distances = order_distances(nodes, form.bundled, by_relays);
  for (int slice = 0; slice < form.slices; ++slice)
    for (const int distance : distances) parcels.push_back({distance, slice});
  std::stable_sort(parcels.begin(), parcels.end(),
                   [&](const Parcel& a, const Parcel& b) { return batch_of(a, form) < batch_of(b, form); });
  return parcels;
}

AlltoallLayout::AlltoallLayout(const Topology& topology, const Problem& problem, const Choice& choice,
                               const AlltoallForm& form)
    : topology_(topology),
      problem_(problem),
      form_(form),
      blocks_(problem, topology.ranks()),
      masters_(topology, problem, with_groups(choice)),
      parcels_(order_parcels(topology.nodes(), form, goes_by_relays(choice))) {
  const auto all = static_cast<int>(parcels_.size());
  for (int batch = 0, number = 0; batch <= form.batches; ++batch) {
    while (number < all && batch_of(parcels_[static_cast<std::size_t>(number)], form) < batch) ++number;
    first_.push_back(number);
  }
  bundle();
}

void AlltoallLayout::bundle() {
  for (int batch = 0; batch < batches(); ++batch) {
    first_bundle_.push_back(static_cast<int>(bundles_.size()));
    for (int number = first(batch); number < first(batch + 1); ++number) {
      const bool goes_on = number > first(batch) && form_.bundled > 1 &&
                           (distance(number) - 1) / form_.bundled == (distance(number - 1) - 1) / form_.bundled;
      if (!goes_on) bundles_.push_back({number, 0, static_cast<int>(bundles_.size()) % groups()});
      ++bundles_.back().count;
      bundle_at_.push_back(static_cast<int>(bundles_.size()) - 1);
    }
  }
  first_bundle_.push_back(static_cast<int>(bundles_.size()));
}

Bytes AlltoallLayout::most_bundled() const {
  const auto targets = divide_up(topology_.largest_node(), form_.slices);
  return block() * static_cast<Bytes>(form_.bundled) * static_cast<Bytes>(targets);
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

std::span<const Rank> AlltoallLayout::share(int node, int shares, int which) const {
  const groups::Shares all(topology_.size_of(NodeId(node)), shares);
  const auto first = static_cast<std::size_t>(all.first(which)), last = static_cast<std::size_t>(all.last(which));
  return ranks_on(node).subspan(first, last - first);
}

int AlltoallLayout::batch_on_node(Rank rank) const {
  return groups::Shares(topology_.size_of(topology_.node_of(rank)), batches()).group_of(topology_.local_rank(rank));
}

Bytes AlltoallLayout::bytes_to(Rank from, std::span<const Rank> targets) const {
  if (problem_.counts.empty()) return block() * targets.size();
  Bytes sum = 0;
  for (const Rank to : targets) sum += blocks_.bytes(from, to);
  return sum;
}

Bytes AlltoallLayout::message(int from, std::span<const Rank> targets) const {
  if (problem_.counts.empty()) return block() * targets.size() * ranks_on(from).size();
  Bytes sum = 0;
  for (const Rank rank : ranks_on(from)) sum += bytes_to(rank, targets);
  return sum;
}

Bytes AlltoallLayout::begin_of(Rank from, std::span<const Rank> targets, Rank to) const {
  const int before = topology_.local_rank(to).value - topology_.local_rank(targets.front()).value;
  return bytes_to(from, targets.first(static_cast<std::size_t>(before)));
}

std::vector<AlltoallLayout::Places> AlltoallLayout::places(int node, int batch) const {
  std::vector<Parcels> parcels;
  for (const int number : ascending(node, batch))
    parcels.push_back({number, number == here ? Rank(-1) : leader_of(node, number), targets(node, number, batch)});
  std::vector<Places> all;
  for (const Rank rank : ranks_on(node)) all.push_back(places_of(rank, batch, parcels));
  return all;
}

AlltoallLayout::Places AlltoallLayout::places_of(Rank rank, int batch, std::span<const Parcels> parcels) const {
  const int node = topology_.node_of(rank).value, begin = first(batch), end = first(batch + 1);
  const auto count = static_cast<std::size_t>(end - begin);
  const std::vector<Rank>& leaders = masters_.on(node);
  Places places{std::vector<Bytes>(count), std::vector<Bytes>(count)};
  for (const auto& [number, leader, targets] : parcels) {
    if (leader == rank) continue;
    (number == here ? places.on_node : places.own[static_cast<std::size_t>(number - begin)]) = places.end;
    places.end += bytes_to(rank, targets);
  }
  for (int group = 0; group < groups(); ++group) {
    if (leaders[static_cast<std::size_t>(group)] != rank) continue;
    for (const int number : numbers_of(group, batch)) {
      places.incoming[static_cast<std::size_t>(number - begin)] = places.end;
      places.end += message(left(node, number), in_slice(node, slice(number)));
    }
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
  std::vector<std::tuple<int, int, int>> places{{node, 0, here}};  // node, slice, number
  for (int number = first(batch); number < first(batch + 1); ++number)
    places.emplace_back(right(node, number), slice(number), number);
  std::sort(places.begin(), places.end());
  std::vector<int> numbers;
  for (const auto& place : places) numbers.push_back(std::get<2>(place));
  return numbers;
}

}  // namespace espalier::algorithms
