#pragma once
// The one door to mpi.h. Which ABI a build serves is decided by the include folder it is given (and -DMPI_ABI).

// Both libraries' C++ bindings are long gone, but old headers would still pull them in.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
// SimGrid would put its own names in the place of malloc, free and printf's neighbours.
#define SMPI_NO_OVERRIDE_MALLOC 1
#include <mpi.h>

// The standard ABI and MPICH's have large-count entry points; Open MPI, up to 5.0, and SimGrid's MPI have none.
#if defined(OPEN_MPI) || defined(ESPALIER_SIMULATED)
#define ESPALIER_HAS_LARGE_COUNTS 0
#else
#define ESPALIER_HAS_LARGE_COUNTS 1
#endif

// Preloaded libraries may use the fast model of thread-local storage. A simulator loads this one once per rank, and for
// so many there is no room.
#if defined(ESPALIER_SIMULATED)
#define ESPALIER_FAST_THREAD_LOCAL
#else
#define ESPALIER_FAST_THREAD_LOCAL [[gnu::tls_model("initial-exec")]]
#endif

#if defined(OPEN_MPI)
namespace espalier::mpi {
/// The address of one of Open MPI's predefined objects; null when the loaded MPI has no such object.
void* find_predefined(const char* symbol);
}  // namespace espalier::mpi

// In Open MPI a predefined handle is the address of a data symbol of libmpi. A reference to it would keep this library
// from loading into programs without MPI, so the macro becomes a lookup by name. Look handles up through Native, which
// remembers them; the macro itself is slow.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::espalier::mpi::find_predefined(#global)))
#endif
