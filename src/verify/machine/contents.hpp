#pragma once
// The meaning of each operation: what its callers bring, and what they must find in the end.

#include <string>
#include <vector>

#include "plan/program.hpp"
#include "verify/machine/expressions.hpp"

namespace espalier::verify {

/// Bytes that hold nothing yet.
Contents nothing(Bytes bytes);

/// What rank `me` brings in its input, and in its output (the root of a broadcast).
Contents brought_input(const plan::Plan& plan, Rank me);
Contents brought_output(const plan::Plan& plan, Rank me);

/// A smaller buffer inside a larger one of `bytes`.
Contents embedded(const Contents& part, Bytes offset, Bytes bytes);

/// What rank `me` must find in its output, as long as that is no reduction.
Contents wanted_output(const plan::Plan& plan, Rank me);

/// The ranks whose contributions rank `me` must find combined in its output, first to last, and where in those
/// contributions the output begins.
struct Wanted {
  int first = 0;
  int last = 0;
  Bytes offset = 0;
};
Wanted wanted_reduction(const plan::Plan& plan, Rank me);

/// Whether an expression combines each of these ranks once, in rank order unless the operation is commutative.
bool is_wanted(const Expressions& expressions, std::uint32_t expression, const Wanted& wanted, bool is_commutative);

/// A run of bytes in which two contents differ.
struct Difference {
  Extent where;
  Value found;
  Value wanted;
};
/// Both must be equally long.
std::vector<Difference> compare(const Contents& found, const Contents& wanted);

/// Both operands of a reduction, as one. Both must be equally long.
Contents combine(const Contents& left, const Contents& right, Expressions& expressions);

/// "byte 128 of what rank 3 brought", "byte 0 of ranks 0 o 1 o 2".
std::string to_string(const Value& value, const plan::Plan& plan, const Expressions& expressions);

}  // namespace espalier::verify
