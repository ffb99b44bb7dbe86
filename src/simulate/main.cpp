// espalier-simulator: one simulation. A request (JSON) on standard input, its result (JSON) on standard output; what is
// wrong with the request on standard error, with exit status 2. `espalier simulate` speaks to it.

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "algorithms/build.hpp"
#include "algorithms/limits.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "cost/condense.hpp"
#include "simulate/nodes/node_request.hpp"
#include "simulate/placement.hpp"
#include "simulate/request.hpp"
#include "simulate/simulate.hpp"

namespace espalier::simulate {
namespace {

using nlohmann::json;

/// The hosts by number, by name, or by a rule; without any of them node n is host n.
std::vector<int> read_hosts(const json& request, const Network& network, int nodes) {
  if (request.contains("host_of_node") + request.contains("hosts") + request.contains("placement") > 1)
    throw Error("host_of_node, hosts and placement say the same: give one of them");
  if (request.contains("host_of_node")) return request.at("host_of_node").get<std::vector<int>>();
  if (!request.contains("hosts")) return place_nodes(network, request.value("placement", "block"), nodes);
  std::vector<int> hosts;
  for (const json& name : request.at("hosts")) hosts.push_back(network.find_host(name.get<std::string>()));
  return hosts;
}

topology::Topology read_topology(const json& request) {
  const topology::Capabilities can{.single_copy = request.value("single_copy", true),
                                   .oversubscribed = request.value("oversubscribed", false)};
  return topology::Topology::from_nodes(request.at("node_of").get<std::vector<int>>(), can);
}

/// From so many ranks on programs are condensed as they are built: not all of them fit into memory as they are.
constexpr int many_ranks = 16384;

/// Every rank's program is its own affair, so that all processors build some.
plan::Plan build_condensed(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                           const cost::Parameters& parameters) {
  const cost::Parameters is = parameters.met_by(topology, problem);
  plan::Plan plan{topology, problem, choice, {}};
  plan.programs.resize(static_cast<std::size_t>(topology.ranks()));
  const int builders = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto build = [&](int first) {
    for (int r = first; r < topology.ranks(); r += builders)
      plan.programs[static_cast<std::size_t>(r)] = cost::condense(
          algorithms::build_program(topology, problem, choice, Rank(r)), topology.local_rank(Rank(r)), is);
  };
  std::vector<std::future<void>> others;
  for (int first = 1; first < builders; ++first) others.push_back(std::async(std::launch::async, build, first));
  build(0);
  for (std::future<void>& other : others) other.get();
  return plan;
}

plan::Plan read_plan(const json& request, const topology::Topology& topology, const cost::Parameters& parameters) {
  const plan::Problem problem{read_operation(request.at("operation").get<std::string>()),
                              request.at("bytes").get<Bytes>(), Rank(request.value("root", 0))};
  const std::string text = request.value("choice", "");
  const plan::Choice choice =
      text.empty() ? choice::choose(topology, problem) : choice::parse_choice(problem.operation, text);
  const std::string why = algorithms::why_invalid(topology, problem, choice);
  if (!why.empty()) throw Error(plan::to_string(choice) + ": " + why);
  const bool is_whole = request.value("spans", false) || topology.capabilities().oversubscribed;
  return topology.ranks() < many_ranks || is_whole ? algorithms::build_plan(topology, problem, choice)
                                                   : build_condensed(topology, problem, choice, parameters);
}

/// From so many messages on SimGrid takes minutes.
constexpr std::size_t many_messages = 8192;

std::size_t count_messages(const plan::Plan& plan) {
  std::size_t messages = 0;
  for (const plan::Program& program : plan.programs)
    for (const plan::Step& step : program.steps) messages += step.op() == plan::Op::send;
  return messages;
}

/// Who shares the links: SimGrid, or where that is missing or takes too long our own solver of the same model.
std::string read_solver(const json& request, const plan::Plan& plan) {
  const std::string solver = request.value("solver", "auto");
  if (solver == "auto") return has_simgrid() && count_messages(plan) < many_messages ? "simgrid" : "fluid";
  if (solver != "simgrid" && solver != "simgrid_full" && solver != "fluid")
    throw Error("unknown solver '" + solver + "': one of auto, simgrid, simgrid_full, fluid");
  return solver;
}

json loads_of(const Network& network, const Result& result) {
  json loads = json::array();
  for (std::size_t i = 0; i < result.link_bytes.size(); ++i)
    if (result.link_bytes[i] > 0 && network.links()[i].is_shared)
      loads.push_back(
          {{"link", network.links()[i].name}, {"rate", network.links()[i].rate}, {"bytes", result.link_bytes[i]}});
  return loads;
}

json flights_of(const Result& result) {
  json flights = json::array();
  for (const Flight& flight : result.flights)
    flights.push_back({{"from", flight.from.value},
                       {"to", flight.to.value},
                       {"bytes", flight.bytes},
                       {"set_out", flight.set_out},
                       {"arrival", flight.arrival}});
  return flights;
}

json answer(const json& request) {
  if (request.contains("node_platform")) return answer_about_node(request);
  const auto network = parse_network(request.at("network").get<std::string>());
  const topology::Topology blind = read_topology(request);
  const std::vector<int> hosts = check_hosts(*network, read_hosts(request, *network, blind.nodes()), blind.nodes());
  const cost::Parameters parameters = read_parameters(request);
  const plan::Plan plan = read_plan(
      request, blind.with_distances(derive_distances(*network, hosts, request.value("metric", "none"))), parameters);
  const std::string solver = read_solver(request, plan);
  const Options options{.host_of_node = hosts,
                        .connection_rate = request.value("connection_rate", 0.0),
                        .shares_anew = solver == "simgrid_full",
                        .keeps_spans = request.value("spans", false),
                        .keeps_flights = request.value("flights", false)};
  const Result result = (solver == "fluid" ? simulate_fluid : simulate_simgrid)(plan, *network, parameters, options);
  json reply = {{"network", network->describe()},
                {"choice", plan::to_string(plan.choice)},
                {"solver", solver},
                {"microseconds", result.total},
                {"messages", result.messages}};
  if (request.value("ends", false)) reply["ends"] = result.ends;
  if (request.value("loads", false)) reply["loads"] = loads_of(*network, result);
  if (options.keeps_spans) reply["spans"] = spans_of(plan, result.spans);
  if (options.keeps_flights) reply["flights"] = flights_of(result);
  return reply;
}

int run() {
  try {
    std::puts(answer(json::parse(stdin)).dump().c_str());
    return 0;
  } catch (const json::exception& error) {
    std::fprintf(stderr, "the request is not what espalier-simulator reads: %s\n", printable(error.what()).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
  }
  return 2;
}

}  // namespace
}  // namespace espalier::simulate

int main() {
  // A rank's program is built, condensed and thrown away: the next one shall find its memory there, and not have the
  // system clear megabytes again (a fifth of the time of 16 384 ranks).
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  return espalier::simulate::run();
}
