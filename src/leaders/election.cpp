#include "leaders/election.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <tuple>

#include "base/enumerators.hpp"
#include "base/error.hpp"

namespace espalier::leaders {

using machine::Binding;
using machine::RankFacts;

namespace {

bool sees_the_same(const RankFacts& a, const RankFacts& b) {
  return a.nics_key == b.nics_key && a.nics == b.nics && a.numa_nodes == b.numa_nodes && a.nic_numa == b.nic_numa;
}

bool is_far_everywhere(const RankFacts& facts) {
  return std::all_of(facts.distance.begin(), facts.distance.begin() + facts.nics,
                     [](int distance) { return distance == machine::unknown_distance; });
}

// Why nearness can't decide here; empty when it can. All ranks of the node must have equal facts on what is common.
std::string_view why_neutral(std::span<const RankFacts> facts, int ranks) {
  const auto all = [&](auto is_so) { return std::all_of(facts.begin(), facts.end(), is_so); };
  if (facts.size() != static_cast<std::size_t>(ranks)) return "nothing is known about the node";
  const RankFacts& first = facts.front();
  if (!all([&](const RankFacts& it) { return sees_the_same(it, first); })) return "its ranks see different NICs";
  if (first.nics == 0) return "no NIC is known";
  const auto makes_sense = [](const RankFacts& it) { return it.numa >= -1 && it.l3 >= -1; };
  if (first.nics > machine::most_nics || !all(makes_sense)) return "its facts make no sense";
  if (first.numa_nodes <= 1) return "one NUMA node: every rank is near";
  if (all([](const RankFacts& it) { return it.binding != Binding::bound; })) return "no rank is bound to a NUMA node";
  if (all(is_far_everywhere)) return "where the NIC sits is not known";
  if (all([&](const RankFacts& it) { return it.distance == first.distance; })) return "all ranks are equally far";
  return "";
}

Election elect_naturally(std::span<const RankFacts> facts, int count, std::string_view reason) {
  Election election{{}, reason, true};
  for (int k = 0; k < count; ++k)
    election.leaders.push_back({LocalRank(k), facts.empty() ? -1 : nearest_nic(facts[static_cast<std::size_t>(k)])});
  return election;
}

/// NICs in use, those first that some rank is nearest to, in runs of equals: a job that has half of a node leaves the
/// other half's cards alone as long as its own suffice. In each run `turn` says who begins.
class Rails {
 public:
  Rails(std::span<const RankFacts> facts, int turn) {
    std::vector<int> nearest(facts.front().nics, machine::unknown_distance);
    for (const RankFacts& it : facts)
      for (std::size_t nic = 0; nic < nearest.size(); ++nic)
        nearest[nic] = std::min<int>(nearest[nic], it.distance[nic]);
    const auto distance = [&](int nic) { return nearest[static_cast<std::size_t>(nic)]; };
    order_.resize(nearest.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return distance(a) < distance(b); });
    for (auto begin = order_.begin(); begin != order_.end();) {
      const auto end = std::find_if(begin, order_.end(), [&](int nic) { return distance(nic) != distance(*begin); });
      if (begin == order_.begin()) near_ = static_cast<int>(end - begin);
      std::rotate(begin, begin + turn % (end - begin), end);
      begin = end;
    }
  }

  int of_leader(int k) const { return order_[static_cast<std::size_t>(k) % order_.size()]; }
  /// How many NICs are as near as the nearest, >= 1.
  int near() const { return near_; }

 private:
  std::vector<int> order_;
  int near_ = 1;
};

/// How many leaders each place (NUMA node, L3 group; -1: several) has.
class Uses {
 public:
  explicit Uses(int most) : count_(static_cast<std::size_t>(most) + 2) {}
  int& operator[](int place) { return count_[static_cast<std::size_t>(place + 1)]; }

 private:
  std::vector<int> count_;
};

int largest(std::span<const RankFacts> facts, std::int16_t RankFacts::*place) {
  int most = -1;
  for (const RankFacts& it : facts) most = std::max<int>(most, it.*place);
  return most;
}

/// Takes one leader after the other.
class Ballot {
 public:
  /// `turn` says who it is among equals.
  Ballot(std::span<const RankFacts> facts, Policy policy, int turn)
      : facts_(facts),
        policy_(policy),
        turn_(turn),
        is_taken_(facts.size()),
        numa_uses_(largest(facts, &RankFacts::numa)),
        l3_uses_(largest(facts, &RankFacts::l3)) {}

  Leader take(int nic) {
    std::vector<int> best;
    std::tuple<int, int, int> least;
    for (int rank = 0; rank < static_cast<int>(facts_.size()); ++rank) {
      if (is_taken_[static_cast<std::size_t>(rank)]) continue;
      const auto its = cost(rank, nic);
      if (best.empty() || its < least) {
        best.clear();
        least = its;
      }
      if (its == least) best.push_back(rank);
    }
    const int chosen = best[static_cast<std::size_t>(turn_) % best.size()];
    is_taken_[static_cast<std::size_t>(chosen)] = true;
    ++numa_uses_[facts(chosen).numa];
    ++l3_uses_[facts(chosen).l3];
    return {LocalRank(chosen), nic};
  }

 private:
  const RankFacts& facts(int rank) const { return facts_[static_cast<std::size_t>(rank)]; }

  std::tuple<int, int, int> cost(int rank, int nic) {
    const RankFacts& it = facts(rank);
    const int numa_uses = policy_ == Policy::spread ? numa_uses_[it.numa] : 0;
    return {numa_uses, it.distance[static_cast<std::size_t>(nic)], l3_uses_[it.l3]};
  }

  std::span<const RankFacts> facts_;
  Policy policy_;
  int turn_;
  std::vector<bool> is_taken_;
  Uses numa_uses_;
  Uses l3_uses_;
};

}  // namespace

Policy parse_policy(std::string_view text) {
  if (const std::optional<Policy> found = find_enumerator<Policy>(text)) return *found;
  throw Error("\"" + std::string(text) + "\" is no policy for leaders: one of " + list_enumerators<Policy>());
}

int nearest_nic(const RankFacts& facts) {
  if (facts.nics == 0 || facts.nics > machine::most_nics) return -1;
  return static_cast<int>(std::min_element(facts.distance.begin(), facts.distance.begin() + facts.nics) -
                          facts.distance.begin());
}

Election elect(std::span<const RankFacts> facts, int ranks, const Request& request) {
  const int count = std::min(request.count, ranks);
  if (request.policy == Policy::natural) return elect_naturally(facts, count, "as asked");
  if (const std::string_view reason = why_neutral(facts, ranks); !reason.empty())
    return elect_naturally(facts, count, reason);
  Election election{{}, request.policy == Policy::near ? "near their NIC" : "on different NUMA nodes"};
  const Rails rails(facts, request.turn);
  // NICs take turns first: equal ranks are next when all near NICs have had theirs.
  Ballot ballot(facts, request.policy, request.turn / rails.near());
  for (int k = 0; k < count; ++k) election.leaders.push_back(ballot.take(rails.of_leader(k)));
  return election;
}

}  // namespace espalier::leaders
