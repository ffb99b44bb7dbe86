/* MPI's sessions: a communicator without MPI_Init and without MPI_COMM_WORLD. Rank 0 prints "session: ok".
 *
 *     session [again]
 *
 * With an argument a second session follows the end of the first, which is the end of MPI for a while. An MPI older
 * than 4.0 has no sessions: "session: not offered". Where MPI does not come back from making the communicator, which is
 * nobody's work but its own: "session: MPI hangs", and exit code 3. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void give_up(int signal) {
  static const char words[] = "session: MPI hangs\n";
  (void)signal;
  _exit(write(STDOUT_FILENO, words, sizeof words - 1) < 0 ? 4 : 3);
}

static void create_from(MPI_Group group, MPI_Comm* comm) {
  signal(SIGALRM, give_up);
  alarm(15);
  MPI_Comm_create_from_group(group, "espalier.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm);
  alarm(0);
}

static int run_session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank = 0, size = 0, word = 0, all[64] = {0}, wrong = 0, total = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  create_from(group, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int root = 0; root < size; ++root) {
    word = rank == root ? 5 + root : 0;
    MPI_Bcast(&word, 1, MPI_INT, root, comm);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    MPI_Barrier(comm);
    wrong += word != 5 + root || all[size - 1] != size - 1;
  }
  MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return rank == 0 ? total : -1; /* only rank 0 reports */
}

int main(int argc, char** argv) {
  (void)argv;
  if (dlsym(RTLD_DEFAULT, "PMPI_Session_init") == NULL) {
    printf("session: not offered\n");
    return 0;
  }
  int first = run_session(), second = argc > 1 ? run_session() : 0;
  if (first >= 0) printf(first + second == 0 ? "session: ok\n" : "session: %d wrong\n", first + second);
  return 0;
}
