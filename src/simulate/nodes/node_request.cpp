#include "simulate/nodes/node_request.hpp"

#include <algorithm>

#include "algorithms/build.hpp"
#include "algorithms/limits.hpp"
#include "base/error.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "simulate/nodes/line_plan.hpp"
#include "simulate/nodes/peers.hpp"
#include "simulate/nodes/simulate_node.hpp"
#include "simulate/request.hpp"

namespace espalier::simulate {
namespace {

using nlohmann::json;

struct Job {
  NodeJob node;
  topology::Topology topology;
};

/// Named one by one, node by node; or as on every node.
std::vector<int> read_cores(const json& request, const NodePlatform& platform, int nodes, int ranks) {
  std::vector<int> cores;
  if (!request.contains("core_of_rank")) {
    const std::vector<int> here = place_on_cores(platform, request.value("cores", "packed"), ranks);
    for (int n = 0; n < nodes; ++n) cores.insert(cores.end(), here.begin(), here.end());
    return cores;
  }
  cores = request.at("core_of_rank").get<std::vector<int>>();
  if (cores.size() != static_cast<std::size_t>(nodes * ranks))
    throw Error("core_of_rank must name a core for each rank");
  for (const int core : cores)
    if (core < 0 || core >= platform.cores()) throw Error(platform.name + " has no core " + std::to_string(core));
  return cores;
}

Job read_job(const json& request) {
  NodeJob node{parse_node_platform(request.at("node_platform").get<std::string>()), {}};
  const int nodes = request.value("nodes", 1), ranks = request.value("ranks", node.platform.cores());
  if (nodes < 1 || ranks < 1) throw Error("at least one node and one rank");
  node.latency = request.value("latency", node.latency);
  std::vector<int> node_of;
  std::vector<machine::RankFacts> facts;
  node.core_of_rank = read_cores(request, node.platform, nodes, ranks);
  for (std::size_t r = 0; r < node.core_of_rank.size(); ++r) {
    node_of.push_back(static_cast<int>(r) / ranks);
    facts.push_back(facts_of_core(node.platform, node.core_of_rank[r]));
  }
  const topology::Capabilities can{.single_copy = request.value("single_copy", true)};
  return {std::move(node), topology::Topology::from_nodes(node_of, can, facts)};
}

struct Way {
  plan::Plan plan;
  std::string name;
  bool are_lines = false;
};

Way read_way(const json& request, const topology::Topology& topology, cost::Parameters& is) {
  const plan::Problem problem{.operation = read_operation(request.at("operation").get<std::string>()),
                              .bytes = request.at("bytes").get<Bytes>(),
                              .root = Rank(request.value("root", 0)),
                              .element = request.value("element", Bytes{1})};
  const std::string way = request.value("way", ""), text = request.value("choice", "");
  const auto peers = peer_names();
  if (std::ranges::find(peers, way) != peers.end()) {
    if (topology.nodes() > 1) throw Error("peers are modelled on one node");
    is = parameters_of_peer(way, is);
    return {build_peer(way, topology, problem), way};
  }
  if (way != "" && way != "plan" && way != "lines") throw Error("unknown way '" + way + "'");
  const bool is_free = way.empty() && text.empty();
  if (way == "lines" || (is_free && choice::prefers_tiny(topology, problem))) {
    if (topology.nodes() > 1 || !plan::is_tiny(problem, topology.ranks())) throw Error("too long for lines");
    return {build_line_plan(topology, problem), "lines", true};
  }
  const plan::Choice choice =
      text.empty() ? choice::choose(topology, problem) : choice::parse_choice(problem.operation, text);
  if (const std::string why = algorithms::why_invalid(topology, problem, choice); !why.empty())
    throw Error(plan::to_string(choice) + ": " + why);
  return {algorithms::build_plan(topology, problem, choice), plan::to_string(choice)};
}

}  // namespace

json answer_about_node(const json& request) {
  const Job job = read_job(request);
  cost::Parameters is = read_parameters(request);
  const Way way = read_way(request, job.topology, is);
  const bool keeps_spans = request.value("spans", false);
  const NodeResult result = simulate_node(way.plan, job.node, is, way.are_lines, keeps_spans);
  json reply = {{"network", job.node.platform.what},
                {"choice", way.name},
                {"solver", "fluid"},
                {"microseconds", result.total},
                {"messages", 0}};
  if (request.value("ends", false)) reply["ends"] = result.ends;
  if (request.value("loads", false)) {
    reply["loads"] = json::array();
    for (const NodeResult::Load& load : result.loads)
      reply["loads"].push_back({{"link", load.link}, {"rate", load.rate}, {"bytes", load.bytes}});
  }
  if (keeps_spans) reply["spans"] = spans_of(way.plan, result.spans);
  return reply;
}

}  // namespace espalier::simulate
