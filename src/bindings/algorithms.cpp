#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <variant>
#include <vector>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using algorithms::Algorithm;
using choice::Decision;
using plan::Choice;
using plan::Operation;
using plan::Problem;
using topology::Topology;

namespace {

/// Barriers have no bytes, and not every operation has a root.
Problem make_problem(std::string_view operation, Bytes bytes, int root, Bytes element = 1, bool is_commutative = true,
                     const std::vector<Bytes>& counts = {}, bool is_symmetric = true) {
  Problem problem{plan::parse_operation(operation)};
  if (problem.operation != Operation::barrier) problem.bytes = bytes;
  if (has_root(problem.operation)) problem.root = Rank(root);
  problem.element = element;
  problem.is_commutative = is_commutative;
  problem.is_symmetric = is_symmetric;
  problem.counts = counts;
  return problem;
}

Choice read_choice(Operation operation, const std::variant<Choice, std::string>& choice) {
  if (const auto* text = std::get_if<std::string>(&choice)) return choice::parse_choice(operation, *text);
  return std::get<Choice>(choice);
}

plan::Plan build(const Topology& topology, std::string_view operation, Bytes bytes, int root,
                 const std::variant<Choice, std::string>& choice, Bytes element, bool is_commutative,
                 const std::vector<Bytes>& counts, bool is_symmetric) {
  const Problem problem = make_problem(operation, bytes, root, element, is_commutative, counts, is_symmetric);
  return algorithms::build_plan(topology, problem, read_choice(problem.operation, choice));
}

plan::Plan build_part(const Topology& topology, std::string_view operation, Bytes bytes, int root, const Choice& choice,
                      const std::vector<int>& ranks) {
  std::vector<Rank> built;
  for (const int rank : ranks) {
    if (rank < 0 || rank >= topology.ranks()) throw Error("there is no rank " + std::to_string(rank));
    built.push_back(Rank(rank));
  }
  return algorithms::build_part(topology, make_problem(operation, bytes, root), choice, built);
}

std::string why_invalid(const Topology& topology, std::string_view operation, Bytes bytes, const Choice& choice,
                        Bytes element, bool is_commutative, const std::vector<Bytes>& counts) {
  const Problem problem = make_problem(operation, bytes, 0, element, is_commutative, counts);
  return algorithms::why_invalid(topology, problem, choice);
}

}  // namespace

void bind_algorithms(nb::module_& module) {
  nb::class_<Decision>(module, "Decision")
      .def_ro("choice", &Decision::choice)
      .def_prop_ro("reason", [](const Decision& decision) { return decision.reason; });
  nb::class_<Algorithm>(module, "Algorithm")
      .def_prop_ro("name", [](const Algorithm& a) { return a.name(); })
      .def_prop_ro("operation", [](const Algorithm& a) { return plan::name(a.operation); })
      .def_prop_ro("between", [](const Algorithm& a) { return plan::name(a.between); })
      .def_prop_ro("source", [](const Algorithm& a) { return a.source; })
      .def_prop_ro("summary", [](const Algorithm& a) { return a.summary; })
      .def_prop_ro("knobs", &algorithms::describe_knobs);

  module.def("algorithms", [] {
    nb::list list;
    for (const Algorithm& algorithm : algorithms::algorithms()) list.append(algorithm);
    return list;
  });
  module.def(
      "parse_choice",
      [](std::string_view operation, std::string_view text) {
        return choice::parse_choice(plan::parse_operation(operation), text);
      },
      nb::arg("operation"), nb::arg("text"));
  module.def(
      "choose",
      [](const Topology& topology, std::string_view operation, Bytes bytes, int root) {
        return choice::decide(topology, make_problem(operation, bytes, root));
      },
      nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root") = 0);
  module.def(
      "rank_choices",
      [](const Topology& topology, std::string_view operation, Bytes bytes, int root,
         const cost::Parameters& parameters, Bytes element, const std::vector<Bytes>& counts) {
        std::vector<std::pair<Choice, double>> ranked;
        const Problem problem = make_problem(operation, bytes, root, element, true, counts);
        for (const auto& it : choice::rank_choices(topology, problem, parameters))
          ranked.emplace_back(it.choice, it.microseconds);
        return ranked;
      },
      nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root") = 0,
      nb::arg("parameters") = cost::Parameters{}, nb::arg("element") = 1, nb::arg("counts") = std::vector<Bytes>{});
  module.def("why_invalid", &why_invalid, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"),
             nb::arg("choice"), nb::arg("element") = 1, nb::arg("is_commutative") = true,
             nb::arg("counts") = std::vector<Bytes>{});
  module.def("build", &build, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root"),
             nb::arg("choice"), nb::arg("element") = 1, nb::arg("is_commutative") = true,
             nb::arg("counts") = std::vector<Bytes>{}, nb::arg("is_symmetric") = true);
  module.def("build_part", &build_part, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root"),
             nb::arg("choice"), nb::arg("ranks"));
}

}  // namespace espalier::bindings
