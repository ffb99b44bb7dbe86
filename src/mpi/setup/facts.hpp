#pragma once
// What a rank tells the others about itself when a communicator is set up. No MPI here: probing looks at the system
// only.

#include <cstdint>

#include "base/settings.hpp"
#include "machine/rank_facts.hpp"
#include "transports/arena.hpp"

namespace espalier::mpi {

/// Sent as bytes between processes of one job, which run the same build: `format` catches those that do not.
struct Facts {
  static constexpr std::uint64_t current_format = 0x4553'5041'4c00'0008;  // "ESPAL", version 8

  std::uint64_t format = current_format;
  /// Equal exactly for processes that may share memory: same boot of the same host, same process, network and host-name
  /// namespaces. Host names alone are not unique, and containers share a boot.
  std::uint64_t host = 0;
  /// Hash of Settings::collective_text.
  std::uint64_t settings = 0;
  /// Hash of the tuned table; 0 without one.
  std::uint64_t table = 0;
  /// Hash of the set of cores this process may run on, their number, and the most that the whole host lets its ranks
  /// use at once (online cores or the control group's quota).
  std::uint64_t core_set = 0;
  std::int32_t cores = 1;
  std::int32_t host_cores = 1;
  /// Processes of the job on this host, as far as the launcher told; 0 when it did not.
  std::int32_t processes_on_host = 0;
  std::int32_t pid = 0;
  /// The virtual node (topology/virtual_nodes.hpp) this process falls into; 0 without virtual nodes.
  std::int32_t virtual_node = 0;
  /// Buffers may lie in a device's memory (device.hpp).
  std::int32_t may_use_devices = 0;
  /// What completes requests passes through Espalier (setup/surroundings.hpp), so that it may have some of its own.
  std::int32_t sees_completion = 0;
  /// machine::Handover of the host, in a type that leaves no bytes unset.
  std::int32_t handover = 0;
  /// A word of this process for neighbours to try the system's single copy on: where it is and what it holds.
  std::uint64_t word_address = 0;
  std::uint64_t word = 0;
  /// The arena that it would put boards of its node into, and how long the windows are that it lends.
  transports::ArenaName arena;
  Bytes window = 0;
  /// Where the process sits on its node, and what its NICs are.
  machine::RankFacts place;
  /// By which neighbours may map this process's memory (transports/xpmem.hpp); 0: not at all.
  std::int64_t segment = 0;
};

/// Everything but `virtual_node`, `table`, `arena`, `window`, `place` and `sees_completion`, which the caller knows.
/// Never fails: what cannot be read counts as absent. The word lives as long as the process.
Facts probe_facts(const Settings& settings);

/// The job's processes on this host, in whatever communicators, as the launcher tells it; 0 when it does not.
int probe_processes_on_host();

/// Whether the job has no more processes on this host than they may use cores, as far as the launcher told.
bool probe_cores_for_all();

/// How many hardware threads, which all count as cores here, a core has; 1 where the system does not tell.
int probe_hardware_threads();

/// This process's number among those of the job on its host, as the launcher tells it; `otherwise` when it does not.
int probe_index_on_host(int otherwise);

/// 64-bit FNV-1a, for telling things apart, not for security.
std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed = 0xcbf2'9ce4'8422'2325);

}  // namespace espalier::mpi
