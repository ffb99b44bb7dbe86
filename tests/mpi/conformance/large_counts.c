#define _GNU_SOURCE
#include "exchange.h"
#include "kinds.h"
#include "themes.h"

#include <dlfcn.h>

/* MPI-4's large-count functions, looked up by name: older libraries do not have them, and then there is nothing to
 * test. */
static int (*broadcast_c)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
static int (*allgather_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);

static int broadcast_large(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return broadcast_c(buffer, count, type, root, comm);
}

static int allgather_large(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                           MPI_Datatype receive_type, MPI_Comm comm) {
  return allgather_c(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

void theme_large_counts(void) {
  *(void**)&broadcast_c = dlsym(RTLD_DEFAULT, "MPI_Bcast_c");
  *(void**)&allgather_c = dlsym(RTLD_DEFAULT, "MPI_Allgather_c");
  /* A library in front of MPI may offer the names although the MPI itself does not. */
  if (dlsym(RTLD_DEFAULT, "PMPI_Bcast_c") == NULL || broadcast_c == NULL || allgather_c == NULL) {
    say("large_counts: this MPI has no large-count functions");
    return;
  }
  struct entry_points before = under_test;
  under_test.broadcast = broadcast_large;
  under_test.allgather = allgather_large;
  struct kinds list;
  make_twelve_int_kinds(&list);
  for (int i = 0; i < list.count; ++i) {
    struct layout layout = {list.kind[i].type, i == 0 ? 20000 : 5, 0};
    check_broadcast("large count", layout, i % world_size, MPI_COMM_WORLD);
    if (list.kind[i].count_limit != 0) continue;
    check_allgather("large count", layout, layout, MPI_COMM_WORLD);
    check_allgather_in_place("large count", layout, MPI_COMM_WORLD);
  }
  free_kinds(&list);
  check_communicator("large count", MPI_COMM_WORLD);
  under_test = before;
}
