// Collectives among processes of one node, without any MPI: the shared-memory layer by itself, for finding knobs.
//
//   build/release/bench/bench_node RANKS OPERATION BYTES CHOICE [CALLS [spin|yield|futex]]
//   build/release/bench/bench_node 2 broadcast 64K knomial,within=single_copy
//
// CHOICE may be "tiny" (payload in the flag's line), "auto", or what espalier explain prints. Ranks are pinned round
// robin. Reductions add doubles. Prints p10 and p50 over calls of (last exit - last entry) in microseconds; one clock,
// buffers rotated, all ranks synchronised before each call by a barrier that is not part of the time.

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "base/bytes.hpp"
#include "base/enumerators.hpp"
#include "base/error.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "execute/arithmetic/kernels.hpp"
#include "execute/lines/tiny.hpp"
#include "execute/run.hpp"
#include "execute/waiting/waiting.hpp"
#include "transports/arena.hpp"
#include "transports/cross_memory.hpp"

namespace {

using namespace espalier;

double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

class AddDoubles final : public execute::Reducer {
 public:
  void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept override { add_(left, into, bytes); }
  void combine_into(const std::byte* left, const std::byte* right, std::byte* into,
                    Bytes bytes) const noexcept override {
    add_(left, right, into, bytes);
  }
  void combine_several(std::span<const std::byte* const> left, const std::byte* right, std::byte* into,
                       Bytes bytes) const noexcept override {
    add_(left, right, into, bytes);
  }

 private:
  execute::Kernel add_ = execute::find_kernel(execute::Element::float64, execute::Combine::sum);
};

/// Shared by all ranks; written before the fork or by one rank each.
struct Shared {
  pid_t pid[64];
  double entry[64][1 << 14];
  double exit[64][1 << 14];
};

struct Job {
  int ranks;
  plan::Problem problem;
  std::string choice;
  int calls;
  Waiting waiting;
};

class RankRun {
 public:
  RankRun(const Job& job, Shared& shared, execute::Board board, execute::Board barrier_board, int me)
      : job_(job),
        shared_(shared),
        me_(me),
        seat_(board, LocalRank(me), execute::may_sleep(job.waiting)),
        barrier_(barrier_board, LocalRank(me), execute::may_sleep(job.waiting)),
        waiter_(job.waiting, job.ranks > cores() ? 0 : 2000),
        memory_(std::vector<pid_t>(shared.pid, shared.pid + job.ranks)) {
    const auto topology = topology::Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(job.ranks), 0),
                                                         {true, job.ranks > cores()});
    choice_ = job.choice == "auto" || job.choice == "tiny" ? choice::choose(topology, job.problem)
                                                           : choice::parse_choice(job.problem.operation, job.choice);
    program_ = algorithms::build_program(topology, job.problem, choice_, Rank(me));
    scratch_.resize(program_.scratch_bytes);
  }

  static int cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

  void run() {
    constexpr int rotations = 4;
    const Bytes in = std::max<Bytes>(64, input_bytes(job_.problem, job_.ranks, Rank(me_))),
                out = std::max<Bytes>(64, output_bytes(job_.problem, job_.ranks, Rank(me_)));
    std::vector<std::byte> input(in * rotations), output(out * rotations);
    wait_for_all();
    for (int call = 0; call < job_.calls; ++call) {
      wait_for_all();
      shared_.entry[me_][call] = now_us();
      run_call(input.data() + in * static_cast<Bytes>(call % rotations),
               output.data() + out * static_cast<Bytes>(call % rotations));
      shared_.exit[me_][call] = now_us();
    }
  }

 private:
  void run_call(std::byte* input, std::byte* output) {
    if (job_.choice != "tiny") {
      seat_.begin_call();
      execute::Run(program_, {input, output, scratch_.data()}, {&seat_, nullptr, &memory_, &reducer_}).finish(waiter_);
    } else {
      execute::run_tiny(seat_, job_.problem, input, output, &reducer_, waiter_);
    }
  }

  void wait_for_all() { execute::run_tiny(barrier_, plan::Problem{}, nullptr, nullptr, nullptr, waiter_); }

  const Job& job_;
  Shared& shared_;
  int me_;
  execute::Seat seat_, barrier_;
  execute::PatientWaiter waiter_;
  transports::CrossMemory memory_;
  AddDoubles reducer_;
  plan::Choice choice_;
  plan::Program program_;
  std::vector<std::byte> scratch_;
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

void report(const Job& job, const Shared& shared) {
  std::vector<double> times;
  for (int call = job.calls / 10; call < job.calls; ++call) {
    double entry = 0, first = 1e300, exit = 0;
    for (int r = 0; r < job.ranks; ++r) {
      entry = std::max(entry, shared.entry[r][call]);
      first = std::min(first, shared.entry[r][call]);
      exit = std::max(exit, shared.exit[r][call]);
    }
    times.push_back(exit - (job.ranks <= RankRun::cores() ? entry : first));
  }
  std::sort(times.begin(), times.end());
  std::printf("%2d %-10s %8s %-50s p10 %9.3f  p50 %9.3f us\n", job.ranks, name(job.problem.operation),
              format_bytes(job.problem.bytes).c_str(), job.choice.c_str(), times[times.size() / 10],
              times[times.size() / 2]);
}

int run_job(const Job& job) {
  auto arena = transports::Arena::create(Bytes{1} << 30);
  const execute::BoardShape shape{job.ranks, Bytes{4} << 20};
  const auto offset = arena->allocate(execute::Board::bytes(shape), job.ranks);
  const auto barrier_offset = arena->allocate(execute::Board::bytes({job.ranks, 4096}), job.ranks);
  // Before the ranks part: where their memory lies makes no difference on one NUMA node.
  arena->populate(*offset, execute::Board::bytes(shape));
  arena->populate(*barrier_offset, execute::Board::bytes({job.ranks, 4096}));
  const auto board = execute::Board::furnished(arena->at(*offset), shape);
  const auto barrier_board = execute::Board::furnished(arena->at(*barrier_offset), {job.ranks, 4096});
  auto* shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t self = getpid();
  for (int r = 0; r < job.ranks; ++r) {
    const pid_t pid = r == 0 ? self : fork();
    if (r > 0 && pid != 0) continue;
    if (r == 0) continue;
    shared->pid[r] = getpid();
    while (shared->pid[0] == 0) sched_yield();
    pin(r % RankRun::cores());
    RankRun(job, *shared, board, barrier_board, r).run();
    _exit(0);
  }
  for (int r = 1; r < job.ranks; ++r)
    while (*const_cast<volatile pid_t*>(&shared->pid[r]) == 0) sched_yield();
  shared->pid[0] = self;
  pin(0);
  RankRun(job, *shared, board, barrier_board, 0).run();
  while (wait(nullptr) > 0) continue;
  report(job, *shared);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: bench_node RANKS OPERATION BYTES CHOICE [CALLS [spin|yield|futex]]\n");
    return 2;
  }
  try {
    const plan::Operation operation = plan::parse_operation(argv[2]);
    const int calls = argc > 5 ? std::atoi(argv[5]) : 2000;
    plan::Problem problem{operation, parse_bytes(argv[3])};
    if (is_reduction(operation)) problem.element = sizeof(double);
    return run_job({std::atoi(argv[1]), problem, argv[4], std::min(calls, 1 << 14),
                    espalier::parse_enumerator<espalier::Waiting>("waiting", argc > 6 ? argv[6] : "yield")});
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_node: %s\n", error.what());
    return 2;
  }
}
