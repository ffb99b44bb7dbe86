#include "plan/traffic.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace espalier::plan {
namespace {

using Connections = std::set<std::pair<Rank, Rank>>;

void count_step(const Step& step, Traffic& node) {
  ++node.steps;
  switch (step.op()) {
    case Op::put: node.shared_written += step.bytes(); break;
    case Op::get: node.shared_read += step.bytes(); break;
    case Op::pull:
    case Op::push: node.single_copied += step.bytes(); break;
    case Op::send: ++node.messages_out, node.bytes_out += step.bytes(); break;
    case Op::recv: ++node.messages_in, node.bytes_in += step.bytes(); break;
    case Op::finish:
    case Op::post:
    case Op::await:
    case Op::await_all:
    case Op::copy:
    case Op::reduce: break;
  }
}

void note_connection(Rank me, const Step& step, Connections& connections) {
  if (step.op() == Op::send) connections.emplace(me, step.peer());
  if (step.op() == Op::recv) connections.emplace(step.peer(), me);
}

}  // namespace

std::vector<Traffic> count_traffic(const Plan& plan) {
  std::vector<Traffic> nodes(static_cast<std::size_t>(plan.topology.nodes()));
  const auto node_of = [&](Rank rank) -> Traffic& {
    return nodes[static_cast<std::size_t>(plan.topology.node_of(rank).value)];
  };
  Connections connections;
  for (int r = 0; r < plan.topology.ranks(); ++r)
    for (const Step& step : plan.programs[static_cast<std::size_t>(r)].steps) {
      count_step(step, node_of(Rank(r)));
      note_connection(Rank(r), step, connections);
    }
  for (const auto& [from, to] : connections) {
    ++node_of(from).connections_out;
    ++node_of(to).connections_in;
  }
  return nodes;
}

std::uint64_t longest_program(const Plan& plan) {
  std::size_t longest = 0;
  for (const Program& program : plan.programs) longest = std::max(longest, program.steps.size());
  return longest;
}

}  // namespace espalier::plan
