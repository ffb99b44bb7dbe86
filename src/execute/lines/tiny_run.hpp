#pragma once
// The dedicated path of short messages in steps that wait for nobody: what a run is to a program.

#include <optional>

#include "execute/interpreter.hpp"
#include "execute/lines/tiny_call.hpp"
#include "execute/waiting/now_and_then.hpp"

namespace espalier::execute {

/// Whether the seat's next call, if it is one of this problem, with plan::is_tiny and without counts, is sure not to
/// wait: this rank only writes, and may; or only reads, and all of it is there.
bool is_at_hand(Seat& seat, const plan::Problem& problem) noexcept;

class TinyRun {
 public:
  /// Begins a call of such a problem, as run_tiny() has it; no other of this seat begins before it is over. All
  /// arguments outlive it. One that goes before that never says that it is done.
  TinyRun(Seat& seat, const plan::Problem& problem, const Buffers& buffers, const Reducer* reducer) noexcept;
  ~TinyRun();
  TinyRun(const TinyRun&) = delete;
  TinyRun& operator=(const TinyRun&) = delete;

  /// As far as it gets: nothing while this rank may not write yet, or lacks something of the others; else how it ended,
  /// after which it is not advanced any more.
  std::optional<Ending> advance() noexcept;

 private:
  /// What is there is read in one go. Its writer may do something else instead, and be at that still.
  class Moments final : public Waiter {
    bool pause(std::uint32_t attempt, Bell* bell) noexcept override;
    bool has_hope(bool is_first) noexcept override;
    std::uint32_t questions_ = 0;
  };

  bool may_read() noexcept;

  Seat& seat_;
  const plan::Problem& problem_;
  const Buffers buffers_;
  Moments moments_;
  std::optional<TinyCall> call_;  ///< until it is over
  Message own_{};
  bool has_written_ = false;
  int there_ = 1;  ///< those before it, counted from this rank on, have written
  NowAndThen now_and_then_;
};

}  // namespace espalier::execute
