/* The measuring half of `espalier bench nuioa`: what it costs to sit far from the network card.
 *
 *   espalier_nuioa_<abi> --near 2-3 --far 4-5 --sizes 32768,1048576 --rounds 5 --budget-ms 100
 *
 * One rank per node; ranks that share a host are refused, for their messages pass no card, unless --may-share 1 says
 * that only the machinery is tried out. The lists are this host's processors near to and far from its card; they may
 * differ from host to host. In every round all four placements take turns: the root's rank and the others', each near
 * or far. A rank binds itself, makes new buffers and touches them, so that its memory lies where it runs. Rank 0 prints
 * one JSON object per operation, size, placement and round, as Goglin and Moreaud measured them: half the round trip of
 * a ping-pong between ranks 0 and 1, a broadcast and a gather from and to rank 0 (figures 4 to 6). A call of a
 * collective lasts as long as the rank that stays longest, because hosts' clocks differ. Only the MPI's own calls are
 * used. */

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_SIZES = 32, MOST_CALLS = 2000, LEAST_CALLS = 5, WARM_UP = 3 };
enum { PING_PONG, BROADCAST, GATHER, OPERATIONS };
static const char* const names[] = {"pingpong", "bcast", "gather"};

static struct {
  const char* seats[2]; /* processors: near, far */
  long sizes[MOST_SIZES];
  int size_count, rounds, may_share;
  double budget_us; /* for one operation, size and placement in one round */
} options = {{NULL, NULL}, {0}, 0, 5, 0, 100e3};

static int rank, ranks;

static void fail(const char* what, const char* detail) {
  fprintf(stderr, "espalier_nuioa: %s%s\n", what, detail);
  PMPI_Abort(MPI_COMM_WORLD, 2);
  exit(2);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* "2-3,8" as the kernel writes it. */
static void bind_to(const char* list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const char* at = list; *at != '\0';) {
    char* end;
    long first = strtol(at, &end, 10), last = first;
    if (end == at) fail("not a list of processors: ", list);
    if (*end == '-') last = strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last; ++cpu) CPU_SET((size_t)cpu, &set);
    at = *end == ',' ? end + 1 : end;
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail("may not run on processors ", list);
}

/* Fresh pages, first touched by who will use them. */
static char* make_buffer(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory", "");
  return memset(memory, rank + 1, bytes);
}

static void run(int operation, char* one, char* all, int bytes) {
  if (operation == BROADCAST) {
    PMPI_Bcast(one, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  } else if (operation == GATHER) {
    PMPI_Gather(one, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    PMPI_Send(one, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    PMPI_Recv(one, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    PMPI_Recv(one, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Send(one, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

static double time_call(int operation, char* one, char* all, int bytes) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  run(operation, one, all, bytes);
  const double stay = now_us() - begin;
  return operation == PING_PONG ? (rank == 0 ? stay / 2 : 0) : stay;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median call, at rank 0. How many calls fit the budget is found out by the first ones, together. */
static double measure(int operation, char* one, char* all, int bytes) {
  static double stays[MOST_CALLS];
  double warm = 0, slowest = 0;
  for (int i = 0; i < WARM_UP; ++i) warm = time_call(operation, one, all, bytes);
  PMPI_Allreduce(&warm, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double wanted = options.budget_us / (slowest + 1);
  int calls = wanted > MOST_CALLS ? MOST_CALLS : wanted < LEAST_CALLS ? LEAST_CALLS : (int)wanted;
  for (int i = 0; i < calls; ++i) stays[i] = time_call(operation, one, all, bytes);
  PMPI_Reduce(rank == 0 ? MPI_IN_PLACE : stays, stays, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  qsort(stays, (size_t)calls, sizeof *stays, ascending);
  return stays[calls / 2];
}

/* `root` and `others`: 0 near, 1 far. */
static void run_placement(int round, int root, int others) {
  static const char* const places[] = {"near", "far"};
  bind_to(options.seats[rank == 0 ? root : others]);
  const size_t largest = (size_t)options.sizes[options.size_count - 1], gathered = largest * (size_t)ranks;
  char *one = make_buffer(largest), *all = make_buffer(rank == 0 ? gathered : 1);
  for (int i = 0; i < options.size_count; ++i)
    for (int operation = 0; operation < OPERATIONS; ++operation) {
      const double us = measure(operation, one, all, (int)options.sizes[i]);
      if (rank != 0) continue;
      printf(
          "{\"op\": \"%s\", \"bytes\": %ld, \"ranks\": %d, \"round\": %d, \"root\": \"%s\", \"others\": \"%s\", "
          "\"us\": %.3f}\n",
          names[operation], options.sizes[i], ranks, round, places[root], places[others], us);
      fflush(stdout);
    }
  munmap(one, largest);
  munmap(all, rank == 0 ? gathered : 1);
}

static void read_sizes(char* text) {
  for (char* word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
    if (options.size_count == MOST_SIZES || atol(word) < 1) fail("wrong sizes", "");
    options.sizes[options.size_count++] = atol(word);
  }
}

static void read_options(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* name = argv[i];
    char* value = argv[i + 1];
    if (strcmp(name, "--near") == 0)
      options.seats[0] = value;
    else if (strcmp(name, "--far") == 0)
      options.seats[1] = value;
    else if (strcmp(name, "--sizes") == 0)
      read_sizes(value);
    else if (strcmp(name, "--rounds") == 0)
      options.rounds = atoi(value);
    else if (strcmp(name, "--budget-ms") == 0)
      options.budget_us = atof(value) * 1e3;
    else if (strcmp(name, "--may-share") == 0)
      options.may_share = atoi(value);
    else
      fail("no such option: ", name);
  }
  if (options.seats[0] == NULL || options.seats[1] == NULL || options.size_count == 0)
    fail("--near, --far and --sizes (ascending) are needed", "");
}

/* How many ranks there are on the fullest host. */
static int most_on_a_host(void) {
  MPI_Comm host;
  int here, most;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  PMPI_Comm_size(host, &here);
  PMPI_Comm_free(&host);
  PMPI_Allreduce(&here, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char** argv) {
  PMPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  read_options(argc, argv);
  if (ranks < 2) fail("two ranks are needed, on two nodes", "");
  if (most_on_a_host() > 1) {
    static const char remark[] = "ranks share a host, so their messages pass no network card";
    if (rank == 0 && !options.may_share) fail(remark, "");
    if (rank == 0) fprintf(stderr, "espalier_nuioa: %s\n", remark);
    PMPI_Barrier(MPI_COMM_WORLD); /* where rank 0 ends the job the others wait for that */
  }
  for (int round = 0; round < options.rounds; ++round)
    for (int placement = 0; placement < 4; ++placement) run_placement(round, placement / 2, placement % 2);
  PMPI_Finalize();
  return 0;
}
