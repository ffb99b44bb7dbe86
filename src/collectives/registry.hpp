#pragma once
// Every algorithm we know: what it is called, where it comes from, which knobs it has and when it applies.

#include <span>
#include <string>
#include <string_view>

#include "plan/choice.hpp"
#include "plan/program.hpp"

namespace espalier::plan {
class Builder;
}

namespace espalier::collectives {

struct Algorithm {
  /// Unique: "broadcast_chain".
  const char* name;
  plan::Operation operation;
  plan::Between between;
  /// Where it is described.
  const char* source;
  /// What it does, its rounds and what one leader sends, for N nodes.
  const char* summary;
  /// The knobs that change it (plan/knobs.hpp), between spaces; where it knows some values only, with those:
  /// "radix exchange=ring|bruck".
  const char* knobs;
  void (*build)(plan::Builder&, const plan::Problem&, const plan::Choice&);
  /// What this algorithm asks for beyond what why_invalid() asks of all; null: nothing. Same result.
  std::string (*why_invalid)(const topology::Topology&, const plan::Problem&, const plan::Choice&) = nullptr;

  bool has_knob(std::string_view name) const;
};

std::span<const Algorithm> algorithms();

/// Its knobs with their values: "radix=2..64 exchange=ring|bruck".
std::string describe_knobs(const Algorithm& algorithm);

/// The algorithm of a choice. Throws Error when the operation has no such exchange between nodes.
const Algorithm& find_algorithm(plan::Operation operation, plan::Between between);
/// The same by what a person calls it: "chain" or "broadcast_chain". The error names those that there are.
const Algorithm& find_algorithm(plan::Operation operation, std::string_view text);

/// Reads "chain,segment=64K,cells=8" (or "broadcast_chain,…"); knobs not named keep their default.
/// Throws Error naming the unknown algorithm, knob or value, with the possible ones.
plan::Choice parse_choice(plan::Operation operation, std::string_view text);

/// Empty when the choice applies; else the reason, for a person. A function of agreed facts only.
std::string why_invalid(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::collectives
