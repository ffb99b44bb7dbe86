#pragma once
// The meaning of each operation: what its callers bring, and what they must find in the end.

#include <string>
#include <vector>

#include "plan/program.hpp"
#include "verify/memory.hpp"

namespace espalier::verify {

/// Bytes that hold nothing yet.
Contents nothing(Bytes bytes);

/// What rank `me` brings in its input, in its output (the root of a broadcast), and in its output under MPI_IN_PLACE.
Contents brought_input(const plan::Plan& plan, Rank me);
Contents brought_output(const plan::Plan& plan, Rank me);
Contents brought_in_place(const plan::Plan& plan, Rank me);

/// What every rank must find in its output.
Contents wanted_output(const plan::Plan& plan);

/// A run of bytes in which two contents differ.
struct Difference {
  Extent where;
  Value found;
  Value wanted;
};
/// Both must be equally long.
std::vector<Difference> compare(const Contents& found, const Contents& wanted);

/// "byte 128 of what rank 3 brought".
std::string to_string(const Value& value, const plan::Plan& plan);

}  // namespace espalier::verify
