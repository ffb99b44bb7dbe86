#pragma once
// How a nonblocking call begins that no other is before. If nothing has to be waited for, it is over then: a root has
// written, or others have sent what it takes. Else it becomes one for the queue, and what it has to say has been said.

#include <memory>
#include <utility>

#include "mpi/nonblocking/started_call.hpp"

namespace espalier::mpi {

/// `Make()` gives the call for the queue, as a std::unique_ptr<StartedCall>.
template <class Make>
class QuickStart final : public Start {
 public:
  explicit QuickStart(const Make& make) : make_(make) {}

  /// After try_call() gave MPI_SUCCESS: whether the call was done; else what is to be queued. Null: nothing has
  /// happened, and it is to be begun in the other way.
  bool is_over() const { return is_over_; }
  std::unique_ptr<StartedCall> call() { return std::exchange(call_, nullptr); }

  // ---- Start ----
  When when(Communicator& communicator, const Entry& entry) override {
    is_over_ = entry.kind == Entry::Kind::tiny && communicator.engine()->is_at_hand(entry.problem);
    return is_over_ ? When::now : When::later;
  }
  Scratch& memory() override {
    call_ = make_();
    return call_->memory();
  }
  void take(Communicator& communicator, Entry& entry, std::unique_ptr<Staging> staging) override {
    call_->take_first(communicator, entry, std::move(staging));
  }
  std::optional<int> exchange(Communicator&, const plan::Problem&, Sizes,
                              std::function<std::optional<int>(Sizes)>) override {
    return MPI_SUCCESS;
  }
  std::optional<int> prepare(std::unique_ptr<Preparation>, std::function<std::optional<int>()>) override {
    return MPI_SUCCESS;
  }

 private:
  const Make& make_;
  std::unique_ptr<StartedCall> call_;
  bool is_over_ = false;
};

}  // namespace espalier::mpi
