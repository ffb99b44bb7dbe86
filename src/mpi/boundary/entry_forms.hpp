#pragma once
// What the entry points of nonblocking and persistent collectives do, for those in other languages: behind libmpi in
// the search order, MPI_Ibcast would be libmpi's.

#include "mpi/boundary/collectives.hpp"

namespace espalier::mpi {

// begin_Ibcast() as MPI_Ibcast, make_Bcast_init() as MPI_Bcast_init, and so on. MPI's codes.
#define ESPALIER_DECLARE(name, nonblocking, parameters, arguments, ...) \
  int begin_##nonblocking parameters(int, int, MPI_Request* request);   \
  int make_##name##_init parameters(int, int, MPI_Info info, MPI_Request* request);
#define ESPALIER_DECLARE_LARGE(name, nonblocking, parameters, arguments, ...)        \
  int begin_##nonblocking##_c parameters(MPI_Count, MPI_Aint, MPI_Request* request); \
  int make_##name##_init_c parameters(MPI_Count, MPI_Aint, MPI_Info info, MPI_Request* request);
ESPALIER_COLLECTIVES(ESPALIER_DECLARE)
ESPALIER_BARRIER(ESPALIER_DECLARE)
#if ESPALIER_HAS_LARGE_COUNTS
ESPALIER_COLLECTIVES(ESPALIER_DECLARE_LARGE)
#endif
#undef ESPALIER_DECLARE
#undef ESPALIER_DECLARE_LARGE

/// Starts ours, and natives by `natively`, in their order, as far as the first error: its code.
int start_requests(int count, MPI_Request* requests, int (*natively)(MPI_Request*)) noexcept;
/// MPI_Request_free of one of ours. False: it is native's.
bool free_own(MPI_Request* request) noexcept;

}  // namespace espalier::mpi
