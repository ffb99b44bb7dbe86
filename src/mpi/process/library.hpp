#pragma once
// What a process has once: settings, policy, statistics, its arena, and the report at the end.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "machine/place.hpp"
#include "mpi/native/native.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/memory/lent_windows.hpp"
#include "mpi/run/messages/tags.hpp"
#include "mpi/run/progress/progress.hpp"
#include "mpi/run/shown/unserved_calls.hpp"
#include "mpi/setup/facts.hpp"
#include "mpi/setup/network_map.hpp"
#include "mpi/setup/shared_tables.hpp"
#include "mpi/setup/world.hpp"
#include "topology/recent_topologies.hpp"
#include "topology/virtual_nodes.hpp"
#include "transports/arena.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

class Communicator;

/// Made at the first collective call, never destroyed: MPI calls back into it as late as MPI_Finalize. Thread safe.
class Library {
 public:
  static Library& get();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Joins in once MPI runs: watches for the end, and can poke MPI's progress. False while MPI is not initialised or
  /// has been finalised, or was started as sessions only: then everything is native. Cheap after the first success.
  bool is_running();
  /// MPI_Init is over and nobody has used MPI yet: lets the ranks of MPI_COMM_WORLD meet. Collective over it.
  /// Throws std::bad_alloc.
  void begin();
  /// MPI_Finalize is called: its callbacks may use collectives still, until finish(), which writes the report.
  void prepare_to_finish() { awaits_finish_.store(true, std::memory_order_release); }
  void finish();
  /// Neighbours may have gone for good.
  bool may_be_alone() const { return awaits_finish_.load(std::memory_order_acquire) || is_ending(); }
  /// MPI_Finalize has begun: the report is written, and nothing collective may be started any more.
  bool is_ending() const { return is_ending_.load(std::memory_order_acquire); }

  const Settings& settings() const { return settings_; }
  /// Why this process leaves everything to native, as the environment says; empty where it does not.
  const std::string& abstention() const { return abstention_; }
  const Policy& policy() const { return policy_; }
  /// Reads the tables of the job; collective over `comm`, which holds all ranks of the world. Throws NativeFailure.
  void share_tables(MPI_Comm comm);
  /// What its communicators have learned. Of the world's rank 0 it is kept for the next job.
  Experience& experience() { return experience_; }
  /// What was tuned and learned for this machine and MPI, or null.
  const tune::Table* table() const { return table_ ? &*table_ : nullptr; }
  /// What the job knows of the network.
  NetworkMap& network_map() { return network_map_; }
  CacheBudget& budget() { return budget_; }
  Statistics& statistics() { return statistics_; }
  /// What waiting ranks keep MPI going with.
  const Progress& progress() const { return progress_; }
  /// Where this process sits on its node: probed once, below a millisecond per hundred processors.
  const machine::Place& place() const { return place_; }
  /// Communicators set up so far; count_communicator() adds one.
  std::int64_t communicators() const { return communicators_set_up_.load(std::memory_order_relaxed); }
  void count_communicator() { communicators_set_up_.fetch_add(1, std::memory_order_relaxed); }
  /// Virtual node of this process, by its rank in MPI_COMM_WORLD.
  int virtual_node() const;

  /// What this process tells others about itself.
  Facts make_facts();
  const World& world() const { return world_; }
  Tags& tags() { return tags_; }
  /// What its communicators look like.
  topology::RecentTopologies& topologies() { return topologies_; }
  /// What others see of communicators that are not served, or not yet.
  UnservedCalls& unserved_calls() { return unserved_calls_; }

  /// The arena for what this process allocates for communicators: made when first asked for, until move_to(). Throws
  /// Error.
  std::shared_ptr<transports::Arena> home_arena();
  /// A neighbour's arena, mapped once however many communicators use it. Throws Error.
  std::shared_ptr<transports::Arena> open_arena(const transports::ArenaName& name);
  /// From now on that one, which is open, is home. One of its own that this process has not used yet goes.
  void move_to(const transports::ArenaName& name);
  /// What this process lends to communicators whose boards lie in `arena`.
  execute::WindowPool& windows_in(const std::shared_ptr<transports::Arena>& arena);

  /// Live communicators, whose counts are collected at the end.
  void enlist(Communicator* communicator);
  void dismiss(Communicator* communicator);
  /// Nobody looks at calls any more, and who did is told of those since (Engine::stop_showing()).
  void stop_showing();

  /// Prints one line on stderr.
  void say(const std::string& line) const;
  /// The same, once per process however often it is asked for.
  void say_once(const std::string& line);

  /// Rank 0 says now whether what `setting` names could be written, which is tried when the job ends; empty: nobody
  /// wants it.
  void foresee_writing(const char* setting, const std::string& path);

  /// Called by MPI at the beginning of MPI_Finalize: collects and reports.
  void end();

 private:
  Library();
  void read_policy();
  void find_abstention();
  bool start();
  void watch_for_end();
  WantedTables wanted_tables() const;
  void take_tables(const ReadTables& read);
  void keep_learned();
  void find_place();
  void report_complaints();
  void count_all();
  Bytes window_bytes() const;

  Settings settings_;
  std::string abstention_;
  Policy policy_;
  std::once_flag has_tables_;
  tune::Signature signature_;
  std::optional<tune::Table> table_;
  int day_ = 0;  ///< on which the tables were read, as all ranks have it
  topology::VirtualNodes virtual_nodes_;
  machine::Place place_;
  NetworkMap network_map_;
  CacheBudget budget_;
  Statistics statistics_;
  Progress progress_;
  World world_;
  Tags tags_;
  topology::RecentTopologies topologies_;
  UnservedCalls unserved_calls_;
  int world_rank_ = 0;
  int world_size_ = 1;

  std::atomic<std::int64_t> communicators_set_up_ = 0;
  std::atomic<bool> is_running_ = false;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> awaits_finish_ = false;
  std::mutex start_mutex_;
  std::mutex mutex_;                                        ///< guards what follows; never held while MPI is called
  std::vector<std::shared_ptr<transports::Arena>> arenas_;  ///< kept to the end: there are no more than processes
  std::map<const transports::Arena*, std::unique_ptr<LentWindows>> windows_;
  std::set<Communicator*> communicators_;
  std::set<std::string> said_;
  Experience experience_;
};

}  // namespace espalier::mpi
