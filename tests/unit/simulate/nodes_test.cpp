// Plans inside simulated nodes: what each part of the model does to them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/build.hpp"
#include "base/error.hpp"
#include "choice/parse.hpp"
#include "simulate/nodes/line_plan.hpp"
#include "simulate/nodes/peers.hpp"
#include "simulate/nodes/simulate_node.hpp"

namespace espalier::simulate {
namespace {

using nlohmann::json;
using plan::Operation;

/// Two sockets of two caches of four cores: 20 ns below a cache, 100 between caches, 200 between sockets.
json two_sockets() {
  json rows = json::array(), caches = json::array();
  for (int i = 0; i < 4; ++i) {
    rows.push_back(json::array());
    for (int j = 0; j < 4; ++j) rows.back().push_back(i == j ? 20 : i / 2 == j / 2 ? 100 : 200);
    caches.push_back({{"cores", 4}, {"numa", i / 2}, {"socket", i / 2}});
  }
  return {{"name", "two sockets"}, {"caches", caches},      {"handover_ns", rows}, {"memory_latency_ns", 100},
          {"service_ns", 5},       {"lines", 16},           {"private_kib", 512},  {"cache_kib", 16384},
          {"cache_gb", 200},       {"port_in_gb", 40},      {"port_out_gb", 20},   {"socket_gb", 50},
          {"memory_gb", 100},      {"cards", json::array()}};
}

topology::Topology topology_of(const NodePlatform& platform, const std::vector<int>& cores, int nodes = 1) {
  std::vector<int> node_of;
  std::vector<machine::RankFacts> facts;
  for (int node = 0; node < nodes; ++node)
    for (const int core : cores) node_of.push_back(node), facts.push_back(facts_of_core(platform, core));
  return topology::Topology::from_nodes(node_of, {.single_copy = true}, facts);
}

NodeJob job_of(const json& platform, const std::vector<int>& cores, int nodes = 1) {
  NodeJob job{parse_node_platform(platform.dump()), {}};
  for (int node = 0; node < nodes; ++node) job.core_of_rank.insert(job.core_of_rank.end(), cores.begin(), cores.end());
  return job;
}

plan::Plan plan_of(const topology::Topology& topology, Operation operation, Bytes bytes, const std::string& choice) {
  return algorithms::build_plan(topology, {.operation = operation, .bytes = bytes, .element = 4},
                                choice::parse_choice(operation, choice));
}

double time_of(const json& platform, const std::vector<int>& cores, Operation operation, Bytes bytes,
               const std::string& choice) {
  const NodeJob job = job_of(platform, cores);
  return simulate_node(plan_of(topology_of(job.platform, cores), operation, bytes, choice), job, {}).total;
}

double lines_time(const json& platform, const std::vector<int>& cores, Operation operation, Bytes bytes) {
  const NodeJob job = job_of(platform, cores);
  const plan::Plan plan = build_line_plan(topology_of(job.platform, cores), {.operation = operation, .bytes = bytes});
  return simulate_node(plan, job, {}, true).total;
}

std::vector<int> first_cores(int count) {
  std::vector<int> cores;
  for (int core = 0; core < count; ++core) cores.push_back(core);
  return cores;
}

TEST(Nodes, APlatformSaysWhatIsWrongWithIt) {
  json platform = two_sockets();
  platform.erase("memory_gb");
  EXPECT_THROW(parse_node_platform(platform.dump()), Error);
  platform = two_sockets();
  platform["handover_ns"][0].erase(0);
  EXPECT_THROW(parse_node_platform(platform.dump()), Error);
  platform = two_sockets();
  platform["caches"][1]["numa"] = 5;
  EXPECT_THROW(parse_node_platform(platform.dump()), Error);
  EXPECT_THROW(parse_node_platform("{"), Error);
  EXPECT_THROW(place_on_cores(parse_node_platform(two_sockets().dump()), "packed", 17), Error);
}

TEST(Nodes, RanksKnowTheirCacheAndTheirDomain) {
  const NodePlatform platform = parse_node_platform(two_sockets().dump());
  EXPECT_EQ(facts_of_core(platform, 5).l3, 4);
  EXPECT_EQ(facts_of_core(platform, 5).numa, 0);
  EXPECT_EQ(facts_of_core(platform, 15).numa, 1);
  EXPECT_EQ(place_on_cores(platform, "spread", 4), (std::vector<int>{0, 4, 8, 12}));
}

TEST(Nodes, ALineTakesThePlatformsTimeFromCoreToCore) {
  const double near = lines_time(two_sockets(), {0, 1}, Operation::broadcast, 4);
  const double far = lines_time(two_sockets(), {0, 8}, Operation::broadcast, 4);
  EXPECT_NEAR(far - near, 0.18, 1e-6);
  EXPECT_NEAR(near, 0.02, 0.05);
}

TEST(Nodes, ManyReadersOfALineAreServedOneAfterTheOther) {
  json platform = two_sockets();
  const double at_once = lines_time(platform, first_cores(4), Operation::broadcast, 4);
  platform["service_ns"] = 105;
  EXPECT_NEAR(lines_time(platform, first_cores(4), Operation::broadcast, 4) - at_once, 2 * 0.1, 1e-6);
}

TEST(Nodes, LooksAtManyFlagsOverlap) {
  const std::vector<int> apart{0, 4, 8, 12};
  EXPECT_LT(time_of(two_sockets(), apart, Operation::barrier, 0, "dissemination"), 2 * 0.2);
}

TEST(Nodes, WhatOneCacheHasFetchedItsOtherCoresTakeFromThere) {
  const NodeJob job = job_of(two_sockets(), first_cores(16));
  const plan::Plan plan =
      plan_of(topology_of(job.platform, first_cores(16)), Operation::broadcast, 64 << 10, "knomial,cell=64K,cells=1");
  double out = 0;
  for (const NodeResult::Load& load : simulate_node(plan, job, {}).loads)
    if (load.link == "cache 0 out") out = load.bytes;
  EXPECT_EQ(out, 3 * (64 << 10));  // to three caches, not to twelve cores
}

TEST(Nodes, CopiesShareACachesPort) {
  json platform = two_sockets();
  const double wide = time_of(platform, {0, 4, 8, 12}, Operation::broadcast, 64 << 10, "knomial,cell=64K,cells=1");
  platform["port_out_gb"] = 1;
  const double narrow = time_of(platform, {0, 4, 8, 12}, Operation::broadcast, 64 << 10, "knomial,cell=64K,cells=1");
  EXPECT_GT(narrow, 3 * (64 << 10) / 1000.0);
  EXPECT_LT(wide, narrow / 5);
}

TEST(Nodes, BuffersBeyondTheCachesMoveAtTheMemorysRate) {
  json platform = two_sockets();
  platform["private_kib"] = platform["cache_kib"] = 64;
  platform["memory_gb"] = 1;
  const double slow = time_of(platform, {0, 1}, Operation::broadcast, 256 << 10, "knomial,cell=32K,cells=4");
  EXPECT_GT(slow, 2 * (256 << 10) / 1000.0);  // read and written in the same domain
}

TEST(Nodes, CopiesThroughTheKernelTakeTurnsAtOneProcess) {
  const double one = time_of(two_sockets(), {0, 1}, Operation::gather, 256 << 10, "flat,within=single_copy");
  EXPECT_GT(time_of(two_sockets(), first_cores(4), Operation::broadcast, 256 << 10, "knomial,within=single_copy"), one);
}

TEST(Nodes, ACardReachesFarMemoryAtItsShareOnly) {
  json platform = two_sockets();
  platform["cards"] = {{{"numa", 1}, {"rate_gb", 2}, {"far_share", 0.5}}};
  const auto time = [&](int core) {
    const NodeJob job = job_of(platform, {core}, 2);
    return simulate_node(plan_of(topology_of(job.platform, {core}, 2), Operation::broadcast, 1 << 20, "knomial"), job,
                         {})
        .total;
  };
  EXPECT_NEAR(time(0) / time(8), 2, 0.05);
}

TEST(Nodes, EveryPeerComesToItsEnd) {
  const NodeJob job = job_of(two_sockets(), first_cores(16));
  const topology::Topology topology = topology_of(job.platform, first_cores(16));
  for (const std::string_view peer : peer_names())
    for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::allreduce, Operation::barrier,
                                      Operation::gather, Operation::allgather, Operation::alltoall})
      for (const Bytes bytes : {Bytes{64}, Bytes{64} << 10}) {
        if (!has_peer(peer, operation)) continue;
        const plan::Problem problem{.operation = operation, .bytes = operation == Operation::barrier ? 0 : bytes};
        EXPECT_GT(simulate_node(build_peer(peer, topology, problem), job, parameters_of_peer(peer, {})).total, 0.1)
            << peer << ' ' << plan::name(operation) << ' ' << bytes;
      }
}

TEST(Nodes, TheSamePlanTakesTheSameTime) {
  const auto time = [] {
    return time_of(two_sockets(), first_cores(16), Operation::allreduce, 40000, "rabenseifner,cell=8K,cells=4");
  };
  EXPECT_EQ(time(), time());
}

}  // namespace
}  // namespace espalier::simulate
