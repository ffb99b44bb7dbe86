#include "verify/specimen.hpp"

#include "verify/verify.hpp"

namespace espalier::verify {

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
  text += "), \"";
  text += std::string(plan::name(specimen.problem.operation)) + "\", " + std::to_string(specimen.problem.bytes) + ", ";
  text += std::to_string(specimen.problem.root.value) + ", \"" + plan::to_string(specimen.choice) + "\"";
  if (specimen.problem.element != 1) text += ", element=" + std::to_string(specimen.problem.element);
  if (!specimen.problem.is_commutative) text += ", is_commutative=False";
  for (std::size_t i = 0; i < specimen.problem.counts.size(); ++i)
    text += (i == 0 ? ", counts=[" : ", ") + std::to_string(specimen.problem.counts[i]);
  return text + (specimen.problem.counts.empty() ? ")" : "])");
}

void prove(const Specimen& specimen, Outcome& outcome) {
  const plan::Plan plan = collectives::build_plan(specimen.topology, specimen.problem, specimen.choice);
  for (Violation& violation : verify(plan)) outcome.failures.push_back({std::move(violation), reproducer(specimen)});
  ++outcome.checked;
}

}  // namespace espalier::verify
