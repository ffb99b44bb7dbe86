#include "form.h"

#if defined(FORM_NONBLOCKING) || defined(FORM_PERSISTENT)

#include "check.h"

enum { ways = 9 };

/* What a handle is after completion. */
static MPI_Request after(const MPI_Request* request) {
#if defined(FORM_PERSISTENT)
  return *request;
#else
  (void)request;
  return MPI_REQUEST_NULL;
#endif
}

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
  check(several[1] == after(request) || code != MPI_SUCCESS, "a request is not as it should be after way %d", way);
  *request = several[1];
  return code;
}

int complete(int code, MPI_Request* request) {
  static __thread int calls = 0;
  if (code != MPI_SUCCESS) return code;
  int way = (calls++ + world_rank) % ways;
#if defined(FORM_PERSISTENT) && !defined(OPEN_MPI)
  /* MPICH 5's own fails for its own persistent collectives; of ours it is tried in lifetime/persistent.c. */
  if (way == 6) way = 2;
#endif
  code = complete_by(way, request);
#if defined(FORM_PERSISTENT)
  MPI_Request_free(request);
#endif
  return code;
}

#endif
