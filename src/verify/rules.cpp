#include "verify/rules.hpp"

#include <set>

namespace espalier::verify {
namespace {

using plan::Buffer;
using plan::Op;
using plan::Step;

/// Walks one program, keeping the state of its slots and flags.
class ProgramCheck {
 public:
  ProgramCheck(const plan::Plan& plan, Rank me, Report& report)
      : plan_(plan), program_(plan.programs[static_cast<std::size_t>(me.value)]), me_(me), report_(report) {}

  void run() {
    if (program_.window_bytes > plan_.topology.capabilities().window_bytes)
      add(Kind::bounds, "needs " + std::to_string(program_.window_bytes) + " bytes of a window of " +
                            std::to_string(plan_.topology.capabilities().window_bytes));
    for (const Step& step : program_.steps) {
      check(step);
      ++at_;
    }
    if (!busy_.empty()) add(Kind::slot, "slot " + std::to_string(*busy_.begin()) + " is never finished");
    if (neighbours().size() > 1) check_end();
  }

 private:
  void check(const Step& step) {
    switch (step.op()) {
      case Op::send: return reads(step), talks(step);
      case Op::recv: return writes(step), talks(step);
      case Op::finish: return finishes(step);
      case Op::put: return reads(step), reaches(me_, Buffer::window, step.window_offset(), step.bytes());
      case Op::get: return writes(step), enters_window(step);
      case Op::pull: return writes(step), enters_private(step);
      case Op::push: return reads(step), enters_private(step);
      case Op::post: return posts(step);
      case Op::await: return awaits(step);
      case Op::await_all: return static_cast<void>(has_valid_tick(step));
      case Op::copy: return writes(step), copies(step);
      case Op::reduce: return writes(step), reduces(step);
    }
  }

  void reads(const Step& step) {
    reaches(me_, step.buffer(), step.offset(), step.bytes());
    expect_private(step, step.buffer());
  }

  void writes(const Step& step) {
    reads(step);
    if (step.buffer() == Buffer::input) add(Kind::input, "writes the caller's input", step);
  }

  void copies(const Step& step) {
    reaches(me_, step.far_buffer(), step.far_offset(), step.bytes());
    expect_private(step, step.far_buffer());
  }

  void reduces(const Step& step) {
    Rank owner;
    if (!find_neighbour(step, owner)) return;
    const bool is_shared = step.far_buffer() == Buffer::window;
    reaches(owner, step.far_buffer(), step.far_offset(), step.bytes());
    if (!is_shared && owner != me_) add(Kind::bounds, "reduces a private buffer of a neighbour", step);
    if (step.bytes() % plan_.problem.element != 0) add(Kind::bounds, "reduces a part of an element", step);
    if ((is_shared && step.far_offset() % plan::reduce_alignment != 0) ||
        (step.buffer() == Buffer::window && step.offset() % plan::reduce_alignment != 0))
      add(Kind::bounds, "reduces in a window at no multiple of " + std::to_string(plan::reduce_alignment), step);
  }

  /// The window is reached by put, get, send, recv and reduce; elsewhere only private buffers make sense.
  void expect_private(const Step& step, Buffer buffer) {
    const bool may_be_window = step.op() == Op::send || step.op() == Op::recv || step.op() == Op::reduce;
    if (buffer == Buffer::window && !may_be_window)
      add(Kind::bounds, std::string(plan::name(step.op())) + " names a window where it needs a private buffer", step);
  }

  void reaches(Rank owner, Buffer buffer, Bytes offset, Bytes bytes) {
    const Bytes size = size_of(plan_, owner, buffer);
    if (offset <= size && bytes <= size - offset) return;
    report_.add({Kind::bounds, me_, at_, 1, buffer, offset, offset + bytes,
                 "rank " + std::to_string(owner.value) + "'s " + plan::name(buffer) + " has only " +
                     std::to_string(size) + " bytes here"});
  }

  void talks(const Step& step) {
    if (step.slot() >= program_.slots)
      add(Kind::slot,
          "slot " + std::to_string(step.slot()) + " of " + std::to_string(program_.slots) + " does not exist");
    else if (!busy_.insert(step.slot()).second)
      add(Kind::slot, "slot " + std::to_string(step.slot()) + " is still busy");
    const int peer = step.peer().value;
    if (peer < 0 || peer >= plan_.topology.ranks())
      add(Kind::peer, "there is no rank " + std::to_string(peer));
    else if (plan_.topology.node_of(step.peer()) == plan_.topology.node_of(me_))
      add(Kind::peer, "rank " + std::to_string(peer) + " sits on the same node: messages are for other nodes");
  }

  void finishes(const Step& step) {
    if (busy_.erase(step.slot()) == 0)
      add(Kind::slot, "slot " + std::to_string(step.slot()) + " holds no message to finish");
  }

  /// The rank behind a local rank; reports and returns false when there is none.
  bool find_neighbour(const Step& step, Rank& rank) {
    const int local = step.neighbour().value;
    if (local < 0 || local >= static_cast<int>(neighbours().size())) {
      add(Kind::peer, "there is no local rank " + std::to_string(local) + " on this node");
      return false;
    }
    rank = neighbours()[static_cast<std::size_t>(local)];
    return true;
  }

  void enters_window(const Step& step) {
    if (Rank owner; find_neighbour(step, owner)) reaches(owner, Buffer::window, step.window_offset(), step.bytes());
  }

  void enters_private(const Step& step) {
    Rank owner;
    if (!find_neighbour(step, owner)) return;
    reaches(owner, step.far_buffer(), step.far_offset(), step.bytes());
    expect_private(step, step.far_buffer());
    if (step.op() == Op::push && step.far_buffer() == Buffer::input)
      add(Kind::input, "writes rank " + std::to_string(owner.value) + "'s input", step);
    if (owner != me_ && !plan_.programs[static_cast<std::size_t>(owner.value)].is_exposed)
      add(Kind::exposure, "rank " + std::to_string(owner.value) + " does not expose its buffers", step);
    if (!plan_.topology.capabilities().single_copy)
      add(Kind::exposure, "this topology does not allow single copies", step);
  }

  void posts(const Step& step) {
    if (!has_valid_tick(step)) return;
    std::uint64_t& last = ticks_[static_cast<int>(step.flag())];
    if (step.tick() <= last)
      add(Kind::flag,
          std::string(plan::name(step.flag())) + " does not grow: it was " + std::to_string(last) + " already");
    last = step.tick();
  }

  void awaits(const Step& step) {
    Rank owner;
    if (find_neighbour(step, owner)) has_valid_tick(step);
  }

  bool has_valid_tick(const Step& step) {
    if (static_cast<int>(step.flag()) >= plan::flag_count) return add(Kind::flag, "there is no such flag"), false;
    if (step.tick() >= 1 && step.tick() <= plan::max_tick) return true;
    add(Kind::flag, "tick " + std::to_string(step.tick()) + " is outside 1 … " + std::to_string(plan::max_tick));
    return false;
  }

  void check_end() {
    if (program_.steps.empty() || program_.steps.back() != Step::post(plan::Flag::done, 1))
      add(Kind::flag, "a program with node neighbours must end by posting done = 1");
  }

  std::span<const Rank> neighbours() const { return plan_.topology.ranks_on(plan_.topology.node_of(me_)); }

  void add(Kind kind, std::string text) { report_.add({kind, me_, at_, 1, Buffer::input, 0, 0, std::move(text)}); }
  void add(Kind kind, std::string text, const Step& step) {
    report_.add({kind, me_, at_, 1, step.buffer(), step.offset(), step.offset() + step.bytes(), std::move(text)});
  }

  const plan::Plan& plan_;
  const plan::Program& program_;
  Rank me_;
  Report& report_;
  int at_ = 0;
  std::set<std::uint32_t> busy_;
  std::uint64_t ticks_[plan::flag_count] = {};
};

}  // namespace

Bytes size_of(const plan::Plan& plan, Rank rank, Buffer buffer) {
  const plan::Program& program = plan.programs[static_cast<std::size_t>(rank.value)];
  switch (buffer) {
    case Buffer::input: return plan::input_bytes(plan.problem, plan.topology.ranks(), rank);
    case Buffer::output: return plan::output_bytes(plan.problem, plan.topology.ranks(), rank);
    case Buffer::scratch: return program.scratch_bytes;
    case Buffer::window: return program.window_bytes;
  }
  return 0;
}

void check_rules(const plan::Plan& plan, Report& report) {
  const auto misshapen = [&](std::string text) {
    report.add({Kind::shape, {}, Violation::before_first, 1, Buffer::input, 0, 0, std::move(text)});
  };
  const int ranks = plan.topology.ranks();
  if (plan.programs.size() != static_cast<std::size_t>(ranks))
    return misshapen("it has " + std::to_string(plan.programs.size()) + " programs for " + std::to_string(ranks) +
                     " ranks");
  if (plan.problem.root.value < 0 || plan.problem.root.value >= ranks)
    return misshapen("its root, rank " + std::to_string(plan.problem.root.value) + ", does not exist");
  const auto blocks = static_cast<std::size_t>(ranks);
  const bool is_pairwise = plan.problem.operation == plan::Operation::alltoall;
  if (!plan.problem.counts.empty() && plan.problem.counts.size() != (is_pairwise ? blocks * blocks : blocks))
    return misshapen("its " + std::to_string(plan.problem.counts.size()) + " counts do not fit " +
                     std::to_string(ranks) + " ranks");
  for (int r = 0; r < ranks; ++r) ProgramCheck(plan, Rank(r), report).run();
}

}  // namespace espalier::verify
