// What a step waits for, and who is to blame when nobody can go on.

#include <algorithm>

#include "verify/machine/machine.hpp"

namespace espalier::verify {

using plan::Op;
using plan::Step;

bool Machine::is_ready(Rank me) {
  const Position& at = positions_[index(me)];
  if (at.step < 0 || at.step == static_cast<int>(program(me).steps.size())) return true;
  const Step& step = next_step(me);
  if (step.op() == Op::await || step.op() == Op::await_all) return have_all_posted(step, me);
  return step.op() != Op::finish || is_finished(me);
}

bool Machine::have_all_posted(const Step& step, Rank me) {
  Position& at = positions_[index(me)];
  if (step.calls_back() >= static_cast<Bytes>(at.call)) return true;
  const std::span<const Rank> neighbours = neighbours_of(me);
  const auto has_posted = [&](Rank owner) {
    at.waits_for = owner;
    return find_post(step, owner, at.call) != nullptr;
  };
  if (step.op() == Op::await) return has_posted(neighbours[static_cast<std::size_t>(step.neighbour().value)]);
  // What is met stays met: each look goes on where the last one stopped.
  for (; at.met < static_cast<int>(neighbours.size()); ++at.met) {
    const Rank owner = neighbours[static_cast<std::size_t>(at.met)];
    if (owner != me && !has_posted(owner)) return false;
  }
  return true;
}

bool Machine::is_finished(Rank me) {
  Position& at = positions_[index(me)];
  const auto call = static_cast<std::size_t>(at.call - 1);
  const std::uint32_t number = wirings_[call]->at(me, at.step);
  const Message& message = wirings_[call]->messages[number];
  at.waits_for = message.sender == me ? message.receiver : message.sender;
  return transits_[call][number].is_sent && transits_[call][number].is_received;
}

/// The first post of the owner that meets an await made in this call, or null. Posts of later calls do not count: there
/// may be none.
const Machine::Post* Machine::find_post(const Step& await, Rank owner, int call) {
  if (await.calls_back() >= static_cast<Bytes>(call)) return nullptr;
  const std::vector<Post>& posts = posts_of(owner, await.flag()).list;
  const std::pair wanted{call - static_cast<int>(await.calls_back()), await.tick()};
  const auto first = std::partition_point(posts.begin(), posts.end(), [&](const Post& post) {
    return std::pair{post.call, post.tick} < wanted;
  });
  return first == posts.end() || first->call > call ? nullptr : &*first;
}

/// Whoever waits for this rank may look again.
void Machine::wake_waiters(Rank of) {
  std::vector<Rank>& waiters = waiters_[index(of)];
  ready_.insert(ready_.end(), waiters.begin(), waiters.end());
  waiters.clear();
}

/// Waits for a rank that has left the call: it will not do there what it has not done yet.
bool Machine::is_hopeless(Rank me) const {
  const Position& at = positions_[index(me)];
  return !is_over(me) && positions_[index(at.waits_for)].call > at.call;
}

/// Every stuck rank waits for one other, so following those leads either to a hopeless one or round a circle. Only who
/// stands there is to blame; the others wait behind.
void Machine::report_deadlock() {
  int stuck = 0;
  for (int r = 0; r < ranks(); ++r) stuck += !is_over(Rank(r));
  std::vector<int> seen_in(positions_.size(), -1);
  for (int r = 0; r < ranks(); ++r) {
    if (is_hopeless(Rank(r))) report_stuck(Rank(r), stuck);
    Rank at(r);
    for (; !is_over(at) && !is_hopeless(at) && seen_in[index(at)] < 0; at = positions_[index(at)].waits_for)
      seen_in[index(at)] = r;
    if (is_over(at) || is_hopeless(at) || seen_in[index(at)] != r) continue;
    const Rank first = at;
    do {
      report_stuck(at, stuck);
      at = positions_[index(at)].waits_for;
    } while (at != first);
  }
}

void Machine::report_stuck(Rank me, int stuck_ranks) {
  const Position& at = positions_[index(me)];
  report_.add({Kind::deadlock, me, at.step, at.call, next_step(me).buffer(), 0, 0,
               plan::to_string(next_step(me)) + " waits for ever for rank " + std::to_string(at.waits_for.value) +
                   ", " + describe_position(at.waits_for) + "; ranks stuck: " + std::to_string(stuck_ranks)});
}

std::string Machine::describe_position(Rank rank) const {
  if (is_over(rank)) return "which has ended";
  const Position& at = positions_[index(rank)];
  return "which waits at step " + std::to_string(at.step) + " of call " + std::to_string(at.call) + " (" +
         plan::to_string(next_step(rank)) + ")";
}

}  // namespace espalier::verify
