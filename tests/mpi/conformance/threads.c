#include "exchange.h"
#include "themes.h"

#include <pthread.h>

enum { thread_count = 4, rounds = 25 };

struct work {
  int number;
  MPI_Comm comm; /* this thread's own */
};

static void* run(void* argument) {
  struct work* work = argument;
  int size = 0;
  MPI_Comm_size(work->comm, &size);
  for (int i = 0; i < rounds; ++i) {
    int bytes = (i * 997 + work->number * 4099) % 30000;
    check_broadcast("thread", plain_bytes(bytes), (i + work->number) % size, work->comm);
    check_allgather("thread", plain_bytes(bytes / 9), plain_bytes(bytes / 9), work->comm);
    check_broadcast("thread, tiny", plain_bytes(i % 60), i % size, work->comm);
    under_test.barrier(work->comm);
  }
  return NULL;
}

void theme_threads(void) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    say("threads: this MPI has no MPI_THREAD_MULTIPLE");
    return;
  }
  pthread_t threads[thread_count];
  struct work work[thread_count];
  check_communicator("before the threads", MPI_COMM_WORLD); /* also registers the harness's attribute, once */
  for (int i = 0; i < thread_count; ++i) {
    work[i].number = i;
    if (i % 2 == 0)
      MPI_Comm_dup(MPI_COMM_WORLD, &work[i].comm);
    else
      MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &work[i].comm);
  }
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, run, &work[i]);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < thread_count; ++i) MPI_Comm_free(&work[i].comm);
  check_communicator("after the threads", MPI_COMM_WORLD);
}
