/* What passes while a rank computes and never calls MPI: with a thread of Espalier's, collectives in which others wait
 * for it are over long before it is back.
 *
 *   aside [behind]   ialltoall, iallreduce and ibcast, started and persistent; or behind a barrier that is pending
 *
 * Rank 0 begins a call and computes until all others have come through theirs, which they tell it through a shared file
 * mapping and not by MPI, or until it has lost patience. Says of each whether somebody had to wait for it.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { floats = 1 << 16, calls = 5 };
static const double patience = 10;

static int start(const char* operation, int is_persistent, const float* in, float* out, MPI_Request* request) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const int each = floats / ranks;
  if (!strcmp(operation, "ialltoall"))
    return is_persistent ? MPI_Alltoall_init(in, each, MPI_FLOAT, out, each, MPI_FLOAT, comm, MPI_INFO_NULL, request)
                         : MPI_Ialltoall(in, each, MPI_FLOAT, out, each, MPI_FLOAT, comm, request);
  if (!strcmp(operation, "iallreduce"))
    return is_persistent ? MPI_Allreduce_init(in, out, floats, MPI_FLOAT, MPI_MAX, comm, MPI_INFO_NULL, request)
                         : MPI_Iallreduce(in, out, floats, MPI_FLOAT, MPI_MAX, comm, request);
  return is_persistent ? MPI_Bcast_init(out, floats, MPI_FLOAT, 0, comm, MPI_INFO_NULL, request)
                       : MPI_Ibcast(out, floats, MPI_FLOAT, 0, comm, request);
}

static int* map_counter(int rank) {
  char name[64] = "/tmp/espalier-aside-XXXXXX";
  if (rank == 0) {
    const int file = mkstemp(name);
    if (file < 0 || ftruncate(file, sizeof(int)) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  FILE* const file = fopen(name, "r+");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  int* const counter = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  fclose(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
  return counter;
}

/* Whether this rank, the first, computed until it lost patience. The others count calls that they are through with. */
static int are_others_held_up(const char* operation, int is_persistent, int is_behind, int* counter) {
  static int counted = 0; /* of each of the others, by all that came before */
  int rank = 0, ranks = 0, late = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float* const in = calloc(floats, sizeof *in);
  float* const out = calloc(floats, sizeof *out);
  MPI_Request request, barrier = MPI_REQUEST_NULL;
  if (is_persistent) start(operation, 1, in, out, &request);
  for (int call = -1; call < calls; ++call) {
    if (is_behind) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    if (is_persistent)
      MPI_Start(&request);
    else
      start(operation, 0, in, out, &request);
    if (call < 0) { /* ranks agree on memory for it, by messages */
      MPI_Wait(&barrier, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    const double from = MPI_Wtime();
    ++counted;
    if (rank == 0)
      while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < counted * (ranks - 1) && !late)
        late = MPI_Wtime() - from > patience;
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank != 0) __atomic_add_fetch(counter, 1, __ATOMIC_RELEASE);
  }
  if (is_persistent) MPI_Request_free(&request);
  free(in), free(out);
  return late;
}

int main(int argc, char** argv) {
  const char* const operations[] = {"ialltoall", "iallreduce", "ibcast"};
  const int is_behind = argc > 1 && !strcmp(argv[1], "behind");
  MPI_Init(NULL, NULL);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int* const counter = map_counter(rank);
  for (int is_persistent = 0; is_persistent <= !is_behind; ++is_persistent)
    for (int i = 0; i < 3; ++i) {
      const int late = are_others_held_up(operations[i], is_persistent, is_behind, counter);
      if (rank == 0)
        printf("%s %s: %s\n", operations[i], is_persistent ? "persistent" : "started", late ? "held up" : "free");
    }
  MPI_Finalize();
  return 0;
}
