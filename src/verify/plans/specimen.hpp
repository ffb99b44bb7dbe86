#pragma once
// A plan to be proved, by what it is built from.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/build.hpp"
#include "verify/violation.hpp"

namespace espalier::verify {

struct Specimen {
  topology::Topology topology;
  plan::Problem problem;
  plan::Choice choice;
  std::uint64_t places = 0;  ///< the topology's facts are draw_places() of this seed
};

/// One line that builds the plan again through the Python module:
/// build(Topology([0, 0, 1], single_copy=True), "broadcast", 4097, 1, "chain,segment=1K,…").
std::string reproducer(const Specimen& specimen);

/// What proving many plans has come to.
struct Outcome {
  struct Failure {
    Violation violation;
    std::string reproducer;
  };
  std::uint64_t checked = 0;
  std::vector<Failure> failures;

  /// Enough has been found: more would only bury it.
  bool is_hopeless() const { return failures.size() >= Report::limit; }
};

/// Builds the plan, proves it and adds what is wrong.
void prove(const Specimen& specimen, Outcome& outcome);

/// The same of two calls on one machine, each after itself and after the other, in either bank of windows.
void prove_in_turn(const Specimen& first, const Specimen& second, Outcome& outcome);

}  // namespace espalier::verify
