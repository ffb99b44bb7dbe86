// What all-to-alls through leaders take, who exchange straight or by relays.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/alltoall/layout.hpp"
#include "algorithms/alltoall/leaders.hpp"
#include "algorithms/prices/scene.hpp"
#include "algorithms/words.hpp"

namespace espalier::algorithms {
namespace {

/// The leaders of a node, and what each has to do.
struct NodeLeaders {
  explicit NodeLeaders(const Scene& s)
      : form(derive_form(s.topology, s.problem, s.choice)),
        groups(s.choice.between == Between::multi_group ? s.choice.groups : 1),
        count(std::min(groups, s.on_node)),
        turns(std::ceil(static_cast<double>(groups) / count)),
        bundled(form.bundled),
        parcels(std::ceil(std::ceil((s.nodes - 1.0) * form.slices / bundled) / groups) * bundled),
        targets(std::ceil(static_cast<double>(s.on_node) / form.slices)),
        parcel(s.of_node() * targets),
        is_by_target(form.is_by_target) {}

  AlltoallForm form;
  int groups;
  int count;
  double turns;    ///< groups that one of them leads
  int bundled;     ///< nodes whose parcels are fetched and shown together
  double parcels;  ///< of a group
  double targets;  ///< of one
  double parcel;   ///< bytes of one
  bool is_by_target;

  /// One parcel, out of the neighbours' cells.
  double collect(const Scene& s) const {
    const double turned = targets * (is_by_target ? s.on_node : 1) * s.node.copy(s.bytes);
    return (s.on_node - 1) * s.node.get(bundled * targets * s.bytes) / bundled + turned;
  }
  /// One that has come, for the neighbours to take.
  double show(const Scene& s) const {
    return bundled == 1 ? 0 : s.on_node * s.node.copy(s.of_node()) + s.node.put(bundled * parcel) / bundled;
  }
  /// One bundle, or what has come from one node, by a rank that wants its own of it. Blocks of ranks that do not follow
  /// each other are taken one by one.
  double take(const Scene& s) const {
    const bool is_one = is_by_target && s.is_blocked;
    return is_one ? s.node.get(bundled * s.of_node()) : bundled * s.on_node * s.node.get(s.bytes);
  }
  /// Each leader sends messages of so many parcels as it gets them together, which takes `work` for all of them, until
  /// it has what the others sent; `from_node` leave its node.
  double exchange(const Scene& s, double messages, double from_node, double parcels_of_one, double work) const {
    const double bytes = parcels_of_one * parcel, sending = work + messages * s.is.overhead, first = sending / messages;
    const double last = std::max(sending + s.network.serial(bytes), first + s.network.at_once(from_node, bytes));
    const double receiving = std::max(sending, first + s.network.serial(bytes) + s.is.latency);
    return std::max(receiving + messages * s.is.overhead, last + s.is.latency + s.is.overhead);
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
double batches_time(const Scene& s, int batches) {
  if (batches <= 1) return 0;
  const double runs = s.nodes / 8.0;  // of consecutive nodes (alltoall_layout.hpp)
  return (batches - 1) * 3 * s.node.flag() + runs * s.node.put(1);
}

/// Leaders who send straight. Either some rank has work all the time, or the links have: then what has come is taken
/// while the rest is on the wire, all but the last. Or a batch waits for the one before the last to be over.
double straight_time(const Scene& s, const NodeLeaders& leaders, double put, double own, double taken) {
  const double messages = leaders.turns * leaders.parcels, overheads = messages * s.is.overhead;
  const double sent = messages * leaders.collect(s) + overheads;
  const double mean = s.of_node() * s.on_node / leaders.form.slices;
  const double links = through_link(s, (s.nodes - 1) * leaders.form.slices, mean);
  const double first = put / leaders.form.batches + sent / messages;
  const double begin = std::max(put + sent + own, first + s.network.serial(leaders.parcel) + s.is.latency);
  const double busy = begin + overheads + taken + batches_time(s, leaders.form.batches);
  const double last = std::max(put + sent + s.network.serial(leaders.parcel), first + links);
  const double batch = (put + sent + links + taken) / leaders.form.batches + s.is.latency + s.is.overhead;
  return std::max({busy, last + s.is.latency + s.is.overhead + taken / messages, leaders.form.batches / 2 * batch});
}

}  // namespace

double price_alltoall_leaders(const Scene& s) {
  const NodeLeaders leaders(s);
  const double parcels = leaders.turns * leaders.parcels;
  const double runs = s.is_blocked ? 1 : s.ranks - 1;
  const double put = s.on_node > 1 ? runs * s.node.put((s.ranks - 1) * s.bytes / runs) + 2 * s.node.flag() : 0;
  const double own = (s.on_node - 1) * s.node.get(s.bytes) + s.node.copy(s.bytes);
  // Before a rank looks at a neighbour's flag in a round it takes what it received itself.
  const double rounds = leaders.count > 1 ? parcels / leaders.bundled : 0;
  const double flags = rounds * std::max(0.0, s.node.flag() - leaders.take(s));
  const double taken =
      std::ceil((s.nodes - 1.0) / leaders.bundled) * leaders.take(s) + parcels * leaders.show(s) + flags;
  if (!goes_by_relays(s.choice)) return straight_time(s, leaders, put, own, taken);
  const double meanwhile = s.is.latency;  // of the last relays
  return put + relay_time(s, leaders) + std::max(0.0, own - meanwhile) + taken + batches_time(s, leaders.form.batches);
}

}  // namespace espalier::algorithms
