#pragma once
// What the v-forms need first: every rank must know the sizes that decide who sends how much to whom.

#include <functional>
#include <optional>
#include <vector>

#include "mpi/buffers/side.hpp"
#include "mpi/calls/start.hpp"
#include "mpi/process/communicator.hpp"

namespace espalier::mpi {

/// Beyond this many ranks, sizes that have to be exchanged first are left to native: every pair's size, known to all,
/// would be more data than the call itself, and a row no longer fits a short message.
inline constexpr int most_exchanging_ranks = 512;
inline constexpr const char* too_many_ranks = "sizes of more than 512 ranks to exchange";

/// Counts a call that native is to do without an exchange of sizes. Always empty.
std::optional<int> leave_uneven(Communicator& communicator, plan::Operation operation);

/// In place of sizes, from a rank whose data are nowhere, where native may not be left alone with it.
inline constexpr Bytes unknown_size = ~Bytes{0};

/// A call in which somebody said so: `is_mine` where that was this rank. Reported there; others have nothing to report,
/// and nothing came of it.
std::optional<int> refuse_unknown(MPI_Comm comm, plan::Operation operation, bool is_mine);

bool are_known(const std::vector<Bytes>& sizes);

/// The blocks of `ranks` ranks in elements of `size` bytes, for Engine::passes_on(). Whatever it is for counts that MPI
/// forbids: native refuses them.
inline Deal deal_of(const Numbers& counts, int ranks, MPI_Count size) {
  MPI_Count elements = 0;
  bool is_uneven = false;
  for (int r = 0; r < ranks; ++r) {
    elements += counts[r];
    is_uneven = is_uneven || counts[r] != counts[0];
  }
  return {multiply(elements, size), is_uneven};
}

/// Bytes of each rank's block; unknown ones without a side.
std::vector<Bytes> sizes_of(const Side* side, int ranks);

/// The root's sizes become everybody's; `sizes` has room for one per rank. Returns MPI's code. Collective.
int share_sizes(Communicator& communicator, MPI_Comm comm, int root, std::vector<Bytes>& sizes);

/// Every rank's row of sizes, [from * ranks + to]. Returns MPI's code. Collective.
int share_rows(Communicator& communicator, MPI_Comm comm, const std::vector<Bytes>& row, std::vector<Bytes>& matrix);

/// The same of a call that must not wait: the root's sizes of a scatter or gather, or each rank's row of an alltoall.
/// Then `next(sizes)` goes on. What try_call() returns.
std::optional<int> share_sizes_first(Communicator& communicator, plan::Operation operation, int root,
                                     std::vector<Bytes> own, Start& start,
                                     std::function<std::optional<int>(std::vector<Bytes>)> next);

/// Sizes whose mean is the problem's: half of that and one and a half in turn, the last of an odd number the mean. Of
/// whole elements.
std::vector<Bytes> deal_unevenly(const plan::Problem& problem, int ranks);

/// The problem with these sizes; a uniform one when they are all equal, which has shorter paths and serves more calls.
plan::Problem make_uneven(plan::Operation operation, int root, std::vector<Bytes> sizes);

}  // namespace espalier::mpi
