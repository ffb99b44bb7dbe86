#include "cost/play.hpp"

#include <algorithm>
#include <utility>

#include "cost/step_time.hpp"

namespace espalier::cost {

using plan::Op;
using plan::Step;

Play::Play(const plan::Plan& plan, const Parameters& parameters, Wire& wire, Memory* memory)
    : plan_(plan),
      is_(parameters.met_by(plan.topology, plan.problem)),
      topology_(plan.topology),
      wire_(wire),
      memory_(memory),
      processes_(plan.programs.size()),
      cores_(static_cast<std::size_t>(topology_.nodes()),
             std::vector<double>(static_cast<std::size_t>(std::max(1, is_.cores)))) {
  for (std::size_t r = 0; r < processes_.size(); ++r) {
    processes_[r].slots.resize(plan.programs[r].slots);
    if (plan.programs[r].steps.empty())
      ++ended_;
    else
      turns_.push({0, static_cast<int>(r)});
  }
}

Rank Play::neighbour(Rank me, LocalRank local) const {
  return topology_.ranks_on(topology_.node_of(me))[static_cast<std::size_t>(local.value)];
}

std::vector<double> Play::ends() const {
  std::vector<double> ends;
  for (const Process& process : processes_) ends.push_back(process.now);
  return ends;
}

void Play::advance() {
  const Rank me(turns_.top().second);
  turns_.pop();
  const auto& steps = plan_.programs[static_cast<std::size_t>(me.value)].steps;
  if (!perform(me, steps[at(me).step])) return;
  Process& process = at(me);
  if (spans_ != nullptr) spans_->push_back({me, process.step, process.begin, process.now});
  process.begin = process.now;
  if (++process.step == steps.size())
    ++ended_;
  else
    turns_.push({process.now, me.value});
}

bool Play::perform(Rank me, const Step& step) {
  switch (step.op()) {
    case Op::put:
    case Op::get:
    case Op::copy:
    case Op::reduce: return memory_ != nullptr ? move(me, step) : work(me, time_of_copy(me));
    case Op::pull:
    case Op::push:
      if (memory_ != nullptr) return move(me, step);
      return copy_through_kernel(me, neighbour(me, step.neighbour()), time_of_copy(me));
    case Op::post: return post(me, step);
    case Op::await: return await(me, neighbour(me, step.neighbour()), step);
    case Op::await_all: return await_all(me, step);
    case Op::send: return send(me, step);
    case Op::recv: return receive(me, step);
    case Op::finish: return finish(me, step);
  }
  return true;
}

double Play::time_of_copy(Rank me) const {
  const auto rank = static_cast<std::size_t>(me.value);
  const std::span<const Step> steps(plan_.programs[rank].steps);
  return copy_time(steps.subspan(processes_[rank].step), topology_.local_rank(me), is_);
}

/// Neighbours that are there because of the same rank hold each other up, and that rank them.
int Play::count_together(Rank me, Rank other) {
  const double now = at(me).now;
  int together = at(other).in_kernel_until > now ? 1 : 0;
  for (const Rank rank : topology_.ranks_on(topology_.node_of(me)))
    if (rank != me && at(rank).in_kernel_for == other && at(rank).in_kernel_until > now) ++together;
  return together;
}

bool Play::copy_through_kernel(Rank me, Rank other, double time) {
  work(me, time + is_.together * count_together(me, other));
  at(me).in_kernel_for = other;
  at(me).in_kernel_until = at(me).now;
  return true;
}

/// Asks the memory once, and goes on when it has answered.
bool Play::move(Rank me, const Step& step) {
  Process& process = at(me);
  const bool is_in_kernel = step.op() == Op::pull || step.op() == Op::push;
  if (std::exchange(process.has_moved, false)) {
    if (is_in_kernel) process.in_kernel_until = process.now;
    return true;
  }
  double when = process.now + is_.step;
  if (is_in_kernel) {
    const Rank other = neighbour(me, step.neighbour());
    when += is_.together * count_together(me, other);
    process.in_kernel_for = other;
    process.in_kernel_until = never;
  }
  const auto& steps = plan_.programs[static_cast<std::size_t>(me.value)].steps;
  memory_->move(me, step, is_operand(std::span(steps).subspan(process.step)), when);
  return false;
}

void Play::resume(Rank me, double when) {
  at(me).has_moved = true;
  at(me).now = when;
  turns_.push({when, me.value});
}

/// Takes a core of the node for a while, where there are not enough for all.
bool Play::work(Rank me, double time) {
  Process& process = at(me);
  time += is_.step;
  if (!topology_.capabilities().oversubscribed) {
    process.now += time;
    return true;
  }
  auto& cores = cores_[node(me)];
  double& core = *std::min_element(cores.begin(), cores.end());
  process.now = core = std::max(process.now, core) + time;
  return true;
}

bool Play::post(Rank me, const Step& step) {
  work(me, 0);
  Process& process = at(me);
  process.posts[static_cast<int>(step.flag())].push_back({step.tick(), process.now});
  if (memory_ != nullptr) memory_->raise(me, step, process.now);
  for (const int waiter : process.waiters) wake(waiter);
  process.waiters.clear();
  return true;
}

double Play::raised(Rank owner, const Step& step) {
  if (step.calls_back() > 0) return -1;
  const auto& posts = at(owner).posts[static_cast<int>(step.flag())];
  const auto post = std::lower_bound(posts.begin(), posts.end(), std::pair{step.tick(), 0.0});
  return post == posts.end() ? never : post->second;
}

/// Earlier calls are over.
bool Play::await(Rank me, Rank owner, const Step& step) {
  if (step.calls_back() > 0 && memory_ == nullptr) return work(me, 0);
  const double since = raised(owner, step);
  if (since == never) {
    at(owner).waiters.push_back(me.value);
    return false;
  }
  see(me, memory_ != nullptr ? memory_->see(me, owner, step, since, at(me).now) : since + is_.flag);
  return true;
}

/// One loop over all flags, whose lines are on their way at the same time; the memory is asked when all are raised.
bool Play::look_at_all(Rank me, const Step& step) {
  const auto neighbours = topology_.ranks_on(topology_.node_of(me));
  for (const Rank owner : neighbours)
    if (owner != me && raised(owner, step) == never) {
      at(owner).waiters.push_back(me.value);
      return false;
    }
  double last = at(me).now;
  for (const Rank owner : neighbours)
    if (owner != me) last = std::max(last, memory_->see(me, owner, step, raised(owner, step), at(me).now));
  see(me, last);
  return true;
}

bool Play::await_all(Rank me, const Step& step) {
  if (memory_ != nullptr) return look_at_all(me, step);
  const double begin = at(me).now;
  for (const Rank owner : topology_.ranks_on(topology_.node_of(me)))
    if (owner != me && !await(me, owner, step)) {
      at(me).now = begin;
      return false;
    }
  return true;
}

/// Something happens at `when` that the rank has been waiting for, or that is past already.
void Play::see(Rank me, double when) {
  Process& process = at(me);
  const bool has_waited = when > process.now;
  process.now = std::max(process.now, when);
  work(me, has_waited && topology_.capabilities().oversubscribed ? is_.yield : 0);
}

void Play::wake(int rank) {
  if (rank >= 0) turns_.push({processes_[static_cast<std::size_t>(rank)].now, rank});
}

bool Play::is_eager(const Message& message) const { return static_cast<double>(message.bytes) <= is_.eager; }

/// The next message of a connection as its sender or its receiver counts them.
std::size_t Play::match(Rank from, Rank to, std::size_t Connection::*count) {
  const auto key =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(from.value)) << 32 | static_cast<std::uint32_t>(to.value);
  Connection& connection = connections_[key];
  const std::size_t number = (connection.*count)++;
  if (number == connection.messages.size()) {
    connection.messages.push_back(messages_.size());
    messages_.push_back({.from = from, .to = to});
  }
  return connection.messages[number];
}

bool Play::send(Rank me, const Step& step) {
  work(me, is_.overhead);
  const std::size_t number = match(me, step.peer(), &Connection::sent);
  messages_[number].bytes = step.bytes();
  messages_[number].sent = at(me).now;
  at(me).slots[step.slot()] = {number, true};
  try_to_carry(number);
  return true;
}

bool Play::receive(Rank me, const Step& step) {
  work(me, 0);
  const std::size_t number = match(step.peer(), me, &Connection::received);
  messages_[number].expected = at(me).now;
  at(me).slots[step.slot()] = {number, false};
  try_to_carry(number);
  return true;
}

/// Each side calls this when it has done its part; a message sets out once.
void Play::try_to_carry(std::size_t number) {
  Message& message = messages_[number];
  const bool may_leave = message.sent >= 0 && (is_eager(message) || message.expected >= 0);
  if (message.is_under_way || !may_leave) return;
  message.is_under_way = true;
  const double when = is_eager(message) ? message.sent : std::max(message.sent, message.expected);
  wire_.carry(number, message.from, message.to, message.bytes, when);
}

void Play::deliver(std::size_t number, double departure, double arrival) {
  Message& message = messages_[number];
  message.departure = departure;
  message.arrival = arrival;
  wake(std::exchange(message.waiting_sender, -1));
  wake(std::exchange(message.waiting_receiver, -1));
}

bool Play::finish(Rank me, const Step& step) {
  const Slot slot = at(me).slots[step.slot()];
  Message& message = messages_[slot.message];
  if (slot.is_send) {
    if (is_eager(message)) return work(me, 0);
    if (message.departure < 0) {
      message.waiting_sender = me.value;
      return false;
    }
    see(me, message.departure);
    return true;
  }
  if (message.arrival < 0) {
    message.waiting_receiver = me.value;
    return false;
  }
  see(me, message.arrival);
  return work(me, is_.overhead);
}

}  // namespace espalier::cost
