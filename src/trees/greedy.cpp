#include "trees/greedy.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace espalier::trees {

using topology::Distances;
using topology::Way;

namespace {

constexpr std::uint64_t place_mask = (std::uint64_t{1} << 32) - 1;

/// By class: how many classes are less remote, equally remote ones together.
std::vector<std::uint64_t> rank_by_remoteness(const Distances& distances, Bytes bytes) {
  std::vector<float> remoteness;
  for (int c = 0; c < distances.classes(); ++c) remoteness.push_back(distances.remoteness(c, bytes));
  std::vector<float> sorted = remoteness;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint64_t> ranks;
  for (const float far : remoteness)
    ranks.push_back(static_cast<std::uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), far) - sorted.begin()));
  return ranks;
}

}  // namespace

FreeNodes::FreeNodes(const Distances& distances, const Layout& layout)
    : distances_(distances),
      root_(layout.root),
      first_(at(distances.classes()), -1),
      next_(at(distances.nodes()), -1),
      slot_(first_.size(), -1),
      found_(first_.size()) {
  const std::vector<std::uint64_t> ranks = rank_by_remoteness(distances, layout.bytes);
  for (int place = distances.nodes() - 1; place > 0; --place) {
    const int node = (layout.root + place) % distances.nodes(), c = distances.class_of(NodeId(node));
    next_[at(node)] = std::exchange(first_[at(c)], node);
    if (slot_[at(c)] < 0) {
      slot_[at(c)] = static_cast<int>(free_.size());
      free_.push_back({c, 0});
    }
    free_[at(slot_[at(c)])].rank = ranks[at(c)] << 32 | static_cast<std::uint64_t>(place);
  }
}

int FreeNodes::take_closest_to(int from, Bytes bytes) {
  return take_from(find_closest_to(distances_.class_of(NodeId(from)), bytes).number);
}

const FreeNodes::Found& FreeNodes::find_closest_to(int from_class, Bytes bytes) {
  Found& found = found_[at(from_class)];
  if (!still_holds(found, bytes)) found = search(from_class, bytes);
  return found;
}

// Since it was found, nothing has become better; but it may have become worse, or be empty.
bool FreeNodes::still_holds(const Found& found, Bytes bytes) const {
  if (found.number < 0 || found.bytes != bytes || first_[at(found.number)] < 0) return false;
  const std::uint64_t rank = free_[at(slot_[at(found.number)])].rank;
  return std::tie(found.delay, rank) < std::tie(found.next_delay, found.next_rank);
}

FreeNodes::Found FreeNodes::search(int from_class, Bytes bytes) const {
  constexpr double never = std::numeric_limits<double>::infinity();
  Found best{bytes, -1, never, never, ~std::uint64_t{0}};
  std::uint64_t best_rank = best.next_rank;
  for (const Class& free : free_) {
    const double delay = distances_.between_classes(from_class, free.number).delay(bytes);
    if (delay > best.next_delay) continue;
    if (std::tie(delay, free.rank) < std::tie(best.delay, best_rank)) {
      best = {bytes, free.number, delay, best.delay, best_rank};
      best_rank = free.rank;
    } else if (std::tie(delay, free.rank) < std::tie(best.next_delay, best.next_rank)) {
      best.next_delay = delay;
      best.next_rank = free.rank;
    }
  }
  return best;
}

int FreeNodes::take_from(int of_class) {
  const int node = first_[at(of_class)], next = next_[at(node)];
  first_[at(of_class)] = next;
  Class& free = free_[at(slot_[at(of_class)])];
  if (next >= 0) {
    const auto place = static_cast<std::uint64_t>((next - root_ + distances_.nodes()) % distances_.nodes());
    free.rank = (free.rank & ~place_mask) | place;
  } else {
    free = free_.back();  // their sequence decides nothing
    slot_[at(free.number)] = slot_[at(of_class)];
    free_.pop_back();
  }
  return node;
}

namespace {

/// Fills the positions in the sequence in which they are given; parents come before their children.
class Filling {
 public:
  Filling(const Distances& distances, const Layout& layout)
      : layout_(layout), free_(distances, layout), order_(static_cast<std::size_t>(distances.nodes())) {
    order_[0] = layout.root;
  }

  void fill(int position, const Branch& branch) {
    if (branch.parent < 0) return;
    const int parent = order_[static_cast<std::size_t>(branch.parent)];
    order_[static_cast<std::size_t>(position)] =
        free_.take_closest_to(parent, edge_bytes(layout_, position, branch.end));
  }

  std::vector<int> take() { return std::move(order_); }

 private:
  const Layout& layout_;
  FreeNodes free_;
  std::vector<int> order_;
};

/// Positions with larger subtrees first, equal ones as they are numbered.
std::vector<int> sort_by_weight(std::span<const Branch> branches) {
  const auto weight = [&](std::size_t position) { return static_cast<std::size_t>(branches[position].end) - position; };
  std::vector<int> begin_of(branches.size() + 2);  // by weight, the largest first
  const auto column = [&](std::size_t position) { return branches.size() - weight(position); };
  for (std::size_t p = 0; p < branches.size(); ++p) ++begin_of[column(p) + 1];
  for (std::size_t c = 1; c < begin_of.size(); ++c) begin_of[c] += begin_of[c - 1];
  std::vector<int> sequence(branches.size());
  for (std::size_t p = 0; p < branches.size(); ++p)
    sequence[static_cast<std::size_t>(begin_of[column(p)]++)] = static_cast<int>(p);
  return sequence;
}

}  // namespace

std::vector<int> derive_breadth_order(const Distances& distances, const Layout& layout,
                                      std::span<const Branch> branches) {
  Filling filling(distances, layout);
  for (const int position : sort_by_weight(branches))
    filling.fill(position, branches[static_cast<std::size_t>(position)]);
  return filling.take();
}

std::vector<int> derive_depth_order(const Distances& distances, const Layout& layout,
                                    std::span<const Branch> branches) {
  Filling filling(distances, layout);
  std::vector<int> stack = {0};
  while (!stack.empty()) {
    const int position = stack.back();
    stack.pop_back();
    const Branch& branch = branches[static_cast<std::size_t>(position)];
    filling.fill(position, branch);
    stack.insert(stack.end(), branch.children.rbegin(), branch.children.rend());  // the largest is filled first
  }
  return filling.take();
}

}  // namespace espalier::trees
