#include "simulator.hpp"

#include <algorithm>
#include <cstring>

#include "reference.hpp"

namespace espalier::verify {

using plan::Buffer;
using plan::Op;
using plan::Operation;
using plan::Step;

using testing::garbage;

Simulator::Simulator(const plan::Plan& plan, int calls, Random& random)
    : plan_(plan), calls_(calls), random_(random), ranks_(static_cast<std::size_t>(plan.topology.ranks())) {
  for (int r = 0; r < plan.topology.ranks(); ++r) {
    at(r).memories[0].resize(input_bytes(plan.problem, plan.topology.ranks(), Rank(r)));
    at(r).memories[1].resize(output_bytes(plan.problem, plan.topology.ranks(), Rank(r)));
    at(r).memories[2].resize(program(r).scratch_bytes);
    for (int bank = 0; bank < plan::window_banks; ++bank) at(r).memories[3 + bank].resize(program(r).window_bytes);
    enter(r);
  }
}

bool Simulator::run() {
  const auto is_over = [&](const Process& rank) { return rank.call == calls_; };
  int idle = 0;
  while (is_right_ && !std::all_of(ranks_.begin(), ranks_.end(), is_over)) {
    const int rank = random_.between(0, plan_.topology.ranks() - 1);
    bool has_moved = false;
    for (int burst = random_.one_in(8) ? 1000 : random_.between(1, 4); burst > 0 && advance(rank); --burst)
      has_moved = true;
    if (random_.one_in(3)) move_some();
    // Far more fruitless attempts than a rank or message can be missed by chance.
    idle = has_moved ? 0 : idle + 1;
    if (idle > 200 * plan_.topology.ranks()) return false;
  }
  return is_right_;
}

bool Simulator::advance(int rank) {
  Process& me = at(rank);
  if (me.call == calls_) return false;
  const auto& steps = program(rank).steps;
  if (me.step == steps.size()) {
    is_right_ = is_right_ && leave(rank);
    ++me.call;
    me.step = 0;
    if (me.call < calls_) enter(rank);
    return true;
  }
  if (!is_ready(rank, steps[me.step])) return false;
  execute(rank, steps[me.step]);
  ++me.step;
  return true;
}

int Simulator::neighbour(int rank, LocalRank local) const {
  return plan_.topology.ranks_on(plan_.topology.node_of(Rank(rank)))[static_cast<std::size_t>(local.value)].value;
}

std::byte* Simulator::memory(int rank, int call, Buffer buffer, Bytes offset) {
  const int number = buffer == Buffer::window ? 3 + call % plan::window_banks : static_cast<int>(buffer);
  return at(rank).memories[number].data() + offset;
}

void Simulator::enter(int rank) {
  Process& me = at(rank);
  for (int i = 0; i < 3; ++i) std::fill(me.memories[i].begin(), me.memories[i].end(), garbage);
  const auto mine = testing::brought_by(plan_.problem, plan_.topology.ranks(), Rank(rank), me.call);
  const bool is_broadcast = plan_.problem.operation == Operation::broadcast;
  std::copy(mine.begin(), mine.end(), me.memories[is_broadcast ? 1 : 0].begin());
}

bool Simulator::leave(int rank) {
  Process& me = at(rank);
  const bool has_everyone_entered =
      std::all_of(ranks_.begin(), ranks_.end(), [&](const Process& p) { return p.call >= me.call; });
  const bool is_right =
      (plan_.problem.operation != Operation::barrier || has_everyone_entered) &&
      me.memories[1] == testing::expected_by(plan_.problem, plan_.topology.ranks(), Rank(rank), me.call);
  for (int i = 0; i < 3; ++i) std::fill(me.memories[i].begin(), me.memories[i].end(), garbage);
  return is_right;
}

bool Simulator::is_ready(int rank, const Step& step) {
  if (step.op() == Op::await) return has_posted(rank, neighbour(rank, step.neighbour()), step);
  if (step.op() == Op::await_all) {
    const auto neighbours = plan_.topology.ranks_on(plan_.topology.node_of(Rank(rank)));
    return std::all_of(neighbours.begin(), neighbours.end(),
                       [&](Rank owner) { return owner == Rank(rank) || has_posted(rank, owner.value, step); });
  }
  if (step.op() != Op::finish) return true;
  const Slot& slot = at(rank).slots.at(step.slot());
  const Message& message = connections_[slot.ends].messages[slot.number];
  return message.has_moved || (slot.is_send && message.is_buffered);
}

bool Simulator::has_posted(int rank, int owner, const Step& await) {
  const int call = at(rank).call - static_cast<int>(await.calls_back());
  return call < 0 || at(owner).flags[static_cast<int>(await.flag())] >= std::pair{call, await.tick()};
}

void Simulator::execute(int rank, const Step& step) {
  const int call = at(rank).call;
  const auto here = [&] { return memory(rank, call, step.buffer(), step.offset()); };
  const auto there = [&] {
    return memory(neighbour(rank, step.neighbour()), call, step.far_buffer(), step.far_offset());
  };
  switch (step.op()) {
    case Op::send:
    case Op::recv: return start(rank, step);
    case Op::put: return copy(memory(rank, call, Buffer::window, step.window_offset()), here(), step.bytes());
    case Op::get:
      return copy(here(), memory(neighbour(rank, step.neighbour()), call, Buffer::window, step.window_offset()),
                  step.bytes());
    case Op::pull: return copy(here(), there(), step.bytes());
    case Op::push: return copy(there(), here(), step.bytes());
    case Op::copy: return copy(here(), memory(rank, call, step.far_buffer(), step.far_offset()), step.bytes());
    case Op::reduce:
      return testing::ReferenceReducer(plan_.problem.is_commutative).combine(there(), here(), step.bytes());
    case Op::post: at(rank).flags[static_cast<int>(step.flag())] = {call, step.tick()}; return;
    case Op::finish:
    case Op::await:
    case Op::await_all: return;
  }
}

void Simulator::copy(std::byte* to, const std::byte* from, Bytes bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

void Simulator::start(int rank, const Step& step) {
  const bool is_send = step.op() == Op::send;
  const std::pair ends = is_send ? std::pair{rank, step.peer().value} : std::pair{step.peer().value, rank};
  Connection& connection = connections_[ends];
  const std::size_t number = is_send ? connection.sent++ : connection.received++;
  if (connection.messages.size() <= number) connection.messages.resize(number + 1);
  Message& message = connection.messages[number];
  message.call = at(rank).call;
  message.bytes = step.bytes();
  (is_send ? message.from : message.to) = step.buffer();
  (is_send ? message.sent_from : message.received_to) = step.offset();
  at(rank).slots[step.slot()] = {ends, number, is_send};
  if (is_send && random_.one_in(2)) {
    const std::byte* data = memory(rank, message.call, message.from, step.offset());
    message.buffered.assign(data, data + step.bytes());
    message.is_buffered = true;
  }
}

void Simulator::move(const std::pair<int, int>& ends, Message& message) {
  if (message.has_moved || !message.sent_from || !message.received_to) return;
  const std::byte* data = message.is_buffered ? message.buffered.data()
                                              : memory(ends.first, message.call, message.from, *message.sent_from);
  copy(memory(ends.second, message.call, message.to, *message.received_to), data, message.bytes);
  message.has_moved = true;
}

void Simulator::move_some() {
  for (auto& [ends, connection] : connections_) {
    std::vector<Message>& messages = connection.messages;
    std::size_t& first = connection.first_to_move;
    while (first < messages.size() && messages[first].has_moved) ++first;
    for (std::size_t i = first; i < messages.size(); ++i)
      if (random_.one_in(2)) move(ends, messages[i]);
  }
}

}  // namespace espalier::verify
