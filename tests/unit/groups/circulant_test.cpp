#include "groups/circulant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace espalier::groups {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

using Schedule = std::vector<int>;

std::vector<Schedule> schedules(int count) {
  const std::vector<int> skips = derive_skips(count);
  std::vector<Schedule> all;
  for (int node = 0; node < count; ++node) all.push_back(derive_receive_schedule(node, skips));
  return all;
}

// The paper's conditions, for every number of nodes up to some hundred and some larger ones.
std::vector<int> counts() {
  std::vector<int> all(399);
  std::iota(all.begin(), all.end(), 2);
  all.insert(all.end(), {511, 512, 513, 1000, 1023, 1025, 2047, 4095, 4097});
  return all;
}

TEST(Circulant, ReceivesEveryBlockOfTheLastPhaseButOneAndANewOne) {
  for (const int count : counts()) {
    const std::vector<Schedule> all = schedules(count);
    const int q = static_cast<int>(derive_skips(count).size()) - 1;
    for (int node = 1; node < count; ++node) {
      Schedule sorted = all[at(node)];
      std::sort(sorted.begin(), sorted.end());
      const int fresh = sorted.back();
      ASSERT_GE(fresh, 0) << count << ", " << node;
      Schedule expected = {fresh};
      for (int block = -1; block >= -q; --block)
        if (block != fresh - q) expected.push_back(block);
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(sorted, expected) << count << ", " << node;
    }
  }
}

TEST(Circulant, SendsOnlyWhatItHasReceivedBefore) {
  for (const int count : counts()) {
    const std::vector<Schedule> all = schedules(count);
    const std::vector<int> skips = derive_skips(count);
    const int q = static_cast<int>(skips.size()) - 1;
    for (int node = 0; node < count; ++node) {
      const Schedule& own = all[at(node)];
      const int fresh = node == 0 ? q : *std::max_element(own.begin(), own.end());
      for (int k = 0; k < q; ++k) {
        const int sent = all[at((node + skips[at(k)]) % count)][at(k)];
        if (node == 0)
          ASSERT_EQ(sent, k) << count;
        else
          ASSERT_TRUE(sent == fresh - q || std::find(own.begin(), own.begin() + k, sent) != own.begin() + k)
              << count << ", " << node << ", round " << k;
      }
    }
  }
}

/// Plays the rounds of all nodes: who has what, and whether both ends of every message agree.
void expect_broadcast(int count, int blocks) {
  std::vector<std::vector<CirculantRound>> all;
  for (int node = 0; node < count; ++node) all.push_back(derive_circulant(node, count, blocks));
  std::vector<std::vector<bool>> has(at(count), std::vector<bool>(at(blocks)));
  has[0].assign(at(blocks), true);
  const int q = static_cast<int>(derive_skips(count).size()) - 1;
  ASSERT_EQ(static_cast<int>(all[0].size()), blocks - 1 + q);
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    const auto before = has;
    for (int node = 0; node < count; ++node) {
      const CirculantRound& round = all[at(node)][i];
      if (round.incoming >= 0) {
        const CirculantRound& other = all[at(round.from)][i];
        ASSERT_TRUE(other.to == node && other.outgoing == round.incoming) << count << ", " << blocks << ", " << i;
        ASSERT_FALSE(before[at(node)][at(round.incoming)]) << "twice";
        has[at(node)][at(round.incoming)] = true;
      }
      if (round.outgoing >= 0) {
        const CirculantRound& other = all[at(round.to)][i];
        ASSERT_TRUE(other.from == node && other.incoming == round.outgoing) << count << ", " << blocks << ", " << i;
        ASSERT_TRUE(before[at(node)][at(round.outgoing)]) << count << ", " << blocks << ", " << i;
      }
    }
  }
  for (const auto& own : has) ASSERT_TRUE(std::find(own.begin(), own.end(), false) == own.end());
}

TEST(Circulant, BringsEveryBlockToEveryNodeInAsFewRoundsAsThereCanBe) {
  for (int count = 2; count <= 70; ++count)
    for (const int blocks : {1, 2, 3, 4, 5, 7, 8, 13, 16, 33}) expect_broadcast(count, blocks);
  for (const int count : {127, 128, 129, 200, 255, 300}) expect_broadcast(count, 11);
}

TEST(Circulant, OfOneNodeHasNoRounds) { EXPECT_TRUE(derive_circulant(0, 1, 5).empty()); }

}  // namespace
}  // namespace espalier::groups
