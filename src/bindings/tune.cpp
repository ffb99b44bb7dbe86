#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "tune/places.hpp"
#include "tune/table.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using tune::Row;
using tune::Signature;
using tune::Table;

namespace {

template <class Number>
std::pair<Number, Number> pair_of(const tune::Range<Number>& range) {
  return {range.first, range.last};
}

nb::object find(const Table& table, const topology::Topology& topology, std::string_view operation, Bytes bytes,
                std::string_view transport) {
  const plan::Operation op = plan::parse_operation(operation);
  const Transport carried_by = transport.empty() ? table.transport() : parse_transport(transport);
  const Row* row = table.find(topology, {op, op == plan::Operation::barrier ? 0 : bytes}, carried_by);
  return row != nullptr ? nb::cast(*row) : nb::none();
}

void bind_row(nb::module_& module) {
  nb::class_<Row>(module, "TableRow")
      .def_prop_ro("operation", [](const Row& row) { return plan::name(row.operation); })
      .def_prop_ro("nodes", [](const Row& row) { return pair_of(row.nodes); })
      .def_prop_ro("ppn", [](const Row& row) { return pair_of(row.ppn); })
      .def_prop_ro("bytes", [](const Row& row) { return pair_of(row.bytes); })
      .def_ro("uneven", &Row::uneven)
      .def_prop_ro("transport", [](const Row& row) { return name(row.transport); })
      .def_ro("selection", &Row::selection)
      .def_prop_ro("measured_bytes", [](const Row& row) { return row.measured.bytes; })
      .def_prop_ro("native_us", [](const Row& row) { return row.measured.native_us; })
      .def_prop_ro("chosen_us", [](const Row& row) { return row.measured.chosen_us; })
      .def_prop_ro("lowest_ratio", [](const Row& row) { return row.measured.lowest_ratio; })
      .def_prop_ro("highest_ratio", [](const Row& row) { return row.measured.highest_ratio; })
      .def_prop_ro("calls", [](const Row& row) { return row.measured.calls; });
}

}  // namespace

void bind_tune(nb::module_& module) {
  nb::class_<Signature>(module, "Signature")
      .def(nb::init<std::string, std::string>(), nb::arg("machine"), nb::arg("mpi"))
      .def_ro("machine", &Signature::machine)
      .def_ro("mpi", &Signature::mpi);
  bind_row(module);
  nb::class_<Table>(module, "Table")
      .def_static("load", nb::overload_cast<const std::string&>(&Table::load), nb::arg("path"))
      .def_static("parse", &Table::parse, nb::arg("text"), nb::arg("name"))
      .def_prop_ro("signature", &Table::signature)
      .def_prop_ro("rows", &Table::rows)
      .def_prop_ro("parameters", &Table::parameters)
      .def_prop_ro("transport", [](const Table& table) { return name(table.transport()); })
      .def("find", &find, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("transport") = "");
  module.attr("table_version") = Table::current_version;
  module.attr("table_most_bytes") = Table::most_bytes;
  module.def("probe_signature", &tune::probe_signature, nb::arg("library_version"));
  module.def("why_foreign", &tune::why_foreign, nb::arg("made_for"), nb::arg("here"));
  module.def("table_places", &tune::table_places, nb::arg("xdg_config_home"), nb::arg("home"));
  module.def("probe_table_path", &tune::probe_table_path, nb::arg("setting") = "");
  module.def(
      "is_tiny",
      [](std::string_view operation, Bytes bytes, int ranks) {
        return plan::is_tiny({plan::parse_operation(operation), bytes}, ranks);
      },
      nb::arg("operation"), nb::arg("bytes"), nb::arg("ranks"));
}

}  // namespace espalier::bindings
