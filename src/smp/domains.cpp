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

bool has_two_levels(const topology::Topology& topology) {
  for (int node = 0; node < topology.nodes(); ++node) {
    const Domains domains(topology, NodeId(node));
    if (domains.count() > 1 && domains.count() < topology.size_of(NodeId(node))) return true;
  }
  return false;
}

Hop derive_hop(const plan::Builder& builder, int levels, LocalRank writer) {
  if (levels < 2 || builder.topology().facts_on(builder.node()).empty()) return derive_direct(builder, writer);
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
