#include "mpi/library.hpp"

#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <tuple>

#include "base/error.hpp"
#include "leaders/election.hpp"
#include "mpi/communicator.hpp"
#include "mpi/facts.hpp"
#include "mpi/selection.hpp"
#include "tune/places.hpp"

namespace espalier::mpi {
namespace {

// Attributes of MPI_COMM_SELF are deleted at the beginning of MPI_Finalize (MPI 4.0, section 11.2.4), in every binding.
int on_finalize(MPI_Comm, int, void* library, void*) {
  static_cast<Library*>(library)->end();
  return MPI_SUCCESS;
}

int do_not_copy(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
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
  budget_.limit = settings_.cache_limit;
  read_policy();
}

void Library::read_policy() {
  policy_.verify = settings_.verify;
  policy_.strict = settings_.strict;
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
  load_table();
  find_place();
  report_complaints();
  is_running_.store(true, std::memory_order_release);
  return true;
}

void Library::watch_for_end() {
  const Native& mpi = native();
  int keyval = MPI_KEYVAL_INVALID;
  if (mpi.Comm_create_keyval(do_not_copy, on_finalize, &keyval, nullptr) == MPI_SUCCESS)
    mpi.Comm_set_attr(mpi.comm_self, keyval, this);
}

// A table that somebody named and that is of no use is worth a line; one that merely lies around, when asked.
void Library::load_table() {
  const std::string path = tune::probe_table_path(settings_.table);
  if (path.empty()) return;
  std::vector<char> version(MPI_MAX_LIBRARY_VERSION_STRING + 1);
  int length = 0;
  native().Get_library_version(version.data(), &length);
  try {
    table_ = tune::Table::load(path, tune::probe_signature(version.data()));
  } catch (const Error& error) {
    if (!settings_.table.empty() || settings_.verbose >= 1)
      settings_.complaints.push_back(std::string("the tuned table is not used: ") + error.what());
  }
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

void Library::enlist(Communicator* communicator) {
  const std::lock_guard lock(mutex_);
  communicators_.insert(communicator);
}

void Library::dismiss(Communicator* communicator) {
  const std::lock_guard lock(mutex_);
  communicators_.erase(communicator);
}

void Library::say_once(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(line).second) return;
  }
  say(line);
}

void Library::say(const std::string& line) const { std::fprintf(stderr, "espalier: %s\n", line.c_str()); }

void Library::end() {
  if (is_ending_.exchange(true)) return;
  Communicator::forget_last_used();
  progress_.stop();
  {
    const std::lock_guard lock(mutex_);
    for (Communicator* communicator : communicators_) communicator->report();
  }
  if (world_rank_ != 0) return;
  if (settings_.verbose >= 1) std::fputs(statistics_.to_text().c_str(), stderr);
  if (settings_.stats_file.empty()) return;
  if (const std::string trouble = write_whole_file(settings_.stats_file, statistics_.to_json()); !trouble.empty())
    say_once("ESPALIER_STATS: " + trouble);
}

}  // namespace espalier::mpi
