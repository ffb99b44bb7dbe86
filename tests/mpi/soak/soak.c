/* Random use of MPI for so many seconds: communicators of all kinds are made, used, kept for a while and freed, from
 * several threads where MPI allows it; collectives of random sizes, roots, operations and values, NaN among them, whose
 * results are checked and compared bit for bit between ranks; and memory, which must not grow.
 *
 *     soak SEED SECONDS [THREADS [plain]]
 *
 * `plain` leaves out NaN and zeros of both signs, of which MPIs themselves give different ranks different bits: for
 * jobs some of whose calls are left to them. All ranks draw the same numbers. Rank 0 prints "soak: ok after N calls",
 * or what went wrong. */
#include <dirent.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { most_alive = 24, longest = 40000, calls_per_life = 12 };

struct work {
  uint64_t state; /* of this thread's numbers, equal on all ranks */
  MPI_Comm parent;
  double end;
  long calls, wrong;
};

static uint64_t draw(struct work* work) { /* xorshift64* (Vigna 2016) */
  work->state ^= work->state >> 12;
  work->state ^= work->state << 25;
  work->state ^= work->state >> 27;
  return work->state * 2685821657736338717u;
}
static int below(struct work* work, int bound) { return (int)(draw(work) >> 33) % bound; }

static int draw_count(struct work* work) {
  static const int typical[] = {0, 1, 2, 7, 60, 500, 513, 4000, longest};
  return below(work, 3) == 0 ? below(work, longest) : typical[below(work, 9)];
}

static void fail(struct work* work, const char* what) {
  if (work->wrong++ < 3) fprintf(stderr, "soak: wrong %s, call %ld\n", what, work->calls);
}

static int has_special_values = 1;

/* A value that every rank can work out, special ones among them. */
static double value(int rank, int i, uint64_t salt) {
  const uint64_t bits = (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(i + 1) * 0xc2b2ae3d27d4eb4fu ^ salt;
  switch (has_special_values ? bits >> 56 : 255) {
    case 0: return NAN;
    case 1: return -0.0;
    case 2: return INFINITY;
    case 3: return 4.9e-324;
    default: return (double)(bits % 1000);
  }
}

static uint64_t hash(const void* data, size_t bytes) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ ((const unsigned char*)data)[i]) * 0x100000001b3u;
  return sum;
}

static void check_equal(struct work* work, const void* data, size_t bytes, const char* what, MPI_Comm comm) {
  uint64_t mine = hash(data, bytes), least = 0, most = 0;
  PMPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, comm);
  PMPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, comm);
  if (least != most) fail(work, what);
}

static void reduce_to_all(struct work* work, double* in, double* out, int count, int rank, MPI_Comm comm) {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD};
  const uint64_t salt = draw(work);
  const MPI_Op op = ops[below(work, 4)];
  for (int i = 0; i < count; ++i) in[i] = value(rank, i, salt);
  MPI_Allreduce(in, out, count, MPI_DOUBLE, op, comm);
  check_equal(work, out, (size_t)count * sizeof *out, "sum: ranks differ", comm);
}

static void broadcast(struct work* work, double* data, int count, int rank, int size, MPI_Comm comm) {
  const int root = below(work, size);
  const uint64_t salt = draw(work);
  for (int i = 0; i < count; ++i) data[i] = rank == root ? value(root, i, salt) : -1;
  MPI_Bcast(data, count, MPI_DOUBLE, root, comm);
  for (int i = 0; i < count; ++i) {
    const double wanted = value(root, i, salt);
    if (memcmp(&data[i], &wanted, sizeof wanted) != 0) return fail(work, "broadcast");
  }
}

static void exchange(struct work* work, double* in, double* out, int count, int rank, int size, MPI_Comm comm) {
  const uint64_t salt = draw(work);
  const int each = count / size;
  for (int i = 0; i < each * size; ++i) in[i] = value(rank, i, salt);
  MPI_Alltoall(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, comm);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < each; ++i) {
      const double wanted = value(from, rank * each + i, salt);
      if (memcmp(&out[from * each + i], &wanted, sizeof wanted) != 0) return fail(work, "alltoall");
    }
}

static void gather_unevenly(struct work* work, double* in, double* out, int count, int rank, int size, MPI_Comm comm) {
  int counts[64], places[64], all = 0;
  const int root = below(work, size), each = count / size / 2;
  const uint64_t salt = draw(work);
  for (int r = 0; r < size && r < 64; ++r) {
    /* Out of one number drawn: halves of a split differ in size, and have to go on drawing the same. */
    counts[r] = each == 0 ? r % 3 : (int)((salt >> 20) * (uint64_t)(r + 1) % (uint64_t)(2 * each));
    places[r] = all;
    all += counts[r];
  }
  for (int i = 0; i < counts[rank]; ++i) in[i] = value(rank, i, salt);
  MPI_Gatherv(in, counts[rank], MPI_DOUBLE, out, counts, places, MPI_DOUBLE, root, comm);
  if (rank != root) return;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) {
      const double wanted = value(r, i, salt);
      if (memcmp(&out[places[r] + i], &wanted, sizeof wanted) != 0) return fail(work, "gatherv");
    }
}

static void use(struct work* work, double* in, double* out, MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int count = draw_count(work);
  ++work->calls;
  switch (below(work, 5)) {
    case 0: return reduce_to_all(work, in, out, count, rank, comm);
    case 1: return broadcast(work, out, count, rank, size, comm);
    case 2: return exchange(work, in, out, count, rank, size, comm);
    case 3: return gather_unevenly(work, in, out, count, rank, size, comm);
    default: MPI_Barrier(comm);
  }
}

/* Splits draw the same numbers on all ranks of the parent, so the two halves take the same course. */
static MPI_Comm make(struct work* work) {
  MPI_Comm comm;
  int rank = 0;
  MPI_Comm_rank(work->parent, &rank);
  if (below(work, 2) == 0)
    MPI_Comm_dup(work->parent, &comm);
  else
    MPI_Comm_split(work->parent, rank % (1 + below(work, 3)), rank, &comm);
  return comm;
}

static void* run(void* argument) {
  struct work* work = argument;
  MPI_Comm alive[most_alive];
  double *in = malloc(longest * sizeof *in), *out = malloc(longest * sizeof *out);
  int count = 0;
  for (int is_over = 0; !is_over;) {
    if (count < most_alive && (count == 0 || below(work, 3) == 0)) alive[count++] = make(work);
    for (int i = 0; i < calls_per_life; ++i) use(work, in, out, alive[below(work, count)]);
    if (below(work, 4) == 0) {
      const int which = below(work, count);
      MPI_Comm_free(&alive[which]);
      alive[which] = alive[--count];
    }
    const int mine = PMPI_Wtime() > work->end;
    PMPI_Allreduce(&mine, &is_over, 1, MPI_INT, MPI_MAX, work->parent);
  }
  while (count > 0) MPI_Comm_free(&alive[--count]);
  free(in);
  free(out);
  return NULL;
}

static void run_for(double seconds, struct work* work, int threads) {
  pthread_t thread[8];
  for (int t = 0; t < threads; ++t) work[t].end = PMPI_Wtime() + seconds;
  for (int t = 1; t < threads; ++t) pthread_create(&thread[t], NULL, run, &work[t]);
  run(&work[0]);
  for (int t = 1; t < threads; ++t) pthread_join(thread[t], NULL);
}

struct held {
  long shared, anonymous, files;
};

static struct held look(void) {
  struct held held = {0, 0, 0};
  char line[128], path[64], target[256];
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL; ++held.files) {
    struct stat file;
    snprintf(path, sizeof path, "/proc/self/fd/%.30s", entry->d_name);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    if (strstr(target, "memfd:espalier") != NULL && stat(path, &file) == 0) held.shared += file.st_blocks / 2;
  }
  if (folder != NULL) closedir(folder);
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "RssAnon: %ld", &held.anonymous);
  if (status != NULL) fclose(status);
  return held;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: soak SEED SECONDS [THREADS [plain]]\n");
    return 2;
  }
  int provided = 0, rank = 0, threads = argc > 3 ? atoi(argv[3]) : 1;
  const double seconds = atof(argv[2]);
  has_special_values = argc < 5;
  struct work work[8];
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (provided < MPI_THREAD_MULTIPLE || threads < 1 || threads > 8) threads = 1;
  for (int t = 0; t < threads; ++t) {
    work[t] = (struct work){.state = (uint64_t)atoll(argv[1]) * 8 + (uint64_t)t + 1};
    MPI_Comm_dup(MPI_COMM_WORLD, &work[t].parent);
  }
  /* The first half fills what is kept: pools, caches, the MPI's own. */
  run_for(seconds / 2, work, threads);
  const struct held before = look();
  run_for(seconds / 2, work, threads);
  const struct held after = look();
  long wrong = 0, all = 0, calls = 0;
  for (int t = 0; t < threads; ++t) {
    wrong += work[t].wrong;
    calls += work[t].calls;
    MPI_Comm_free(&work[t].parent);
  }
  if (after.shared > before.shared + 4096 || after.files > before.files + 2) {
    ++wrong;
    fprintf(stderr, "soak: shared %ld -> %ld KB, files %ld -> %ld\n", before.shared, after.shared, before.files,
            after.files);
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0)
    printf("soak: ok after %ld calls; private memory %ld -> %ld KB\n", calls, before.anonymous, after.anonymous);
  if (rank == 0 && all != 0) printf("soak: %ld wrong after %ld calls\n", all, calls);
  MPI_Finalize();
  return all != 0;
}
