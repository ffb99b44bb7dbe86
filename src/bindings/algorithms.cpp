#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>
#include <variant>
#include <vector>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "plan/graphs.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using algorithms::Algorithm;
using choice::Decision;
using plan::Choice;
using plan::Operation;
using plan::Problem;
using topology::Topology;

namespace {

/// (from, to, bytes, where in the input, where in the output, part, parts).
using EdgeTuple = std::tuple<int, int, Bytes, Bytes, Bytes, int, int>;

/// Where there are none, those of a ring.
void add_edges(Problem& problem, const Topology& topology, const std::vector<EdgeTuple>& edges) {
  if (!has_edges(problem.operation)) return;
  if (edges.empty()) {
    problem = plan::with_ring(std::move(problem), topology, std::min(plan::usual_degree, topology.ranks() - 1));
    return;
  }
  std::vector<plan::Edge> all;
  for (const auto& [from, to, bytes, input, output, part, parts] : edges) {
    for (const int rank : {from, to})
      if (rank < 0 || rank >= topology.ranks()) throw Error("there is no rank " + std::to_string(rank));
    if (part < 0 || part >= parts) throw Error("an edge's part is one of 0 to parts - 1");
    all.push_back({Rank(from), Rank(to), bytes, input, output, part, parts});
  }
  problem = plan::with_edges(std::move(problem), topology, std::move(all));
}

/// Barriers have no bytes, and not every operation has a root. Neighbourhood collectives get the edges of a ring.
Problem make_problem(const Topology& topology, std::string_view operation, Bytes bytes, int root, Bytes element = 1,
                     bool is_commutative = true, const std::vector<Bytes>& counts = {}, bool is_symmetric = true,
                     const std::vector<EdgeTuple>& edges = {}) {
  Problem problem{plan::parse_operation(operation)};
  if (problem.operation != Operation::barrier) problem.bytes = bytes;
  if (has_root(problem.operation)) problem.root = Rank(root);
  problem.element = element;
  problem.is_commutative = is_commutative;
  problem.is_symmetric = is_symmetric;
  problem.counts = counts;
  add_edges(problem, topology, edges);
  return problem;
}

Choice read_choice(Operation operation, const std::variant<Choice, std::string>& choice) {
  if (const auto* text = std::get_if<std::string>(&choice)) return choice::parse_choice(operation, *text);
  return std::get<Choice>(choice);
}

plan::Plan build(const Topology& topology, std::string_view operation, Bytes bytes, int root,
                 const std::variant<Choice, std::string>& choice, Bytes element, bool is_commutative,
                 const std::vector<Bytes>& counts, bool is_symmetric, const std::vector<EdgeTuple>& edges) {
  const Problem problem =
      make_problem(topology, operation, bytes, root, element, is_commutative, counts, is_symmetric, edges);
  return algorithms::build_plan(topology, problem, read_choice(problem.operation, choice));
}

plan::Plan build_part(const Topology& topology, std::string_view operation, Bytes bytes, int root, const Choice& choice,
                      const std::vector<int>& ranks) {
  std::vector<Rank> built;
  for (const int rank : ranks) {
    if (rank < 0 || rank >= topology.ranks()) throw Error("there is no rank " + std::to_string(rank));
    built.push_back(Rank(rank));
  }
  return algorithms::build_part(topology, make_problem(topology, operation, bytes, root), choice, built);
}

std::string why_invalid(const Topology& topology, std::string_view operation, Bytes bytes, const Choice& choice,
                        Bytes element, bool is_commutative, const std::vector<Bytes>& counts) {
  const Problem problem = make_problem(topology, operation, bytes, 0, element, is_commutative, counts);
  return algorithms::why_invalid(topology, problem, choice);
}

}  // namespace

void bind_algorithms(nb::module_& module) {
  nb::class_<Decision>(module, "Decision", "What is chosen, and why in one sentence.")
      .def_ro("choice", &Decision::choice)
      .def_prop_ro("reason", [](const Decision& decision) { return decision.reason; });
  nb::class_<Algorithm>(module, "Algorithm", "One way of doing an operation: its row.")
      .def_prop_ro(
          "name", [](const Algorithm& a) { return a.name(); }, "Unique: broadcast_chain.")
      .def_prop_ro("operation", [](const Algorithm& a) { return plan::name(a.operation); })
      .def_prop_ro(
          "between", [](const Algorithm& a) { return plan::name(a.between); }, "How a Choice spells it: chain.")
      .def_prop_ro(
          "source", [](const Algorithm& a) { return a.source; }, "The paper and section, where there is one.")
      .def_prop_ro("summary", [](const Algorithm& a) { return a.summary; })
      .def_prop_ro("knobs", &algorithms::describe_knobs,
                   "Each with its range: radix=2..64 segment=0|1K..1G within=...");

  module.def(
      "algorithms",
      [] {
        const auto all = algorithms::algorithms();
        return std::vector<Algorithm>(all.begin(), all.end());
      },
      "All there are, operation by operation.");
  module.def(
      "parse_choice",
      [](std::string_view operation, std::string_view text) {
        return choice::parse_choice(plan::parse_operation(operation), text);
      },
      nb::arg("operation"), nb::arg("text"),
      "Reads \"chain,segment=64K,cells=8\"; knobs not named keep their default.");
  module.def(
      "choose",
      [](const Topology& topology, std::string_view operation, Bytes bytes, int root) {
        return choice::decide(topology, make_problem(topology, operation, bytes, root));
      },
      nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root") = 0,
      "The built-in choice. `bytes`: of the message, or of one rank's block of an allgather.");
  module.def(
      "rank_choices",
      [](const Topology& topology, std::string_view operation, Bytes bytes, int root,
         const cost::Parameters& parameters, Bytes element, const std::vector<Bytes>& counts) {
        std::vector<std::pair<Choice, double>> ranked;
        const Problem problem = make_problem(topology, operation, bytes, root, element, true, counts);
        for (const auto& it : choice::rank_choices(topology, problem, parameters))
          ranked.emplace_back(it.choice, it.microseconds);
        return ranked;
      },
      nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root") = 0,
      nb::arg("parameters") = cost::Parameters{}, nb::arg("element") = 1, nb::arg("counts") = std::vector<Bytes>{},
      "What the built-in choice compares: valid candidates and their microseconds by closed form, fastest first.");
  module.def("why_invalid", &why_invalid, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"),
             nb::arg("choice"), nb::arg("element") = 1, nb::arg("is_commutative") = true,
             nb::arg("counts") = std::vector<Bytes>{},
             "Why the choice does not apply here; empty when it does. The last three as in build().");
  module.def(
      "build", &build, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root"), nb::arg("choice"),
      nb::arg("element") = 1, nb::arg("is_commutative") = true, nb::arg("counts") = std::vector<Bytes>{},
      nb::arg("is_symmetric") = true, nb::arg("edges") = std::vector<EdgeTuple>{},
      "All ranks' programs. Only broadcast, scatter, gather and reduce look at `root`.\n\n`element` (bytes), "
      "`is_commutative` and `is_symmetric` (also in bits) belong to reductions; `counts` are the blocks' sizes "
      "of the v-forms, for alltoall row by row. `edges` of a neighbourhood collective: (from, to, bytes, begin in "
      "the input, begin in the output, part and parts of the sender's window); none: each rank's four nearest.");
  module.def("build_part", &build_part, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root"),
             nb::arg("choice"), nb::arg("ranks"),
             "The same plan with the programs of these ranks only; those of the others are empty.");
}

}  // namespace espalier::bindings
