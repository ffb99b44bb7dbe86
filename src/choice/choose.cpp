#include "choice/choose.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

#include "algorithms/candidates/candidates.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "algorithms/parts/node_order.hpp"
#include "algorithms/prices/crowding.hpp"
#include "base/bytes.hpp"
#include "choice/estimate.hpp"

namespace espalier::choice {

using algorithms::Crowding;
using algorithms::why_invalid;
using plan::Choice;
using plan::Problem;
using topology::Topology;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<Estimated> estimate_candidates(const Topology& topology, const Problem& problem,
                                           const cost::Parameters& parameters) {
  // Where there are good bets against it: rings and gathering to masters, binary trees through a node's cells.
  const bool supposes = problem.operation == plan::Operation::allgather ||
                        (problem.operation == plan::Operation::broadcast && topology.largest_node() > 1);
  const Crowding crowding =
      supposes ? algorithms::expected_crowding(topology, parameters) : algorithms::known_crowding(topology);
  std::vector<Estimated> all;
  for (const Choice& choice : algorithms::derive_candidates(topology, problem, parameters))
    all.push_back({choice, estimate_choice(topology, problem, choice, parameters, crowding)});
  return all;
}

bool is_faster(const Estimated& a, const Estimated& b) { return a.microseconds < b.microseconds; }

/// Closer than this the model does not know which of two is faster; nor on a network that it does not know.
constexpr double as_good = 1.02, as_good_as_supposed = 1.1;

/// The fastest ring or gathering to masters of an allgather whose best otherwise is doubling or Bruck's exchange, if
/// the model finds it as good. With long blocks they differ by the latency of a few rounds, but a ring's messages cross
/// the same short way in every round, while doubling's grow as its partners get farther (4 nodes of a rank on one
/// switch, 256 KB and 1 MB: a ring 1.03 and 0.98 times as fast as MPICH's own, doubling 0.95 and 0.93). Not where every
/// round waits for a core.
const Estimated* find_nearer_as_good(const Topology& topology, const Problem& problem,
                                     const std::vector<Estimated>& all, const Estimated& best) {
  using plan::Between;
  const bool has_far_partners =
      best.choice.between == Between::recursive_doubling || best.choice.between == Between::bruck;
  const bool is_crowded = topology.capabilities().oversubscribed;
  if (problem.operation != plan::Operation::allgather || topology.nodes() <= 2 || is_crowded || !has_far_partners)
    return nullptr;
  const double most = (algorithms::is_supposed(topology) ? as_good_as_supposed : as_good) * best.microseconds;
  const Estimated* found = nullptr;
  for (const Estimated& it : all) {
    const bool is_nearer = it.choice.between == Between::ring || it.choice.between == Between::gather_based;
    if (is_nearer && it.microseconds <= most && (found == nullptr || is_faster(it, *found)) &&
        why_invalid(topology, problem, it.choice).empty())
      found = &it;
  }
  return found;
}

/// What relays must gain on a network that nobody has described: in each of their messages all nodes send equally far,
/// which crowds the few cables between far switches, where straight exchanges are spread over all (4 bytes, 4096 ranks:
/// 199 us on a fat tree, 407 on a dragonfly; straight by closed form 222).
constexpr double least_by_relays = 1.5;

/// The fastest all-to-all whose leaders send straight, where relays seem best and gain less than that.
const Estimated* find_straighter(const Topology& topology, const Problem& problem, const std::vector<Estimated>& all,
                                 const Estimated& best) {
  const bool has_relays =
      problem.operation == plan::Operation::alltoall && best.choice.exchange == plan::Exchange::bruck;
  if (!has_relays || !algorithms::is_supposed(topology)) return nullptr;
  const Estimated* found = nullptr;
  for (const Estimated& it : all)
    if (it.choice.exchange != plan::Exchange::bruck && it.microseconds <= least_by_relays * best.microseconds &&
        (found == nullptr || is_faster(it, *found)) && why_invalid(topology, problem, it.choice).empty())
      found = &it;
  return found;
}

/// Between so few nodes the choice is above all one of fewer rounds or fewer bytes. More have been simulated, on fast
/// networks (docs/adr/0011).
constexpr int few_nodes = 7;
/// What is chosen for a network of unknown speed may take this many times as long as the best where it is fast, where
/// the best would take more than that many times as long as another where it is slow.
constexpr double most_if_fast = 1.15, least_if_slow = 1.2;

/// No table has measured the network, and no adapter has told its rate, as those of fast networks do.
bool has_unknown_speed(const Topology& topology, const cost::Parameters& parameters) {
  const bool is_told = topology.distances().worst() != topology::Way{};
  return topology.nodes() > 1 && !is_told && parameters.link_rate == cost::Parameters{}.link_rate;
}

/// Gigabit Ethernet through TCP.
cost::Parameters on_slow_network(cost::Parameters parameters) {
  parameters.latency = 25;
  parameters.overhead = 3;
  parameters.link_rate = 125;
  return parameters;
}

/// Where the network's speed is unknown: what takes little longer than the best on a fast one, and whose larger ratio
/// to the best of either is the least (minimax regret over two networks); null where the best is no worse on a slow
/// one. (4 nodes of a rank, 200 Mbit/s, 16 KB: a broadcast of one round in which the root sends three messages took 1.3
/// times as long as MPICH's binomial tree; on a fast network it saves a tenth.)
const Estimated* find_steadier(const Topology& topology, const Problem& problem, const std::vector<Estimated>& all,
                               const Estimated& best, const cost::Parameters& parameters) {
  const bool has_time = best.microseconds > 0;
  if (!has_time || topology.nodes() > few_nodes || !has_unknown_speed(topology, parameters)) return nullptr;
  const cost::Parameters slow = on_slow_network(parameters);
  std::vector<std::pair<const Estimated*, double>> valid;  // each with its time on the slow one
  double least = never;
  for (const Estimated& it : all) {
    if (it.microseconds == never || !why_invalid(topology, problem, it.choice).empty()) continue;
    valid.emplace_back(&it, estimate_choice(topology, problem, it.choice, slow));
    least = std::min(least, valid.back().second);
  }
  const Estimated* found = &best;
  double regret = never;
  for (const auto& [it, time] : valid) {
    const double if_fast = it->microseconds / best.microseconds, worse = std::max(if_fast, time / least);
    if (it == &best && worse < least_if_slow) return nullptr;
    if (if_fast > most_if_fast || worse > regret || (worse == regret && !is_faster(*it, *found))) continue;
    found = it;
    regret = worse;
  }
  return found;
}

/// What is taken in place of the fastest, if anything.
const Estimated* find_better_bet(const Topology& topology, const Problem& problem, const std::vector<Estimated>& all,
                                 const Estimated& best, const cost::Parameters& parameters) {
  const Estimated* nearer = find_nearer_as_good(topology, problem, all, best);
  if (nearer == nullptr) nearer = find_straighter(topology, problem, all, best);
  return nearer != nullptr ? nearer : find_steadier(topology, problem, all, best, parameters);
}

/// "chain in segments of 64K, through cells"; "multi_group of 4 groups through cells".
std::string describe(const Topology& topology, plan::Operation operation, const Choice& choice) {
  std::string text = name(choice.between);
  if (algorithms::goes_far_first(choice)) text += ", far partners first,";
  if (operation == plan::Operation::alltoall && choice.exchange == plan::Exchange::bruck)
    text += " by relays of radix " + std::to_string(choice.radix);
  if (topology.nodes() > 1 && algorithms::find_algorithm(operation, choice.between).has_knob("groups"))
    text += " of " + std::to_string(choice.groups) + (choice.groups == 1 ? " group" : " groups");
  if (topology.nodes() > 1 && choice.segment > 0) text += " in segments of " + format_bytes(choice.segment);
  if (topology.largest_node() == 1) return text;
  if (choice.levels > 2) text += " from cache to cache";
  return text + (choice.within == plan::Within::single_copy ? " by single copy" : " through cells");
}

std::string time_text(double microseconds) {
  char text[32];
  std::snprintf(text, sizeof text, microseconds < 100 ? "%.1f us" : "%.0f us", microseconds);
  return text;
}

std::string reason_of(const Topology& topology, plan::Operation operation, const std::vector<Estimated>& ranked) {
  const std::string best = describe(topology, operation, ranked.front().choice);
  std::string reason = best + ": " + time_text(ranked.front().microseconds) + " estimated";
  for (const Estimated& other : ranked)
    if (const std::string what = describe(topology, operation, other.choice); what != best) {
      const std::string time = time_text(other.microseconds);
      if (!is_faster(other, ranked.front())) return reason + "; next best " + what + ", " + time;
      return reason + "; " + what + ", " + time + ", is a worse bet on unknown networks";
    }
  return reason + "; there is no other way";
}

/// What a job would do here that knows nothing of its network, where that is something else; else nothing.
std::string told_by_network(const Topology& topology, const Problem& problem, const cost::Parameters& parameters,
                            const Choice& choice) {
  if (topology.distances().is_neutral()) return "";
  const Choice blind = choose(topology.with_distances({}), problem, parameters);
  const std::string what = describe(topology, problem.operation, blind);
  if (what == describe(topology, problem.operation, choice)) return "";
  const double time = estimate_choice(topology, problem, blind, parameters);
  return "; a job that does not know this network would take " + what + ", " + time_text(time);
}

}  // namespace

std::vector<Estimated> rank_choices(const Topology& topology, const Problem& problem,
                                    const cost::Parameters& parameters) {
  std::vector<Estimated> all = estimate_candidates(topology, problem, parameters);
  std::erase_if(all, [&](const Estimated& it) { return !why_invalid(topology, problem, it.choice).empty(); });
  std::stable_sort(all.begin(), all.end(), is_faster);
  if (all.empty()) return all;
  if (const Estimated* bet = find_better_bet(topology, problem, all, all.front(), parameters)) {
    const auto place = all.begin() + (bet - all.data());
    std::rotate(all.begin(), place, place + 1);
  }
  return all;
}

Choice choose(const Topology& topology, const Problem& problem, const cost::Parameters& parameters) {
  std::vector<Estimated> all = estimate_candidates(topology, problem, parameters);
  for (std::size_t tried = 0; tried < all.size(); ++tried) {
    Estimated& best = *std::min_element(all.begin(), all.end(), is_faster);
    if (why_invalid(topology, problem, best.choice).empty()) {
      const Estimated* bet = find_better_bet(topology, problem, all, best, parameters);
      return bet != nullptr ? bet->choice : best.choice;
    }
    best.microseconds = never;
  }
  return all.front().choice;
}

// 16 Xeon cores (2.1 GHz), us by lines / through cells, of 256 and 512 bytes: broadcast among 8 ranks 0.7 / 0.9 and 1.1
// / 0.9, among 16 1.1 / 1.0 and 1.6 / 1.1; reduce 1.0 / 1.3 and 1.4 / 1.5, 2.2 / 2.3 and 3.0 / 2.6; allreduce 1.3 / 1.7
// and 2.1 / 1.7, 2.7 / 2.8 and 4.5 / 3.0. Among 4, of 2K: broadcast 0.7 / 1.5, reduce 1.3 / 1.7, allreduce 4.3 / 2.4.
// What is read grows with the ranks in reductions, and in a broadcast the number of those that read one line at once.
bool prefers_tiny(const Topology& topology, const Problem& problem) {
  constexpr int least_crowd = 5;
  const int ranks = topology.ranks();
  if (topology.nodes() != 1 || !plan::is_tiny(problem, ranks)) return false;
  if (topology.capabilities().oversubscribed) return true;
  const auto crowd = static_cast<Bytes>(ranks);
  if (problem.operation == plan::Operation::allreduce && ranks > 2) return problem.bytes * crowd <= 2048;
  if (ranks < least_crowd) return true;
  if (problem.operation == plan::Operation::barrier) return !algorithms::follows_caches(topology, problem);
  const bool is_rooted =
      problem.operation == plan::Operation::broadcast || problem.operation == plan::Operation::reduce;
  return !is_rooted || problem.bytes * crowd <= 4096;
}

Decision decide(const Topology& topology, const Problem& problem, const cost::Parameters& parameters) {
  const std::vector<Estimated> ranked = rank_choices(topology, problem, parameters);
  if (ranked.empty()) return {choose(topology, problem, parameters), "nothing fits; this comes closest"};
  const Choice& best = ranked.front().choice;
  Decision decision{
      best, reason_of(topology, problem.operation, ranked) + told_by_network(topology, problem, parameters, best)};
  if (prefers_tiny(topology, problem))
    decision.reason =
        "one node, short: an MPI job takes the dedicated path, payload and sequence number in one line; when that is "
        "overruled, " +
        decision.reason;
  const int ranks = topology.ranks();
  const Rank root = problem.root;
  if (std::max(plan::input_bytes(problem, ranks, root), plan::output_bytes(problem, ranks, root)) > largest_result)
    decision.reason =
        "more than " + format_bytes(largest_result) + ": an MPI job leaves it to native; else, " + decision.reason;
  return decision;
}

}  // namespace espalier::choice
