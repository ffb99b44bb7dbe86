#pragma once
// Every setting of the library, once: its variable, its default and what it does. Nothing else reads the environment.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/copy_means.hpp"
#include "base/ids.hpp"
#include "base/learning.hpp"
#include "base/progress.hpp"
#include "base/transport.hpp"
#include "base/waiting.hpp"

namespace espalier {

struct SettingInfo {
  const char* name;           ///< environment variable
  const char* default_value;  ///< as one would write it
  const char* help;           ///< one sentence
  bool is_collective;         ///< must be equal on all ranks, because it takes part in choosing what they do together
};

/// All settings, in the order of the reference page.
std::span<const SettingInfo> setting_infos();

struct Settings {
  int verbose = 0;
  std::string stats_file;
  bool disable = false;
  std::string only;
  std::string excluded;
  bool verify = false;
  bool check = false;
  std::string profile;
  std::string profile_trace;
  bool profile_sites = false;
  int profile_sample = 0;  ///< every so many-th call is native's; 0: none
  int watchdog = 0;        ///< seconds; 0: never
  Bytes shm_limit = Bytes{1} << 30;
  Bytes window = Bytes{256} << 10;
  int setup_calls = 10;
  std::string virtual_nodes;
  /// ESPALIER_CHOICE_<OPERATION>, in the order of plan::Operation.
  std::array<std::string, 13> choices;
  std::string table;
  std::string store;
  Learning learn = Learning::on;
  double learn_budget = 0.01;  ///< of the time in collectives
  bool learn_sums = false;
  std::string leaders;
  std::string nic;
  std::string machine;
  std::string machine_mapping;
  std::string fabric;
  std::string fabric_hosts;
  int fabric_timeout = 2000;
  bool strict = false;
  CopyMeans single_copy = CopyMeans::automatic;
  Waiting waiting = Waiting::auto_;
  int wait_spin = 2000;
  ProgressMeans progress = ProgressMeans::auto_;
  Bytes cache_limit = Bytes{16} << 20;
  bool assume_host_buffers = false;
  /// Empty: as the tuned table says, else mpi.
  std::optional<Transport> transport;

  /// Texts of the collective settings that differ from their default, "NAME=value;…": equal on all ranks or the library
  /// stands aside.
  std::string collective_text;
  /// What was wrong with the environment: one sentence each, naming variable, value and remedy. A wrong value leaves
  /// its default in force.
  std::vector<std::string> complaints;
};

/// Reads the ESPALIER_* variables in an environment block (as `environ`). Never throws: complaints are collected.
Settings read_settings(char** environment);

}  // namespace espalier
