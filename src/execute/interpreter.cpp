#include "execute/interpreter.hpp"

#include <cstring>

#include "execute/copy.hpp"

namespace espalier::execute {

using plan::Buffer;
using plan::Op;
using plan::Step;

namespace {

/// Of reductions onto the same bytes, those that are done at a time.
constexpr std::size_t most_operands = 15;

void expose(Exposure& exposure, const Buffers& buffers) {
  exposure.address[static_cast<int>(Buffer::input)] = buffers.input;
  exposure.address[static_cast<int>(Buffer::output)] = buffers.output;
  exposure.address[static_cast<int>(Buffer::scratch)] = buffers.scratch;
}

}  // namespace

Interpreter::Interpreter(const plan::Program& program, const Buffers& buffers, const Environment& environment) noexcept
    : program_(program), environment_(environment), next_(program.steps.data()) {
  Seat* seat = environment.seat;
  const bool has_windows = seat != nullptr && seat->board().origin() != nullptr;
  std::byte* const window = has_windows ? seat->board().window(seat->me(), seat->call()) : nullptr;
  bases_[static_cast<int>(Buffer::input)] = buffers.input;
  bases_[static_cast<int>(Buffer::output)] = buffers.output;
  bases_[static_cast<int>(Buffer::scratch)] = buffers.scratch;
  bases_[static_cast<int>(Buffer::window)] = window;
  // Neighbours read the addresses only after a flag that this program posts later; that post releases them. In a call
  // that begins again the flag may be up already, and only the statement keeps them away: so it comes last.
  if (program.is_exposed) expose(seat->board().exposure(seat->me()), buffers);
  if (environment.stated) seat->state(*environment.stated);
}

bool Interpreter::reach(const Step& step) const noexcept {
  const LocalRank owner = step.neighbour();
  std::byte* theirs =
      environment_.seat->board().exposure(owner).address[static_cast<int>(step.far_buffer())] + step.far_offset();
  std::byte* mine = address(step.buffer(), step.offset());
  if (step.op() == Op::pull)
    return environment_.single_copy->read(owner, theirs, mine, step.bytes()) && !environment_.seat->has_left(owner);
  return !environment_.seat->has_left(owner) && environment_.single_copy->write(owner, theirs, mine, step.bytes());
}

const std::byte* Interpreter::operand_of(const Step& step) const noexcept {
  if (step.far_buffer() != Buffer::window) return address(step.far_buffer(), step.far_offset());
  Seat* const seat = environment_.seat;
  return seat->board().window(step.neighbour(), seat->call()) + step.far_offset();
}

const Step* Interpreter::combine(const Step* first, const std::byte* right) const noexcept {
  std::byte* const into = address(first->buffer(), first->offset());
  const Bytes bytes = first->bytes();
  const std::byte* operands[most_operands];
  std::size_t count = 0;
  const Step* step = first;
  const Step* const end = program_.steps.data() + program_.steps.size();
  // Simulated time is spent step by step.
  const std::size_t most = environment_.meter == nullptr ? most_operands : 1;
  const auto reduces_there = [&] {
    return step->op() == Op::reduce && step->bytes() == bytes && address(step->buffer(), step->offset()) == into;
  };
  do operands[count++] = operand_of(*step++);
  while (count < most && step != end && reduces_there());
  environment_.reducer->combine_several({operands, count}, right, into, bytes);
  for (const Step* read = first; read != step; ++read) take_over_if_asked(*read);
  return step - 1;
}

bool Interpreter::takes_over(const Step& step) const noexcept {
  const bool enters_window = step.op() == Op::get || (step.op() == Op::reduce && step.far_buffer() == Buffer::window);
  return enters_window && step.bytes() >= least_with_ways && program_.has_one_reader &&
         environment_.seat->takes_over_from(step.neighbour());
}

void Interpreter::take_over_if_asked(const Step& step) const noexcept {
  if (!takes_over(step)) return;
  Seat* const seat = environment_.seat;
  const Bytes offset = step.op() == Op::get ? step.window_offset() : step.far_offset();
  take_over(seat->board().window(step.neighbour(), seat->call()) + offset, step.bytes());
}

void Interpreter::transfer(const Step& step, std::byte* from, std::byte* into) noexcept {
  const Step* const next = next_ + 1;
  const bool is_operand = next != program_.steps.data() + program_.steps.size() && next->op() == Op::reduce &&
                          next->bytes() == step.bytes() && address(next->buffer(), next->offset()) == into;
  if (is_operand) {
    next_ = combine(next, from);
    take_over_if_asked(step);
  } else if (into == from) {  // under MPI_IN_PLACE
    return;
  } else if (step.op() == Op::put && step.bytes() >= least_with_ways && program_.has_one_reader) {
    Seat& seat = *environment_.seat;
    copy_for_reader(into, from, step.bytes(), seat.next_way(), seat.closeness());
  } else if (program_.stores == plan::Stores::streaming && step.op() != Op::put && step.bytes() >= least_streamed) {
    copy_streaming(into, from, step.bytes());  // not into cells: neighbours will read those out of the cache
    take_over_if_asked(step);
  } else if (takes_over(step)) {
    copy_taking_over(into, from, step.bytes());
  } else {
    copy_bytes(into, from, step.bytes());
  }
}

void Interpreter::post(const Step& step) noexcept {
  if (environment_.meter != nullptr) return environment_.meter->post(*environment_.seat, step.flag(), step.tick());
  environment_.seat->post(step.flag(), step.tick());
}

// What a neighbour's flag says is meant for those who do the same.
Interpreter::Outcome Interpreter::compare(LocalRank neighbour) const noexcept {
  return environment_.seat->differs(neighbour) ? Outcome::differs : Outcome::next;
}

Interpreter::Outcome Interpreter::compare_all() noexcept {
  const Seat& seat = *environment_.seat;
  for (int r = 0; r < seat.ranks(); ++r)
    if (LocalRank(r) != seat.me() && seat.differs(LocalRank(r))) {
      differing_ = LocalRank(r);
      return Outcome::differs;
    }
  return Outcome::next;
}

Interpreter::Outcome Interpreter::execute(const Step& step) noexcept {
  Seat* seat = environment_.seat;
  const auto verdict = [](bool is_fine) { return is_fine ? Outcome::next : Outcome::broken; };
  switch (step.op()) {
    case Op::await:
      if (!seat->reached(step.neighbour(), step.flag(), step.tick(), step.calls_back())) return Outcome::wait;
      return step.calls_back() > 0 ? Outcome::next : compare(step.neighbour());
    case Op::await_all:
      if (!seat->all_reached(step.flag(), step.tick(), step.calls_back())) return Outcome::wait;
      return step.calls_back() > 0 ? Outcome::next : compare_all();
    case Op::post: post(step); return Outcome::next;
    case Op::put:
      transfer(step, address(step.buffer(), step.offset()), address(Buffer::window, step.window_offset()));
      return Outcome::next;
    case Op::get:
      transfer(step, seat->board().window(step.neighbour(), seat->call()) + step.window_offset(),
               address(step.buffer(), step.offset()));
      return Outcome::next;
    case Op::copy:
      transfer(step, address(step.far_buffer(), step.far_offset()), address(step.buffer(), step.offset()));
      return Outcome::next;
    case Op::reduce: next_ = combine(&step, address(step.buffer(), step.offset())); return Outcome::next;
    case Op::pull:
    case Op::push: return seat->differs(step.neighbour()) ? Outcome::differs : verdict(reach(step));
    case Op::send:
      return verdict(environment_.network->start_send(step.slot(), step.peer(), address(step.buffer(), step.offset()),
                                                      step.bytes()));
    case Op::recv:
      return verdict(environment_.network->start_recv(step.slot(), step.peer(), address(step.buffer(), step.offset()),
                                                      step.bytes()));
    case Op::finish:
      switch (environment_.network->test(step.slot())) {
        case Network::Progress::complete: return Outcome::next;
        case Network::Progress::pending: return Outcome::wait;
        case Network::Progress::differs: return Outcome::differs;
        case Network::Progress::broken: return Outcome::broken;
      }
  }
  return Outcome::broken;
}

Status Interpreter::advance() noexcept {
  const Step* const end = program_.steps.data() + program_.steps.size();
  for (; next_ != end; ++next_) {
    if (environment_.meter != nullptr) environment_.meter->spend({next_, end});
    const Outcome outcome = execute(*next_);
    if (outcome == Outcome::wait) return Status::waiting;
    if (outcome == Outcome::differs) return Status::differs;
    if (outcome == Outcome::broken) return Status::failed;
  }
  return Status::done;
}

Bell* Interpreter::bell() const noexcept {
  return next_->op() == Op::finish ? nullptr : environment_.seat->missed_bell();
}

std::optional<LocalRank> Interpreter::other() const noexcept {
  if (next_->op() == Op::finish) return std::nullopt;
  if (next_->op() != Op::await_all) return next_->neighbour();
  return differing_ ? differing_ : std::optional(environment_.seat->missed());
}

}  // namespace espalier::execute
