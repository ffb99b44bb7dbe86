#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "tune/day.hpp"
#include "tune/places.hpp"
#include "tune/store.hpp"
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

std::optional<Row> find(const Table& table, const topology::Topology& topology, std::string_view operation, Bytes bytes,
                        std::string_view transport) {
  const plan::Operation op = plan::parse_operation(operation);
  const Transport carried_by = transport.empty() ? table.transport() : parse_transport(transport);
  const Row* row = table.find(topology, {op, op == plan::Operation::barrier ? 0 : bytes}, carried_by);
  return row != nullptr ? std::optional(*row) : std::nullopt;
}

void bind_row(nb::module_& module) {
  nb::class_<Row>(module, "TableRow", "One line of a tuned table. Ranges are closed; times are in microseconds.")
      .def_prop_ro("operation", [](const Row& row) { return plan::name(row.operation); })
      .def_prop_ro("nodes", [](const Row& row) { return pair_of(row.nodes); })
      .def_prop_ro(
          "ppn", [](const Row& row) { return pair_of(row.ppn); }, "Ranks on the largest node.")
      .def_prop_ro("bytes", [](const Row& row) { return pair_of(row.bytes); })
      .def_ro("uneven", &Row::uneven, "Only for blocks of different sizes.")
      .def_prop_ro(
          "transport", [](const Row& row) { return name(row.transport); }, "Between nodes: mpi or ucx.")
      .def_ro("is_learned", &Row::is_learned, "Jobs' own calls have taught it.")
      .def_prop_ro(
          "learned_on", [](const Row& row) { return row.day > 0 ? tune::format_day(row.day) : ""; },
          "The day on which a job last found this out; empty where that is not said.")
      .def_ro("jobs", &Row::jobs, "How many in a row have found the same.")
      .def_ro("selection", &Row::selection, "\"native\", \"tiny\", or what parse_choice reads.")
      .def_prop_ro("measured_bytes", [](const Row& row) { return row.measured.bytes; })
      .def_prop_ro("native_us", [](const Row& row) { return row.measured.native_us; })
      .def_prop_ro("chosen_us", [](const Row& row) { return row.measured.chosen_us; })
      .def_prop_ro(
          "lowest_ratio", [](const Row& row) { return row.measured.lowest_ratio; },
          "Native ÷ selection, of all rounds.")
      .def_prop_ro("highest_ratio", [](const Row& row) { return row.measured.highest_ratio; })
      .def_prop_ro("calls", [](const Row& row) { return row.measured.calls; });
}

}  // namespace

void bind_tune(nb::module_& module) {
  nb::class_<Signature>(module, "Signature", "For which machine and MPI a table holds, as two lines of text.")
      .def(nb::init<std::string, std::string>(), nb::arg("machine"), nb::arg("mpi"))
      .def_ro("machine", &Signature::machine)
      .def_ro("mpi", &Signature::mpi);
  bind_row(module);
  nb::class_<Table>(module, "Table", "A tuned table.")
      .def_static("load", nb::overload_cast<const std::string&>(&Table::load), nb::arg("path"),
                  "Raises Error when the file cannot be read, is torn or corrupt, or has a newer format.")
      .def_static("parse", &Table::parse, nb::arg("text"), nb::arg("name"),
                  "The same for a text; errors begin with `name`.")
      .def_prop_ro("signature", &Table::signature)
      .def_prop_ro("rows", &Table::rows)
      .def_prop_ro("is_learned", &Table::is_learned, "Jobs' own calls have taught it.")
      .def_prop_ro("parameters", &Table::parameters, "What things cost on its machine, as far as it was measured.")
      .def_prop_ro(
          "transport", [](const Table& table) { return name(table.transport()); },
          "What carries messages between nodes by this table: mpi or ucx.")
      .def("find", &find, nb::arg("topology"), nb::arg("operation"), nb::arg("bytes"), nb::arg("transport") = "",
           "The first row that matches.");
  module.attr("table_version") = Table::current_version;
  module.attr("table_most_bytes") = Table::most_bytes;
  module.def("probe_signature", &tune::probe_signature, nb::arg("library_version"),
             "This machine's, with the MPI whose MPI_Get_library_version says this.");
  module.def("why_foreign", &tune::why_foreign, nb::arg("made_for"), nb::arg("here"),
             "Why a table must not be used here; empty when it may.");
  module.def("table_places", &tune::table_places, nb::arg("xdg_config_home"), nb::arg("home"),
             "Where tables are looked for, best first: the user's place, then the system's.");
  module.def("store_folders", &tune::store_folders, nb::arg("xdg_config_home"), nb::arg("home"),
             "The folders with tables of several MPIs and machines: the user's, then the system's.");
  module.def("probe_store", &tune::probe_store, nb::arg("setting") = "",
             "Where a process with this ESPALIER_STORE keeps what it learns; empty: nowhere.");
  module.def("probe_table_files", &tune::probe_table_files, nb::arg("table") = "", nb::arg("store") = "",
             "All files that a process with this ESPALIER_TABLE and ESPALIER_STORE may use, best first.");
  module.def("tuned_name", &tune::tuned_name, nb::arg("signature"), "The name of a tuned table's file.");
  module.def("learned_name", &tune::learned_name, nb::arg("signature"), "The same of what jobs have learned.");
  module.def(
      "is_tiny",
      [](std::string_view operation, Bytes bytes, int ranks) {
        return plan::is_tiny({plan::parse_operation(operation), bytes}, ranks);
      },
      nb::arg("operation"), nb::arg("bytes"), nb::arg("ranks"),
      "Whether one node's ranks may take the dedicated path for short messages.");
}

}  // namespace espalier::bindings
