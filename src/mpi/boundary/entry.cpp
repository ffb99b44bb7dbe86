// The C entry points: MPI's own, which preloading puts in front of the library's, and the same by name of Espalier.

#include "mpi/boundary/entry.hpp"
#include "mpi/boundary/collectives.hpp"

using namespace espalier::mpi;
using espalier::plan::Operation;

// MPI_<name> and Espalier_<name>: parameters, the arguments to pass on to native, and the call that we try first.
// Neither calls the other: behind libmpi in the search order, MPI_<name> would be libmpi's.
#define ESPALIER_ENTRY(name, parameters, arguments, ...)                                           \
  [[gnu::noinline]] static int enter_##name parameters {                                           \
    return enter(                                                                                  \
        comm, [&] { return __VA_ARGS__; }, [&](const Native& mpi) { return mpi.name arguments; }); \
  }                                                                                                \
  ESPALIER_CALL_BY(name, parameters, arguments, enter_##name)                                      \
  ESPALIER_EXPORT int Espalier_##name parameters { return enter_##name arguments; }

// The same with large counts, which has no name of ours. A program that calls these runs on a library that has them, so
// the native pointers are there when they are needed.
#if ESPALIER_HAS_LARGE_COUNTS
#define ESPALIER_LARGE_ENTRY(name, parameters, arguments, ...)                                         \
  ESPALIER_CALL(name##_c, parameters, arguments) {                                                     \
    return enter(                                                                                      \
        comm, [&] { return __VA_ARGS__; }, [&](const Native& mpi) { return mpi.name##_c arguments; }); \
  }
#else
#define ESPALIER_LARGE_ENTRY(name, parameters, arguments, ...)
#endif

#define ESPALIER_ENTRIES(name, nonblocking, parameters, arguments, ...) \
  ESPALIER_ENTRY(name, parameters(int, int), arguments, __VA_ARGS__)    \
  ESPALIER_LARGE_ENTRY(name, parameters(MPI_Count, MPI_Aint), arguments, __VA_ARGS__)

ESPALIER_COLLECTIVES(ESPALIER_ENTRIES)

#define ESPALIER_ENTRY_WITHOUT_COUNTS(name, nonblocking, parameters, arguments, ...) \
  ESPALIER_ENTRY(name, parameters(int, int), arguments, __VA_ARGS__)

ESPALIER_BARRIER(ESPALIER_ENTRY_WITHOUT_COUNTS)
