#pragma once
// Where the program makes its calls (ESPALIER_PROFILE_SITES).

#include <string>

namespace espalier::mpi {

/// Where the program goes on after the call that it has made: `back`, unless that is Espalier's or MPI's own code (a
/// Fortran binding): then it is looked for on the stack, which takes microseconds.
const void* find_site(const void* back) noexcept;

/// "/path/of/the/object+0x12ab symbol": an address as addr2line takes it, within the call, and the symbol if the object
/// exports it. Empty where nothing is known.
std::string name_site(const void* site);

}  // namespace espalier::mpi
