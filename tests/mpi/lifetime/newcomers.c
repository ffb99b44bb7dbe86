/* Threads that make communicators, use each for the first time at once, and free it, while others do the same. Each
 * thread has its own tag, or its own parent, as MPI wants it.
 *
 *     newcomers [ROUNDS]
 *
 * Rank 0 prints "newcomers: ok", or "newcomers: no threads". */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { thread_count = 3 };

struct work {
  int number, rounds, rank, size, wrong;
  MPI_Comm parent;
};

static int use(MPI_Comm comm, int seed) {
  int rank = 0, size = 0, sum = 0, bad = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int call = 0; call < 3; ++call) {
    int word = rank == call % size ? seed : -1;
    MPI_Bcast(&word, 1, MPI_INT, call % size, comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    bad += word != seed || sum != size * (size - 1) / 2;
  }
  return bad;
}

static void* run(void* argument) {
  struct work* work = argument;
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int round = 0; round < work->rounds; ++round) {
    MPI_Comm comm;
    int without = round % work->size;
    if (round % 2 == 0) {
      MPI_Comm_dup(work->parent, &comm);
      work->wrong += use(comm, round);
      MPI_Comm_free(&comm);
      continue;
    }
    if (work->rank == without) continue;
    MPI_Group_excl(all, 1, &without, &some);
    MPI_Comm_create_group(MPI_COMM_WORLD, some, work->number, &comm);
    MPI_Group_free(&some);
    work->wrong += use(comm, round);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&all);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0, wrong = 0, total = 0;
  pthread_t threads[thread_count];
  struct work work[thread_count];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  for (int i = 0; i < thread_count; ++i) {
    work[i] = (struct work){.number = i, .rounds = argc > 1 ? atoi(argv[1]) : 20};
    MPI_Comm_rank(MPI_COMM_WORLD, &work[i].rank);
    MPI_Comm_size(MPI_COMM_WORLD, &work[i].size);
  }
  if (provided == MPI_THREAD_MULTIPLE) {
    for (int i = 0; i < thread_count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &work[i].parent);
    for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run, &work[i]);
    for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < thread_count; ++i) {
      wrong += work[i].wrong;
      MPI_Comm_free(&work[i].parent);
    }
    MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (work[0].rank == 0)
    printf(provided < MPI_THREAD_MULTIPLE ? "newcomers: no threads\n"
           : total == 0                   ? "newcomers: ok\n"
                                          : "newcomers: wrong\n");
  MPI_Finalize();
  return 0;
}
