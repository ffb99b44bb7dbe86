#pragma once
// What a rank says of a call to all others of its communicator, for ESPALIER_CHECK, and where two of them do not fit.
// Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plan/calls.hpp"

namespace espalier::mpi {

/// Sent as bytes.
struct CallRecord {
  static constexpr std::int64_t unknown = -1;

  std::uint8_t operation = 0;  ///< plan::Operation
  std::uint8_t has_counts = 0;
  std::uint8_t unused[2] = {};
  std::int32_t root = 0;         ///< 0 where the operation has none
  std::int64_t bytes = unknown;  ///< of a block, or of the message: what all ranks have to agree on
  /// The type that the data are said to be of; empty where that says nothing: a type of the program's own, MPI_BYTE or
  /// MPI_PACKED. With equal bytes, types of different names are different signatures.
  char type[32] = {};
};
static_assert(sizeof(CallRecord) == 48);

/// Two ranks whose calls do not fit together.
struct Misfit {
  enum Kind { operation, root, bytes, type };
  Kind kind = operation;
  int one = 0;
  int other = 0;
};

/// The gravest misfit, and of those the one of the lowest ranks: the same on all ranks, which have the same records.
std::optional<Misfit> find_misfit(std::span<const CallRecord> records);

/// "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Barrier".
std::string describe(const Misfit& misfit, std::span<const CallRecord> records);

}  // namespace espalier::mpi
