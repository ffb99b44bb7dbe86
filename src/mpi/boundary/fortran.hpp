#pragma once
// How Fortran entry points are spelled.

#include <dlfcn.h>

#include "mpi/boundary/entry.hpp"

namespace espalier::mpi {

/// The function that this library stands in front of. It is there: the program has called it.
template <class... Arguments>
void call_next(const char* name, Arguments... arguments) {
  using Function = void (*)(Arguments...);
  reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))(arguments...);
}

/// The same, if the MPI is none that this build is for (find_foreign()).
template <class... Arguments>
bool leave_alone(const char* name, Arguments... arguments) {
  if (find_foreign() == nullptr) return false;
  call_next(name, arguments...);
  return true;
}

}  // namespace espalier::mpi

#define ESPALIER_WORDS(...) __VA_ARGS__

#if defined(OPEN_MPI)

#define ESPALIER_ALIAS(name, target, parameters) ESPALIER_EXPORT void name parameters __attribute__((alias(#target)));

// Open MPI's: ompi_<name>_f, which is what mpi_f08 calls, with this body, and its aliases in all spellings of
// compilers. Programs of other MPIs call the aliases. `words`: the parameters' names.
#define ESPALIER_SPELLINGS(name, UPPER, parameters, words, ...)                                  \
  ESPALIER_EXPORT void ompi_##name##_f parameters {                                              \
    using namespace espalier::mpi;                                                               \
    if (find_native() == nullptr && leave_alone("mpi_" #name "_", ESPALIER_WORDS words)) return; \
    __VA_ARGS__                                                                                  \
  }                                                                                              \
  ESPALIER_ALIAS(mpi_##name, ompi_##name##_f, parameters)                                        \
  ESPALIER_ALIAS(mpi_##name##_, ompi_##name##_f, parameters)                                     \
  ESPALIER_ALIAS(mpi_##name##__, ompi_##name##_f, parameters)                                    \
  ESPALIER_ALIAS(MPI_##UPPER, ompi_##name##_f, parameters)

#elif !defined(MPI_ABI)

namespace espalier::mpi {

/// Where MPICH's `mpi_f08` wants a call's code, which is an optional argument.
inline void give_code(int code, MPI_Fint* error) {
  if (error != nullptr) *error = code;
}

}  // namespace espalier::mpi

#endif
