#pragma once
// A persistent collective (MPI 4.0, section 6.13): decided and staged once, run again and again.

#include <memory>
#include <optional>

#include "mpi/calls/start.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/nonblocking/started_run.hpp"
#include "mpi/process/communicator.hpp"

namespace espalier::mpi {

/// Ranks make a communicator's persistent calls in one order, and start them in any: each has a state of the
/// communicator of its own, with flags, tags and programs that are nobody else's.
class PersistentCall final : public Pending, public Start {
 public:
  /// A collective operation over `comm`, which blocks. Null, on all ranks alike, where calls on it are native's.
  /// `made`: what others are told of its runs, their size aside.
  static std::unique_ptr<PersistentCall> make(MPI_Comm comm, const plan::Call& made);
  ~PersistentCall() override;

  /// try_call() says what it is, once, with this as its Start and on this.
  Communicator& communicator() { return *communicator_; }
  /// What the call refers to lives as long.
  void keep(std::shared_ptr<const void> referred) { referred_ = std::move(referred); }

  /// MPI_Start, by the request that stands for it. MPI's code.
  int start(OwnRequest& request);

  // ---- Start ----
  Scratch& memory() override { return memory_; }
  void take(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) override;
  std::optional<int> exchange(Communicator& communicator, const plan::Problem& problem, Sizes own,
                              std::function<std::optional<int>(Sizes)> next) override;
  std::optional<int> prepare(std::unique_ptr<Preparation> preparation,
                             std::function<std::optional<int>()> next) override;

  // ---- Pending ----
  bool decide(bool) noexcept override { return true; }
  bool advance(bool is_next) noexcept override;
  bool advance_aside(bool is_next) noexcept override;
  bool wants_help() const noexcept override { return run_->wants_help(); }
  void leave() noexcept override { request_->leave(); }

 private:
  PersistentCall(MPI_Comm comm, std::unique_ptr<Communicator> communicator, const plan::Call& made);

  MPI_Comm comm_;
  const plan::Call made_;
  std::unique_ptr<Communicator> communicator_;
  std::shared_ptr<const void> referred_;
  Scratch memory_;
  Entry* entry_ = nullptr;            ///< the last that was prepared there, hence good
  std::unique_ptr<Staging> staging_;  ///< until it first runs
  std::optional<StartedRun> run_;
  OwnRequest* request_ = nullptr;
};

}  // namespace espalier::mpi
