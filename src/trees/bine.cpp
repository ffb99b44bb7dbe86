#include "trees/bine.hpp"

namespace espalier::trees {
namespace {

/// Hands out places on a line, an arc to each subtree. Recursion is as deep as the tree: log2(count), as all shapes
/// that come here are k-nomial or binary.
class Arcs {
 public:
  Arcs(const Layout& layout, int count)
      : branches_(derive_branches(layout, count)), place_of_(static_cast<std::size_t>(count)) {
    const bool is_odd = branches_.front().children.size() % 2 == 1;
    lay(0, {0, count}, is_odd);  // the root's last child is its right-hand neighbour
  }

  const std::vector<int>& place_of() && { return place_of_; }

 private:
  struct Arc {
    int begin, end;
  };

  /// The first child, whose subtree is largest, takes the right or the left end of the arc, the next one the other end
  /// of what is left, and so on; one place remains. A child's own first child goes on to the same side: away from the
  /// parent, whose message has come half of the way already.
  void lay(int position, Arc arc, bool is_right) {
    for (const int child : branches_[static_cast<std::size_t>(position)].children) {
      const int size = branches_[static_cast<std::size_t>(child)].end - child;
      if (is_right) {
        lay(child, {arc.end - size, arc.end}, true);
        arc.end -= size;
      } else {
        lay(child, {arc.begin, arc.begin + size}, false);
        arc.begin += size;
      }
      is_right = !is_right;
    }
    place_of_[static_cast<std::size_t>(position)] = arc.begin;
  }

  std::vector<Branch> branches_;
  std::vector<int> place_of_;  ///< by position
};

}  // namespace

std::vector<int> derive_bine_order(const Layout& layout, int count) {
  if (layout.shape != Shape::knomial && layout.shape != Shape::binary) return derive_natural_order(layout.root, count);
  std::vector<int> order = Arcs(layout, count).place_of();
  const int to_root = layout.root - order.front();
  for (int& place : order) place = (place + to_root + count) % count;
  return order;
}

}  // namespace espalier::trees
