/* Properties of the machine that explain the choices: what copying costs against the size of a cell (Wu, Kendall, Aluru
 * 2005, figure 2), what ways of waiting cost, what messages cost, how many connections at once are useful. The figures
 * that need collectives (pipeline depth, single copy) are measured with arms. */

#include "curves.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REPEATS = 9 };

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double median_of(double* times, int count) {
  qsort(times, (size_t)count, sizeof(double), ascending);
  return times[count / 2];
}

/* Points of a curve become "[{...}, {...}]". */
static void begin_curve(const char* name) {
  if (job.rank == 0) printf("{\"curve\": \"%s\", \"points\": [", name);
}

const char* separator(int* printed) { return (*printed)++ > 0 ? ", " : ""; }

static void end_curve(void) {
  if (job.rank == 0) printf("]}\n");
  fflush(stdout);
}

/* ---- copy ----------------------------------------------------------------------------------------------------------
 */

/* Sender_put of a whole message through one cell: the cell is written again and again, the message once. */
static double copy_through(char* cell, const char* data, size_t bytes, size_t cell_bytes) {
  double times[REPEATS];
  for (int i = 0; i < REPEATS; ++i) {
    double begin = now_us();
    for (size_t at = 0; at < bytes; at += cell_bytes) {
      memcpy(cell, data + at, cell_bytes);
      atomic_signal_fence(memory_order_seq_cst); /* each piece is really written */
    }
    times[i] = now_us() - begin;
  }
  return median_of(times, REPEATS);
}

static void draw_copy(void) {
  const size_t largest = (size_t)8 << 20, sizes[] = {(size_t)512 << 10, (size_t)2 << 20, (size_t)8 << 20};
  int printed = 0;
  if (job.rank != 0) return;
  char *cell = allocate(largest), *data = allocate(largest);
  memset(cell, 1, largest);
  memset(data, 2, largest);
  for (int i = 0; i < 3; ++i)
    for (size_t cell_bytes = 64; cell_bytes <= sizes[i]; cell_bytes *= 2)
      printf("%s{\"bytes\": %zu, \"cell\": %zu, \"us\": %.2f}", separator(&printed), sizes[i], cell_bytes,
             copy_through(cell, data, sizes[i], cell_bytes));
  free(cell);
  free(data);
}

/* ---- waiting -------------------------------------------------------------------------------------------------------
 */

enum { SPIN, SPIN_YIELD, YIELD, FUTEX, WAYS };
static const char* const way_names[WAYS] = {"spin", "spin_yield", "yield", "futex"};

/* One flag per rank of a host, each in lines of its own. */
struct flag {
  _Alignas(128) _Atomic unsigned value;
};

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void await_flag(struct flag* flag, unsigned value, int way) {
  for (int looked = 0; (int)(atomic_load_explicit(&flag->value, memory_order_acquire) - value) < 0; ++looked)
    if (way == YIELD || (way == SPIN_YIELD && looked > 2000))
      sched_yield();
    else if (way == FUTEX && looked > 200)
      syscall(SYS_futex, &flag->value, FUTEX_WAIT, value - 1, NULL, NULL, 0);
    else
      relax();
}

static void raise_flag(struct flag* flag, unsigned value, int way) {
  atomic_store_explicit(&flag->value, value, memory_order_release);
  if (way == FUTEX) syscall(SYS_futex, &flag->value, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* A token goes round the host's ranks; the flags continue from `laps_before`. Microseconds per hop. */
static double pass_token(struct flag* flags, int position, int count, unsigned laps_before, unsigned laps, int way) {
  double begin = now_us();
  for (unsigned lap = laps_before + 1; lap <= laps_before + laps; ++lap) {
    if (position > 0) await_flag(&flags[position], lap, way);
    raise_flag(&flags[(position + 1) % count], lap, way);
    if (position == 0) await_flag(&flags[0], lap, way);
  }
  return (now_us() - begin) / (double)laps / count;
}

/* Laps for about 50 ms, as the first host's first rank finds. */
static unsigned enough_laps(double hop_us, int count) {
  double laps = 50e3 / (hop_us * count);
  unsigned whole = laps < 10 ? 10 : laps > 20000 ? 20000 : (unsigned)laps;
  PMPI_Bcast(&whole, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  return whole;
}

static void draw_waiting(void) {
  MPI_Comm host;
  MPI_Win window;
  MPI_Aint bytes;
  struct flag *mine, *flags;
  int position, count, unit, printed = 0;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &host);
  PMPI_Comm_rank(host, &position);
  PMPI_Comm_size(host, &count);
  PMPI_Win_allocate_shared(position == 0 ? (MPI_Aint)(sizeof(struct flag) * (size_t)count) : 0, 1, MPI_INFO_NULL, host,
                           &mine, &window);
  PMPI_Win_shared_query(window, 0, &bytes, &unit, &flags);
  if (position == 0) memset(flags, 0, sizeof(struct flag) * (size_t)count);
  unsigned laps_before = 0;
  for (int way = 0; way < WAYS; ++way) {
    meet();
    unsigned laps = enough_laps(pass_token(flags, position, count, laps_before, 3, way), count);
    laps_before += 3;
    meet();
    double hop_us = pass_token(flags, position, count, laps_before, laps, way);
    laps_before += laps;
    if (job.rank == 0)
      printf("%s{\"way\": \"%s\", \"ranks\": %d, \"us\": %.3f}", separator(&printed), way_names[way], count, hop_us);
  }
  meet();
  PMPI_Win_free(&window);
  PMPI_Comm_free(&host);
}

/* ---- messages ------------------------------------------------------------------------------------------------------
 */

static void send_to(int peer, void* data, size_t bytes) {
  MPI_Request request;
  PMPI_Isend(data, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
  wait_for(&request);
}

static void receive_from(int peer, void* data, size_t bytes) {
  MPI_Request request;
  PMPI_Irecv(data, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
  wait_for(&request);
}

/* Half a round trip between ranks 0 and `peer`, of so many. */
static double make_trips(int peer, void* data, size_t bytes, int trips) {
  double begin = now_us();
  for (int trip = 0; trip < trips; ++trip)
    if (job.rank == 0)
      send_to(peer, data, bytes), receive_from(peer, data, bytes);
    else if (job.rank == peer)
      receive_from(0, data, bytes), send_to(0, data, bytes);
  return (now_us() - begin) / (2 * trips);
}

/* The median of several measurements of a few milliseconds each; of a slow link's long messages three must do. */
static double ping(int peer, void* data, size_t bytes) {
  const double budget_us = 2500, first = make_trips(peer, data, bytes, 1);
  double times[REPEATS];
  int trips = first > budget_us ? 1 : first > budget_us / 50 ? (int)(budget_us / first) : 50;
  PMPI_Bcast(&trips, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const int count = trips == 1 ? 3 : REPEATS;
  for (int i = 0; i < count; ++i) times[i] = make_trips(peer, data, bytes, trips);
  return median_of(times, count);
}

/* The first rank but 0 that shares rank 0's host, or the first that does not; 0 when there is none. */
static int first_peer(int on_same_node) {
  for (int r = 1; r < job.ranks; ++r)
    if ((job.node_of[r] == 0) == on_same_node) return r;
  return 0;
}

static void draw_latency(void) {
  const size_t largest = (size_t)4 << 20;
  char* data = allocate(largest);
  int printed = 0;
  memset(data, 1, largest);
  for (int on_same_node = 1; on_same_node >= 0; --on_same_node) {
    int peer = first_peer(on_same_node);
    for (size_t bytes = 8; peer > 0 && bytes <= largest; bytes *= 4) {
      meet();
      double us = ping(peer, data, bytes);
      if (job.rank == 0)
        printf("%s{\"between\": \"%s\", \"bytes\": %zu, \"us\": %.3f}", separator(&printed),
               on_same_node ? "ranks of one node" : "nodes", bytes, us);
    }
  }
  free(data);
}

/* This rank's place among those that send (the first host, or the first half) or receive; `peer` is its partner in the
 * other group, -1 without one. Returns the number of pairs. */
static int pair_up(int* peer, int* index, int* is_sender) {
  int senders = 0, receivers = 0;
  int* first = allocate((size_t)job.ranks * 2 * sizeof(int));
  int* second = first + job.ranks;
  for (int r = 0; r < job.ranks; ++r)
    if (job.nodes > 1 ? job.node_of[r] == 0 : r < job.ranks / 2)
      first[senders++] = r;
    else if (job.nodes == 1 || job.node_of[r] == 1)
      second[receivers++] = r;
  int pairs = senders < receivers ? senders : receivers;
  *peer = *index = -1;
  for (int i = 0; i < pairs; ++i)
    if (job.rank == first[i])
      *peer = second[i], *index = i, *is_sender = 1;
    else if (job.rank == second[i])
      *peer = first[i], *index = i, *is_sender = 0;
  free(first);
  return pairs;
}

enum { WINDOW = 16, MESSAGE = 64 << 10 };

/* A burst of messages one way and a short answer. */
static void burst(int peer, int is_sender, char* data) {
  MPI_Request requests[WINDOW];
  for (int i = 0; i < WINDOW; ++i)
    if (is_sender)
      PMPI_Isend(data + i * MESSAGE, MESSAGE, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[i]);
    else
      PMPI_Irecv(data + i * MESSAGE, MESSAGE, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < WINDOW; ++i) wait_for(&requests[i]);
  is_sender ? receive_from(peer, data, 1) : send_to(peer, data, 1);
}

static void draw_connections(void) {
  int peer, index, is_sender = 0, printed = 0, pairs = pair_up(&peer, &index, &is_sender);
  char* data = allocate((size_t)WINDOW * MESSAGE);
  memset(data, 1, (size_t)WINDOW * MESSAGE);
  for (int active = 1; active <= pairs; active = active < pairs && active * 2 > pairs ? pairs : active * 2) {
    double times[REPEATS];
    for (int i = 0; i < REPEATS; ++i) {
      meet();
      double begin = now_us();
      if (peer >= 0 && index < active) burst(peer, is_sender, data);
      meet();
      times[i] = now_us() - begin;
    }
    double us = median_of(times, REPEATS);
    if (job.rank == 0)
      printf("%s{\"connections\": %d, \"us\": %.1f, \"mb_per_s\": %.1f}", separator(&printed), active, us,
             (double)active * WINDOW * MESSAGE / us);
  }
  free(data);
}

void draw_curve(const char* name) {
  static void (*const draw[])(void) = {draw_copy, draw_waiting, draw_latency, draw_connections, draw_groups};
  static const char* const names[] = {"copy", "waiting", "latency", "connections", "groups"};
  for (int i = 0; i < 5; ++i)
    if (strcmp(name, names[i]) == 0) {
      begin_curve(name);
      draw[i]();
      meet();
      end_curve();
      return;
    }
  fail("unknown curve: ", name);
}
