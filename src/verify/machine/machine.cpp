#include "verify/machine/machine.hpp"

#include <algorithm>

namespace espalier::verify {

using plan::Op;
using plan::Step;

Machine::Machine(std::span<const plan::Plan* const> calls, std::span<const Wiring* const> wirings, Placement placement,
                 Report& report)
    : calls_(calls),
      wirings_(wirings),
      report_(report),
      clocks_(calls.front()->topology.ranks()),
      world_(calls, placement, clocks_, report),
      positions_(static_cast<std::size_t>(calls.front()->topology.ranks())),
      waiters_(positions_.size()),
      posts_(positions_.size() * plan::flag_count),
      begins_(calls.size(), std::vector<Event>(positions_.size())) {
  for (const Wiring* wiring : wirings) transits_.emplace_back(wiring->messages.size());
  for (int r = 0; r < ranks(); ++r) ready_.push_back(Rank(r));
}

void Machine::run() {
  while (!ready_.empty() && !report_.is_full()) {
    const Rank me = ready_.front();
    ready_.pop_front();
    while (!is_over(me) && is_ready(me)) advance(me);
    if (!is_over(me)) waiters_[index(positions_[index(me)].waits_for)].push_back(me);
  }
  if (!report_.is_full()) report_deadlock();
}

const plan::Program& Machine::program(Rank me) const {
  return calls_[static_cast<std::size_t>(positions_[index(me)].call - 1)]->programs[index(me)];
}

const Step& Machine::next_step(Rank me) const {
  return program(me).steps[static_cast<std::size_t>(positions_[index(me)].step)];
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
    at = {at.call + 1, Violation::before_first, 0, {}};
    return;
  }
  ++at.step;
  at.met = 0;
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
    case Op::await: return learn(step, by, neighbours_of(by.rank())[static_cast<std::size_t>(step.neighbour().value)]);
    case Op::await_all:
      for (const Rank owner : neighbours_of(by.rank()))
        if (owner != by.rank()) learn(step, by, owner);
      return;
    case Op::put:
    case Op::get:
    case Op::pull:
    case Op::push:
    case Op::copy:
    case Op::reduce: return transfer(step, by);
  }
}

void Machine::transfer(const Step& step, const Actor& by) {
  const Rank me = by.rank();
  const Place here{me, step.buffer(), step.offset(), step.bytes()};
  const auto owner = [&] { return neighbours_of(me)[static_cast<std::size_t>(step.neighbour().value)]; };
  const auto there = [&] { return Place{owner(), step.far_buffer(), step.far_offset(), step.bytes()}; };
  switch (step.op()) {
    case Op::put: return world_.transfer(by, here, {me, plan::Buffer::window, step.window_offset(), step.bytes()});
    case Op::get: return world_.transfer(by, {owner(), plan::Buffer::window, step.window_offset(), step.bytes()}, here);
    case Op::copy: return world_.transfer(by, {me, step.far_buffer(), step.far_offset(), step.bytes()}, here);
    case Op::reduce: return world_.reduce(by, there(), here);
    case Op::pull: return world_.transfer(by, there(), here);
    case Op::push: return world_.transfer(by, here, there());
    case Op::send:
    case Op::recv:
    case Op::finish:
    case Op::post:
    case Op::await:
    case Op::await_all: return;  // these move nothing at once
  }
}

void Machine::start_send(const Step& step, const Actor& by) {
  Transit& transit = transit_at(by.rank(), by.call, by.step);
  transit.contents = world_.load(by, {by.rank(), step.buffer(), step.offset(), step.bytes()});
  transit.is_sent = true;
  transit.sender = by;
  transit.sent = clocks_.snapshot(by.rank());
  clocks_.open(by.event);
  wake_waiters(by.rank());
}

void Machine::start_recv(const Step& step, const Actor& by) {
  Transit& transit = transit_at(by.rank(), by.call, by.step);
  world_.open(by, {by.rank(), step.buffer(), step.offset(), step.bytes()});
  transit.is_received = true;
  transit.receiver = by;
  clocks_.open(by.event);
  wake_waiters(by.rank());
}

void Machine::finish(const Actor& by) {
  Transit& transit = transit_at(by.rank(), by.call, by.step);
  const Rank me = by.rank();
  // The sender learns nothing here: that its buffer is free again does not tell it what the receiver has done.
  if (transit.sender.rank() == me) return clocks_.close(transit.sender.event);
  clocks_.join(me, transit.sent);
  clocks_.close(transit.receiver.event);
  const Step& recv = program(me).steps[static_cast<std::size_t>(transit.receiver.step)];
  world_.deliver(transit.receiver, {me, recv.buffer(), recv.offset(), recv.bytes()}, transit.contents);
  // Its end has come: in a ring of a thousand leaders there are a million more.
  transit.sent.known.reset();
  transit.contents = {};
}

void Machine::post(const Step& step, const Actor& by) {
  Posts& posts = posts_of(by.rank(), step.flag());
  posts.list.push_back({by.call, step.tick(), clocks_.snapshot(by.rank())});
  if (posts.list.size() >= posts.look_again_at) forget_known(by.rank(), posts);
  wake_waiters(by.rank());
}

/// `by` has waited for this rank's flag: all that came before the post now comes before `by`.
void Machine::learn(const Step& await, const Actor& by, Rank owner) {
  // None is needed for calls before the first, of which nothing is left to know.
  if (const Post* post = find_post(await, owner, by.call)) clocks_.join(by.rank(), post->past);
}

/// Frees the clocks of posts that all neighbours know: a pipeline's posts would fill the memory of large machines.
void Machine::forget_known(Rank owner, Posts& posts) {
  const auto neighbours = neighbours_of(owner);
  const auto is_known = [&](const Post& post) {
    return std::all_of(neighbours.begin(), neighbours.end(),
                       [&](Rank rank) { return clocks_.knows(rank, post.past.at); });
  };
  while (posts.forgotten < posts.list.size() && is_known(posts.list[posts.forgotten]))
    posts.list[posts.forgotten++].past.known.reset();
  posts.look_again_at = posts.list.size() + 64;
}

std::span<const Rank> Machine::neighbours_of(Rank me) const {
  const topology::Topology& topology = calls_.front()->topology;
  return topology.ranks_on(topology.node_of(me));
}

Machine::Transit& Machine::transit_at(Rank me, int call, int step) {
  const auto number = static_cast<std::size_t>(call - 1);
  return transits_[number][wirings_[number]->at(me, step)];
}

Machine::Posts& Machine::posts_of(Rank rank, plan::Flag flag) {
  return posts_[index(rank) * plan::flag_count + static_cast<std::size_t>(flag)];
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

}  // namespace espalier::verify
