#include "verify/machine.hpp"

#include <algorithm>

namespace espalier::verify {

using plan::Op;
using plan::Step;

Machine::Machine(std::span<const plan::Plan* const> calls, std::span<const Wiring* const> wirings, Placement placement,
                 Report& report)
    : calls_(calls), wirings_(wirings), report_(report), clocks_(calls.front()->topology.ranks()),
      world_(calls, placement, clocks_, report), positions_(static_cast<std::size_t>(calls.front()->topology.ranks())),
      waiters_(positions_.size()), posts_(positions_.size() * plan::flag_count),
      begins_(calls.size(), std::vector<Event>(positions_.size())) {
  for (const Wiring* wiring : wirings) transits_.emplace_back(wiring->messages.size());
  for (int r = 0; r < ranks(); ++r) ready_.push_back(Rank(r));
}

void Machine::run() {
  while (!ready_.empty() && !report_.is_full()) {
    const Rank me = ready_.front();
    ready_.pop_front();
    while (!is_over(me) && is_ready(me)) advance(me);
    if (!is_over(me)) waiters_[index(awaited_by(me))].push_back(me);
  }
  if (!report_.is_full()) report_deadlock();
}

const plan::Program& Machine::program(Rank me) const {
  return calls_[static_cast<std::size_t>(positions_[index(me)].call - 1)]->programs[index(me)];
}

const Step& Machine::next_step(Rank me) const {
  return program(me).steps[static_cast<std::size_t>(positions_[index(me)].step)];
}

bool Machine::is_waiting_step(Rank me) const {
  const Position& at = positions_[index(me)];
  if (at.step < 0 || at.step == static_cast<int>(program(me).steps.size())) return false;
  return next_step(me).op() == Op::await || next_step(me).op() == Op::finish;
}

bool Machine::is_ready(Rank me) {
  if (!is_waiting_step(me)) return true;
  const Position& at = positions_[index(me)];
  const Step& step = next_step(me);
  if (step.op() == Op::await) return step.calls_back() >= static_cast<Bytes>(at.call) || find_post(step, me, at.call) != nullptr;
  const Transit& transit = transit_at({{me, 0}, at.call, at.step});
  return transit.is_sent && transit.is_received;
}

void Machine::advance(Rank me) {
  Position& at = positions_[index(me)];
  const Actor by{clocks_.next(me), at.call, at.step};
  const auto& steps = program(me).steps;
  if (at.step == Violation::before_first) {
    begin(by);
  } else if (at.step < static_cast<int>(steps.size())) {
    perform(steps[static_cast<std::size_t>(at.step)], by);
  } else {
    end(by);
    at = {at.call + 1, Violation::before_first};
    return;
  }
  ++at.step;
}

void Machine::begin(const Actor& by) {
  begins_[static_cast<std::size_t>(by.call - 1)][index(by.rank())] = by.event;
  world_.begin(by);
}

void Machine::end(const Actor& by) {
  world_.end(by);
  if (calls_[static_cast<std::size_t>(by.call - 1)]->problem.operation == plan::Operation::barrier) check_order(by);
}

void Machine::perform(const Step& step, const Actor& by) {
  switch (step.op()) {
    case Op::send: return start_send(step, by);
    case Op::recv: return start_recv(step, by);
    case Op::finish: return finish(by);
    case Op::post: return post(step, by);
    case Op::await:
      if (const Post* post = find_post(step, by.rank(), by.call)) clocks_.join(by.rank(), post->past);
      return;
    default: return transfer(step, by);
  }
}

void Machine::transfer(const Step& step, const Actor& by) {
  const Rank me = by.rank();
  const Place here{me, step.buffer(), step.offset(), step.bytes()};
  switch (step.op()) {
    case Op::put: return world_.transfer(by, here, {me, plan::Buffer::window, step.window_offset(), step.bytes()});
    case Op::get: {
      const Rank owner = neighbour(me, step.neighbour());
      return world_.transfer(by, {owner, plan::Buffer::window, step.window_offset(), step.bytes()}, here);
    }
    case Op::copy: return world_.transfer(by, {me, step.far_buffer(), step.far_offset(), step.bytes()}, here);
    default: break;
  }
  const Place there{neighbour(me, step.neighbour()), step.far_buffer(), step.far_offset(), step.bytes()};
  step.op() == Op::pull ? world_.transfer(by, there, here) : world_.transfer(by, here, there);
}

void Machine::start_send(const Step& step, const Actor& by) {
  Transit& transit = transit_at(by);
  transit.contents = world_.load(by, {by.rank(), step.buffer(), step.offset(), step.bytes()});
  transit.is_sent = true;
  transit.sender = by;
  transit.sent = clocks_.snapshot(by.rank());
  clocks_.open(by.event);
  wake_waiters(by.rank());
}

void Machine::start_recv(const Step& step, const Actor& by) {
  Transit& transit = transit_at(by);
  world_.open(by, {by.rank(), step.buffer(), step.offset(), step.bytes()});
  transit.is_received = true;
  transit.receiver = by;
  clocks_.open(by.event);
  wake_waiters(by.rank());
}

void Machine::finish(const Actor& by) {
  Transit& transit = transit_at(by);
  const Rank me = by.rank();
  // The sender learns nothing here: that its buffer is free again does not tell it what the receiver has done.
  if (transit.sender.rank() == me) return clocks_.close(transit.sender.event);
  clocks_.join(me, transit.sent);
  clocks_.close(transit.receiver.event);
  const Step& recv = program(me).steps[static_cast<std::size_t>(transit.receiver.step)];
  world_.deliver(transit.receiver, {me, recv.buffer(), recv.offset(), recv.bytes()}, transit.contents);
  transit.contents = {};
}

void Machine::post(const Step& step, const Actor& by) {
  posts_of(by.rank(), step.flag()).push_back({by.call, step.tick(), clocks_.snapshot(by.rank())});
  wake_waiters(by.rank());
}

Rank Machine::neighbour(Rank me, LocalRank local) const {
  const topology::Topology& topology = calls_.front()->topology;
  return topology.ranks_on(topology.node_of(me))[static_cast<std::size_t>(local.value)];
}

Machine::Transit& Machine::transit_at(const Actor& by) {
  const auto call = static_cast<std::size_t>(by.call - 1);
  return transits_[call][wirings_[call]->at(by.rank(), by.step)];
}

std::vector<Machine::Post>& Machine::posts_of(Rank rank, plan::Flag flag) {
  return posts_[index(rank) * plan::flag_count + static_cast<std::size_t>(flag)];
}

/// The first post that meets an await, or null. Posts of calls after the waiter's do not count: there may be none.
const Machine::Post* Machine::find_post(const Step& await, Rank me, int call) {
  const std::vector<Post>& posts = posts_of(neighbour(me, await.neighbour()), await.flag());
  const std::pair wanted{call - static_cast<int>(std::min<Bytes>(await.calls_back(), static_cast<Bytes>(call))), await.tick()};
  const auto first = std::partition_point(posts.begin(), posts.end(),
                                          [&](const Post& post) { return std::pair{post.call, post.tick} < wanted; });
  return first == posts.end() || first->call > call ? nullptr : &*first;
}

void Machine::check_order(const Actor& by) {
  for (const Event& begin : begins_[static_cast<std::size_t>(by.call - 1)]) {
    const Rank other(static_cast<std::int32_t>(&begin - begins_[static_cast<std::size_t>(by.call - 1)].data()));
    const bool has_begun = begin.moment > 0;
    if (!has_begun || !clocks_.is_past(by.rank(), begin))
      report_.add({Kind::order, by.rank(), by.step, by.call, plan::Buffer::input, 0, 0,
                   "may leave the barrier before rank " + std::to_string(other.value) + " has entered it"});
  }
}

void Machine::wake_waiters(Rank of) {
  std::vector<Rank>& waiters = waiters_[index(of)];
  ready_.insert(ready_.end(), waiters.begin(), waiters.end());
  waiters.clear();
}

/// Whom a rank waits for at its next step, an await or a finish.
Rank Machine::awaited_by(Rank me) const {
  const Step& step = next_step(me);
  if (step.op() == Op::await) return neighbour(me, step.neighbour());
  const Position& at = positions_[index(me)];
  const Wiring& wiring = *wirings_[static_cast<std::size_t>(at.call - 1)];
  const Message& message = wiring.messages[wiring.at(me, at.step)];
  return message.sender == me ? message.receiver : message.sender;
}

}  // namespace espalier::verify
