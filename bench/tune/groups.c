/* How many connections at once a network likes: Qian, Rashti and Afsahi's micro-benchmark (2010, section 4, figure 1).
 *
 *   node 0   [ 0  1 ]     group 0: 0 2 4     every group makes an allgather of its own at the same time, round a ring
 *   node 1   [ 2  3 ]     group 1: 1 3 5     (one connection per rank) or to all others at once (nodes - 1 of them)
 *   node 2   [ 4  5 ]
 *
 * The paper's put by RDMA; these go through the MPI's own messages. */

#include "curves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING, DIRECT, WAYS };
static const char* const way_names[WAYS] = {"ring", "direct"};

enum { ROUNDS = 3, MOST_CALLS = 2000 };
static const double batch_us = 30e3; /* of one round */

/* The ranks that have as many ranks of their node before them as this one, by node. */
struct group {
  int number;
  int place; /* this rank's node */
  int* ranks;
};

/* Also returns how many groups have a rank on every node. */
static int form_groups(struct group* mine) {
  int* seen = allocate((size_t)job.nodes * sizeof(int));
  int complete = job.ranks;
  mine->place = job.node_of[job.rank];
  mine->number = 0;
  for (int r = 0; r < job.rank; ++r) mine->number += job.node_of[r] == mine->place;
  mine->ranks = allocate((size_t)job.nodes * sizeof(int));
  memset(seen, 0, (size_t)job.nodes * sizeof(int));
  for (int r = 0; r < job.ranks; ++r)
    if (seen[job.node_of[r]]++ == mine->number) mine->ranks[job.node_of[r]] = r;
  for (int node = 0; node < job.nodes; ++node) complete = seen[node] < complete ? seen[node] : complete;
  free(seen);
  return complete;
}

static char* block(char* data, int place, size_t bytes) {
  return data + (size_t)((place + 2 * job.nodes) % job.nodes) * bytes;
}

static int rank_at(const struct group* group, int place) { return group->ranks[(place + 2 * job.nodes) % job.nodes]; }

static void start(const struct group* group, int to, int from, char* out, char* in, size_t bytes,
                  MPI_Request requests[2]) {
  PMPI_Irecv(in, (int)bytes, MPI_BYTE, rank_at(group, from), 3, MPI_COMM_WORLD, &requests[0]);
  PMPI_Isend(out, (int)bytes, MPI_BYTE, rank_at(group, to), 3, MPI_COMM_WORLD, &requests[1]);
}

/* One allgather of the group. */
static void gather_all(const struct group* group, int way, char* data, size_t bytes, MPI_Request* requests) {
  const int me = group->place;
  int started = 0;
  for (int step = 1; step < job.nodes; ++step) {
    if (way == RING)
      start(group, me + 1, me - 1, block(data, me - step + 1, bytes), block(data, me - step, bytes), bytes, requests);
    else
      start(group, me + step, me - step, block(data, me, bytes), block(data, me - step, bytes), bytes,
            requests + started);
    started = way == RING ? 2 : started + 2;
    for (int i = 0; way == RING && i < started; ++i) wait_for(&requests[i]);
  }
  for (int i = 0; way == DIRECT && i < started; ++i) wait_for(&requests[i]);
}

/* Microseconds per allgather when `active` groups make `calls` each. */
static double run_groups(const struct group* mine, int active, int way, int calls, char* data, size_t bytes,
                         MPI_Request* requests) {
  meet();
  double begin = now_us();
  for (int call = 0; call < calls && mine->number < active; ++call) gather_all(mine, way, data, bytes, requests);
  meet();
  return (now_us() - begin) / calls;
}

/* As many as fill a batch, as rank 0 finds. */
static int enough_calls(double call_us) {
  double calls = batch_us / call_us;
  int whole = calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
  PMPI_Bcast(&whole, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return whole;
}

void draw_groups(void) {
  const size_t largest = (size_t)1 << 20;
  if (job.nodes == 1) return;
  struct group mine;
  int groups = form_groups(&mine), printed = 0;
  char* data = allocate((size_t)job.nodes * largest);
  MPI_Request* requests = allocate(2 * (size_t)job.nodes * sizeof(MPI_Request));
  memset(data, 1, (size_t)job.nodes * largest);
  for (size_t bytes = 1; bytes <= largest; bytes *= 4)
    for (int active = 1; active <= groups; ++active)
      for (int way = 0; way < WAYS; ++way) {
        int calls = enough_calls(run_groups(&mine, active, way, 1, data, bytes, requests));
        double times[ROUNDS];
        for (int round = 0; round < ROUNDS; ++round)
          times[round] = run_groups(&mine, active, way, calls, data, bytes, requests);
        double us = median_of(times, ROUNDS);
        if (job.rank == 0)
          printf("%s{\"groups\": %d, \"way\": \"%s\", \"bytes\": %zu, \"us\": %.2f, \"mb_per_s\": %.4f}",
                 separator(&printed), active, way_names[way], bytes, us,
                 (double)active * (double)(job.nodes - 1) * (double)bytes / us);
      }
  free(requests);
  free(data);
  free(mine.ranks);
}
