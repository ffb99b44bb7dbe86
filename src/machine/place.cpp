#include "machine/place.hpp"

#include <exception>

#include "machine/mapping.hpp"
#include "machine/readers.hpp"

namespace espalier::machine {

Place probe_place(const PlaceSettings& settings) {
  try {
    const Node node = probe_node(settings.machine);
    const NicsInUse use = derive_nics_in_use(node, probe_nic_hints(settings.nic));
    const Mapping mapping = settings.mapping.empty() ? Mapping::packed : parse_mapping(settings.mapping);
    const CpuSet cpus =
        settings.machine.empty() ? CpuSet::probe_binding() : derive_binding(node, mapping, settings.index);
    return {derive_rank_facts(node, use, cpus), use.reason};
  } catch (const std::exception& error) {
    return {RankFacts{}, error.what()};
  }
}

}  // namespace espalier::machine
