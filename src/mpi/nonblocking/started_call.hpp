#pragma once
// One nonblocking call, from when it begins to when it is over.

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/calls/start.hpp"
#include "mpi/nonblocking/own_request.hpp"
#include "mpi/nonblocking/progress_queue.hpp"
#include "mpi/nonblocking/sizes_exchange.hpp"
#include "mpi/nonblocking/started_run.hpp"
#include "mpi/process/communicator.hpp"

namespace espalier::mpi {

class StartedCall : public Pending, public Start {
 public:
  /// `ready`: whose call it is, if that is known to be ready for it; null: that is to be found out. `made`: what
  /// others are told of it, its size aside.
  StartedCall(MPI_Comm comm, Communicator* ready, const plan::Call& made)
      : comm_(comm), communicator_(ready), made_(made) {
    if (ready == nullptr) readiness_.emplace(comm);
  }

  /// Once, before it is decided: what has to succeed before that.
  void precede(std::unique_ptr<Preparation> check) { check_ = std::move(check); }

  /// Whether native does it, and its request then, with the code of native's call. Once decided.
  bool is_natives() const { return is_natives_; }
  int take_natives(MPI_Request* request) const;
  /// Whether it ended before it ran, with that code of MPI's, which has been reported.
  bool has_failed() const { return code_.has_value(); }
  int code() const { return *code_; }

  /// What it is completed by; once, before it is queued.
  void stand_behind(OwnRequest& request) { request_ = &request; }

  /// As take(), where the call was decided elsewhere and none is before it: says at once what others may wait for.
  void take_first(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging);

  // ---- Start ----
  Scratch& memory() override { return memory_; }
  void take(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) override;
  std::optional<int> exchange(Communicator& communicator, const plan::Problem& problem, Sizes own,
                              std::function<std::optional<int>(Sizes)> next) override;
  std::optional<int> prepare(std::unique_ptr<Preparation> preparation,
                             std::function<std::optional<int>()> next) override;

  // ---- Pending ----
  bool decide(bool is_next) noexcept override;
  bool advance(bool is_next) noexcept override;
  bool advance_aside(bool is_next) noexcept override;
  bool wants_help() const noexcept override { return !run_ || run_->wants_help(); }
  void leave() noexcept override { request_->leave(); }

 protected:
  /// try_call(), and native's own. What they need outlives the call, as MPI has it of a pending call's arguments.
  virtual std::optional<int> attempt(Communicator& communicator) = 0;
  virtual int pass_on(MPI_Request* request) = 0;
  /// Counts it where native does all calls of the communicator.
  virtual void count(Communicator& communicator) = 0;

 private:
  /// What comes before anything can be decided.
  struct Before {
    std::unique_ptr<Preparation> preparation;
    std::function<std::optional<int>()> next;
  };
  bool find_out(bool is_next);
  bool pass_check(bool is_next);
  bool find_communicator();
  bool await_preparation(bool is_next);
  void settle(std::optional<int> code);
  bool test_native() noexcept;
  bool end(int code) noexcept;

  MPI_Comm comm_;
  Communicator* communicator_;  ///< as long as it is to be decided what the call is; null: none of ours
  const plan::Call made_;
  bool is_tried_ = false;
  OwnRequest* request_ = nullptr;
  std::unique_ptr<Preparation> check_;                ///< until it is over
  std::optional<Communicator::Readiness> readiness_;  ///< until it is known whose call it is
  std::optional<Before> before_;
  std::optional<int> code_;  ///< it failed before it ran
  bool is_natives_ = false;
  MPI_Request native_request_{};
  Scratch memory_;
  std::optional<StartedRun> run_;
  std::optional<int> first_;  ///< it was over with its first step
};

}  // namespace espalier::mpi
