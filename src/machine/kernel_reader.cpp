#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "machine/readers.hpp"

namespace espalier::machine {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) { return read_first_line(file.native()); }

// A file that is missing or holds something else is the empty set: on odd systems we know less, but never fail.
CpuSet read_cpus(const fs::path& file) {
  try {
    return CpuSet::parse(first_line(file));
  } catch (const Error&) {
    return {};
  }
}

// The names in a folder, sorted; none when there is no such folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// The number behind `prefix`, when the name is just that: 7 of "node7".
std::optional<int> number_of(const std::string& name, std::string_view prefix) {
  return name.starts_with(prefix) ? parse_number<int>(std::string_view(name).substr(prefix.size())) : std::nullopt;
}

void read_numa(const fs::path& folder, Node& node) {
  std::vector<std::pair<int, std::size_t>> present;  // system's number, and place in the kernel's rows of distances
  std::set<int> numbers;
  for (const std::string& name : names_in(folder))
    if (const auto number = number_of(name, "node")) numbers.insert(*number);
  std::size_t column = 0;
  for (const int number : numbers) {
    const CpuSet cpus = read_cpus(folder / ("node" + std::to_string(number)) / "cpulist");
    if (!cpus.is_empty()) {
      node.numa_nodes.push_back({number, cpus});
      present.emplace_back(number, column);
    }
    ++column;  // nodes without processors have a column too
  }
  for (const auto& [number, ignored] : present) {
    const std::string row = first_line(folder / ("node" + std::to_string(number)) / "distance");
    std::vector<int> all, kept;
    for (const std::string_view word : split_words(row)) all.push_back(parse_number<int>(word).value_or(0));
    for (const auto& [other, place] : present) kept.push_back(place < all.size() ? all[place] : 0);
    node.distances.push_back(std::move(kept));
  }
}

// The third level is mostly the last of the folder's caches, index3.
CpuSet read_l3(const fs::path& cpu) {
  std::vector<std::string> caches = names_in(cpu / "cache");
  std::reverse(caches.begin(), caches.end());
  for (const std::string& index : caches)
    if (first_line(cpu / "cache" / index / "level") == "3") return read_cpus(cpu / "cache" / index / "shared_cpu_list");
  return {};
}

CpuSet read_package(const fs::path& cpu) {
  const CpuSet package = read_cpus(cpu / "topology/package_cpus_list");
  return package.is_empty() ? read_cpus(cpu / "topology/core_siblings_list") : package;  // before Linux 5.3
}

// The groups of these processors, `most` of them at most. Each processor names its group: one look per group is enough.
template <class Read>
std::vector<CpuSet> read_groups(const fs::path& folder, const CpuSet& cpus, std::size_t most, Read read) {
  std::vector<CpuSet> groups;
  CpuSet seen;
  for (const int cpu : cpus.list()) {
    if (seen.contains(cpu)) continue;
    if (groups.size() == most) break;
    const CpuSet group = read(folder / ("cpu" + std::to_string(cpu)));
    if (group.is_empty()) break;  // this kernel does not say
    groups.push_back(group);
    seen.add(group);
  }
  return groups;
}

// Where an entry of /sys/class leads: ".../0000:41:00.0/virtio2/net/eth0". Read off its link, because asking the system
// to resolve it costs a call for each folder on the way. Empty when it is no link.
fs::path device_of(const fs::path& entry) {
  std::error_code error;
  const fs::path link = fs::read_symlink(entry, error);
  return link.empty() ? fs::path() : (entry.parent_path() / link).lexically_normal();
}

// The PCI function that a device hangs off; virtio interfaces lie one level deeper than others. Empty: none, as of
// bridges, tunnels and the ends of containers, of which there may be hundreds.
fs::path pci_of(const fs::path& device) {
  if (device.native().find("/devices/virtual/") != std::string::npos) return {};
  std::error_code error;
  for (fs::path at = device.parent_path(); at.has_relative_path() && at.filename() != "devices"; at = at.parent_path())
    if (fs::exists(at / "local_cpulist", error)) return at;
  return {};
}

void read_nics(const std::string& sysfs, Node& node) {
  const auto nic_at = [&](const std::string& bus) -> Nic& {
    for (Nic& nic : node.nics)
      if (nic.bus == bus) return nic;
    node.nics.push_back({});
    return node.nics.back();
  };
  for (const char* kind : {"infiniband", "cxi", "net"})
    for (const std::string& name : names_in(fs::path(sysfs) / "class" / kind)) {
      const fs::path pci = pci_of(device_of(fs::path(sysfs) / "class" / kind / name));
      if (pci.empty()) continue;
      Nic& nic = nic_at(pci.filename());
      nic.bus = pci.filename();
      nic.names.push_back(name);
      if (std::string_view(kind) != "net") nic.kind = NicKind::fabric;
      // A device whose place firmware does not tell has all processors here and -1 as its NUMA node.
      if (first_line(pci / "numa_node") != "-1") nic.near = read_cpus(pci / "local_cpulist");
    }
  for (Nic& nic : node.nics) probe_link(sysfs, nic);
}

}  // namespace

void probe_link(const std::string& sysfs, Nic& nic) {
  std::uint64_t fastest = 0;
  bool is_told = false, is_up = false;
  for (const std::string& name : nic.names) {
    const fs::path ports = fs::path(sysfs) / "class/infiniband" / name / "ports";
    for (const std::string& port : names_in(ports)) {  // "100 Gb/sec (4X EDR)", "4: ACTIVE"
      fastest = std::max(
          fastest, static_cast<std::uint64_t>(1000 * std::strtod(first_line(ports / port / "rate").c_str(), nullptr)));
      is_told = true;
      is_up = is_up || first_line(ports / port / "state").starts_with("4");
    }
    const fs::path net = fs::path(sysfs) / "class/net" / name;
    fastest = std::max<std::uint64_t>(fastest, std::strtoull(("0" + first_line(net / "speed")).c_str(), nullptr, 10));
    const std::string state = first_line(net / "operstate");
    is_told = is_told || !state.empty();
    is_up = is_up || state == "up" || state == "unknown";
  }
  if (fastest != 0) nic.mbits = fastest;
  if (is_told) nic.is_active = is_up;
}

namespace {

// All the node's packages and L3 groups, or those of some processors only.
Node read_node(const std::string& sysfs, const CpuSet* around, std::size_t most_groups) {
  const fs::path folder = fs::path(sysfs) / "devices/system/cpu";
  Node node;
  node.source = "this machine";
  node.cpus = read_cpus(folder / "online");
  const CpuSet& cpus = around == nullptr ? node.cpus : *around;
  if (around == nullptr) node.packages = read_groups(folder, cpus, most_groups, read_package);
  node.l3_groups = read_groups(folder, cpus, most_groups, read_l3);
  read_numa(fs::path(sysfs) / "devices/system/node", node);
  read_nics(sysfs, node);
  return derive_node(std::move(node));
}

}  // namespace

Node probe_kernel(const std::string& sysfs) {
  return read_node(sysfs, nullptr, std::numeric_limits<std::size_t>::max());
}

Node probe_kernel_around(const CpuSet& cpus, const std::string& sysfs) {
  return read_node(sysfs, &cpus, 2);  // who is in two groups is in none: more change nothing
}

}  // namespace espalier::machine
