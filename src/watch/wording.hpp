#pragma once
// How ranks, calls and communicators are called in what is said of a standstill. Pure.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "watch/diagnosis.hpp"

namespace espalier::watch {

using Ranks = std::vector<const RankStand*>;

/// "ranks 0 to 2, 5"; each once, as threads of a rank follow each other.
std::string listed(const Ranks& ranks);
/// " (process 812; in MPI_COMM_WORLD 3)".
std::string identities_of(const Ranks& ranks);
/// Where a rank is that is elsewhere: the call, and its communicator.
std::string elsewhere(const RankStand& rank);
/// What a process does, as far as the system tells.
const char* doing(Life life);

template <class Is>
Ranks select(const Standstill& standstill, Is is) {
  Ranks found;
  for (const RankStand& rank : standstill.ranks)
    if (is(rank)) found.push_back(&rank);
  return found;
}

/// Ranks of which `text_of` says the same, in the order of their lowest.
template <class TextOf>
std::vector<std::pair<std::string, Ranks>> group(const Ranks& ranks, TextOf text_of) {
  std::vector<std::pair<std::string, Ranks>> groups;
  for (const RankStand* rank : ranks) {
    const std::string text = text_of(*rank);
    auto own = std::find_if(groups.begin(), groups.end(), [&](const auto& it) { return it.first == text; });
    if (own == groups.end()) own = groups.insert(own, {text, {}});
    own->second.push_back(rank);
  }
  return groups;
}

}  // namespace espalier::watch
