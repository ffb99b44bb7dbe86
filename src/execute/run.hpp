#pragma once
// A run: one rank's program in one call, from the first look at its neighbours to the end. It never waits: whoever has
// it advances it, in a loop (a blocking call) or now and then (a nonblocking one).

#include <cstdint>
#include <optional>

#include "execute/ending.hpp"
#include "execute/interpreter.hpp"

namespace espalier::execute {

/// Asked now and then by who waits long, or at once where somebody says that it does something else: how the call ends;
/// nothing where it may go on.
class Arbiter {
 public:
  virtual ~Arbiter() = default;
  /// `other`: the neighbour that is waited for; none: a message is.
  virtual std::optional<Ending> judge(std::optional<LocalRank> other) noexcept = 0;
};

class Run {
 public:
  /// In the call that the seat has just begun; no other of this seat begins before it is over. What the arguments name
  /// outlives it. Without an arbiter ranks are sure to do the same.
  Run(const plan::Program& program, const Buffers& buffers, const Environment& environment,
      Arbiter* arbiter = nullptr) noexcept
      : program_(program), buffers_(buffers), environment_(environment), arbiter_(arbiter) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Goes on as far as it can: nothing while something is missing, else how it ended, after which it is not advanced
  /// any more. No allocation, lock or system call but the transports' own.
  std::optional<Ending> advance() noexcept;

  /// After an advance() that gave nothing: what is rung when it may go on; null where nobody rings.
  Bell* bell() const noexcept;

  /// Advances it to its end, pausing with `waiter`.
  Ending finish(Waiter& waiter) noexcept;

 private:
  bool begin() noexcept;
  std::optional<Ending> step() noexcept;
  std::optional<Ending> ask(Status status) noexcept;

  const plan::Program& program_;
  Buffers buffers_;
  Environment environment_;
  Arbiter* arbiter_;
  std::optional<Interpreter> interpreter_;  ///< once it may touch what neighbours see
  std::size_t stood_at_ = 0;
  std::uint32_t looks_ = 0;  ///< in a row that found the same thing missing
  bool lacks_window_ = false;
};

}  // namespace espalier::execute
