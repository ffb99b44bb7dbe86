#include "trees/hypotheses.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace espalier::trees {

using topology::Distances;
using topology::Trunks;

namespace {

/// What others may take of cables.
constexpr double left_by_others = 0.5;

bool knows_trunks(const Trunks& trunks) {
  return std::any_of(trunks.per_byte.begin(), trunks.per_byte.end(), [](float per_byte) { return per_byte > 0; });
}

Trunks scaled(Trunks trunks, float by) {
  for (float& per_byte : trunks.per_byte) per_byte *= by;
  return trunks;
}

/// One cable, as fast as the fastest adapter, joins each island to the others.
Trunks single_cables(const Distances& distances, std::vector<int> islands) {
  float fastest = 0;
  for (int c = 0; c < distances.classes(); ++c) {
    const float own = distances.own_per_byte(c);
    if (own > 0 && (fastest == 0 || own < fastest)) fastest = own;
  }
  const int count = 1 + *std::max_element(islands.begin(), islands.end());
  return {std::move(islands), std::vector<float>(static_cast<std::size_t>(count), fastest)};
}

/// Two ways to number the same parts of all nodes.
bool are_same_parts(const std::vector<int>& one, const std::vector<int>& other) {
  if (one.size() != other.size()) return false;
  std::vector<int> partner(one.size() + other.size(), -1);
  for (std::size_t node = 0; node < one.size(); ++node) {
    int& known = partner[static_cast<std::size_t>(one[node])];
    if (known < 0) known = other[node];
    if (known != other[node]) return false;
  }
  return true;
}

std::vector<Distances> guess(const Distances& told) {
  std::vector<Distances> guesses;
  const bool knows = knows_trunks(told.trunks());
  if (knows) {
    guesses.push_back(told.with_trunks(scaled(told.trunks(), 1 / static_cast<float>(left_by_others))));
    guesses.push_back(told.with_trunks(scaled(told.trunks(), 0)));
  }
  std::vector<int> islands = find_islands(told);
  const bool has_islands = std::any_of(islands.begin(), islands.end(), [](int island) { return island > 0; });
  if (has_islands && !(knows && are_same_parts(told.trunks().leaf_of, islands)))
    guesses.push_back(told.with_trunks(single_cables(told, std::move(islands))));
  return guesses;
}

}  // namespace

std::vector<int> find_islands(const Distances& distances) {
  const int classes = distances.classes();
  const auto is_near = [&](const topology::Way& way) { return way.latency < distances.worst().latency; };
  if (std::none_of(distances.ways().begin(), distances.ways().end(), is_near))
    return std::vector<int>(static_cast<std::size_t>(distances.nodes()));
  std::vector<int> island(static_cast<std::size_t>(classes));
  std::iota(island.begin(), island.end(), 0);
  const auto root_of = [&](int c) {
    while (island[static_cast<std::size_t>(c)] != c) c = island[static_cast<std::size_t>(c)];
    return c;
  };
  for (int from = 0; from < classes; ++from)
    for (int to = from + 1; to < classes; ++to)
      if (is_near(distances.between_classes(from, to))) island[static_cast<std::size_t>(root_of(to))] = root_of(from);
  std::vector<int> number(static_cast<std::size_t>(classes), -1), found;
  int count = 0;
  for (const int c : distances.class_of()) {
    int& known = number[static_cast<std::size_t>(root_of(c))];
    if (known < 0) known = count++;
    found.push_back(known);
  }
  return found;
}

Hypotheses::Hypotheses(const Distances& distances, const Layout& layout, std::span<const Branch> branches)
    : told_(distances) {
  if (!told_.cables().empty()) {
    rehearsals_.emplace_back(told_, layout, branches);
    return;
  }
  guesses_ = guess(told_);
  reaches_.reserve(guesses_.size() + 1);
  reaches_.emplace_back(told_, layout, branches);
  for (const Distances& guess : guesses_) reaches_.emplace_back(guess, layout, branches);
}

double Hypotheses::time(std::span<const int> order, int number) const {
  if (is_known()) return rehearsals_.front().of(order, number == 0 ? 1 : left_by_others);
  return reaches_[static_cast<std::size_t>(number)].of(order).last + reaches_.front().packing(order);
}

}  // namespace espalier::trees
