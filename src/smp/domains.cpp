#include "smp/domains.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace espalier::smp {
namespace {

using machine::RankFacts;

/// What tells domains apart on this node, rank by rank; all equal when nothing does.
std::vector<int> derive_keys(std::span<const RankFacts> facts, int ranks) {
  const std::vector<int> alike(static_cast<std::size_t>(ranks));
  if (facts.empty()) return alike;
  for (const auto place : {&RankFacts::numa, &RankFacts::l3}) {
    std::vector<int> keys;
    for (const RankFacts& rank : facts) keys.push_back(rank.*place);
    const bool is_known = std::find(keys.begin(), keys.end(), -1) == keys.end();
    if (!is_known) break;
    if (std::adjacent_find(keys.begin(), keys.end(), std::not_equal_to<>()) != keys.end()) return keys;
  }
  return alike;
}

/// The same of caches: a cache belongs to one NUMA node, which names it where it has no name itself.
std::vector<int> derive_cache_keys(std::span<const RankFacts> facts, int ranks) {
  std::vector<int> keys(static_cast<std::size_t>(ranks));
  if (facts.empty()) return keys;
  const bool are_known = std::ranges::none_of(facts, [](const RankFacts& rank) { return rank.l3 == -1; });
  if (!are_known) return derive_keys(facts, ranks);
  for (std::size_t rank = 0; rank < keys.size(); ++rank) keys[rank] = facts[rank].l3;
  return keys;
}

/// `first` leads what it belongs to; the others keep their order.
void put_first(std::vector<LocalRank>& leaders, LocalRank first) {
  const auto place = std::ranges::find(leaders, first);
  if (place != leaders.end()) std::rotate(leaders.begin(), place, place + 1);
}

/// Each hands on to two of those behind it.
void join(const std::vector<LocalRank>& leaders, std::vector<LocalRank>& from) {
  for (std::size_t i = 1; i < leaders.size(); ++i)
    from[static_cast<std::size_t>(leaders[i].value)] = leaders[(i - 1) / 2];
}

/// Whose data each rank reads with three levels; the writer its own.
std::vector<LocalRank> derive_sources(const plan::Builder& builder, LocalRank writer) {
  const Domains caches = Domains::of_caches(builder.topology(), builder.node());
  const auto facts = builder.topology().facts_on(builder.node());
  std::vector<LocalRank> from(static_cast<std::size_t>(builder.node_size()), writer), heads;
  std::map<int, std::vector<LocalRank>> leaders;  // of caches, by NUMA node
  for (int cache = 0; cache < caches.count(); ++cache) {
    const auto members = caches.members(cache);
    const LocalRank leader = caches.of(writer) == cache ? writer : members.front();
    for (const LocalRank member : members) from[static_cast<std::size_t>(member.value)] = leader;
    leaders[facts[static_cast<std::size_t>(leader.value)].numa].push_back(leader);
  }
  for (auto& [numa, of_numa] : leaders) {
    put_first(of_numa, writer);
    join(of_numa, from);
    heads.push_back(of_numa.front());
  }
  put_first(heads, writer);
  join(heads, from);
  return from;
}

Hop derive_hop_of_caches(const plan::Builder& builder, LocalRank writer) {
  const std::vector<LocalRank> from = derive_sources(builder, writer);
  const LocalRank me = builder.local();
  const auto reads_from = [&](int rank, LocalRank source) {
    return LocalRank(rank) != writer && LocalRank(rank) != source && from[static_cast<std::size_t>(rank)] == source;
  };
  Hop hop;
  std::vector<LocalRank> leaves;
  for (int rank = 0; rank < builder.node_size(); ++rank) {
    if (!reads_from(rank, me)) continue;
    const bool relays = std::ranges::any_of(from, [&](LocalRank it) { return it == LocalRank(rank); });
    (relays ? hop.readers : leaves).push_back(LocalRank(rank));
  }
  hop.readers.insert(hop.readers.end(), leaves.begin(), leaves.end());
  if (me == writer) return hop;
  hop.from = from[static_cast<std::size_t>(me.value)];
  for (int rank = 0; rank < builder.node_size(); ++rank) hop.siblings += reads_from(rank, hop.from);
  return hop;
}

std::vector<LocalRank> derive_readers(const Domains& domains, LocalRank writer, LocalRank rank) {
  const int own = domains.of(rank);
  std::vector<LocalRank> readers;
  if (rank == writer)
    for (int domain = 0; domain < domains.count(); ++domain)
      if (domain != own) readers.push_back(domains.members(domain).front());
  const bool speaks = rank == writer || (own != domains.of(writer) && rank == domains.members(own).front());
  for (const LocalRank member : domains.members(own))
    if (speaks && member != rank) readers.push_back(member);
  return readers;
}

/// Whose data a rank other than the writer reads.
LocalRank source_of(const Domains& domains, LocalRank writer, LocalRank rank) {
  const int own = domains.of(rank);
  const LocalRank relay = domains.members(own).front();
  return own == domains.of(writer) || rank == relay ? writer : relay;
}

Hop derive_direct(const plan::Builder& builder, LocalRank writer) {
  if (builder.local() != writer) return {writer, builder.node_size() - 1, {}};
  Hop hop;
  for (int rank = 0; rank < builder.node_size(); ++rank)
    if (LocalRank(rank) != writer) hop.readers.push_back(LocalRank(rank));
  return hop;
}

}  // namespace

Domains::Domains(const topology::Topology& topology, NodeId node)
    : Domains(derive_keys(topology.facts_on(node), topology.size_of(node))) {}

Domains::Domains(const std::vector<int>& keys) {
  std::map<int, int> numbers;
  for (const int key : keys) {
    const auto [entry, is_new] = numbers.try_emplace(key, static_cast<int>(numbers.size()));
    if (is_new) members_.emplace_back();
    members_[static_cast<std::size_t>(entry->second)].emplace_back(static_cast<int>(domain_of_.size()));
    domain_of_.push_back(entry->second);
  }
}

bool Domains::are_consecutive() const { return std::is_sorted(domain_of_.begin(), domain_of_.end()); }

Domains Domains::of_caches(const topology::Topology& topology, NodeId node) {
  return Domains(derive_cache_keys(topology.facts_on(node), topology.size_of(node)));
}

/// Played on nodes of 64 cores below one cache or two, a reduce and an allreduce of 1K: in parts of 4, 8, 16 ranks and
/// undivided 2.9, 2.4, 2.6, 6.0 us and 3.1, 2.5, 2.7, 6.2 us (Graviton3); 3.5, 2.9, 3.0, 3.9 us (Xeon 8375C).
Domains Domains::in_parts() const {
  constexpr std::size_t most = 8;
  std::vector<int> keys(domain_of_.size());
  int parts = 0;
  for (const auto& members : members_) {
    const std::size_t count = (members.size() + most - 1) / most;
    for (std::size_t i = 0; i < members.size(); ++i)
      keys[static_cast<std::size_t>(members[i].value)] = parts + static_cast<int>(i * count / members.size());
    parts += static_cast<int>(count);
  }
  return Domains(keys);
}

bool has_levels(const topology::Topology& topology, int levels) {
  for (int node = 0; node < topology.nodes(); ++node) {
    const Domains domains =
        levels > 2 ? Domains::of_caches(topology, NodeId(node)).in_parts() : Domains(topology, NodeId(node));
    if (domains.count() > 1 && domains.count() < topology.size_of(NodeId(node))) return true;
  }
  return false;
}

Hop derive_hop(const plan::Builder& builder, int levels, LocalRank writer) {
  if (levels < 2 || builder.topology().facts_on(builder.node()).empty()) return derive_direct(builder, writer);
  if (levels > 2) return derive_hop_of_caches(builder, writer);
  const Domains domains(builder.topology(), builder.node());
  Hop hop;
  hop.readers = derive_readers(domains, writer, builder.local());
  if (builder.local() == writer) return hop;
  hop.from = source_of(domains, writer, builder.local());
  hop.siblings = static_cast<int>(derive_readers(domains, writer, hop.from).size());
  return hop;
}

void await_readers(plan::Builder& builder, const Hop& hop, plan::Flag flag, std::uint64_t tick) {
  if (static_cast<int>(hop.readers.size()) == builder.node_size() - 1) return builder.await_neighbours(flag, tick);
  for (const LocalRank reader : hop.readers) builder.await(reader, flag, tick);
}

}  // namespace espalier::smp
