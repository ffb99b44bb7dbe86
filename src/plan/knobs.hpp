#pragma once
// What a choice may vary, each thing once: how people write it, which values there are, and where it lies.

#include <span>
#include <string>
#include <string_view>

#include "plan/choice.hpp"

namespace espalier::plan {

struct Knob {
  const char* name;
  /// As the reference writes them: "2..64", "0|1K..1G", "cells|single_copy".
  std::string (*values)();
  /// Reads a value of this knob. Throws Error naming it, with the possible ones.
  void (*set)(Choice& choice, std::string_view value);
};

/// In the order in which people are told of them.
std::span<const Knob> knobs();

/// Throws Error with the names of all when there is none of this name.
const Knob& find_knob(std::string_view name);

}  // namespace espalier::plan
