#include "mpi/setup/surroundings.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <chrono>

#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/nonblocking/progress_thread.hpp"
#include "mpi/process/library.hpp"
#include "mpi/run/messages/network.hpp"
#include "mpi/run/progress/waiter.hpp"

namespace espalier::mpi {

void let_others_run() noexcept { sched_yield(); }

// A broadcast of 16 bytes among 64 ranks on two cores takes Intel MPI 4 ms in MPI_Wait, and 94 in a loop of MPI_Test
// and sched_yield. With Open MPI and MPICH 5 both take as long; MPICH 4's waits keep their cores: milliseconds with two
// ranks on each.
bool may_wait_inside() noexcept {
  static const bool is_intel = read_native_version().find("Intel") != std::string::npos;
  int threads = MPI_THREAD_MULTIPLE;
  return is_intel && !ProgressQueue::is_busy() && native().Query_thread(&threads) == MPI_SUCCESS &&
         threads < MPI_THREAD_MULTIPLE;
}

bool wake_helper() noexcept { return ProgressThread::wake(); }

int start_gather(const void* mine, void* all, int bytes, MPI_Comm comm, MPI_Request* request) noexcept {
  return native().Iallgather(mine, bytes, native().byte, all, bytes, native().byte, comm, request);
}

int start_minimum(const int* mine, int* least, int count, MPI_Comm comm, MPI_Request* request) noexcept {
  return native().Iallreduce(mine, least, count, native().integer, native().min, comm, request);
}

bool sees_completion() noexcept {
  Dl_info ours{}, theirs{};
  if (dladdr(reinterpret_cast<const void*>(&sees_completion), &ours) == 0) return false;
  for (const char* name : {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Test", "MPI_Testall",
                           "MPI_Testany", "MPI_Testsome", "MPI_Request_get_status", "MPI_Request_free", "MPI_Start",
                           "MPI_Startall", "MPI_Cancel", "MPI_Type_free", "MPI_Op_free"}) {
    const void* const found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr || dladdr(found, &theirs) == 0 || theirs.dli_fbase != ours.dli_fbase) return false;
  }
  return true;
}

void disguise(Facts&) {}

std::string probe_own_host(const Library& library) {
  return probe_host_name(library.settings().fabric_hosts, library.virtual_node());
}

topology::Distances ask_for_distances(Library& library, const Hosts& hosts) {
  const Settings& settings = library.settings();
  return library.network_map().find(hosts, settings.fabric, std::chrono::milliseconds(settings.fabric_timeout));
}

std::unique_ptr<execute::Waiter> make_waiter(Library& library, MPI_Comm comm, Waiting scheme, bool is_oversubscribed,
                                             Watch& watch, execute::Network* network) {
  const int spin = is_oversubscribed ? 0 : library.settings().wait_spin;
  return std::make_unique<MpiWaiter>(comm, scheme, static_cast<std::uint32_t>(spin), library.progress(), watch,
                                     network);
}

std::unique_ptr<execute::Network> make_message_network(MPI_Comm comm, int ranks, int me) {
  return std::make_unique<MpiNetwork>(comm, ranks, me);
}

std::unique_ptr<execute::Meter> make_meter(const topology::Topology&, Rank) { return nullptr; }

}  // namespace espalier::mpi
