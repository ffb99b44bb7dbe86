#include "mpi/setup/agreement.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plan/step.hpp"

namespace espalier::mpi {
namespace {

std::string why_refused(std::span<const Facts> facts, bool assume_host_buffers) {
  for (const Facts& other : facts) {
    if (other.format != facts[0].format) return "ranks run different versions of Espalier: load the same file on all";
    if (other.settings != facts[0].settings)
      return "ESPALIER_ settings differ between ranks, or ESPALIER_ONLY and ESPALIER_NOT tell their programs apart: "
             "give "
             "all ranks the same environment";
  }
  const bool has_devices = std::any_of(facts.begin(), facts.end(), [](const Facts& f) { return f.may_use_devices; });
  if (has_devices && !assume_host_buffers)
    return "a rank uses an accelerator, so buffers may lie in device memory: set ESPALIER_ASSUME_HOST_BUFFERS=1 if "
           "collectives use host memory only";
  return {};
}

// Counts of one host: ranks per set of cores (by its hash), and the limits that hold for the host as a whole.
struct Host {
  struct CoreSet {
    int ranks = 0;
    int cores = 0;
  };
  std::map<std::uint64_t, CoreSet> sets;
  std::set<std::int32_t> nodes;
  int ranks = 0;
  int neighbours = 0;
  int cores = 1;

  // Launchers bind ranks to equal or to disjoint sets of cores; sets that differ are taken to be disjoint.
  bool is_oversubscribed(int each) const {
    for (const auto& [hash, set] : sets)
      if (each * set.ranks > set.cores) return true;
    return each * std::max(ranks, neighbours) > reachable_cores();
  }
  int reachable_cores() const {
    int reachable = 0;
    for (const auto& [hash, set] : sets) reachable += set.cores;
    return std::min(reachable, cores);
  }
  /// Virtual nodes have as many each.
  int cores_of_node() const {
    const auto count = static_cast<int>(nodes.size());
    return (reachable_cores() + count - 1) / count;
  }
};

using HostsByNumber = std::map<std::uint64_t, Host>;

HostsByNumber count_hosts(std::span<const Facts> facts) {
  HostsByNumber hosts;
  for (const Facts& rank : facts) {
    Host& host = hosts[rank.host];
    Host::CoreSet& set = host.sets[rank.core_set];
    ++set.ranks;
    set.cores = rank.cores;
    host.nodes.insert(rank.virtual_node);
    ++host.ranks;
    host.cores = rank.host_cores;
    // Ranks of the job outside this communicator need cores too. They use ours only where ranks are not bound.
    if (rank.cores >= rank.host_cores) host.neighbours = std::max(host.neighbours, rank.processes_on_host);
  }
  return hosts;
}

int derive_shared_cores(const HostsByNumber& hosts) {
  int fewest = 0;
  for (const auto& [label, host] : hosts)
    if (host.is_oversubscribed(1) && (fewest == 0 || host.cores_of_node() < fewest)) fewest = host.cores_of_node();
  return fewest;
}

}  // namespace

bool is_oversubscribed(std::span<const Facts> facts, int each) {
  const HostsByNumber hosts = count_hosts(facts);
  return std::any_of(hosts.begin(), hosts.end(),
                     [=](const auto& entry) { return entry.second.is_oversubscribed(each); });
}

Agreement derive_agreement(std::span<const Facts> facts, bool assume_host_buffers) {
  Agreement agreement;
  agreement.refusal = why_refused(facts, assume_host_buffers);
  if (!agreement.refusal.empty()) return agreement;
  std::map<std::pair<std::uint64_t, std::int32_t>, int> labels;
  for (const Facts& rank : facts) {
    const int fresh = static_cast<int>(labels.size());
    agreement.node_of.push_back(labels.try_emplace({rank.host, rank.virtual_node}, fresh).first->second);
  }
  for (const Facts& rank : facts)
    if (rank.table != facts[0].table) agreement.has_different_tables = true;
  agreement.has_table = facts[0].table != 0 && !agreement.has_different_tables;
  agreement.may_start = std::all_of(facts.begin(), facts.end(), [](const Facts& f) { return f.sees_completion; });
  agreement.shared_cores = derive_shared_cores(count_hosts(facts));
  agreement.oversubscribed = agreement.shared_cores > 0;
  const auto is_slow = [](const Facts& rank) { return rank.handover != static_cast<int>(machine::Handover::quick); };
  if (std::any_of(facts.begin(), facts.end(), is_slow)) agreement.handover = machine::Handover::slow;
  for (const Facts& rank : facts) {
    agreement.places.push_back(rank.place);
    agreement.window = agreement.window == 0 ? rank.window : std::min(agreement.window, rank.window);
  }
  const auto says_nothing = [](const machine::RankFacts& place) { return place == machine::RankFacts{}; };
  if (std::all_of(agreement.places.begin(), agreement.places.end(), says_nothing)) agreement.places.clear();
  return agreement;
}

Waiting derive_waiting(Waiting wanted, bool is_oversubscribed) {
  return wanted == Waiting::auto_ && !is_oversubscribed ? Waiting::yield : wanted;
}

SingleCopyMeans derive_means(CopyMeans wanted, const SingleCopyMeans& works_everywhere) {
  if (wanted == CopyMeans::none) return {};
  return {works_everywhere.cma, works_everywhere.xpmem && wanted != CopyMeans::cma};
}

std::string to_string(const SingleCopyMeans& means) {
  if (!means.any()) return "off";
  return std::string("by ") + (means.xpmem ? "XPMEM" : "") + (means.xpmem && means.cma ? " and " : "") +
         (means.cma ? "CMA" : "");
}

int derive_turn(std::span<const std::int32_t> communicators) {
  int turn = 0;
  for (const std::int32_t count : communicators) turn = std::max(turn, count & 0xffff);
  return turn;
}

Bytes derive_window(Bytes wanted, int processes, Bytes limit) {
  constexpr Bytes page = 4096;
  const Bytes share = limit / (static_cast<Bytes>(std::max(processes, 1)) * plan::window_banks);
  return std::max(page, std::min(wanted, share / page * page));
}

}  // namespace espalier::mpi
