#pragma once
// Sizes that ranks tell each other before it can be decided what a call is.

#include <memory>
#include <utility>

#include "mpi/calls/start.hpp"
#include "mpi/nonblocking/started_run.hpp"

namespace espalier::mpi {

class SizesExchange final : public Preparation {
 public:
  /// A broadcast or an allgather of `own`, as the entry has it, for the call that the program has made; all arguments
  /// outlive it.
  SizesExchange(Communicator& communicator, MPI_Comm comm, Entry& entry, Scratch& memory, Start::Sizes own,
                const plan::Call& made)
      : own_(std::move(own)) {
    const bool is_broadcast = entry.problem.operation == plan::Operation::broadcast;
    all_.resize(is_broadcast ? 0 : own_.size() * static_cast<std::size_t>(communicator.ranks()));
    const auto bytes_of = [](Start::Sizes& sizes) { return reinterpret_cast<std::byte*>(sizes.data()); };
    run_.emplace(communicator, comm, entry,
                 std::make_unique<Unstaged>(Stage{communicator, entry.problem, memory}, bytes_of(own_),
                                            bytes_of(is_broadcast ? own_ : all_)),
                 made);
  }
  SizesExchange(const SizesExchange&) = delete;
  SizesExchange& operator=(const SizesExchange&) = delete;

  /// As StartedRun::advance().
  std::optional<int> advance(bool is_next) noexcept override { return run_->advance(is_next); }
  /// Once it is over: what all have told.
  Start::Sizes take() { return std::move(all_.empty() ? own_ : all_); }

 private:
  Start::Sizes own_, all_;
  std::optional<StartedRun> run_;
};

}  // namespace espalier::mpi
