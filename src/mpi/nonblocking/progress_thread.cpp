#include "mpi/nonblocking/progress_thread.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "execute/waiting/waiting.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

// Looks take the queue's lock, which the program's calls want, too.
constexpr std::uint32_t pauses_between_looks = 4;
// About a microsecond: who waits for a call as soon as it has begun is faster alone.
constexpr std::uint32_t pauses_of_grace = 20;
// Some tenths of a millisecond: to be woken takes the system tens of microseconds, and who starts a call often starts
// another. Then naps, of a few percent of the time that the same call has been waited for.
constexpr std::uint32_t looks_before_rest = 2000;
constexpr long shortest_nap_ns = 20'000, longest_nap_ns = 500'000;

bool is_wanted() {
  const ProgressMeans means = Library::get().settings().progress;
  if (means != ProgressMeans::auto_) return means != ProgressMeans::calls;
  const World& world = Library::get().world();
  return world.has_met() && world.has_cores_to_spare();
}

bool has_all_threads() {
  int provided = MPI_THREAD_SINGLE;
  native().Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

/// A launcher that binds processes to cores leaves none for the thread there; another of the job's may be idle. The
/// system lets it go no further than the job may.
void leave_bound_core() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) > 1) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

/// Between two looks, the more of which there have been the longer.
class Rest {
 public:
  void begin_again() noexcept { looks_ = 0; }
  bool is_due() const noexcept { return looks_ >= looks_before_rest; }
  void pause() noexcept {
    ++looks_;
    if (is_due()) return nap();
    spin(pauses_between_looks);
  }
  void spin(std::uint32_t pauses) noexcept {
    for (std::uint32_t i = 0; i < pauses; ++i) spinner_.pause(0, nullptr);
  }

 private:
  void nap() noexcept {
    const long ns = std::min(shortest_nap_ns * static_cast<long>(looks_ - looks_before_rest + 1), longest_nap_ns);
    const timespec moment{0, ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
  }

  execute::PatientWaiter spinner_{Waiting::spin, 1};
  std::uint32_t looks_ = 0;
};

}  // namespace

ProgressThread* ProgressThread::get() noexcept {
  static ProgressThread* const thread = is_wanted() ? new (std::nothrow) ProgressThread : nullptr;
  return thread;
}

ProgressThread::ProgressThread() : may_call_mpi_(has_all_threads()) {
  made_.store(this);
  thread_.start("espalier", &run, this);
}

bool ProgressThread::wake() noexcept {
  ProgressThread* const thread = get();
  if (thread == nullptr || !thread->thread_.is_running()) return false;
  if (!thread->is_asleep_.load()) return !thread->naps_.load();
  thread->rouse();
  return false;
}

void ProgressThread::rouse() noexcept {
  is_asleep_.store(false);
  is_asleep_.notify_one();
}

void ProgressThread::stop() noexcept {
  ProgressThread* const thread = made_.load();
  if (thread == nullptr || !thread->thread_.is_running()) return;
  thread->is_stopping_.store(true);
  thread->rouse();
  thread->thread_.join();
}

void* ProgressThread::run(void* self) noexcept {
  prctl(PR_SET_TIMERSLACK, 1);
  leave_bound_core();
  static_cast<ProgressThread*>(self)->work();
  return nullptr;
}

void ProgressThread::work() noexcept {
  Rest rest;
  for (std::uint32_t seen = 0; !is_stopping_.load();) {
    const bool has_work = ProgressQueue::wants_help();
    const std::uint32_t cries = ProgressQueue::cries_for_help();
    if (std::exchange(seen, cries) != cries) {
      rest.begin_again();
      rest.spin(pauses_of_grace);
    }
    if (has_work && waiting_.load(std::memory_order_relaxed) == 0) advance();
    if (has_work || !rest.is_due()) {
      naps_.store(rest.is_due());
      rest.pause();
    } else {
      sleep();
      rest.begin_again();
    }
  }
}

void ProgressThread::advance() noexcept {
  ProgressQueue& queue = ProgressQueue::get();
  may_call_mpi_ ? queue.advance() : queue.advance_aside();
}

// Whoever queues something says so, and then looks whether this sleeps.
void ProgressThread::sleep() noexcept {
  is_asleep_.store(true);
  if (ProgressQueue::wants_help() || is_stopping_.load()) return is_asleep_.store(false);
  is_asleep_.wait(true);
}

}  // namespace espalier::mpi
