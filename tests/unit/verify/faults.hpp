#pragma once
// Correct plans, ways to spoil them, and ways to say what the verifier must find.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/parse.hpp"
#include "plan/builder.hpp"
#include "verify/verify.hpp"

namespace espalier::verify {

using plan::Buffer;
using plan::Builder;
using plan::Flag;
using plan::Op;
using plan::Operation;
using plan::Plan;
using plan::Problem;
using plan::Program;
using plan::Step;
using topology::Topology;

inline Topology place(const std::vector<int>& node_of, bool single_copy = true) {
  return Topology::from_nodes(node_of, {.single_copy = single_copy});
}

inline Plan make(const std::vector<int>& node_of, Operation operation, Bytes bytes, int root,
                 const std::string& choice) {
  return algorithms::build_plan(place(node_of), {operation, bytes, Rank(root)},
                                choice::parse_choice(operation, choice));
}

/// A plan written by hand: `write(builder)` is called for each rank, which then ends as every program does.
template <class Write>
Plan write_plan(const std::vector<int>& node_of, const Problem& problem, Write write) {
  Plan plan{place(node_of), problem, {}, {}};
  for (int r = 0; r < plan.topology.ranks(); ++r) {
    Builder builder(plan.topology, Rank(r));
    write(builder);
    plan.programs.push_back(std::move(builder).take());
  }
  return plan;
}

inline std::vector<Step>& steps_of(Plan& plan, int rank) { return plan.programs[static_cast<std::size_t>(rank)].steps; }

/// Index of the n-th step of a kind, counted from 0; fails the test when there is none.
inline int find(Plan& plan, int rank, Op op, int n = 0) {
  const std::vector<Step>& steps = steps_of(plan, rank);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].op() == op && n-- == 0) return static_cast<int>(i);
  ADD_FAILURE() << "rank " << rank << " has no such " << plan::name(op);
  return 0;
}

inline Step& step_at(Plan& plan, int rank, int step) { return steps_of(plan, rank)[static_cast<std::size_t>(step)]; }

inline void drop(Plan& plan, int rank, int step) { steps_of(plan, rank).erase(steps_of(plan, rank).begin() + step); }

inline void insert(Plan& plan, int rank, int step, const Step& added) {
  steps_of(plan, rank).insert(steps_of(plan, rank).begin() + step, added);
}

inline std::string list(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += "  " + to_string(violation) + "\n";
  return violations.empty() ? "  nothing\n" : text;
}

inline void expect_correct(const Plan& plan) {
  const std::vector<Violation> found = verify(plan);
  EXPECT_TRUE(found.empty()) << to_string(plan.choice) << " found:\n" << list(found);
}

/// The verifier must find this kind of fault at this step, on these bytes where any are given.
inline void expect_found(const std::vector<Violation>& found, Kind kind, int rank, int step, Bytes first = 0,
                         Bytes last = 0) {
  const bool is_found = std::any_of(found.begin(), found.end(), [&](const Violation& violation) {
    const bool has_bytes = last == 0 || (violation.first == first && violation.last == last);
    return violation.kind == kind && violation.rank == Rank(rank) && violation.step == step && has_bytes;
  });
  EXPECT_TRUE(is_found) << name(kind) << " at rank " << rank << ", step " << step << " [" << first << ", " << last
                        << ") not among:\n"
                        << list(found);
}

inline void expect_fault(const Plan& plan, Kind kind, int rank, int step, Bytes first = 0, Bytes last = 0) {
  expect_found(verify(plan), kind, rank, step, first, last);
}

}  // namespace espalier::verify
