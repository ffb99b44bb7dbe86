#include "verify/plans/specimen.hpp"

#include "verify/verify.hpp"

namespace espalier::verify {

namespace {

// ", leaf_of=[0, 1, 1], trunks=[0.0005, 0.0005]"; nothing where no node shares anything.
std::string trunks_text(const topology::Trunks& trunks) {
  if (trunks.leaf_of.empty()) return "";
  std::string text = ", leaf_of=[", rates = "], trunks=[";
  for (const int leaf : trunks.leaf_of) text += (text.back() == '[' ? "" : ", ") + std::to_string(leaf);
  for (const float per_byte : trunks.per_byte) rates += (rates.back() == '[' ? "" : ", ") + std::to_string(per_byte);
  return text + rates + "]";
}

// ", class_of=[0, 1, 0], ways=[(1.5, 0.001), …]"; nothing where nothing is known of the network.
std::string distances_text(const topology::Distances& distances) {
  if (distances.classes() == 0) return "";
  std::string text = ", class_of=[", ways = "], ways=[";
  for (const int c : distances.class_of()) text += (text.back() == '[' ? "" : ", ") + std::to_string(c);
  for (const topology::Way& way : distances.ways())
    ways +=
        (ways.back() == '[' ? "(" : ", (") + std::to_string(way.latency) + ", " + std::to_string(way.per_byte) + ")";
  return text + ways + "]" + trunks_text(distances.trunks());
}

// ", edges=[(0, 1, 64, 0, 128, 0, 2), …]".
std::string edges_text(const plan::Problem& problem) {
  std::string text;
  for (const plan::Edge& edge : problem.edges) {
    text += text.empty() ? ", edges=[(" : "), (";
    const std::string numbers[] = {std::to_string(edge.from.value),   std::to_string(edge.to.value),
                                   std::to_string(edge.bytes),        std::to_string(edge.input_begin),
                                   std::to_string(edge.output_begin), std::to_string(edge.part),
                                   std::to_string(edge.parts)};
    for (std::size_t i = 0; i < std::size(numbers); ++i) text += (i > 0 ? ", " : "") + numbers[i];
  }
  return text.empty() ? "" : text + ")]";
}

}  // namespace

std::string reproducer(const Specimen& specimen) {
  const topology::Topology& topology = specimen.topology;
  std::string node_of;
  for (int r = 0; r < topology.ranks(); ++r)
    node_of += (r > 0 ? ", " : "[") + std::to_string(topology.node_of(Rank(r)).value);
  node_of += "]";
  std::string text = "build(Topology(" + node_of + ", single_copy=";
  text += topology.capabilities().single_copy ? "True" : "False";
  if (specimen.places != 0)
    text += ", facts=draw_places(" + node_of + ", " + std::to_string(specimen.places) +
            "), turn=" + std::to_string(topology.capabilities().turn);
  text += distances_text(topology.distances()) + "), \"";
  text += std::string(plan::name(specimen.problem.operation)) + "\", " + std::to_string(specimen.problem.bytes) + ", ";
  text += std::to_string(specimen.problem.root.value) + ", \"" + plan::to_string(specimen.choice) + "\"";
  if (specimen.problem.element != 1) text += ", element=" + std::to_string(specimen.problem.element);
  if (!specimen.problem.is_commutative) text += ", is_commutative=False";
  for (std::size_t i = 0; i < specimen.problem.counts.size(); ++i)
    text += (i == 0 ? ", counts=[" : ", ") + std::to_string(specimen.problem.counts[i]);
  if (!specimen.problem.counts.empty()) text += "]";
  if (!specimen.problem.is_symmetric) text += ", is_symmetric=False";
  text += edges_text(specimen.problem);
  return text + ")";
}

void prove(const Specimen& specimen, Outcome& outcome) {
  const plan::Plan plan = algorithms::build_plan(specimen.topology, specimen.problem, specimen.choice);
  for (Violation& violation : verify(plan)) outcome.failures.push_back({std::move(violation), reproducer(specimen)});
}

void prove_in_turn(const Specimen& first, const Specimen& second, Outcome& outcome) {
  const plan::Plan a = algorithms::build_plan(first.topology, first.problem, first.choice);
  const plan::Plan b = algorithms::build_plan(second.topology, second.problem, second.choice);
  for (Violation& violation : verify_sequence(std::vector{a, b, b, a, a}))
    outcome.failures.push_back(
        {std::move(violation), "[(a := " + reproducer(first) + "), (b := " + reproducer(second) + "), b, a, a]"});
}

}  // namespace espalier::verify
