#pragma once
// Calls whose blocks are not as long as the problem says, on this rank: it has more or less room than is sent to it, or
// less to send than it was told. MPI forbids that, but programs get by with more room than they need.

#include <vector>

#include "mpi/calls/staging.hpp"

namespace espalier::mpi {

/// One side's blocks as the problem wants them, one behind the other.
class FittedSide {
 public:
  /// Null: there is none.
  FittedSide(const Side* side, std::vector<Bytes> sizes);

  std::byte* memory() { return side_ ? memory_.data() : nullptr; }
  /// Whether all that the caller has finds room in what the problem wants, or the reverse.
  bool holds_callers() const;
  bool fits_callers() const;
  int fetch(MPI_Comm comm);
  int deliver(MPI_Comm comm);

 private:
  std::optional<Side> side_;
  std::vector<Bytes> sizes_;
  std::vector<std::byte> memory_;
};

/// Blocks as the problem wants them; the caller gets as much of them as there is room for, and the call ends as
/// truncated where something was left out.
class Fitted final : public Staging {
 public:
  Fitted(const Stage& stage, const Sides& sides);
  int fetch(MPI_Comm comm) override { return input_.fetch(comm); }
  int deliver(MPI_Comm comm, execute::Ending& ending) override;

 private:
  FittedSide input_, output_;
};

/// Whether such a call can be run as it is: ranks' own sizes may well differ from each other, and lines say each: with
/// room for all that the caller has room for, nothing is lost.
bool fits_lines(const Entry& entry, const Sides& sides);
/// Runs it then, and returns MPI's code, if the call is ours after all.
std::optional<int> run_in_lines(Communicator& communicator, MPI_Comm comm, Entry& entry, const Sides& sides);

}  // namespace espalier::mpi
