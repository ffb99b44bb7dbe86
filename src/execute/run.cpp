#include "execute/run.hpp"

namespace espalier::execute {

/// Whether it has what it needs before the first step: neighbours that are no further behind than statements reach, and
/// a window.
bool Run::begin() noexcept {
  Seat* const seat = environment_.seat;
  if (environment_.stated && !seat->may_state()) return false;
  lacks_window_ = program_.window_bytes > 0 && !seat->open_window();
  if (lacks_window_) return false;
  if (environment_.stated && environment_.vouches) seat->vouch(*environment_.stated);
  interpreter_.emplace(program_, buffers_, environment_);
  looks_ = 0;
  return true;
}

std::optional<Ending> Run::advance() noexcept {
  if (interpreter_ || begin()) return step();
  ++looks_;
  if (environment_.stated && environment_.seat->has_leaver()) return Ending{Ending::broken};
  return std::nullopt;
}

std::optional<Ending> Run::step() noexcept {
  const Status status = interpreter_->advance();
  if (status == Status::failed) return Ending{Ending::broken};
  if (status == Status::done) {
    if (program_.window_bytes > 0) environment_.seat->close_window();
    return Ending{};
  }
  if (interpreter_->position() != stood_at_) looks_ = 0;
  stood_at_ = interpreter_->position();
  return ask(status);
}

std::optional<Ending> Run::ask(Status status) noexcept {
  const bool is_due = status == Status::differs || Waiter::is_question_due(looks_);
  ++looks_;
  return is_due && arbiter_ != nullptr ? arbiter_->judge(interpreter_->other()) : std::nullopt;
}

Bell* Run::bell() const noexcept {
  if (interpreter_) return interpreter_->bell();
  return lacks_window_ ? nullptr : environment_.seat->missed_bell();
}

Ending Run::finish(Waiter& waiter) noexcept {
  for (;;) {
    const std::uint32_t waited = looks_;
    const std::optional<Ending> ending = advance();
    if (ending || looks_ <= waited) waiter.end(waited);
    if (ending) return *ending;
    std::uint32_t attempt = looks_ - 1;
    if (!waiter.wait(attempt, bell())) return {Ending::broken};
    looks_ = attempt;
  }
}

}  // namespace espalier::execute
