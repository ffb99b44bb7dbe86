#pragma once
// What MPI calls a collective, and how one is made: words for people.

#include <cstdint>

#include "plan/problem.hpp"

namespace espalier::plan {

/// How a call is made.
enum class CallForm : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr int call_forms = 3;

/// "MPI_Bcast" and so on; empty for what is no operation.
const char* mpi_name(Operation operation);
/// "blocking" and so on; empty for what is no form.
const char* name(CallForm form);

}  // namespace espalier::plan
