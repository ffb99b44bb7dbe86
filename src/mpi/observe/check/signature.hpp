#pragma once
// What data are made of, and what a reduction does to them: names that are the same in all processes (ESPALIER_CHECK).

#include <string>

#include "mpi/native/native.hpp"

namespace espalier::mpi {

/// The predefined type that every element of a type consists of: "MPI_DOUBLE" also for vectors, slices and structs of
/// doubles. Empty: it mixes several, or MPI does not say.
std::string base_type(MPI_Datatype type);

/// "MPI_SUM", or "an own MPI_Op" for the program's.
std::string name_operation(MPI_Op op);

}  // namespace espalier::mpi
