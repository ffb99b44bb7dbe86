#include "fabric/graph.hpp"

#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "fabric/delays.hpp"
#include "fabric/dumps/host_list.hpp"
#include "fabric/dumps/readers.hpp"
#include "fabric/routes.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using namespace espalier::fabric;

namespace {

std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::switch_: return "switch";
    case NodeKind::adapter: return "adapter";
    case NodeKind::aggregation: return "aggregation";
    case NodeKind::gateway: return "gateway";
  }
  return "";
}

// A switch's cabled ports: (port, peer's index, peer's port, rate, Gbit/s).
using Cable = std::tuple<int, int, int, std::string, double>;
std::vector<Cable> cables_of(const Node& node) {
  std::vector<Cable> cables;
  for (std::size_t number = 1; number < node.ports.size(); ++number) {
    const auto& port = node.ports[number];
    if (port.peer != kNoNode)
      cables.emplace_back(static_cast<int>(number), port.peer, port.peer_port, port.rate.text(), port.rate.gbps());
  }
  return cables;
}

std::vector<std::tuple<int, int, int>> hops_of(const Route& route) {
  std::vector<std::tuple<int, int, int>> hops;
  for (const auto& hop : route.hops) hops.emplace_back(hop.node, hop.in, hop.out);
  return hops;
}

// The lines of one host for `espalier routes --all`.
std::string routes_from(const Fabric& fabric, const Host& source) {
  std::string text;
  for (const auto& host : fabric.hosts) {
    if (host.name == source.name) continue;
    const auto [from, to] = fabric.find_pair(source, host);
    const auto route = trace_route(fabric, from, to);
    text += source.name + "\t" + host.name + "\t" + std::string(name_of(route.status)) + "\t" +
            std::to_string(route.links()) + "\t" + format_hops(fabric, route) + "\n";
  }
  return text;
}

std::vector<Endpoint> find_all(const Fabric& fabric, const std::vector<std::string>& hosts) {
  std::vector<Endpoint> ends;
  for (const auto& host : hosts) ends.push_back(fabric.find_endpoint(host));
  return ends;
}

std::vector<std::vector<double>> rows_of(const Delays& delays, std::string_view metric, Bytes bytes,
                                         const std::vector<std::pair<int, double>>& latency) {
  Question question{parse_metric(metric), bytes, {latency}};
  if (latency.empty()) question.latency = LatencyTable::ranger();
  std::vector<std::vector<double>> rows(delays.hosts(), std::vector<double>(delays.hosts()));
  for (std::size_t from = 0; from < delays.hosts(); ++from)
    for (std::size_t to = 0; to < delays.hosts(); ++to) rows[from][to] = delays.delay(from, to, question);
  return rows;
}

// (status, pairs, from, to)
std::vector<std::tuple<std::string, std::size_t, std::size_t, std::size_t>> counts_of(const Delays& delays) {
  std::vector<std::tuple<std::string, std::size_t, std::size_t, std::size_t>> counts;
  for (const auto& it : delays.count_statuses())
    counts.emplace_back(std::string(name_of(it.status)), it.pairs, it.from, it.to);
  return counts;
}

void bind_error(nb::module_& module) {
  // A class of its own, below Error, whose `fault` is the stable name.
  // The reference is never given back: at exit the interpreter goes before static objects do.
  static nb::handle type;
  type = nb::exception<FabricError>(module, "FabricError", module.attr("Error").ptr()).release();
  type.attr("__doc__") =
      "Why dumps of a fabric were rejected, or why a question about one has no answer. `fault`: unreadable, empty, "
      "truncated, bad-number, bad-record, too-large, no-wiring or unknown-host; `reason`: the text without it.";
  type.attr("fault") = "";
  type.attr("reason") = "";
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const FabricError& error) {
      nb::object value = type(error.what());
      value.attr("fault") = name_of(error.fault());
      value.attr("reason") = error.reason();
      PyErr_SetObject(type.ptr(), value.ptr());
    }
  });
}

void bind_graph(nb::module_& module) {
  nb::class_<Endpoint>(module, "FabricEndpoint", "A cabled port of an adapter: where a route begins and ends.")
      .def_ro("node", &Endpoint::node, "Index into Fabric.nodes.")
      .def_ro("port", &Endpoint::port)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Endpoint& it) { return (static_cast<std::size_t>(it.node) << 16) ^ it.port; });
  nb::class_<Node>(module, "FabricNode", "A switch, or what ends a cable.")
      .def_prop_ro("guid", [](const Node& it) { return format_guid(it.guid); })
      .def_prop_ro(
          "kind", [](const Node& it) { return kind_name(it.kind); }, "switch, adapter, aggregation or gateway.")
      .def_ro("name", &Node::name)
      .def_ro("lid", &Node::lid, "Of a switch; 0 otherwise.")
      .def_ro("part", &Node::part, "Which connected part of the fabric it is in; 0 is the largest.")
      .def_prop_ro("cables", &cables_of,
                   "(port, peer's index, peer's port, rate, Gbit/s; 0 when not known), as this end sees them.");
  nb::class_<Host>(module, "FabricHost", "Adapters that one name stands for.")
      .def_ro("name", &Host::name)
      .def_ro("endpoints", &Host::endpoints, "The first stands for the host.");
  nb::class_<Finding>(module, "FabricFinding", "Something odd about the dumps: its stable name, and a text for people.")
      .def_prop_ro("kind", [](const Finding& it) { return name_of(it.kind); })
      .def_ro("text", &Finding::text);
  nb::class_<Route>(module, "FabricRoute", "The way from one endpoint to another.")
      .def_ro("source", &Route::from)
      .def_ro("target", &Route::to)
      .def_prop_ro(
          "status", [](const Route& it) { return name_of(it.status); }, "ok, self, or the fault's name.")
      .def_prop_ro(
          "basis", [](const Route& it) { return name_of(it.basis); },
          "What it is known from: tables, shortest or tree.")
      .def_prop_ro("links", &Route::links, "Crossed; 0 to oneself, -1 without a route.")
      .def_prop_ro("hops", &hops_of, "(switch's index, port in, port out).");
  nb::class_<Delays>(module, "FabricDelays", "Routes between some hosts, which are numbered as they were named.")
      .def_prop_ro("hosts", &Delays::hosts)
      .def_prop_ro("cells", &Delays::cells, "What is kept: pairs of a first switch and a distinct column.")
      .def(
          "status", [](const Delays& it, std::size_t from, std::size_t to) { return name_of(it.status(from, to)); },
          nb::arg("source"), nb::arg("target"), "Of the route from one host to another, both by number.")
      .def("count_statuses", &counts_of, "(status, ordered pairs, source and target of the first one).")
      .def("matrix", &rows_of, nb::arg("metric"), nb::arg("bytes") = 0,
           nb::arg("latency") = std::vector<std::pair<int, double>>(),
           "Row by source. `latency` is (links, µs), ascending; without it TACC Ranger's.");
}

void bind_loader(nb::module_& module) {
  nb::enum_<Format>(module, "FabricFormat", "What a file is.")
      .value("unknown", Format::unknown)
      .value("empty", Format::empty)
      .value("compressed", Format::compressed)
      .value("ibnetdiscover", Format::ibnetdiscover)
      .value("opensm_subnet", Format::opensm_subnet)
      .value("port_list", Format::port_list)
      .value("link_info", Format::link_info)
      .value("link_info_lines", Format::link_info_lines)
      .value("slurm_yaml", Format::slurm_yaml)
      .value("slurm_conf", Format::slurm_conf)
      .value("tables", Format::tables)
      .value("opensm_tables", Format::opensm_tables)
      .value("opensm_routes", Format::opensm_routes)
      .def_prop_ro("title", [](Format format) { return name_of(format); });
  module.attr("fabric_head_bytes") = kHeadBytes;
  module.def(
      "detect_fabric_format",
      [](nb::bytes head) {
        return detect_format({head.c_str(), head.size()});
      },
      nb::arg("head"), "By a file's first bytes.");
  module.def(
      "choose_fabric_files", [](const std::vector<Format>& formats) { return choose_files(formats); },
      nb::arg("formats"), "Which files to read, in this order.");
  nb::class_<Loader>(module, "FabricLoader",
                     "Builds a Fabric out of files that someone else opens: for each open, feed…, close; then finish.")
      .def(nb::init<>())
      .def("open", &Loader::open, nb::arg("name"), nb::arg("format"))
      .def(
          "feed",
          [](Loader& loader, nb::bytes bytes) {
            loader.feed({bytes.c_str(), bytes.size()});
          },
          nb::arg("bytes"))
      .def("close", &Loader::close)
      .def("note_empty", &Loader::note_empty, nb::arg("name"))
      .def("finish", &Loader::finish,
           "Everything that was fed, in one graph. Raises FabricError where that makes no fabric.");
}

}  // namespace

void bind_fabric(nb::module_& module) {
  bind_error(module);
  bind_graph(module);
  bind_loader(module);
  nb::class_<Fabric>(module, "Fabric", "Switches, adapters, cables, forwarding tables and hosts; immutable.")
      .def_ro("nodes", &Fabric::nodes)
      .def_ro("hosts", &Fabric::hosts, "By name.")
      .def_ro("findings", &Fabric::findings)
      .def_ro("parts", &Fabric::parts, "How many connected parts have hosts.")
      .def_prop_ro(
          "basis", [](const Fabric& it) { return name_of(it.basis); },
          "What routes are known from: tables, shortest or tree.")
      .def(
          "lid_of", [](const Fabric& it, Endpoint at) { return it.port(at).lid; }, nb::arg("at"))
      .def(
          "lmc_of", [](const Fabric& it, Endpoint at) { return it.port(at).lmc; }, nb::arg("at"))
      .def("label", &Fabric::label, nb::arg("at"))
      .def("find_endpoint", &Fabric::find_endpoint, nb::arg("text"),
           "A host, host/PORT, host/DEVICE, or the GUID of an adapter or of its port.")
      .def("find_pair", nb::overload_cast<std::string_view, std::string_view>(&Fabric::find_pair, nb::const_),
           nb::arg("source"), nb::arg("target"), "The ports by which two hosts meet in one part of the fabric.")
      .def("trace_route", &trace_route, nb::arg("source"), nb::arg("target"), nb::arg("path") = 0,
           "`path`: which of the destination's LIDs, where it has several.")
      .def("find_shortest_routes", &find_shortest_routes, nb::arg("source"), nb::arg("target"), nb::arg("most") = 64,
           "At most so many.")
      .def("explain", &explain, nb::arg("route"), "What is wrong with it; empty when nothing is.")
      .def(
          "bottleneck",
          [](const Fabric& it, const Route& route) {
            const auto rate = find_bottleneck(it, route);
            return std::pair(rate.text(), rate.gbps());
          },
          nb::arg("route"), "The slowest link's rate, and what it carries in Gbit/s.")
      .def("format_hops", &format_hops, nb::arg("route"))
      .def("routes_from", &routes_from, nb::arg("host"), "Lines of `espalier routes` for one source.")
      .def(
          "derive_delays",
          [](const Fabric& it, const std::vector<std::string>& hosts) {
            return Delays::derive(it, find_all(it, hosts));
          },
          nb::arg("hosts"), "Between hosts by name. Raises FabricError for an unknown one.");
  module.def("expand_host_list", &expand_host_list, nb::arg("text"), nb::arg("most") = 1000000,
             "Slurm's host lists: node[000-003],login.");
  module.def("compress_host_list", &compress_host_list, nb::arg("names"), "What expand_host_list reads back.");
}

}  // namespace espalier::bindings
