#include "groups/rounds.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <map>
#include <set>

namespace espalier::groups {
namespace {

using Derive = std::function<std::vector<Round>(int node, int count)>;

std::set<int> members(const Nodes (&parts)[2]) {
  std::set<int> all;
  for (const Nodes& nodes : parts)
    for (int n = nodes.first; n < nodes.first + nodes.count; ++n) all.insert(n);
  return all;
}

/// Runs all leaders' rounds as messages in order per pair and checks the promises of the header.
class Exchange {
 public:
  Exchange(const Derive& derive, int count)
      : next_(static_cast<std::size_t>(count)), have_(static_cast<std::size_t>(count)) {
    for (int node = 0; node < count; ++node) {
      rounds_.push_back(derive(node, count));
      have_[static_cast<std::size_t>(node)] = {node};
    }
  }

  // Every leader goes on as far as it can: sends first, then waits for what comes in. True when all have come to the
  // end.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t node = 0; node < rounds_.size(); ++node)
        while (step(node)) moved = true;
    }
    for (std::size_t node = 0; node < rounds_.size(); ++node)
      if (next_[node] < rounds_[node].size()) return false;
    return true;
  }

  const std::set<int>& have(int node) const { return have_[static_cast<std::size_t>(node)]; }

 private:
  bool step(std::size_t node) {
    if (next_[node] == rounds_[node].size()) return false;
    const Round& round = rounds_[node][next_[node]];
    if (sent_.insert({node, next_[node]}).second && round.to >= 0) {
      for (const int n : members(round.outgoing)) EXPECT_TRUE(have_[node].contains(n)) << "sends what it has not";
      wire_[{static_cast<int>(node), round.to}].push_back(members(round.outgoing));
    }
    if (round.from >= 0 && !receive(node, round)) return false;
    ++next_[node];
    return true;
  }

  bool receive(std::size_t node, const Round& round) {
    auto& queue = wire_[{round.from, static_cast<int>(node)}];
    if (queue.empty()) return false;
    EXPECT_EQ(queue.front(), members(round.incoming));
    for (const int n : queue.front()) EXPECT_TRUE(have_[node].insert(n).second) << "received twice";
    queue.erase(queue.begin());
    return true;
  }

  std::vector<std::vector<Round>> rounds_;
  std::vector<std::size_t> next_;
  std::vector<std::set<int>> have_;
  std::set<std::pair<std::size_t, std::size_t>> sent_;
  std::map<std::pair<int, int>, std::vector<std::set<int>>> wire_;
};

void expect_everyone_has_everything(const Derive& derive) {
  for (int count = 1; count <= 40; ++count) {
    Exchange exchange(derive, count);
    EXPECT_TRUE(exchange.run()) << "stuck with " << count << " nodes";
    for (int node = 0; node < count; ++node)
      EXPECT_EQ(static_cast<int>(exchange.have(node).size()), count) << "node " << node << " of " << count;
  }
}

TEST(Direct, GivesEveryoneEverything) { expect_everyone_has_everything(derive_direct); }
TEST(Ring, GivesEveryoneEverything) { expect_everyone_has_everything(derive_ring); }
TEST(TwoWayRing, GivesEveryoneEverything) { expect_everyone_has_everything(derive_two_way_ring); }
TEST(Bruck, GivesEveryoneEverything) { expect_everyone_has_everything(derive_bruck); }
TEST(RecursiveDoubling, GivesEveryoneEverything) { expect_everyone_has_everything(derive_recursive_doubling); }

TEST(Direct, HitsEveryNodeOnceInEachRound) {
  for (int count = 2; count <= 20; ++count)
    for (std::size_t round = 0; round + 1 < static_cast<std::size_t>(count); ++round) {
      std::set<int> targets;
      for (int node = 0; node < count; ++node) targets.insert(derive_direct(node, count)[round].to);
      EXPECT_EQ(static_cast<int>(targets.size()), count);
    }
}

TEST(TwoWayRing, SendsWhatWasThereTwoRoundsBefore) {
  for (int count = 2; count <= 20; ++count) {
    const std::vector<Round> rounds = derive_two_way_ring(1, count);
    for (std::size_t k = 0; k < rounds.size(); ++k)
      EXPECT_EQ(rounds[k].outgoing[0], k < 2 ? (Nodes{1, 1}) : rounds[k - 2].incoming[0]) << k << " of " << count;
  }
}

TEST(TwoWayRing, UsesEachWayBetweenTwoNeighboursForHalfOfTheData) {
  for (int count = 3; count <= 20; ++count) {
    int right = 0;
    for (const Round& round : derive_two_way_ring(0, count)) right += round.to == 1 ? 1 : 0;
    EXPECT_EQ(right, count / 2);
  }
}

TEST(Rounds, AreAsFewAsPromised) {
  for (int count = 2; count <= 40; ++count) {
    const int logarithm = std::bit_width(static_cast<unsigned>(count - 1));
    EXPECT_EQ(static_cast<int>(derive_ring(1, count).size()), count - 1);
    EXPECT_EQ(static_cast<int>(derive_two_way_ring(1, count).size()), count - 1);
    EXPECT_EQ(static_cast<int>(derive_bruck(1, count).size()), logarithm);
    const int core = std::bit_width(static_cast<unsigned>(count)) - 1;
    EXPECT_LE(static_cast<int>(derive_recursive_doubling(0, count).size()), core + 2);
  }
}

}  // namespace
}  // namespace espalier::groups
