#include "algorithms/catalogue.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "algorithms/rows.hpp"  // written by the build: all_rows
#include "base/error.hpp"
#include "plan/knobs.hpp"

namespace espalier::algorithms {
namespace {

std::vector<Algorithm> in_order() {
  std::vector<Algorithm> rows;
  for (const Algorithm* row : all_rows) rows.push_back(*row);
  const auto key = [](const Algorithm& it) { return std::tuple(it.operation, it.place, it.name()); };
  std::sort(rows.begin(), rows.end(), [&](const Algorithm& a, const Algorithm& b) { return key(a) < key(b); });
  return rows;
}

/// `act(word)` for each of those between spaces.
template <class Act>
void for_each_word(std::string_view text, Act act) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    act(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
}

std::string_view name_in(std::string_view knob) { return knob.substr(0, knob.find('=')); }

std::string names_of(plan::Operation operation) {
  std::string names;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.operation == operation) names += (names.empty() ? "" : ", ") + std::string(algorithm.between.name());
  return names;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> rows = in_order();
  return rows;
}

bool Algorithm::has_knob(std::string_view name) const {
  bool has = false;
  for_each_word(knobs, [&](std::string_view word) { has = has || name_in(word) == name; });
  return has;
}

std::string describe_knobs(const Algorithm& algorithm) {
  std::string text;
  for_each_word(algorithm.knobs, [&](std::string_view word) {
    text += (text.empty() ? "" : " ") + std::string(word);
    if (name_in(word) == word) text += "=" + plan::find_knob(word).values();
  });
  return text;
}

const Algorithm& find_algorithm(plan::Operation operation, std::string_view text) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.operation == operation && (text == algorithm.between.name() || text == algorithm.name()))
      return algorithm;
  throw Error("unknown algorithm '" + std::string(text) + "' for " + name(operation) + ": one of " +
              names_of(operation));
}

const Algorithm& find_algorithm(plan::Operation operation, const plan::Between& between) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.operation == operation && algorithm.between == between) return algorithm;
  return find_algorithm(operation, std::string_view(between.name()));  // which says what there is
}

}  // namespace espalier::algorithms
