#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/files.hpp"
#include "machine/hwloc_library.hpp"
#include "machine/readers.hpp"

namespace espalier::machine {
namespace {

constexpr double mbits_per_gigabyte = 8000;          // hwloc gives PCI links in GB/s
constexpr Bytes largest_snapshot = Bytes{64} << 20;  // machines of thousands of cores take one or two
// The state of a port that carries data, IBV_PORT_ACTIVE.
constexpr const char* active_port = "4";

/// A loaded topology and the walk over it.
class Walk {
 public:
  /// `configure(hwloc, topology)` says what to load and returns hwloc's status.
  template <class Configure>
  Walk(const std::string& source, Configure configure) : hwloc_(load_hwloc()) {
    hwloc_topology_t topology = nullptr;
    if (hwloc_.topology_init(&topology) != 0) throw Error("hwloc cannot start");
    topology_ = {topology, hwloc_.topology_destroy};
    // Processors that our control group forbids still tell where a NIC sits.
    const bool is_loaded = hwloc_.topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
                           hwloc_.topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
                           configure(hwloc_, topology) == 0 && hwloc_.topology_load(topology) == 0;
    if (!is_loaded) throw Error("hwloc cannot read " + source);
    node_.source = source;
  }

  Node read() {
    hwloc_obj_t machine = hwloc_.get_obj_by_depth(topology_.get(), 0, 0);
    node_.cpus = cpus_of(machine);
    visit(machine, machine);
    read_distances();
    return derive_node(std::move(node_));
  }

 private:
  CpuSet cpus_of(const hwloc_obj* object) const {
    CpuSet set;
    hwloc_const_bitmap_t cpus = object->complete_cpuset != nullptr ? object->complete_cpuset : object->cpuset;
    if (cpus == nullptr) return set;
    for (int cpu = hwloc_.bitmap_next(cpus, -1); cpu >= 0 && cpu <= CpuSet::largest;
         cpu = hwloc_.bitmap_next(cpus, cpu))
      set.add(cpu);
    return set;
  }

  // `place` is the last object on the way down that has processors: I/O objects have none of their own.
  void visit(hwloc_obj_t object, hwloc_obj_t place) {
    if (object->type == HWLOC_OBJ_PACKAGE) node_.packages.push_back(cpus_of(object));
    if (object->type == HWLOC_OBJ_L3CACHE) node_.l3_groups.push_back(cpus_of(object));
    if (object->type == HWLOC_OBJ_NUMANODE) add_numa(object);
    if (object->type == HWLOC_OBJ_OS_DEVICE) add_device(object, place);
    if (object->cpuset != nullptr) place = object;
    for (hwloc_obj_t first : {object->memory_first_child, object->first_child, object->io_first_child})
      for (hwloc_obj_t child = first; child != nullptr; child = child->next_sibling) visit(child, place);
  }

  void add_numa(const hwloc_obj* object) {
    const CpuSet cpus = cpus_of(object);
    const bool is_second_kind = std::any_of(node_.numa_nodes.begin(), node_.numa_nodes.end(),
                                            [&](const NumaNode& numa) { return numa.cpus == cpus; });
    if (!cpus.is_empty() && !is_second_kind) node_.numa_nodes.push_back({static_cast<int>(object->os_index), cpus});
  }

  void add_device(const hwloc_obj* device, const hwloc_obj* place) {
    const hwloc_obj_osdev_type_t type = device->attr->osdev.type;
    if ((type != HWLOC_OBJ_OSDEV_NETWORK && type != HWLOC_OBJ_OSDEV_OPENFABRICS) || device->name == nullptr) return;
    Nic& nic = nic_at(bus_of(device));
    if (type == HWLOC_OBJ_OSDEV_OPENFABRICS) nic.kind = NicKind::fabric;
    nic.names.insert(type == HWLOC_OBJ_OSDEV_OPENFABRICS ? nic.names.begin() : nic.names.end(), device->name);
    nic.near = cpus_of(place);
    for (const hwloc_obj* above = device->parent; nic.mbits == 0 && above != nullptr; above = above->parent)
      if (above->type == HWLOC_OBJ_PCI_DEVICE)
        nic.mbits = static_cast<std::uint64_t>(above->attr->pcidev.linkspeed * mbits_per_gigabyte);
    if (const char* state = info_of(device, "Port1State"))
      nic.is_active = nic.is_active && std::strcmp(state, active_port) == 0;
  }

  Nic& nic_at(const std::string& bus) {
    for (Nic& nic : node_.nics)
      if (!bus.empty() && nic.bus == bus) return nic;
    node_.nics.push_back({});
    node_.nics.back().bus = bus;
    return node_.nics.back();
  }

  static std::string bus_of(const hwloc_obj* device) {
    for (const hwloc_obj* above = device->parent; above != nullptr; above = above->parent) {
      if (above->type != HWLOC_OBJ_PCI_DEVICE) continue;
      const auto& pci = above->attr->pcidev;
      char text[32];
      std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain), pci.bus, pci.dev,
                    pci.func);
      return text;
    }
    return "";
  }

  static const char* info_of(const hwloc_obj* object, const char* name) {
    for (unsigned i = 0; i < object->infos_count; ++i)
      if (std::strcmp(object->infos[i].name, name) == 0) return object->infos[i].value;
    return nullptr;
  }

  void read_distances() {
    unsigned count = 1;
    hwloc_distances_s* found = nullptr;
    if (hwloc_.distances_get_by_name(topology_.get(), "NUMALatency", &count, &found, 0) != 0 || count == 0) return;
    const std::size_t side = node_.numa_nodes.size();
    std::vector<std::vector<int>> distances(side, std::vector<int>(side, 0));
    for (unsigned i = 0; i < found->nbobjs; ++i)
      for (unsigned j = 0; j < found->nbobjs; ++j) {
        const std::size_t from = index_of(found->objs[i]), to = index_of(found->objs[j]);
        if (from < side && to < side) distances[from][to] = static_cast<int>(found->values[i * found->nbobjs + j]);
      }
    hwloc_.distances_release(topology_.get(), found);
    node_.distances = std::move(distances);
  }

  std::size_t index_of(const hwloc_obj* numa) const {
    std::size_t i = 0;
    while (i < node_.numa_nodes.size() && node_.numa_nodes[i].os_index != static_cast<int>(numa->os_index)) ++i;
    return i;
  }

  const Hwloc& hwloc_;
  std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> topology_{nullptr, nullptr};
  Node node_;
};

}  // namespace

Node probe_hwloc() {
  Node node = Walk("this machine, by hwloc", [](const Hwloc&, hwloc_topology_t) { return 0; }).read();
  for (Nic& nic : node.nics) probe_link("/sys", nic);
  return node;
}

Node probe_snapshot(const std::string& file) {
  // hwloc itself would open whatever bears the name, and say what is wrong on stderr.
  const std::string text = read_file(file, largest_snapshot);
  return Walk(file,
              [&](const Hwloc& hwloc, hwloc_topology_t topology) {
                return hwloc.topology_set_xmlbuffer(topology, text.c_str(), static_cast<int>(text.size()) + 1);
              })
      .read();
}

Node probe_synthetic(const std::string& description) {
  return Walk(description,
              [&](const Hwloc& hwloc, hwloc_topology_t topology) {
                return hwloc.topology_set_synthetic(topology, description.c_str());
              })
      .read();
}

Node probe_node(const std::string& machine) {
  if (machine.empty()) return probe_kernel();
  return machine.ends_with(".xml") ? probe_snapshot(machine) : probe_synthetic(machine);
}

}  // namespace espalier::machine
