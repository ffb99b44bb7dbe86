#pragma once
// Trying what ranks can do with their neighbours' memory.

#include <span>

#include "mpi/native/native.hpp"
#include "mpi/setup/agreement.hpp"
#include "mpi/setup/facts.hpp"

namespace espalier::mpi {

class Library;

struct Acquaintance {
  /// Every rank has mapped its node's arena.
  bool has_mapped = false;
  /// What works between every rank and its neighbours.
  SingleCopyMeans works;
};

/// Maps `arena`, and tries single copy on neighbours: those that share this rank's host and virtual node. All ranks of
/// `comm` call it, `facts` are theirs and `me` is the caller's rank; all get the same answer, by one round of messages.
/// Throws NativeFailure.
Acquaintance get_acquainted(Library& library, MPI_Comm comm, std::span<const Facts> facts, int me,
                            const transports::ArenaName& arena);

}  // namespace espalier::mpi
