#pragma once
// What a rank says of a call to all others of its communicator, for ESPALIER_CHECK, and where two of them do not fit.
// Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plan/calls.hpp"

namespace espalier::mpi {

/// Sent as bytes: all ranks have this library.
struct CallRecord {
  plan::Call call{};  ///< MPI lets calls of one form match only; bytes are those that all ranks have to agree on
  /// The one predefined type that all data are made of, whatever type of the program's own they are told by; empty
  /// where that says nothing: types that mix several, MPI_BYTE, MPI_PACKED. With equal bytes, other names are other
  /// signatures.
  char type[32] = {};
  /// The operation of a reduction, "MPI_SUM" (signature.hpp); empty: there is none.
  char op[24] = {};
};
static_assert(std::is_trivially_copyable_v<CallRecord>);

/// Two ranks whose calls do not fit together.
struct Misfit {
  enum Kind { operation, root, bytes, type, op };
  Kind kind = operation;
  int one = 0;
  int other = 0;
};

/// The gravest misfit, and of those the one of the lowest ranks: the same on all ranks, which have the same records.
std::optional<Misfit> find_misfit(std::span<const CallRecord> records);

/// What a rank sends each other in a call whose blocks may differ, and expects of each: in bytes, by rank; unknown: it
/// does not say. Of neighbourhoods also where nothing goes, not even an empty block.
struct Shares {
  static constexpr std::int64_t unknown = -1, no_edge = -2;

  std::vector<std::int64_t> sends, expects;
};
/// What a rank has found out of the others' sends, which all ranks are told.
struct ShareMisfit {
  static constexpr int none = -1;

  std::int32_t sender = none;
  std::int32_t unused = 0;
  std::int64_t sent = 0, expected = 0;
};
/// The first rank whose `sent` bytes to this one are not what this one expects.
ShareMisfit find_misfit(const Shares& mine, std::span<const std::int64_t> sent);
/// "rank 2 sends 64 bytes to rank 0, which expects 32, in MPI_Gatherv"; or "rank 2 has an edge to rank 0, which has
/// none from it, …".
std::string describe(const ShareMisfit& misfit, int receiver, const CallRecord& record);

/// "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Barrier".
std::string describe(const Misfit& misfit, std::span<const CallRecord> records);

}  // namespace espalier::mpi
