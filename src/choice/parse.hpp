#pragma once
// Choices as text.

#include <string_view>

#include "plan/choice.hpp"

namespace espalier::choice {

/// Reads "chain,segment=64K,cells=8" (or "broadcast_chain,…"); knobs not named keep their default.
/// Throws Error naming the unknown algorithm, knob or value, with the possible ones.
plan::Choice parse_choice(plan::Operation operation, std::string_view text);

}  // namespace espalier::choice
