#include "groups/circulant.hpp"

#include <algorithm>
#include <limits>

namespace espalier::groups {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The least skip of the sum that a greedy walk from the root to the node takes; q for the root itself.
int find_base(int node, const std::vector<int>& skips) {
  const int q = static_cast<int>(skips.size()) - 1;
  for (int k = q - 1; k >= 0; --k) {
    if (skips[at(k)] == node) return k;
    if (skips[at(k)] < node) node -= skips[at(k)];
  }
  return q;
}

/// Finds for each round k another sum of skips that lies at most skips[k] and more than skips[k + 1] behind the node:
/// its least skip says which block comes that way. Sums descend, and a skip that has been found is taken out.
class Search {
 public:
  Search(int node, const std::vector<int>& skips)
      : skips_(skips), q_(static_cast<int>(skips.size()) - 1), end_(skips.back() + node), bound_(2 * skips.back()) {
    for (int e = 0; e <= q_ + 1; ++e) next_.push_back(e - 1), previous_.push_back(e + 1);
    base_ = find_base(node, skips);
    take_out(base_);
  }

  std::vector<int> run() {
    walk(0, base_ == q_ ? q_ - 1 : q_);
    for (int& block : blocks_) block = block == q_ ? base_ : block - q_;
    return std::move(blocks_);
  }

 private:
  int round() const { return static_cast<int>(blocks_.size()); }
  /// Sums up to here arrive early enough for round k.
  int latest(int k) const { return k <= q_ ? end_ - skips_[at(k)] : std::numeric_limits<int>::min(); }

  void walk(int sum, int e) {
    for (; e >= 0 && round() < q_; e = next_[at(e)]) {
      const int longer = sum + skips_[at(e)];
      if (longer > latest(round()) || longer >= bound_) continue;
      if (longer <= latest(round() + 1)) walk(longer, e);
      if (round() == q_ || sum > latest(round() + 1)) return;
      bound_ = longer;
      blocks_.push_back(e);
      take_out(e);
    }
  }

  /// Its own neighbours stay known, so that a walk that stands at it goes on.
  void take_out(int e) {
    if (previous_[at(e)] <= q_) next_[at(previous_[at(e)])] = next_[at(e)];
    if (next_[at(e)] >= 0) previous_[at(next_[at(e)])] = previous_[at(e)];
  }

  const std::vector<int>& skips_;
  int q_, end_, bound_, base_ = 0;
  std::vector<int> next_, previous_;  ///< skips that are left, descending
  std::vector<int> blocks_;           ///< by round
};

/// Which block a node gets in each round; -1: none.
std::vector<int> derive_arrivals(int node, int blocks, const std::vector<int>& skips) {
  const int q = static_cast<int>(skips.size()) - 1, rounds = blocks - 1 + q;
  std::vector<int> arrivals(at(rounds), -1);
  if (node == 0) return arrivals;
  const std::vector<int> schedule = derive_receive_schedule(node, skips);
  const int before = (q - rounds % q) % q;  // rounds that would make whole phases
  bool has_last = false;
  for (int i = before; i < rounds + before; ++i) {
    const int block = std::min(schedule[at(i % q)] + i / q * q - before, blocks - 1);
    if (block < 0 || (block == blocks - 1 && has_last)) continue;
    has_last = has_last || block == blocks - 1;
    arrivals[at(i - before)] = block;
  }
  return arrivals;
}

}  // namespace

std::vector<int> derive_skips(int count) {
  std::vector<int> skips = {count};
  while (skips.back() > 1) skips.push_back((skips.back() + 1) / 2);
  std::reverse(skips.begin(), skips.end());
  return skips;
}

std::vector<int> derive_receive_schedule(int node, const std::vector<int>& skips) { return Search(node, skips).run(); }

std::vector<CirculantRound> derive_circulant(int node, int count, int blocks) {
  if (count < 2) return {};
  const std::vector<int> skips = derive_skips(count);
  const int q = static_cast<int>(skips.size()) - 1, rounds = blocks - 1 + q, before = (q - rounds % q) % q;
  std::vector<CirculantRound> all(at(rounds));
  const std::vector<int> own = derive_arrivals(node, blocks, skips);
  for (int k = 0; k < q; ++k) {
    const int to = (node + skips[at(k)]) % count, from = (node - skips[at(k)] + count) % count;
    const std::vector<int> theirs = derive_arrivals(to, blocks, skips);
    for (int i = (k - before + q) % q; i < rounds; i += q) {
      CirculantRound& round = all[at(i)];
      if (theirs[at(i)] >= 0) round.to = to, round.outgoing = theirs[at(i)];
      if (own[at(i)] >= 0) round.from = from, round.incoming = own[at(i)];
    }
  }
  return all;
}

}  // namespace espalier::groups
