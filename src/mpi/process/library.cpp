#include "mpi/process/library.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/program_patterns.hpp"
#include "base/text.hpp"
#include "leaders/election.hpp"
#include "mpi/decide/selection.hpp"
#include "mpi/native/attributes.hpp"
#include "mpi/process/communicator.hpp"
#include "mpi/setup/facts.hpp"
#include "mpi/setup/surroundings.hpp"
#include "tune/places.hpp"
#include "tune/store.hpp"

namespace espalier::mpi {
namespace {

// All windows of a node's ranks, two for each.
constexpr Bytes windows_limit = Bytes{64} << 20;

// Attributes of MPI_COMM_SELF are deleted at the beginning of MPI_Finalize (MPI 4.0, section 11.2.4), in every binding.
int on_finalize(MPI_Comm, int, void* library, void*) {
  static_cast<Library*>(library)->end();
  return MPI_SUCCESS;
}

std::string choice_setting(plan::Operation operation) {
  std::string name = std::string("ESPALIER_CHOICE_") + plan::name(operation);
  for (char& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

}  // namespace

Library& Library::get() {
  static Library* const library = new Library;
  return *library;
}

Library::Library() : settings_(read_settings(environ)) {
  // Written at the end, when the program may be in another folder.
  for (std::string* file : {&settings_.stats_file, &settings_.profile, &settings_.profile_trace})
    *file = to_absolute(*file);
  budget_.limit = settings_.cache_limit;
  find_abstention();
  read_policy();
}

// A rank of a program that is not served comes to where all ranks meet, as one with ESPALIER_DISABLE does: other ranks
// may run other programs. Its settings then differ from theirs, so what they share is native.
void Library::find_abstention() {
  if (settings_.disable) abstention_ = "ESPALIER_DISABLE is set";
  if (!abstention_.empty()) return;
  abstention_ = why_not_served(settings_.only, settings_.excluded, probe_program());
  if (!abstention_.empty()) settings_.collective_text += "abstains;";
}

void Library::read_policy() {
  policy_.verify = settings_.verify;
  policy_.strict = settings_.strict;
  policy_.learning = {settings_.learn, settings_.learn_budget, settings_.learn_sums};
  if (settings_.verbose >= 1 || settings_.verify) policy_.tell = [this](const std::string& line) { say_once(line); };
  const auto attempt = [&](const char* name, const std::string& value, auto&& parse) {
    if (value.empty()) return;
    try {
      parse(value);
    } catch (const Error& error) {
      settings_.complaints.push_back(std::string(name) + "=" + value + ": " + error.what() + "; it has no effect");
    }
  };
  static_assert(std::tuple_size_v<decltype(settings_.choices)> == plan::operation_count);
  for (std::size_t i = 0; i < settings_.choices.size(); ++i) {
    const auto operation = static_cast<plan::Operation>(i);
    attempt(choice_setting(operation).c_str(), settings_.choices[i],
            [&](const std::string& text) { policy_.forced[i] = parse_selection(operation, text); });
  }
  attempt("ESPALIER_LEADERS", settings_.leaders,
          [&](const std::string& text) { policy_.leaders = leaders::parse_policy(text); });
  attempt("ESPALIER_VIRTUAL_NODES", settings_.virtual_nodes,
          [&](const std::string& text) { virtual_nodes_ = topology::VirtualNodes::parse(text); });
}

bool Library::is_running() {
  if (is_running_.load(std::memory_order_acquire)) return !is_ending();
  const std::lock_guard lock(start_mutex_);
  return is_running_.load(std::memory_order_relaxed) || start();
}

// Everything here is local to the process, so holding a lock meanwhile cannot make ranks wait for each other.
bool Library::start() {
  const Native& mpi = native();
  int is_initialized = 0;
  int is_finalized = 0;
  mpi.Initialized(&is_initialized);
  mpi.Finalized(&is_finalized);
  if (!is_initialized || is_finalized) return false;
  mpi.Comm_rank(mpi.comm_world, &world_rank_);
  mpi.Comm_size(mpi.comm_world, &world_size_);
  progress_.start();
  watch_for_end();
  find_place();
  report_complaints();
  is_running_.store(true, std::memory_order_release);
  return true;
}

void Library::watch_for_end() {
  const int keyval = make_keyval(on_finalize);
  if (keyval != MPI_KEYVAL_INVALID) native().Comm_set_attr(native().comm_self, keyval, this);
}

WantedTables Library::wanted_tables() const {
  return {settings_.table, settings_.learn == Learning::off ? "off" : settings_.store};
}

void Library::share_tables(MPI_Comm comm) {
  const ReadTables read = mpi::share_tables(comm, world_rank_, wanted_tables());
  std::call_once(has_tables_, [&] { take_tables(read); });
}

// A table that somebody named and that is of no use is worth a line; one that merely lies around, when asked.
void Library::take_tables(const ReadTables& read) {
  signature_ = tune::probe_signature(read_native_version());
  day_ = read.day;
  tune::Selected selected = tune::select_tables(read.texts, signature_, settings_.table, day_);
  table_ = std::move(selected.table);
  const bool is_named = !settings_.table.empty() && settings_.table != "off";
  if (world_rank_ != 0 || (!is_named && settings_.verbose < 1)) return;
  for (const std::vector<std::string>* const remarks : {&read.remarks, &std::as_const(selected.remarks)})
    for (const std::string& remark : *remarks) say_once(remark);
}

// What cannot be kept, as where there is no home, costs the next job some trials.
void Library::keep_learned() {
  const std::vector<tune::Row> learned = experience_.rows();
  const std::string folder = tune::probe_store(settings_.store);
  if (learned.empty() || folder.empty()) return;
  const std::string trouble = tune::keep_learned(folder, signature_, learned, day_);
  if (!trouble.empty() && settings_.verbose >= 1) say_once("what was learned is not kept: " + trouble);
}

void Library::find_place() {
  const bool is_split = !settings_.virtual_nodes.empty();
  const int index =
      is_split ? virtual_nodes_.index_on_node(world_rank_, world_size_) : probe_index_on_host(world_rank_);
  place_ = machine::probe_place({settings_.nic, settings_.machine, settings_.machine_mapping, index});
  if (!place_.complaint.empty()) settings_.complaints.push_back(place_.complaint);
}

void Library::report_complaints() {
  if (world_rank_ != 0) return;
  for (const std::string& complaint : settings_.complaints) say_once(complaint);
  foresee_writing("ESPALIER_STATS", settings_.stats_file);
}

void Library::foresee_writing(const char* setting, const std::string& path) {
  if (world_rank_ != 0 || path.empty()) return;
  const std::string trouble = probe_replacing(path);
  if (!trouble.empty()) say_once(std::string(setting) + ": " + trouble + "; tried again when the job ends");
}

void Library::begin() {
  if (is_running() && world_size_ > 1) world_.meet(*this);
}

Facts Library::make_facts() {
  std::call_once(has_tables_, [this] { take_tables(read_wanted(wanted_tables())); });
  Facts facts = probe_facts(settings_);
  disguise(facts);
  facts.virtual_node = virtual_node();
  facts.table = table_ ? table_->hash() : 0;
  facts.place = place_.facts;
  facts.sees_completion = sees_completion();
  facts.window = window_bytes();
  try {
    facts.arena = home_arena()->name();
  } catch (const Error&) {
    // neighbours cannot open it, and everybody hears of that
  }
  return facts;
}

// Where the launcher does not say how many processes share the host: as many as there are cores for.
Bytes Library::window_bytes() const {
  const int told = probe_processes_on_host();
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return derive_window(settings_.window, told > 0 ? told : std::min(world_size_, cores), windows_limit);
}

int Library::virtual_node() const { return virtual_nodes_.node_of(world_rank_, world_size_); }

std::shared_ptr<transports::Arena> Library::home_arena() {
  const std::lock_guard lock(mutex_);
  if (arenas_.empty()) arenas_.push_back(transports::Arena::create(settings_.shm_limit));
  return arenas_.front();
}

std::shared_ptr<transports::Arena> Library::open_arena(const transports::ArenaName& name) {
  const std::lock_guard lock(mutex_);
  for (const auto& arena : arenas_)
    if (arena->name() == name) return arena;
  arenas_.push_back(transports::Arena::open(name));
  return arenas_.back();
}

void Library::move_to(const transports::ArenaName& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(arenas_, [&](const auto& arena) { return !(arena->name() == name) && arena.use_count() == 1; });
  const auto home = std::find_if(arenas_.begin(), arenas_.end(), [&](const auto& it) { return it->name() == name; });
  if (home != arenas_.end()) std::iter_swap(arenas_.begin(), home);
}

execute::WindowPool& Library::windows_in(const std::shared_ptr<transports::Arena>& arena) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<LentWindows>& lent = windows_[arena.get()];
  if (lent == nullptr) lent = std::make_unique<LentWindows>(arena, window_bytes());
  return lent->pool();
}

void Library::enlist(Communicator* communicator) {
  const std::lock_guard lock(mutex_);
  communicators_.insert(communicator);
}

void Library::dismiss(Communicator* communicator) {
  const std::lock_guard lock(mutex_);
  communicators_.erase(communicator);
}

void Library::stop_showing() {
  const std::lock_guard lock(mutex_);
  for (Communicator* communicator : communicators_)
    if (communicator->engine() != nullptr) communicator->engine()->stop_showing();
}

void Library::say_once(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(line).second) return;
  }
  say(line);
}

// Lines quote what others have written: settings, tables, services, the native library.
void Library::say(const std::string& line) const { std::fprintf(stderr, "espalier: %s\n", printable(line).c_str()); }

// The pending receive has to go in any case. Where MPI_Finalize was seen, collectives in other callbacks are ours
// still.
void Library::end() {
  progress_.stop();
  if (!awaits_finish_.load(std::memory_order_acquire)) finish();
}

void Library::finish() {
  if (is_ending_.exchange(true)) return;
  Communicator::forget();
  count_all();
  if (world_rank_ != 0 || !is_running_.load(std::memory_order_acquire)) return;
  keep_learned();
  if (settings_.verbose >= 1) std::fputs(statistics_.to_text().c_str(), stderr);
  if (settings_.stats_file.empty()) return;
  if (const std::string trouble = replace_file(settings_.stats_file, statistics_.to_json()); !trouble.empty())
    say_once("ESPALIER_STATS: " + trouble);
}

void Library::count_all() {
  const std::lock_guard lock(mutex_);
  for (Communicator* communicator : communicators_) communicator->report();
}

}  // namespace espalier::mpi
