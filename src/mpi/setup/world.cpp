#include "mpi/setup/world.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/process/library.hpp"
#include "mpi/setup/acquaintance.hpp"
#include "mpi/setup/agreement.hpp"

namespace espalier::mpi {

void World::meet(Library& library) {
  try {
    check(native().Comm_rank(native().comm_world, &me_));
    check(native().Comm_size(native().comm_world, &size_));
    if (size_ == 1) return;
    await_all(library);
    make_communicator();
    library.share_tables(messages_);
    gather_facts(library);
    const Acquaintance acquaintance =
        get_acquainted(library, messages_, facts_, me_, facts_[static_cast<std::size_t>(find_host_leader())].arena);
    if (!acquaintance.has_mapped) return;
    library.move_to(facts_[static_cast<std::size_t>(find_host_leader())].arena);
    means_ = acquaintance.works;
    has_too_few_cores_ = is_oversubscribed(facts_);
    has_cores_to_spare_ = !is_oversubscribed(facts_, 2 * probe_hardware_threads());
    has_met_ = true;
  } catch (const NativeFailure&) {
    // of all ranks alike, as far as MPI's own set-up goes
  }
}

// A rank that was started without Espalier never comes, and nothing that others could ask it would be safe to send. All
// of its job would wait without a word. It may be the host's first, which would say so: then the second does, later.
void World::await_all(Library& library) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  MPI_Request request;
  check(native().Ibarrier(native().comm_world, &request));
  for (int is_complete = 0; !is_complete;) {
    check(native().Test(&request, &is_complete, MPI_STATUS_IGNORE));
    if (is_complete) return;
    const int speaks_as = probe_index_on_host(me_) + 1;
    if (speaks_as <= 2 && Clock::now() - begin > std::chrono::seconds(10) * speaks_as)
      library.say_once("rank " + std::to_string(me_) + " has waited in MPI_Init for " + std::to_string(10 * speaks_as) +
                       " s until all ranks of the job are there: was one of its programs started "
                       "without Espalier? Preload it in front of all of them, or of none");
    let_others_run();
  }
}

// MPI_Comm_create, unlike MPI_Comm_dup, does not run the copy functions of the program's attributes. Errors on it are
// ours to see.
void World::make_communicator() {
  const Native& mpi = native();
  check(mpi.Comm_group(mpi.comm_world, &group_));
  check(mpi.Comm_create(mpi.comm_world, group_, &messages_));
  mpi.Comm_set_errhandler(messages_, mpi.errors_return);
  int is_known = 0;
  int* largest = nullptr;
  constexpr int least_allowed = 32767;  // MPI 4.0, section 9.1.2
  const int code = mpi.Comm_get_attr(mpi.comm_world, MPI_TAG_UB, &largest, &is_known);
  largest_tag_ = code == MPI_SUCCESS && is_known ? *largest : least_allowed;
}

void World::gather_facts(Library& library) { facts_ = gather_quietly(messages_, size_, library.make_facts()); }

// The lowest rank of this one's host: its arena is everybody's there.
int World::find_host_leader() const {
  int leader = 0;
  while (facts_[static_cast<std::size_t>(leader)].host != facts_[static_cast<std::size_t>(me_)].host) ++leader;
  return leader;
}

std::optional<std::vector<int>> World::find_members(MPI_Comm comm, int size) const {
  if (comm == native().comm_world) {
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    return members;
  }
  MPI_Group group;
  check(native().Comm_group(comm, &group));
  return translate(group);
}

std::optional<std::vector<int>> World::find_remote_members(MPI_Comm comm) const {
  MPI_Group group;
  check(native().Comm_remote_group(comm, &group));
  return translate(group);
}

// Frees the group.
std::optional<std::vector<int>> World::translate(MPI_Group group) const {
  const Native& mpi = native();
  int size = 0;
  int code = mpi.Group_size(group, &size);
  std::vector<int> members(static_cast<std::size_t>(size)), numbers(members.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  if (code == MPI_SUCCESS) code = mpi.Group_translate_ranks(group, size, numbers.data(), group_, members.data());
  mpi.Group_free(&group);
  check(code);
  if (std::find(members.begin(), members.end(), MPI_UNDEFINED) != members.end()) return std::nullopt;
  return members;
}

}  // namespace espalier::mpi
