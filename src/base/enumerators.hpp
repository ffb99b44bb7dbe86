#pragma once
// Enumerators by the names that the code itself gives them, so that no second list can fall behind: a new enumerator
// is spelled, read and listed at once. Of enumerations that count from 0 without gaps, below 64. One that would be a
// keyword ends with an underscore, which is not part of its name.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace espalier {

namespace enumerators {

/// As the compiler writes the value: "espalier::plan::Within::cells"; or "(espalier::plan::Within)2", where the
/// enumeration has none. The language has no other way to ask before C++26.
template <class Enumeration, Enumeration value>
consteval std::string_view spell() {
  constexpr std::string_view text = __PRETTY_FUNCTION__, label = "value = ";
  constexpr std::size_t begin = text.rfind(label) + label.size();
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

template <class Enumeration, std::size_t... values>
consteval std::size_t count(std::index_sequence<values...>) {
  constexpr std::array are_there{!spell<Enumeration, static_cast<Enumeration>(values)>().starts_with('(')...};
  return static_cast<std::size_t>(std::find(are_there.begin(), are_there.end(), false) - are_there.begin());
}

template <class Enumeration, Enumeration value>
consteval std::string_view cut_name() {
  std::string_view name = spell<Enumeration, value>();
  name.remove_prefix(name.rfind(':') + 1);
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

/// With an end, for interfaces of C.
template <class Enumeration, Enumeration value>
inline constexpr auto text = [] {
  constexpr std::string_view name = cut_name<Enumeration, value>();
  std::array<char, name.size() + 1> all{};
  std::copy(name.begin(), name.end(), all.begin());
  return all;
}();

template <class Enumeration>
inline constexpr auto names = []<std::size_t... values>(std::index_sequence<values...>) {
  return std::array{static_cast<const char*>(text<Enumeration, static_cast<Enumeration>(values)>.data())...};
}
(std::make_index_sequence<count<Enumeration>(std::make_index_sequence<64>())>());

}  // namespace enumerators

template <class Enumeration>
inline constexpr int enumerator_count = static_cast<int>(enumerators::names<Enumeration>.size());

template <class Enumeration>
constexpr const char* name_enumerator(Enumeration value) {
  return enumerators::names<Enumeration>[static_cast<std::size_t>(value)];
}

template <class Enumeration>
std::optional<Enumeration> find_enumerator(std::string_view name) {
  const auto& all = enumerators::names<Enumeration>;
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) return std::nullopt;
  return static_cast<Enumeration>(found - all.begin());
}

/// "cells, single_copy".
template <class Enumeration>
std::string list_enumerators(const char* between = ", ") {
  std::string list;
  for (const char* name : enumerators::names<Enumeration>) list += (list.empty() ? "" : between) + std::string(name);
  return list;
}

/// `what` is being said: "within". Throws Error, "within=shm: one of cells, single_copy".
template <class Enumeration>
Enumeration parse_enumerator(std::string_view what, std::string_view name) {
  if (const std::optional<Enumeration> found = find_enumerator<Enumeration>(name)) return *found;
  throw Error(std::string(what) + "=" + std::string(name) + ": one of " + list_enumerators<Enumeration>());
}

}  // namespace espalier
