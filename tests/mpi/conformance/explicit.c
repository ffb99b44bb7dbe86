#define _GNU_SOURCE
#include "exchange.h"
#include "themes.h"

#include <dlfcn.h>

/* The same checks through Espalier's own names, found at run time so that this program needs no Espalier to start. */
void theme_explicit(void) {
  struct entry_points before = under_test, own;
  *(void**)&own.broadcast = dlsym(RTLD_DEFAULT, "Espalier_Bcast");
  *(void**)&own.allgather = dlsym(RTLD_DEFAULT, "Espalier_Allgather");
  *(void**)&own.barrier = dlsym(RTLD_DEFAULT, "Espalier_Barrier");
  check(own.broadcast && own.allgather && own.barrier, "the library does not export the explicit interface");
  if (!own.broadcast || !own.allgather || !own.barrier) return;
  for (int turn = 0; turn < 10; ++turn) {
    under_test = turn % 2 ? before : own; /* both in one process, by turns */
    check_communicator("explicit", MPI_COMM_WORLD);
    check_broadcast("explicit", plain_bytes(9000 * turn), turn % world_size, MPI_COMM_WORLD);
    check_allgather_in_place("explicit", plain_bytes(111 * turn), MPI_COMM_WORLD);
  }
  under_test = before;
  theme_intercommunicators();
}
