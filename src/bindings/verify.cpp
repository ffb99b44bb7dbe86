#include "verify/verify.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "verify/exhaustive.hpp"
#include "verify/places.hpp"
#include "verify/random.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using verify::Outcome;
using verify::Violation;

namespace {

nb::dict to_dict(const Outcome::Failure& failure) {
  const Violation& violation = failure.violation;
  nb::dict values;
  values["kind"] = verify::name(violation.kind);
  values["rank"] = violation.rank.value;
  values["step"] = violation.step;
  values["call"] = violation.call;
  values["buffer"] = plan::name(violation.buffer);
  values["first"] = violation.first;
  values["last"] = violation.last;
  values["text"] = violation.text;
  values["plan"] = failure.reproducer;
  return values;
}

nb::dict to_dict(const Outcome& outcome) {
  nb::list violations;
  for (const Outcome::Failure& failure : outcome.failures) violations.append(to_dict(failure));
  nb::dict values;
  values["checked"] = outcome.checked;
  values["violations"] = violations;
  return values;
}

/// Calls back into Python now and then while long work runs without the interpreter's lock. Raises what the callback
/// raises, and KeyboardInterrupt.
auto report_to(const nb::object& callback) {
  return [&callback](auto done) {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!callback.is_none()) callback(done);
    return true;
  };
}

nb::dict verify_random(std::uint64_t count, std::uint64_t seed, const nb::object& callback) {
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = verify::verify_random(count, seed, report_to(callback));
  }
  return to_dict(outcome);
}

nb::dict verify_exhaustive(int first, int last, const nb::object& callback) {
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = verify::verify_exhaustive(first, last, report_to(callback));
  }
  return to_dict(outcome);
}

}  // namespace

void bind_verify(nb::module_& module) {
  nb::class_<Violation>(module, "Violation")
      .def_prop_ro("kind", [](const Violation& v) { return verify::name(v.kind); })
      .def_prop_ro("rank", [](const Violation& v) { return v.rank.value; })
      .def_ro("step", &Violation::step)
      .def_ro("call", &Violation::call)
      .def_prop_ro("buffer", [](const Violation& v) { return plan::name(v.buffer); })
      .def_ro("first", &Violation::first)
      .def_ro("last", &Violation::last)
      .def_ro("text", &Violation::text)
      .def("__str__", [](const Violation& v) { return verify::to_string(v); })
      .def("__repr__", [](const Violation& v) { return "<Violation: " + verify::to_string(v) + ">"; });
  module.def("verify", &verify::verify, nb::arg("plan"), nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "verify_sequence", [](const std::vector<plan::Plan>& plans) { return verify::verify_sequence(plans); },
      nb::arg("plans"));
  module.def(
      "draw_places",
      [](const std::vector<int>& node_of, std::uint64_t seed) { return verify::draw_places(node_of, seed); },
      nb::arg("node_of"), nb::arg("seed"));
  module.def("verify_random", &verify_random, nb::arg("count"), nb::arg("seed"), nb::arg("callback") = nb::none());
  module.def("verify_exhaustive", &verify_exhaustive, nb::arg("first"), nb::arg("last"),
             nb::arg("callback") = nb::none());
}

}  // namespace espalier::bindings
