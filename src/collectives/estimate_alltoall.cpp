// Closed forms of all-to-alls: pairwise, and through leaders who exchange straight or by relays.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collectives/alltoall_layout.hpp"
#include "collectives/scene.hpp"
#include "collectives/words.hpp"

namespace espalier::collectives {
namespace {

double estimate_pairwise(const Scene& s) {
  // The first messages arrive while the last ones are sent and neighbours swap.
  const double calls = s.elsewhere() * s.is.overhead;
  const double own = calls + std::max(s.node.swap(s.bytes) + calls, s.is.latency + s.is.overhead);
  if (s.choice.connections == 1)
    return std::max(s.elsewhere() * (s.network.delay() + s.network.at_once(s.on_node, s.bytes)), own);
  const double count = s.on_node * s.elsewhere();  // ranks of one node can not take turns, so they cross in any case
  const double link = s.on_node == 1 ? s.network.crossing(count, s.bytes) : s.network.at_once(count, s.bytes);
  return std::max(s.network.delay() + link, own);
}

/// The leaders of a node, and what each has to do.
struct NodeLeaders {
  explicit NodeLeaders(const Scene& s)
      : groups(s.choice.between == Between::multi_group ? s.choice.groups : 1),
        count(std::min(groups, s.on_node)),
        turns(std::ceil(static_cast<double>(groups) / count)),
        bundled(bundled_nodes(s.topology, s.problem, s.choice)),
        parcels(std::ceil(std::ceil((s.nodes - 1.0) / bundled) / groups) * bundled),
        parcel(s.of_node() * s.on_node),
        is_by_target(lays_by_target(s.topology, s.problem, s.choice)) {}

  int groups;
  int count;
  double turns;    ///< groups that one of them leads
  int bundled;     ///< nodes whose parcels are fetched and shown together
  double parcels;  ///< of a group
  double parcel;   ///< bytes of one
  bool is_by_target;

  /// One parcel, out of the neighbours' cells.
  double collect(const Scene& s) const {
    const double turned = s.on_node * (is_by_target ? s.on_node : 1) * s.node.copy(s.bytes);
    return (s.on_node - 1) * s.node.get(bundled * s.of_node()) / bundled + turned;
  }
  /// One that has come, for the neighbours to take.
  double show(const Scene& s) const {
    return bundled == 1 ? 0 : s.on_node * s.node.copy(s.of_node()) + s.node.put(bundled * parcel) / bundled;
  }
  /// One bundle, or what has come from one node, by a rank that wants its own of it.
  double take(const Scene& s) const {
    return is_by_target ? s.node.get(bundled * s.of_node()) : s.on_node * s.node.get(s.bytes);
  }
  /// Each leader sends messages of so many parcels as it gets them together, which takes `work` for all of them, until
  /// it has what the others sent; `from_node` leave its node.
  double exchange(const Scene& s, double messages, double from_node, double parcels_of_one, double work) const {
    const double bytes = parcels_of_one * parcel, sending = work + messages * s.is.overhead;
    const double sent =
        std::max(sending + s.network.serial(bytes), sending / messages + s.network.at_once(from_node, bytes));
    // All but the last messages have come when that does, or what is to be done with them takes longer.
    return sent + std::max(s.is.latency + s.is.overhead, messages * s.is.overhead);
  }
};

/// What relays do at one position of the distances' digits, of distances that are `groups` apart.
struct Digits {
  Digits(const Scene& s, const NodeLeaders& leaders, int unit) {
    const int radix = s.choice.radix, step = unit / leaders.bundled;  // bundles are `groups` apart
    const int common = std::gcd(leaders.groups, step * radix);
    values = step > 0 && common >= step ? std::min(radix, step * radix / common) : radix;
    values = std::min(values, (s.nodes - 1) / unit + 1);
    messages = std::min<double>(std::max(values - 1, 1), leaders.parcels);
    of_node = leaders.count * messages * (values > 1 ? 1 : (radix - 1.0) / radix);  // others have a zero there
    is_last = (s.nodes - 1) / unit < radix;
    carried = is_last ? std::ceil((s.nodes - unit) / static_cast<double>(leaders.groups))
                      : leaders.parcels * messages / std::max(values, 1);
  }

  int values;       ///< that the digit has
  double messages;  ///< one for each but zero
  double of_node;   ///< by all leaders
  double carried;   ///< parcels in all of them
  bool is_last;
};

/// Parcels are collected when they first leave, and copied whenever they leave again.
double relay_time(const Scene& s, const NodeLeaders& leaders) {
  double time = 0, still_here = leaders.parcels;
  for (int unit = 1; unit < s.nodes; unit *= s.choice.radix) {
    const Digits digits(s, leaders, unit);
    const double new_ones = digits.is_last ? still_here : still_here * digits.messages / std::max(digits.values, 1);
    const double again = std::max(0.0, digits.carried - new_ones);
    const bool is_put = !digits.is_last && leaders.bundled == 1;
    const double arrived = is_put ? digits.messages * s.node.put(leaders.parcel) : 0;
    time += leaders.exchange(s, digits.messages, digits.of_node, digits.carried / digits.messages,
                             new_ones * leaders.collect(s) + again * s.node.copy(leaders.parcel)) +
            arrived;
    still_here -= new_ones;
  }
  return leaders.turns * time;
}

/// What it costs to go in batches: flags, and more puts.
double batches_time(const Scene& s) {
  const int batches = count_batches(s.topology, s.problem, s.choice);
  if (batches <= 1) return 0;
  const double runs = s.nodes / 8.0;  // of consecutive nodes (alltoall_layout.hpp)
  return (batches - 1) * 3 * s.node.flag() + runs * s.node.put(1);
}

double estimate_through_leaders(const Scene& s) {
  const NodeLeaders leaders(s);
  const double parcels = leaders.turns * leaders.parcels;
  const double exchange = goes_by_relays(s.choice)
                              ? relay_time(s, leaders)
                              : leaders.exchange(s, parcels, s.nodes - 1, 1, parcels * leaders.collect(s));
  const double taken = std::ceil((s.nodes - 1.0) / leaders.bundled) * leaders.take(s) + parcels * leaders.show(s);
  const double put = s.on_node > 1 ? s.node.put((s.ranks - 1) * s.bytes) + 2 * s.node.flag() : 0;
  // Before a rank looks at a neighbour's flag in a round it takes what it received itself.
  const double rounds = leaders.count > 1 ? parcels / leaders.bundled : 0;
  const double flags = rounds * std::max(0.0, s.node.flag() - leaders.take(s));
  return put + exchange + taken + flags + (s.on_node - 1) * s.node.get(s.bytes) + s.node.copy(s.bytes) +
         batches_time(s);
}

}  // namespace

double estimate_alltoall(const Scene& s) {
  if (s.nodes == 1) return s.node.swap(s.bytes);
  return s.choice.between == Between::pairwise ? estimate_pairwise(s) : estimate_through_leaders(s);
}

}  // namespace espalier::collectives
