#pragma once
// What every entry point does: find MPI, try the call, pass it on.

#include <exception>
#include <optional>

#include "mpi/calls.hpp"

// Wants mpi.h in front of it.
#include "espalier/espalier.h"

#define ESPALIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace espalier::mpi {

/// The code to return from an entry point. `pass_on` makes the same call on the native library.
/// Inlined, so that arguments reach the call in registers.
template <class Call, class PassOn>
[[gnu::always_inline]] inline int enter(const Call& call, const PassOn& pass_on) noexcept {
  const Native* mpi = find_native();
  if (mpi == nullptr) return MPI_ERR_INTERN;  // find_native has said why
  std::optional<int> code;
  try {
    code = try_call(call);
  } catch (const std::exception&) {  // out of memory: other ranks may be under way, so native is no way out
    mpi->Comm_call_errhandler(call.comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
  return code ? *code : pass_on(*mpi);
}

}  // namespace espalier::mpi
