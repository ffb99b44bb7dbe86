#pragma once
// Where a node's facts come from: the kernel's files, hwloc, a snapshot of another machine, a description.

#include <string>

#include "machine/node.hpp"

namespace espalier::machine {

/// This machine, out of the kernel's own files below `sysfs`: nothing is loaded into the process. Throws Error when not
/// even the processors can be read.
Node probe_kernel(const std::string& sysfs = "/sys");

/// The same as far as it tells where a process bound to `cpus` sits: its facts (rank_facts.hpp) are equal, but packages
/// and other processors' L3 groups are left out, so that the time does not grow with the number of processors. What
/// jobs use.
Node probe_kernel_around(const CpuSet& cpus, const std::string& sysfs = "/sys");

/// This machine as hwloc sees it: with its corrections of wrong firmware and its plug-ins. What `espalier node`
/// compares with. Throws Error without hwloc.
Node probe_hwloc();

/// A machine written down with `lstopo machine.xml`, or by hwloc_topology_export_xml. Links count as up unless the file
/// says otherwise; rates are the PCI link's, because hwloc does not write down the network's. Throws Error when the
/// file cannot be read.
Node probe_snapshot(const std::string& file);

/// A machine described in hwloc's synthetic notation, "package:2 numa:1 l3:1 core:8 pu:1"; it has no NICs. Throws
/// Error.
Node probe_synthetic(const std::string& description);

/// `machine` as a person names it: empty for this machine, a file that ends in ".xml", otherwise a description.
Node probe_node(const std::string& machine);

/// Rate in Mbit/s and state of an interface, out of the kernel's files; what cannot be read stays as it is.
void probe_link(const std::string& sysfs, Nic& nic);

}  // namespace espalier::machine
