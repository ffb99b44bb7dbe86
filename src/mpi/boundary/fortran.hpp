#pragma once
// How Fortran entry points are spelled.

#include "mpi/boundary/entry.hpp"

#if defined(OPEN_MPI)

#define ESPALIER_ALIAS(name, target, parameters) ESPALIER_EXPORT void name parameters __attribute__((alias(#target)));

// Open MPI's: ompi_<name>_f, which is what mpi_f08 calls, with this body, and its aliases in all spellings of
// compilers.
#define ESPALIER_SPELLINGS(name, UPPER, parameters, ...)      \
  ESPALIER_EXPORT void ompi_##name##_f parameters {           \
    using namespace espalier::mpi;                            \
    __VA_ARGS__                                               \
  }                                                           \
  ESPALIER_ALIAS(mpi_##name, ompi_##name##_f, parameters)     \
  ESPALIER_ALIAS(mpi_##name##_, ompi_##name##_f, parameters)  \
  ESPALIER_ALIAS(mpi_##name##__, ompi_##name##_f, parameters) \
  ESPALIER_ALIAS(MPI_##UPPER, ompi_##name##_f, parameters)

#elif !defined(MPI_ABI)

namespace espalier::mpi {

/// Where MPICH's `mpi_f08` wants a call's code, which is an optional argument.
inline void give_code(int code, MPI_Fint* error) {
  if (error != nullptr) *error = code;
}

}  // namespace espalier::mpi

#endif
