#include "verify/violation.hpp"

#include <algorithm>

#include "base/enumerators.hpp"

namespace espalier::verify {

const char* name(Kind kind) { return name_enumerator(kind); }

std::string to_string(const Violation& violation) {
  std::string text = std::string(name(violation.kind)) + " at rank " + std::to_string(violation.rank.value);
  if (violation.step >= 0) text += ", step " + std::to_string(violation.step);
  text += " of call " + std::to_string(violation.call);
  if (violation.first < violation.last)
    text += std::string(", ") + plan::name(violation.buffer) + " [" + std::to_string(violation.first) + ", " +
            std::to_string(violation.last) + ")";
  return text + ": " + violation.text;
}

void Report::add(Violation violation) {
  const auto is_same = [&](const Violation& other) {
    return other.kind == violation.kind && other.rank == violation.rank && other.step == violation.step &&
           other.buffer == violation.buffer && other.first == violation.first;
  };
  if (is_full() || std::any_of(found_.begin(), found_.end(), is_same)) return;
  found_.push_back(std::move(violation));
}

}  // namespace espalier::verify
