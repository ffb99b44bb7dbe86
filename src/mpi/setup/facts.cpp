#include "mpi/setup/facts.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "machine/devices.hpp"
#include "machine/handover.hpp"
#include "transports/xpmem.hpp"

namespace espalier::mpi {
namespace {

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  return hash_bytes(text.data(), text.size(), seed);
}

// "net:[4026531840]"; empty where the system has no such namespace.
std::string namespace_name(const char* kind) {
  std::array<char, 64> name{};
  const ssize_t length = readlink((std::string("/proc/self/ns/") + kind).c_str(), name.data(), name.size());
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string();
}

std::uint64_t probe_host() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::uint64_t hash =
      hash_text(read_first_line("/proc/sys/kernel/random/boot_id"), hash_text(host.data(), hash_text("", 1)));
  for (const char* kind : {"pid", "net", "uts"}) hash = hash_text(namespace_name(kind), hash);
  return hash;
}

// The folder of this process's control group of version 2; inside a container the root of what is mounted there.
std::string control_group() {
  const std::string groups = read_system_file("/proc/self/cgroup");
  for (const std::string_view line : split_lines(groups))
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + std::string(line.substr(3));
  return "/sys/fs/cgroup";
}

// The cores a control group's quota amounts to, at least 1; no limit: `otherwise`. Version 2 keeps quota and period in
// one file, version 1 in two.
int probe_quota(int otherwise) {
  const std::string both = read_first_line(control_group() + "/cpu.max");  // "max 100000" where there is none
  const std::string apart = read_first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + " " +
                            read_first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  const std::vector<std::string_view> words = split_words(both.empty() ? apart : both);
  if (words.size() != 2) return otherwise;
  const auto quota = parse_number<std::int64_t>(words[0]), period = parse_number<std::int64_t>(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return otherwise;
  return static_cast<int>(std::clamp<std::int64_t>(*quota / *period, 1, otherwise));
}

void probe_cores(Facts& facts) {
  facts.host_cores = probe_quota(std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))));
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more cores than cpu_set_t has bits: then every core counts as allowed.
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;
  facts.cores = is_known ? std::max(1, CPU_COUNT(&set)) : facts.host_cores;
  facts.core_set = is_known ? hash_bytes(&set, sizeof set) : 0;
}

}  // namespace

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) {
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ byte[i]) * 0x100'0000'01b3;
  return (seed ^ bytes) * 0x100'0000'01b3;  // so that "ab","c" and "a","bc" differ when hashes are chained
}

// Open MPI, MPICH and Intel MPI (hydra),
// MVAPICH, and Slurm's own start-up in that order.
int probe_processes_on_host() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && std::atoi(value) > 0) return std::atoi(value);
  }
  return 0;
}

bool probe_cores_for_all() {
  Facts facts;
  probe_cores(facts);
  return probe_processes_on_host() <= std::min(facts.cores, facts.host_cores);
}

// "0,64" or "0-1".
int probe_hardware_threads() {
  const std::string siblings = read_first_line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
  return siblings.find_first_of(",-") == std::string::npos ? 1 : 2;
}

int probe_index_on_host(int otherwise) {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value >= '0' && *value <= '9') return std::atoi(value);
  }
  return otherwise;
}

Facts probe_facts(const Settings& settings) {
  static const std::uint64_t host = probe_host();
  static std::uint64_t word = host ^ static_cast<std::uint64_t>(getpid());
  Facts facts;
  facts.host = host;
  facts.settings = hash_text(settings.collective_text, 0);
  probe_cores(facts);
  facts.processes_on_host = probe_processes_on_host();
  facts.pid = static_cast<std::int32_t>(getpid());
  facts.may_use_devices = machine::may_use_devices();
  facts.handover = static_cast<std::int32_t>(machine::probe_handover());
  facts.word_address = reinterpret_cast<std::uint64_t>(&word);
  facts.word = word;
  const bool may_map = settings.single_copy == CopyMeans::automatic || settings.single_copy == CopyMeans::xpmem;
  if (const transports::Xpmem* xpmem = may_map ? transports::Xpmem::load() : nullptr; xpmem != nullptr)
    facts.segment = transports::offer_memory(*xpmem);
  return facts;
}

}  // namespace espalier::mpi
