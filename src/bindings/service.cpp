#include "service/server.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "bindings/bindings.hpp"

namespace espalier::bindings {

namespace nb = nanobind;
using fabric::Engine;
using fabric::Fabric;
using service::Limits;
using service::Server;

namespace {

void make_engine(Engine* self, const std::vector<std::pair<int, double>>& latency) {
  new (self) Engine(latency.empty() ? fabric::LatencyTable::ranger() : fabric::LatencyTable{latency});
}

// The engine's own copy, so that no thread of the server ever needs the interpreter.
void publish(Engine& engine, const Fabric& fabric, double written) {
  const nb::gil_scoped_release released;
  engine.publish(fabric, fabric::Snapshot::Time(std::chrono::duration_cast<fabric::Snapshot::Time::duration>(
                             std::chrono::duration<double>(written))));
}

nb::bytes answer(Engine& engine, nb::bytes line) {
  std::string reply;
  {
    const nb::gil_scoped_release released;
    engine.answer({line.c_str(), line.size()}, reply);
  }
  return nb::bytes(reply.data(), reply.size());
}

nb::typed<nb::dict, nb::str, nb::any> counts_of_engine(const Engine& engine) {
  const auto& counters = engine.counters();
  nb::dict requests;
  nb::typed<nb::dict, nb::str, nb::any> counts;
  for (std::size_t index = 0; index < fabric::kCommands; ++index) {
    const auto name = name_of(static_cast<fabric::Command>(index));
    requests[nb::str(name.data(), name.size())] = counters.requests[index].load();
  }
  counts["requests"] = requests;
  counts["errors"] = counters.errors.load();
  counts["reloads"] = counters.reloads.load();
  counts["rejects"] = counters.rejects.load();
  counts["connections"] = counters.connections.load();
  counts["accepted"] = counters.accepted.load();
  counts["refused"] = counters.refused.load();
  counts["too_slow"] = counters.too_slow.load();
  return counts;
}

void make_server(Server* self, Engine& engine, std::size_t connections, std::size_t per_address, Bytes memory,
                 double idle, double slow) {
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  Limits limits;
  limits.connections = connections;
  limits.per_address = per_address;
  limits.memory = memory;
  limits.idle = milliseconds(idle);
  limits.slow = milliseconds(slow);
  new (self) Server(engine, limits);
}

/// Address, requests, seconds since 1970 of the last one.
std::vector<std::tuple<std::string, std::uint64_t, double>> askers_of(const Server& server) {
  std::vector<std::tuple<std::string, std::uint64_t, double>> all;
  for (const service::Asker& asker : server.askers())
    all.emplace_back(asker.address, asker.requests,
                     std::chrono::duration<double>(asker.last.time_since_epoch()).count());
  return all;
}

}  // namespace

void bind_service(nb::module_& module) {
  nb::class_<Engine>(
      module, "FabricEngine",
      "Answers requests of the line protocol (docs/reference/protocol.md) about the fabric that was published last.")
      .def("__init__", &make_engine, nb::arg("latency") = std::vector<std::pair<int, double>>())
      .def("publish", &publish, nb::arg("fabric"), nb::arg("written"),
           "Takes a copy. `written`: when its dumps were, in seconds since 1970.")
      .def("reject", &Engine::reject, nb::arg("why"),
           "Newer dumps are no good, and why; the last good ones go on answering.")
      .def("answer", &answer, nb::arg("line"), "One request, its line without an end, and the reply's lines.")
      .def("counts", &counts_of_engine, "What was asked and refused since the beginning.");
  nb::class_<Server>(module, "FabricServer",
                     "The engine behind sockets, on threads that need no interpreter. Times in seconds.")
      .def("__init__", &make_server, nb::keep_alive<1, 2>(), nb::arg("engine"), nb::arg("connections"),
           nb::arg("per_address"), nb::arg("memory"), nb::arg("idle"), nb::arg("slow"))
      .def("listen_tcp", &Server::listen_tcp, nb::arg("host"), nb::arg("port"), "The port, which it chooses for 0.")
      .def("listen_unix", &Server::listen_unix, nb::arg("path"))
      .def("askers", &askers_of, "Who asked by lines, the last one first: address, requests, when last.")
      .def("start", &Server::start, "Begins to answer.")
      .def("stop", &Server::stop, nb::call_guard<nb::gil_scoped_release>(), "Ends connections and threads.");
}

}  // namespace espalier::bindings
