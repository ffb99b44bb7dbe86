// bench_ucx_mpi: what bench_ucx measures, with MPI's point-to-point. Two ranks; the MPI's own settings choose the
// network.

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { window = 16, most_samples = 3000 };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(*values), compare);
  return values[count / 2];
}

static void finish(MPI_Request* request) {
  int is_complete = 0;
  for (int attempt = 1; !is_complete; ++attempt) {
    MPI_Test(request, &is_complete, MPI_STATUS_IGNORE);
    if (!is_complete && attempt % 100 == 0) sched_yield();
  }
}

static void start(int is_sender, char* data, int bytes, int peer, MPI_Request* request) {
  if (is_sender)
    MPI_Isend(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, request);
  else
    MPI_Irecv(data, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, request);
}

// Half a round trip, in microseconds.
static double latency(int me, char* data, int bytes) {
  static double times[most_samples];
  const int count = bytes > 65536 ? most_samples / 10 : most_samples;
  for (int i = 0; i < count; ++i) {
    const double begin = MPI_Wtime();
    for (int turn = 0; turn < 2; ++turn) {
      MPI_Request request;
      start(turn == me, data, bytes, 1 - me, &request);
      finish(&request);
    }
    times[i] = (MPI_Wtime() - begin) * 5e5;
  }
  return median(times, count);
}

// Megabytes a second, one way.
static double bandwidth(int me, char* data, int bytes) {
  double rates[60];
  for (int i = 0; i < 60; ++i) {
    MPI_Request requests[window];
    const double begin = MPI_Wtime();
    for (int m = 0; m < window; ++m) start(me == 0, data, bytes, 1 - me, &requests[m]);
    for (int m = 0; m < window; ++m) finish(&requests[m]);
    start(me == 1, data, 1, 1 - me, &requests[0]);
    finish(&requests[0]);
    rates[i] = (double)window * bytes / (MPI_Wtime() - begin) / 1e6;
  }
  return median(rates, 60);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static char data[1048576];
  static const int sizes[] = {1, 8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
  if (ranks != 2) {
    if (me == 0) fprintf(stderr, "bench_ucx_mpi needs 2 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (me == 0) printf("%9s %12s %10s\n", "bytes", "latency/us", "MB/s");
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    const double time = latency(me, data, sizes[i]), rate = bandwidth(me, data, sizes[i]);
    if (me == 0) printf("%9d %12.2f %10.0f\n", sizes[i], time, rate);
  }
  MPI_Finalize();
  return 0;
}
