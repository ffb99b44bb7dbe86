#include "groups/rounds.hpp"

#include <algorithm>
#include <bit>

#include "groups/distances.hpp"

namespace espalier::groups {
namespace {

int wrap(int node, int count) { return ((node % count) + count) % count; }

// `length` nodes from `first` on, around the end.
void set_circular(Nodes (&parts)[2], int first, int length, int count) {
  const int straight = std::min(length, count - first);
  parts[0] = {first, straight};
  parts[1] = {0, length - straight};
}

/// A power of two of nodes that take part in doubling, and the others that lean on one of them each.
struct Leaning {
  int count;
  int core;  ///< largest power of two that is not above count

  bool leans(int node) const { return node >= core; }

  // The nodes whose data the aligned group of `width` core nodes around `node` has gathered.
  void set_group(Nodes (&parts)[2], int node, int width) const {
    const int first = node & ~(width - 1);
    const int leaning = std::clamp(count - (first + core), 0, width);
    parts[0] = {first, width};
    parts[1] = {first + core, leaning};
  }

  void set_all_but(Nodes (&parts)[2], int node) const {
    parts[0] = {0, node};
    parts[1] = {node + 1, count - node - 1};
  }
};

std::vector<Round> derive_leaning(const Leaning& doubling, int node) {
  const int partner = node - doubling.core;
  Round lend;
  lend.to = partner;
  lend.outgoing[0] = {node, 1};
  Round result;
  result.from = partner;
  doubling.set_all_but(result.incoming, node);
  return {lend, result};
}

}  // namespace

std::vector<Round> derive_direct(int node, int count) {
  std::vector<Round> rounds;
  for (const int distance : spread_distances(count)) {
    Round& round = rounds.emplace_back();
    round.to = wrap(node + distance, count);
    round.from = wrap(node - distance, count);
    round.outgoing[0] = {node, 1};
    round.incoming[0] = {round.from, 1};
  }
  return rounds;
}

std::vector<Round> derive_ring(int node, int count) {
  std::vector<Round> rounds(static_cast<std::size_t>(count - 1));
  int have = node;
  for (Round& round : rounds) {
    const int next = have == 0 ? count - 1 : have - 1;
    round.to = node + 1 == count ? 0 : node + 1;
    round.from = node == 0 ? count - 1 : node - 1;
    round.outgoing[0] = {have, 1};
    round.incoming[0] = {next, 1};
    have = next;
  }
  return rounds;
}

std::vector<Round> derive_two_way_ring(int node, int count) {
  std::vector<Round> rounds;
  for (int k = 0; k < count - 1; ++k) {
    const int step = k % 2 == 0 ? 1 : -1, hops = k / 2;
    Round& round = rounds.emplace_back();
    round.to = wrap(node + step, count);
    round.from = wrap(node - step, count);
    round.outgoing[0] = {wrap(node - step * hops, count), 1};
    round.incoming[0] = {wrap(node - step * (hops + 1), count), 1};
  }
  return rounds;
}

std::vector<Round> derive_bruck(int node, int count) {
  std::vector<Round> rounds;
  for (int have = 1; have < count; have *= 2) {
    const int length = std::min(have, count - have);
    Round& round = rounds.emplace_back();
    round.to = wrap(node - have, count);
    round.from = wrap(node + have, count);
    set_circular(round.outgoing, node, length, count);
    set_circular(round.incoming, round.from, length, count);
  }
  return rounds;
}

std::vector<Round> derive_recursive_doubling(int node, int count) {
  const Leaning doubling{count, static_cast<int>(std::bit_floor(static_cast<unsigned>(count)))};
  if (doubling.leans(node)) return derive_leaning(doubling, node);
  std::vector<Round> rounds;
  const int leaning = node + doubling.core;
  if (leaning < count) {
    Round& borrow = rounds.emplace_back();
    borrow.from = leaning;
    borrow.incoming[0] = {leaning, 1};
  }
  for (int width = 1; width < doubling.core; width *= 2) {
    Round& round = rounds.emplace_back();
    round.to = round.from = node ^ width;
    doubling.set_group(round.outgoing, node, width);
    doubling.set_group(round.incoming, round.from, width);
  }
  if (leaning < count) {
    Round& repay = rounds.emplace_back();
    repay.to = leaning;
    doubling.set_all_but(repay.outgoing, leaning);
  }
  return rounds;
}

}  // namespace espalier::groups
