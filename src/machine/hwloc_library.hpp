#pragma once
// hwloc, loaded when it is wanted: a preloaded library must load where hwloc is missing, and must not bring a second
// copy beside the one that Open MPI has (docs/adr/0007).

#include <hwloc.h>

namespace espalier::machine {

/// The functions we call, as <hwloc.h> declares them. Its inline helpers call functions that are not here: walk over
/// the objects' own pointers instead.
struct Hwloc {
  decltype(&hwloc_get_api_version) get_api_version;
  decltype(&hwloc_topology_init) topology_init;
  decltype(&hwloc_topology_set_flags) topology_set_flags;
  decltype(&hwloc_topology_set_io_types_filter) topology_set_io_types_filter;
  decltype(&hwloc_topology_set_xmlbuffer) topology_set_xmlbuffer;
  decltype(&hwloc_topology_set_synthetic) topology_set_synthetic;
  decltype(&hwloc_topology_load) topology_load;
  decltype(&hwloc_topology_destroy) topology_destroy;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&hwloc_bitmap_next) bitmap_next;
  decltype(&hwloc_distances_get_by_name) distances_get_by_name;
  decltype(&hwloc_distances_release) distances_release;
};

/// The library, loaded at the first call and kept. Throws Error when there is none, or one with another major version
/// than 2 (its structures would be others). Any thread.
const Hwloc& load_hwloc();

}  // namespace espalier::machine
