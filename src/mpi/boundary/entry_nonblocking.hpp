#pragma once
// What the entry points of nonblocking collectives do, for those in other languages: behind libmpi in the search order,
// MPI_Ibcast would be libmpi's.

#include "mpi/boundary/collectives.hpp"

namespace espalier::mpi {

#define ESPALIER_DECLARE(name, nonblocking, parameters, arguments, ...) \
  int begin_##nonblocking parameters(int, int, MPI_Request* request);
#define ESPALIER_DECLARE_LARGE(name, nonblocking, parameters, arguments, ...) \
  int begin_##nonblocking##_c parameters(MPI_Count, MPI_Aint, MPI_Request* request);
ESPALIER_COLLECTIVES(ESPALIER_DECLARE)
ESPALIER_BARRIER(ESPALIER_DECLARE)
#if ESPALIER_HAS_LARGE_COUNTS
ESPALIER_COLLECTIVES(ESPALIER_DECLARE_LARGE)
#endif
#undef ESPALIER_DECLARE
#undef ESPALIER_DECLARE_LARGE

}  // namespace espalier::mpi
