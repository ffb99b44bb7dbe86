#pragma once
// Who is waited for at a standstill, and what it does. Pure.

#include <string>

#include "watch/diagnosis.hpp"

namespace espalier::watch {

/// A sentence for each way in which some ranks do not take part; where none does, why all wait.
std::string tell_culprit(const Standstill& standstill);

}  // namespace espalier::watch
