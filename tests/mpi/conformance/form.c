#include "form.h"

#if defined(FORM_NONBLOCKING)

#include "check.h"

enum { ways = 9 };

/* Whatever completes one request, in turn. Ranks need not do the same. */
static int complete_by(int way, MPI_Request* request) {
  MPI_Request several[3] = {MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  MPI_Status status, statuses[3];
  int flag = 0, index = -1, indices[3], done = 0, code = MPI_SUCCESS;
  switch (way) {
    case 0: return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1: return MPI_Wait(request, &status);
    case 2:
      while (!flag && code == MPI_SUCCESS) code = MPI_Test(request, &flag, &status);
      return code;
    case 3: code = MPI_Waitall(3, several, statuses); break;
    case 4: code = MPI_Waitany(3, several, &index, &status); break;
    case 5: code = MPI_Waitsome(3, several, &done, indices, statuses); break;
    case 6:
      while (!flag && code == MPI_SUCCESS) code = MPI_Testall(3, several, &flag, statuses);
      break;
    case 7:
      while (!flag && code == MPI_SUCCESS) code = MPI_Testany(3, several, &index, &flag, &status);
      break;
    case 8:
      while (!flag && code == MPI_SUCCESS) code = MPI_Request_get_status(*request, &flag, &status);
      return code == MPI_SUCCESS ? MPI_Wait(request, &status) : code;
  }
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (class == MPI_ERR_IN_STATUS) code = statuses[way == 5 ? 0 : 1].MPI_ERROR;
  check(several[1] == MPI_REQUEST_NULL || code != MPI_SUCCESS, "a request stays after way %d", way);
  return code;
}

int complete(int code, MPI_Request* request) {
  static __thread int calls = 0;
  if (code != MPI_SUCCESS) return code;
  return complete_by((calls++ + world_rank) % ways, request);
}

#endif
