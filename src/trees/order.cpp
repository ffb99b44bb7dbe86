#include "trees/order.hpp"

#include <algorithm>
#include <utility>

#include "trees/bine.hpp"
#include "trees/greedy.hpp"
#include "trees/hypotheses.hpp"
#include "trees/path.hpp"
#include "trees/reach.hpp"
#include "trees/rehearsal.hpp"

namespace espalier::trees {

using topology::Distances;

namespace {

/// Up to so many nodes every pair may try to change places; what more nodes would gain is not worth the milliseconds.
constexpr int few_nodes = 16;
/// Up to so many nodes two pairs at once.
constexpr std::size_t very_few_nodes = 8;
/// What an order of a tree may take, at most, of the natural one's time: less is within what the estimate does not see,
/// such as which cable of a trunk a route takes (broadcasts and reduces simulated, docs/ideas/trees.md: where any gain
/// counts the worst takes 1.17 times as long as in the natural order, so 1.02 times on two levels). Upwards the
/// messages of several rounds meet more than is estimated.
constexpr double worthwhile_down = 0.98, worthwhile_up = 0.93;
/// How much longer than the quickest an order may take that is as good where routes are known: what a rehearsal is off.
constexpr double as_quick = 1.01;
/// The same of rings, where a small shift changes who is first on a link that is shared again and again.
constexpr double as_quick_in_turns = 1.08;
/// Rounds of such tries; the first two bring nearly everything.
constexpr int most_rounds = 8;

/// Both traversals of these are the short path.
bool is_path(const Layout& layout) { return layout.shape == Shape::chain || layout.shape == Shape::ring; }

double as_good_as(const Layout& layout) {
  return layout.shape == Shape::ring || layout.shape == Shape::scatter_ring ? as_quick_in_turns : as_quick;
}

double worthwhile(const Layout& layout) {
  if (is_path(layout)) return 1;  // a short way is never a worse one
  return layout.goes_up ? worthwhile_up : worthwhile_down;
}

/// One layout's tree and what its orders take.
struct Tree {
  Tree(const Distances& distances, const Layout& layout, int count)
      : distances(distances),
        layout(layout),
        branches(derive_branches(layout, count)),
        reach(distances, layout, branches) {}

  const Distances& distances;
  const Layout& layout;
  std::vector<Branch> branches;
  Reach reach;
};

std::vector<int> derive_nodes(const Tree& tree, Traversal traversal) {
  const auto count = static_cast<int>(tree.branches.size());
  if (traversal == Traversal::natural) return derive_natural_order(tree.layout.root, count);
  if (traversal == Traversal::bine) return derive_bine_order(tree.layout, count);
  if (is_path(tree.layout)) return derive_path_order(tree.distances, tree.layout);
  return traversal == Traversal::breadth ? derive_breadth_order(tree.distances, tree.layout, tree.branches)
                                         : derive_depth_order(tree.distances, tree.layout, tree.branches);
}

Order price(const Tree& tree, std::vector<int> nodes, Traversal traversal) {
  const double reach = tree.reach.of(nodes).last + tree.reach.packing(nodes);
  return {std::move(nodes), traversal, reach};
}

Order derive(const Tree& tree, Traversal traversal) { return price(tree, derive_nodes(tree, traversal), traversal); }

/// Lets the nodes of an order change places wherever that makes the whole quicker, until nothing helps. The root stays.
class Improvement {
 public:
  Improvement(const Tree& tree, std::vector<int> nodes)
      : tree_(tree), nodes_(std::move(nodes)), best_(tree.reach.of(nodes_)) {}

  std::vector<int> run() {
    const int swaps = nodes_.size() <= very_few_nodes ? 2 : 1;
    for (int round = 0; round < most_rounds && improve(swaps);) ++round;
    return std::move(nodes_);
  }

 private:
  /// By so many pairs that change places at once: what two bring together, one alone need not.
  bool improve(int swaps) {
    bool has_improved = false;
    for (std::size_t a = 1; a < nodes_.size(); ++a)
      for (std::size_t b = a + 1; b < nodes_.size(); ++b) {
        if (tree_.distances.class_of(NodeId(nodes_[a])) == tree_.distances.class_of(NodeId(nodes_[b]))) continue;
        std::swap(nodes_[a], nodes_[b]);
        if (is_better() || (swaps > 1 && improve(swaps - 1)))
          has_improved = true;
        else
          std::swap(nodes_[a], nodes_[b]);
      }
    return has_improved;
  }

  bool is_better() {
    const Reach::Price price = tree_.reach.of(nodes_);
    if (!(price < best_)) return false;
    best_ = price;
    return true;
  }

  const Tree& tree_;
  std::vector<int> nodes_;
  Reach::Price best_;
};

/// What `best` chooses among: the natural order first, and all that may be asked for by name.
std::vector<Order> derive_candidates(const Tree& tree) {
  std::vector<Traversal> traversals = {Traversal::natural, Traversal::breadth};
  if (!is_path(tree.layout)) traversals.push_back(Traversal::depth);
  std::vector<Order> candidates;
  for (const Traversal traversal : traversals) candidates.push_back(derive(tree, traversal));
  if (tree.branches.size() > few_nodes) return candidates;
  for (std::size_t i = 0; i < traversals.size(); ++i) {
    Order improved = price(tree, Improvement(tree, candidates[i].node_at).run(), Traversal::best);
    if (improved.reach < candidates[i].reach) candidates.push_back(std::move(improved));
  }
  return candidates;
}

/// Where routes are known: the quickest, or what hardly takes longer if it suffers less from others on the cables; of
/// those that are alike the first. Candidates have their times.
std::size_t choose_known(const Hypotheses& hypotheses, const std::vector<Order>& candidates, const Layout& layout) {
  double quickest = candidates.front().reach;
  for (const Order& it : candidates) quickest = std::min(quickest, it.reach);
  std::vector<std::size_t> alike;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].reach <= quickest * as_good_as(layout)) alike.push_back(i);
  if (alike.size() == 1) return alike.front();
  if (is_path(layout)) std::reverse(alike.begin(), alike.end());  // a short way is never a worse one
  std::size_t chosen = alike.front();
  double least = hypotheses.time(candidates[chosen].node_at, 1);
  for (const std::size_t i : alike) {
    const double time = hypotheses.time(candidates[i].node_at, 1);
    if (time < least * worthwhile_down) chosen = i, least = time;
  }
  return chosen;
}

/// Where they are guessed: the natural order unless another is better whatever the network is like; of several that are
/// the one that is likely to be the quickest.
std::size_t choose_guessed(const Hypotheses& hypotheses, const std::vector<Order>& candidates, double worthwhile) {
  const Order& natural = candidates.front();
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const Order& other = candidates[i];
    bool is_better = other.reach < std::min(candidates[chosen].reach, natural.reach * worthwhile);
    for (int guess = 1; is_better && guess < hypotheses.count(); ++guess)
      is_better = hypotheses.time(other.node_at, guess) <= hypotheses.time(natural.node_at, guess);
    if (is_better) chosen = i;
  }
  return chosen;
}

Order choose(const Tree& tree) {
  const Hypotheses hypotheses(tree.distances, tree.layout, tree.branches);
  std::vector<Order> candidates = derive_candidates(tree);
  for (Order& candidate : candidates) candidate.reach = hypotheses.time(candidate.node_at, 0);
  const std::size_t chosen = hypotheses.is_known() ? choose_known(hypotheses, candidates, tree.layout)
                                                   : choose_guessed(hypotheses, candidates, worthwhile(tree.layout));
  return std::move(candidates[chosen]);
}

}  // namespace

Order derive_order(const Distances& distances, const Layout& layout, int count, Traversal wanted) {
  const Tree tree(distances, layout, count);
  if (wanted == Traversal::bine) return derive(tree, wanted);
  const bool is_free = !distances.is_neutral() && count > 2 && layout.shape != Shape::flat;
  if (!is_free) return derive(tree, Traversal::natural);
  if (wanted == Traversal::best) return choose(tree);
  Order order = derive(tree, wanted);
  if (!distances.cables().empty()) order.reach = Rehearsal(distances, layout, tree.branches).of(order.node_at);
  return order;
}

}  // namespace espalier::trees
