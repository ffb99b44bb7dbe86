#include "verify/verify.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "verify/plans/exhaustive.hpp"
#include "verify/plans/random.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using verify::Outcome;
using verify::Violation;

namespace {

/// By name, for JSON.
using Facts = nb::typed<nb::dict, nb::str, nb::any>;
/// Told how many plans have been proved.
using Callback = std::optional<nb::typed<nb::callable, void(std::uint64_t)>>;

Facts to_dict(const Outcome::Failure& failure) {
  const Violation& violation = failure.violation;
  Facts values;
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

Facts to_dict(const Outcome& outcome) {
  nb::list violations;
  for (const Outcome::Failure& failure : outcome.failures) violations.append(to_dict(failure));
  Facts values;
  values["checked"] = outcome.checked;
  values["violations"] = violations;
  return values;
}

/// Calls back into Python now and then while long work runs without the interpreter's lock. Raises what the callback
/// raises, and KeyboardInterrupt.
auto report_to(const Callback& callback) {
  return [&callback](auto done) {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (callback) (*callback)(done);
    return true;
  };
}

Facts verify_random(std::uint64_t count, std::uint64_t seed, const Callback& callback) {
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = verify::verify_random(count, seed, report_to(callback));
  }
  return to_dict(outcome);
}

Facts verify_exhaustive(int first, int last, const Callback& callback) {
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = verify::verify_exhaustive(first, last, report_to(callback));
  }
  return to_dict(outcome);
}

}  // namespace

void bind_verify(nb::module_& module) {
  nb::class_<Violation>(module, "Violation",
                        "One fault of a plan: at `step` of `rank`'s program in the `call`-th of the verified calls.")
      .def_prop_ro("kind", [](const Violation& v) { return verify::name(v.kind); })
      .def_prop_ro("rank", [](const Violation& v) { return v.rank.value; })
      .def_ro("step", &Violation::step, "-1 before the first; the length of the program at its end.")
      .def_ro("call", &Violation::call)
      .def_prop_ro("buffer", [](const Violation& v) { return plan::name(v.buffer); })
      .def_ro("first", &Violation::first, "Bytes [first, last) of the buffer; equal when the fault is not about bytes.")
      .def_ro("last", &Violation::last)
      .def_ro("text", &Violation::text)
      .def("__str__", [](const Violation& v) { return verify::to_string(v); })
      .def("__repr__", [](const Violation& v) { return "<Violation: " + verify::to_string(v) + ">"; });
  module.def("verify", &verify::verify, nb::arg("plan"), nb::call_guard<nb::gil_scoped_release>(),
             "Proves the plan, run several times in a row. Empty when it is correct.");
  module.def(
      "verify_sequence", [](const std::vector<plan::Plan>& plans) { return verify::verify_sequence(plans); },
      nb::arg("plans"), "Proves consecutive calls on one communicator.");
  module.def(
      "verify_random", &verify_random, nb::arg("count"), nb::arg("seed"), nb::arg("callback") = nb::none(),
      "Proves random plans; the same for a seed. `callback(done)` is called after each. Gives how many were `checked`, "
      "and `violations`: the attributes of each by name, and `plan`, the call of build() that makes it again, or a "
      "list "
      "of calls for verify_sequence().");
  module.def("verify_exhaustive", &verify_exhaustive, nb::arg("first"), nb::arg("last"),
             nb::arg("callback") = nb::none(),
             "Proves every algorithm on every kind of machine of `first` to `last` ranks, from every root. Callback "
             "and result as for verify_random.");
}

}  // namespace espalier::bindings
