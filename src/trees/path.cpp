#include "trees/path.hpp"

#include <algorithm>

#include "trees/greedy.hpp"

namespace espalier::trees {

using topology::Distances;

namespace {

constexpr int most_looks = 1 << 18;

/// What a message on the way carries.
Bytes hop_bytes(const Layout& layout) {
  return layout.segment == 0 ? layout.bytes : std::min(layout.segment, layout.bytes);
}

std::vector<int> derive_nearest_neighbours(const Distances& distances, const Layout& layout) {
  FreeNodes free(distances, layout);
  std::vector<int> path = {layout.root};
  while (static_cast<int>(path.size()) < distances.nodes())
    path.push_back(free.take_closest_to(path.back(), hop_bytes(layout)));
  return path;
}

/// Consecutive nodes of one class.
struct Run {
  int of_class;
  std::vector<int> nodes;
};

/// Turns stretches of runs round. A way and its way back count as one: routes differ little by direction.
class TwoOpt {
 public:
  TwoOpt(const Distances& distances, const Layout& layout, const std::vector<int>& path)
      : distances_(distances), bytes_(hop_bytes(layout)), is_ring_(layout.shape == Shape::ring) {
    for (const int node : path) {
      const int c = distances.class_of(NodeId(node));
      if (runs_.empty() || runs_.back().of_class != c) runs_.push_back({c, {}});
      runs_.back().nodes.push_back(node);
    }
  }

  std::vector<int> run() {
    while (improve()) {
    }
    std::vector<int> path;
    for (const Run& run : runs_) path.insert(path.end(), run.nodes.begin(), run.nodes.end());
    return path;
  }

 private:
  bool improve() {
    bool has_improved = false;
    for (std::size_t first = 1; first + 1 < runs_.size(); ++first)
      for (std::size_t last = first + 1; last < runs_.size(); ++last) {
        if (++looks_ > most_looks) return false;
        if (gain(first, last) <= 1e-9 * length(first - 1, first)) continue;
        std::reverse(runs_.begin() + static_cast<std::ptrdiff_t>(first),
                     runs_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
        has_improved = true;
      }
    return has_improved;
  }

  /// What turning the runs first … last round saves. The first run stays: the root is in it.
  double gain(std::size_t first, std::size_t last) const {
    const double before = length(first - 1, first), after = length(first - 1, last);
    if (last + 1 == runs_.size() && !is_ring_) return before - after;
    const std::size_t next = (last + 1) % runs_.size();
    return before + length(last, next) - after - length(first, next);
  }

  double length(std::size_t a, std::size_t b) const {
    const int from = runs_[a].of_class, to = runs_[b].of_class;
    return distances_.between_classes(from, to).delay(bytes_) + distances_.between_classes(to, from).delay(bytes_);
  }

  const Distances& distances_;
  Bytes bytes_;
  bool is_ring_;
  std::vector<Run> runs_;
  int looks_ = 0;
};

}  // namespace

std::vector<int> derive_path_order(const Distances& distances, const Layout& layout) {
  return TwoOpt(distances, layout, derive_nearest_neighbours(distances, layout)).run();
}

}  // namespace espalier::trees
