#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "bindings/bindings.hpp"
#include "choice/estimate.hpp"
#include "cost/estimate.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using cost::Line;
using cost::Parameters;

namespace {

/// Spans and flights as Python's tuples: pictures ask for thousands.
using Span = std::tuple<int, std::size_t, double, double>;
using Flight = std::tuple<int, int, Bytes, double, double>;

std::tuple<double, std::vector<Span>, std::vector<Flight>> play(const plan::Plan& plan, const Parameters& parameters) {
  const cost::Record record = cost::record_play(plan, parameters);
  std::vector<Span> spans;
  for (const cost::Span& it : record.spans) spans.emplace_back(it.rank.value, it.step, it.begin, it.end);
  std::vector<Flight> flights;
  for (const cost::Flight& it : record.flights)
    flights.emplace_back(it.from.value, it.to.value, it.bytes, it.set_out, it.arrival);
  return {record.total, std::move(spans), std::move(flights)};
}

}  // namespace

void bind_cost(nb::module_& module) {
  nb::class_<Line>(module, "CostLine", "A fixed cost (µs) and a rate (bytes per µs).")
      .def(nb::init<double, double>(), nb::arg("fixed"), nb::arg("rate"))
      .def_rw("fixed", &Line::fixed)
      .def_rw("rate", &Line::rate);
  nb::class_<Parameters>(module, "CostParameters",
                         "What things cost on a machine: src/cost/parameters.hpp. Times in µs, rates in bytes per µs.")
      .def(nb::init<>())
      .def("__copy__", [](const Parameters& it) { return it; })
      .def_rw("flag", &Parameters::flag)
      .def_rw("step", &Parameters::step)
      .def_rw("put", &Parameters::put)
      .def_rw("get", &Parameters::get)
      .def_rw("copy", &Parameters::copy)
      .def_rw("reduce", &Parameters::reduce)
      .def_rw("single_copy", &Parameters::single_copy)
      .def_rw("together", &Parameters::together)
      .def_rw("latency", &Parameters::latency)
      .def_rw("overhead", &Parameters::overhead)
      .def_rw("gap", &Parameters::gap)
      .def_rw("link_rate", &Parameters::link_rate)
      .def_rw("flow_rate", &Parameters::flow_rate, "Inf: what one connection carries has no bound of its own.")
      .def_rw("eager", &Parameters::eager)
      .def_rw("cores", &Parameters::cores);
  module.def(
      "estimate_choice",
      [](const topology::Topology& topology, std::string_view operation, Bytes bytes, int root,
         const plan::Choice& choice, const Parameters& parameters) {
        return choice::estimate_choice(topology, {plan::parse_operation(operation), bytes, Rank(root)}, choice,
                                       parameters);
      },
      nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("root"), nb::arg("choice"),
      nb::arg("parameters") = Parameters{},
      "The same without building the plan, in closed form. The choice must be valid.");
  module.def(
      "estimate",
      [](const plan::Plan& plan, const Parameters& parameters) { return cost::estimate_time(plan, parameters).total; },
      nb::arg("plan"), nb::arg("parameters") = Parameters{},
      "Microseconds from the common start to the last rank's end. Orders choices rather than predicts times.");
  module.def("play", &play, nb::arg("plan"), nb::arg("parameters") = Parameters{},
             "The same with all that happens: the time; (rank, step, begin, end) of every step in the order of their "
             "ends; (from, to, bytes, set out, arrival) of every message. The plan must be correct.");
}

}  // namespace espalier::bindings
