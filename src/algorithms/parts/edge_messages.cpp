#include "algorithms/parts/edge_messages.hpp"

#include <algorithm>

#include "algorithms/parts/in_flight.hpp"
#include "smp/move/edges.hpp"

namespace espalier::algorithms {

namespace {

/// Messages carry their size as an int; who sends more cuts it. Both ends of an edge know that.
constexpr Bytes longest_message = Bytes{1} << 29;

/// `start(offset, bytes)` for each message of one edge.
template <class Start>
void for_each_message(const plan::Edge& edge, Start start) {
  for (Bytes done = 0; done < edge.bytes; done += longest_message)
    start(done, std::min(longest_message, edge.bytes - done));
}

}  // namespace

// None waits for another to be over: a limit would need an order in which all ranks go along edges.
void build_edge_messages(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  InFlight messages(builder);
  const auto is_far = [&](const plan::Edge& edge) { return topology.node_of(edge.from) != topology.node_of(edge.to); };
  for (const plan::Edge& edge : problem.edges)
    if (edge.to == builder.me() && is_far(edge))
      for_each_message(edge, [&](Bytes done, Bytes bytes) {
        messages.add(builder.recv(edge.from, Buffer::output, edge.output_begin + done, bytes));
      });
  for (const plan::Edge& edge : problem.edges)
    if (edge.from == builder.me() && is_far(edge))
      for_each_message(edge, [&](Bytes done, Bytes bytes) {
        messages.add(builder.send(edge.to, Buffer::input, edge.input_begin + done, bytes));
      });
  smp::EdgeExchange(builder, choice, problem.edges).run();
  messages.finish_all();
}

std::string why_no_edges(const topology::Topology&, const Problem& problem, const Choice& choice) {
  if (choice.within == plan::Within::single_copy && problem.bytes == 0)
    return "by single copy all ranks must know the size of edges";
  if (choice.within == plan::Within::cells && choice.cell < static_cast<Bytes>(problem.degree))
    return "a cell has no room for a part of each of " + std::to_string(problem.degree) + " edges";
  return "";
}

double price_edge_messages(const Scene& s) {
  // Of a rank with all its edges on its node, and of one with as many between nodes as anybody has.
  const double edges = s.problem.degree, far = s.problem.far_degree;
  const auto near = [&](double count) {
    const double parts = s.problem.operation == Operation::neighbor_allgather ? 1 : count;
    return s.on_node == 1 ? 0 : s.node.along_edges(s.bytes, count, parts);
  };
  if (far == 0) return near(edges);
  const double own = std::max(near(edges), near(edges - far) + 2 * far * s.is.overhead);
  return std::max(own, s.network.delay() + through_link(s, s.on_node * far, s.bytes));
}

}  // namespace espalier::algorithms
