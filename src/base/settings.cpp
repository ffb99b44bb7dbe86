#include "base/settings.hpp"

#include <cstring>
#include <functional>
#include <string_view>

#include "base/bytes.hpp"
#include "base/enumerators.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace espalier {
namespace {

bool parse_switch(std::string_view text) {
  if (text == "1" || text == "on" || text == "yes" || text == "true") return true;
  if (text == "0" || text == "off" || text == "no" || text == "false") return false;
  throw Error("write 1 or 0");
}

int parse_int(std::string_view text, int least, int most) {
  const std::optional<int> value = parse_number<int>(text);
  if (!value || *value < least || *value > most)
    throw Error("write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

template <class Enumeration>
Enumeration parse_one(std::string_view text) {
  if (const std::optional<Enumeration> found = find_enumerator<Enumeration>(text)) return *found;
  throw Error("write one of " + list_enumerators<Enumeration>());
}

Bytes parse_window(std::string_view text) {
  const Bytes bytes = parse_bytes(text);
  if (bytes < (4 << 10) || bytes > (64 << 20) || bytes % (4 << 10) != 0)
    throw Error("write a multiple of 4K from 4K to 64M");
  return bytes;
}

std::optional<Transport> parse_wanted_transport(std::string_view text) {
  if (text == "auto") return std::nullopt;
  if (text != name(Transport::mpi) && text != name(Transport::ucx)) throw Error("write auto, mpi or ucx");
  return parse_transport(text);
}

struct Setting {
  SettingInfo info;
  void (*apply)(Settings&, std::string_view);
};

template <std::size_t Index>
void set_choice(Settings& settings, std::string_view value) {
  settings.choices[Index] = value;
}

constexpr bool collective = true;
constexpr bool local = false;

constexpr Setting table[] = {
    {{"ESPALIER_DISABLE", "0", "1 leaves every call to the native MPI library.", collective},
     [](Settings& s, std::string_view v) { s.disable = parse_switch(v); }},
    {{"ESPALIER_ONLY", "",
      "Serves only programs that one of these patterns fits, with colons or commas: /opt/apps/*:lmp*. One without a "
      "slash "
      "is held against the file's name. All others keep their native collectives.",
      local},
     [](Settings& s, std::string_view v) { s.only = v; }},
    {{"ESPALIER_NOT", "", "Patterns of programs that are not served, whatever ESPALIER_ONLY says.", local},
     [](Settings& s, std::string_view v) { s.excluded = v; }},
    {{"ESPALIER_VERBOSE", "0",
      "1 reports at MPI_Finalize, per operation, calls handled and calls left to native and why; 2 also what each "
      "communicator agreed on.",
      local},
     [](Settings& s, std::string_view v) { s.verbose = parse_int(v, 0, 2); }},
    {{"ESPALIER_STATS", "", "File that rank 0 writes the report to, as JSON.", local},
     [](Settings& s, std::string_view v) { s.stats_file = v; }},
    {{"ESPALIER_VERIFY", "0", "1 proves every plan before it runs for the first time (slow with many ranks).",
      collective},
     [](Settings& s, std::string_view v) { s.verify = parse_switch(v); }},
    {{"ESPALIER_CHECK", "0",
      "1 has ranks compare operation, form, root, sizes (with counts or neighbours, of every pair of ranks), type and "
      "MPI_Op of every collective before it moves anything; an error of MPI, and a line that names two ranks, in place "
      "of wrong data or a hang.",
      collective},
     [](Settings& s, std::string_view v) { s.check = parse_switch(v); }},
    {{"ESPALIER_PROFILE", "",
      "File that rank 0 writes to at MPI_Finalize what all ranks' collectives took, and how much of that was waiting, "
      "as "
      "JSON (espalier profile).",
      collective},
     [](Settings& s, std::string_view v) { s.profile = v; }},
    {{"ESPALIER_PROFILE_SITES", "0",
      "1 has ESPALIER_PROFILE tell calls apart by where the program makes them: an address, which espalier profile "
      "turns "
      "into function and line.",
      collective},
     [](Settings& s, std::string_view v) { s.profile_sites = parse_switch(v); }},
    {{"ESPALIER_PROFILE_TRACE", "",
      "File that rank 0 writes to at MPI_Finalize when each rank was in which collective, in Chrome's trace format; of "
      "each rank the first 50000 starts and ends, of all 1500000.",
      collective},
     [](Settings& s, std::string_view v) { s.profile_trace = v; }},
    {{"ESPALIER_PROFILE_SAMPLE", "0",
      "With ESPALIER_PROFILE: every so many-th call of a communicator, but for those of neighbourhoods, is left to "
      "native, to see what that takes; sums of floating-point numbers may then differ in their last digits; 0 none.",
      collective},
     [](Settings& s, std::string_view v) { s.profile_sample = parse_int(v, 0, 1000000); }},
    {{"ESPALIER_WATCHDOG", "0",
      "Seconds after which a rank that waits in a collective says who is waited for, once per call; 0 never. `espalier "
      "hang` asks at any time.",
      local},
     [](Settings& s, std::string_view v) { s.watchdog = parse_int(v, 0, 1000000); }},
    {{"ESPALIER_VIRTUAL_NODES", "", "Splits the ranks of one machine into nodes: 4, or 3,1,4, or cyclic:4.",
      collective},
     [](Settings& s, std::string_view v) { s.virtual_nodes = v; }},
    {{"ESPALIER_CHOICE_BROADCAST", "",
      "Forces how all broadcasts are done: native, tiny (short messages on one node), or algorithm and knobs as "
      "espalier explain prints them.",
      collective},
     set_choice<0>},
    {{"ESPALIER_CHOICE_SCATTER", "", "The same for scatter.", collective}, set_choice<1>},
    {{"ESPALIER_CHOICE_GATHER", "", "The same for gather.", collective}, set_choice<2>},
    {{"ESPALIER_CHOICE_ALLGATHER", "", "The same for allgather.", collective}, set_choice<3>},
    {{"ESPALIER_CHOICE_ALLTOALL", "", "The same for alltoall.", collective}, set_choice<4>},
    {{"ESPALIER_CHOICE_REDUCE", "", "The same for reduce.", collective}, set_choice<5>},
    {{"ESPALIER_CHOICE_ALLREDUCE", "", "The same for allreduce.", collective}, set_choice<6>},
    {{"ESPALIER_CHOICE_REDUCE_SCATTER", "", "The same for reduce_scatter.", collective}, set_choice<7>},
    {{"ESPALIER_CHOICE_SCAN", "", "The same for scan.", collective}, set_choice<8>},
    {{"ESPALIER_CHOICE_EXSCAN", "", "The same for exscan.", collective}, set_choice<9>},
    {{"ESPALIER_CHOICE_BARRIER", "", "The same for barrier.", collective}, set_choice<10>},
    {{"ESPALIER_CHOICE_NEIGHBOR_ALLGATHER", "", "The same for neighbor_allgather.", collective}, set_choice<11>},
    {{"ESPALIER_CHOICE_NEIGHBOR_ALLTOALL", "", "The same for neighbor_alltoall.", collective}, set_choice<12>},
    {{"ESPALIER_TABLE", "", "File with the tuned table (default: the user's, then the system's); off uses none.",
      local},
     [](Settings& s, std::string_view v) { s.table = v; }},
    {{"ESPALIER_LEARN", "on",
      "on finds out in the program's own calls who does them best, the native library among others, and keeps what it "
      "found for the next run; read uses what was found; off neither: every run like the one before.",
      collective},
     [](Settings& s, std::string_view v) { s.learn = parse_one<Learning>(v); }},
    {{"ESPALIER_STORE", "",
      "Folder where what was learned is kept (default: the user's, ~/.config/espalier/tables); off keeps and reads "
      "nothing.",
      local},
     [](Settings& s, std::string_view v) { s.store = v; }},
    {{"ESPALIER_LEARN_BUDGET", "1",
      "Per cent of the time in collectives that may be lost by trying what turns out to be slower.", collective},
     [](Settings& s, std::string_view v) { s.learn_budget = parse_int(v, 0, 100) / 100.0; }},
    {{"ESPALIER_LEARN_SUMS", "0",
      "1 learns about reductions, too, whose last digits depend on the order of operands: they may change in the midst "
      "of a run.",
      collective},
     [](Settings& s, std::string_view v) { s.learn_sums = parse_switch(v); }},
    {{"ESPALIER_LAUNCHER", "",
      "How the command espalier starts jobs: mpiexec, srun or flux, with flags if need be, or 'CMD {n} {nodes} {ppn} "
      "--'. Default: what fits the batch system and the MPI. The library does not look at it.",
      local},
     [](Settings&, std::string_view) {}},
    {{"ESPALIER_LEADERS", "",
      "Which ranks speak for their nodes: near (to the network card; where nothing is known, the first), natural (the "
      "first), spread (one per NUMA node in turn). Default: as the tuned table says, else near.",
      collective},
     [](Settings& s, std::string_view v) { s.leaders = v; }},
    {{"ESPALIER_NIC", "", "Network devices in use, with commas: mlx5_0,mlx5_1 (default: found out).", local},
     [](Settings& s, std::string_view v) { s.nic = v; }},
    {{"ESPALIER_MACHINE", "",
      "Ranks pretend to sit in this machine when leaders are elected: a file of lstopo (.xml), or hwloc's synthetic "
      "notation.",
      local},
     [](Settings& s, std::string_view v) { s.machine = v; }},
    {{"ESPALIER_MACHINE_MAPPING", "packed", "How ranks fill the pretended machine: packed, scattered, unbound or half.",
      local},
     [](Settings& s, std::string_view v) { s.machine_mapping = v; }},
    {{"ESPALIER_FABRIC", "",
      "Who knows the network between nodes, so that trees and rings follow it: host:port or the socket of espalier "
      "serve, "
      "or a directory of the fabric's dumps.",
      collective},
     [](Settings& s, std::string_view v) { s.fabric = v; }},
    {{"ESPALIER_FABRIC_TIMEOUT", "2000", "Milliseconds that a service of the network has for an answer.", local},
     [](Settings& s, std::string_view v) { s.fabric_timeout = parse_int(v, 1, 600000); }},
    {{"ESPALIER_FABRIC_HOSTS", "",
      "Names of hosts, node[000-003], that ESPALIER_VIRTUAL_NODES stand for on the network: to see on one machine what "
      "a "
      "network makes of a job.",
      collective},
     [](Settings& s, std::string_view v) { s.fabric_hosts = v; }},
    {{"ESPALIER_STRICT", "0",
      "1 leaves reductions whose bits depend on the order of operands (sums and products of floating-point and complex "
      "numbers, user-defined operations) over more than two ranks to the native MPI library.",
      collective},
     [](Settings& s, std::string_view v) { s.strict = parse_switch(v); }},
    {{"ESPALIER_SHM_LIMIT", "1G", "Most shared memory one node's ranks may hold for all communicators together.",
      local},
     [](Settings& s, std::string_view v) { s.shm_limit = parse_bytes(v); }},
    {{"ESPALIER_SHM_WINDOW", "256K",
      "Longest window of shared memory that a rank lends to a communicator; it has two to four, however many "
      "communicators there are.",
      collective},
     [](Settings& s, std::string_view v) { s.window = parse_window(v); }},
    {{"ESPALIER_SETUP_CALLS", "10",
      "Collectives of a new communicator, other than MPI_COMM_WORLD, that are left to native before it is set up, "
      "which "
      "costs about as much as they take; 0 sets up at the first.",
      collective},
     [](Settings& s, std::string_view v) { s.setup_calls = parse_int(v, 0, 1000000); }},
    {{"ESPALIER_SINGLE_COPY", "auto",
      "Copies directly between processes' memories: cma through the kernel; xpmem maps them, where that is installed; "
      "auto does what the system allows, and maps only what is used again and again; off.",
      collective},
     [](Settings& s, std::string_view v) { s.single_copy = parse_copy_means(v); }},
    {{"ESPALIER_TRANSPORT", "auto",
      "Carries messages between nodes: mpi; ucx, which writes into remote memory and needs UCX on all ranks; auto: "
      "what "
      "the tuned table found faster, else mpi.",
      collective},
     [](Settings& s, std::string_view v) { s.transport = parse_wanted_transport(v); }},
    {{"ESPALIER_WAIT", "auto",
      "How ranks wait for neighbours: spin keeps the core; yield gives it away between looks; futex sleeps until "
      "woken, for many idle ranks and for energy; auto yields, and sleeps where ranks share cores and yielding has not "
      "helped.",
      collective},
     [](Settings& s, std::string_view v) { s.waiting = parse_one<Waiting>(v); }},
    {{"ESPALIER_WAIT_SPIN", "2000",
      "How often to look before yielding the core or sleeping; 0, and always where ranks outnumber cores: at once.",
      local},
     [](Settings& s, std::string_view v) { s.wait_spin = parse_int(v, 0, 1 << 30); }},
    {{"ESPALIER_PROGRESS", "auto",
      "Who advances nonblocking collectives. calls: the program's calls of MPI; memory: a thread of ours, too, which "
      "sends messages only if the program asked for MPI_THREAD_MULTIPLE; thread: the same, and MPI is initialised with "
      "that; auto: as memory where each process has a second core, else as calls.",
      local},
     [](Settings& s, std::string_view v) { s.progress = parse_one<ProgressMeans>(v); }},
    {{"ESPALIER_CACHE_LIMIT", "16M", "Most memory a process spends on keeping programs.", local},
     [](Settings& s, std::string_view v) { s.cache_limit = parse_bytes(v); }},
    {{"ESPALIER_ASSUME_HOST_BUFFERS", "0",
      "1 promises that no collective is called with device (GPU) memory; without it, programs that load an accelerator "
      "runtime keep their native collectives.",
      collective},
     [](Settings& s, std::string_view v) { s.assume_host_buffers = parse_switch(v); }},
};

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : table)
    if (name == setting.info.name) return &setting;
  return nullptr;
}

void apply(const Setting& setting, std::string_view value, Settings& settings) {
  try {
    setting.apply(settings, value);
    if (setting.info.is_collective && value != setting.info.default_value)
      settings.collective_text += std::string(setting.info.name) + "=" + std::string(value) + ";";
  } catch (const Error& error) {
    settings.complaints.push_back(
        std::string(setting.info.name) + "=" + std::string(value) + ": " + error.what() + "; the default " +
        (*setting.info.default_value ? setting.info.default_value : "(none)") + " stays in force");
  }
}

void complain_unknown(std::string_view name, Settings& settings) {
  settings.complaints.push_back(
      std::string(name) + " is not a setting of Espalier and has no effect: `espalier doctor` lists the settings");
}

}  // namespace

std::span<const SettingInfo> setting_infos() {
  static const std::vector<SettingInfo> infos = [] {
    std::vector<SettingInfo> list;
    for (const Setting& setting : table) list.push_back(setting.info);
    return list;
  }();
  return infos;
}

Settings read_settings(char** environment) {
  constexpr std::string_view prefix = "ESPALIER_";
  Settings settings;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with(prefix) || equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (find_setting(name) == nullptr) complain_unknown(name, settings);
  }
  // In the table's order, not the environment's: collective_text must not depend on how a launcher sorts variables.
  for (const Setting& setting : table)
    for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
      const std::size_t length = std::strlen(setting.info.name);
      if (std::strncmp(*entry, setting.info.name, length) != 0 || (*entry)[length] != '=') continue;
      const std::string_view value = *entry + length + 1;
      if (!value.empty()) apply(setting, value, settings);
    }
  return settings;
}

}  // namespace espalier
