#include "machine/place.hpp"

#include <exception>

#include "machine/mapping.hpp"
#include "machine/readers.hpp"

namespace espalier::machine {

Place probe_place(const PlaceSettings& settings) {
  try {
    const bool pretends = !settings.machine.empty();
    const CpuSet binding = CpuSet::probe_binding();
    const Node node = pretends ? probe_node(settings.machine) : probe_kernel_around(binding);
    const NicsInUse use = derive_nics_in_use(node, probe_nic_hints(settings.nic));
    std::string complaint;
    if (!settings.nic.empty() && use.reason.find("ESPALIER_NIC=") == std::string::npos)
      complaint = "ESPALIER_NIC=" + settings.nic + " names no network device of " + node.source + "; " + use.reason;
    const Mapping mapping = settings.mapping.empty() ? Mapping::packed : parse_mapping(settings.mapping);
    const CpuSet cpus = pretends ? derive_binding(node, mapping, settings.index) : binding;
    return {derive_rank_facts(node, use, cpus), use.reason, complaint};
  } catch (const std::exception& error) {
    // A system that says little is nobody's mistake; a pretended machine that cannot be read is.
    const bool is_asked_for = !settings.machine.empty() || !settings.mapping.empty();
    const std::string what = error.what();
    return {RankFacts{}, what, is_asked_for ? what + "; leaders are elected by rank" : ""};
  }
}

}  // namespace espalier::machine
