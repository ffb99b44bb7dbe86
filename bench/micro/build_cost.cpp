// What it costs one rank to build its own program, and what one step of the interpreter costs.
//
//   build/release/bench/bench_build_cost
//
// Prints one JSON object per line: the slowest rank among leaders, members and the root, median of many builds.

#include <cstdio>
#include <vector>

#include "algorithms/build.hpp"
#include "choice/choose.hpp"
#include "execute/interpreter.hpp"
#include "timing.hpp"

namespace {

using namespace espalier;

topology::Topology make_topology(int nodes, int per_node) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * per_node; ++r) node_of.push_back(r / per_node);
  return topology::Topology::from_nodes(node_of, {true, false});
}

struct Cost {
  double microseconds = 0;
  std::size_t steps = 0;
};

Cost build_cost(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice, Rank me) {
  Cost cost;
  std::vector<double> times;
  for (int i = 0; i < 101; ++i) {
    plan::Program program;
    times.push_back(microseconds([&] { program = algorithms::build_program(topology, problem, choice, me); }));
    cost.steps = program.steps.size();
  }
  cost.microseconds = median(times);
  return cost;
}

void report_build(int nodes, int per_node, plan::Operation operation, Bytes bytes) {
  const topology::Topology topology = make_topology(nodes, per_node);
  const plan::Problem problem{operation, bytes, Rank(0)};
  const plan::Choice choice = choice::choose(topology, problem);
  Cost worst;
  for (const int r : {0, 1, per_node, per_node + 1, topology.ranks() / 2, topology.ranks() - 1}) {
    const Cost cost = build_cost(topology, problem, choice, Rank(r));
    if (cost.microseconds > worst.microseconds) worst = cost;
  }
  std::printf(
      "{\"measure\": \"build\", \"operation\": \"%s\", \"bytes\": %llu, \"ranks\": %d, \"nodes\": %d, \"choice\": "
      "\"%s\", "
      "\"microseconds\": %.2f, \"steps\": %zu}\n",
      name(operation), static_cast<unsigned long long>(bytes), topology.ranks(), nodes, to_string(choice).c_str(),
      worst.microseconds, worst.steps);
}

// A single rank that copies eight bytes again and again: the cost of dispatching a step.
void report_step() {
  plan::Program program;
  for (int i = 0; i < 1000; ++i)
    program.steps.push_back(plan::Step::copy(plan::Buffer::input, 0, plan::Buffer::output, 0, 8));
  std::byte input[8]{}, output[8]{};
  std::vector<double> times;
  for (int i = 0; i < 1001; ++i) {
    execute::Interpreter interpreter(program, {input, output, nullptr}, {});
    times.push_back(microseconds([&] { interpreter.advance(); }));
  }
  std::printf("{\"measure\": \"step\", \"nanoseconds\": %.2f}\n", median(times));
}

}  // namespace

int main() {
  for (const auto& [nodes, per_node] : {std::pair{64, 16}, std::pair{4096, 16}}) {
    for (const Bytes bytes : {Bytes{64}, Bytes{64} << 10, Bytes{4} << 20})
      report_build(nodes, per_node, plan::Operation::broadcast, bytes);
    for (const Bytes bytes : {Bytes{64}, Bytes{4} << 10})
      report_build(nodes, per_node, plan::Operation::allgather, bytes);
    report_build(nodes, per_node, plan::Operation::barrier, 0);
  }
  report_step();
}
