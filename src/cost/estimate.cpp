#include "cost/estimate.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>

namespace espalier::cost {
namespace {

using plan::Buffer;
using plan::Op;
using plan::Step;

/// A message between two ranks: known by its sender, its receiver, or both.
struct Message {
  double arrival = -1;  ///< at the receiver's link; negative until it has been sent
};

/// One rank at one of its steps.
struct Process {
  double now = 0;
  std::size_t step = 0;
  std::vector<std::pair<std::uint64_t, double>> posts[plan::flag_count];  ///< tick and when
  std::map<std::uint32_t, std::pair<Message*, bool>> slots;               ///< message, and whether it is our send
};

class Play {
 public:
  Play(const plan::Plan& plan, const Parameters& parameters)
      : plan_(plan),
        is_(parameters),
        topology_(plan.topology),
        ranks_(plan.programs.size()),
        waiters_(plan.programs.size()),
        link_out_(static_cast<std::size_t>(topology_.nodes())),
        link_in_(static_cast<std::size_t>(topology_.nodes())),
        cores_(static_cast<std::size_t>(topology_.nodes()),
               std::vector<double>(static_cast<std::size_t>(std::max(1, parameters.cores)))) {}

  Estimate run() {
    for (int r = 0; r < topology_.ranks(); ++r) queue_.push({0, r});
    while (!queue_.empty()) {
      const auto [when, rank] = queue_.top();
      queue_.pop();
      advance(Rank(rank));
    }
    Estimate estimate;
    for (const Process& rank : ranks_) estimate.ends.push_back(rank.now);
    estimate.total = *std::max_element(estimate.ends.begin(), estimate.ends.end());
    return estimate;
  }

 private:
  using Turn = std::pair<double, int>;

  Process& at(Rank rank) { return ranks_[static_cast<std::size_t>(rank.value)]; }
  Rank neighbour(Rank me, LocalRank local) const {
    return topology_.ranks_on(topology_.node_of(me))[static_cast<std::size_t>(local.value)];
  }
  std::size_t node(Rank rank) const { return static_cast<std::size_t>(topology_.node_of(rank).value); }

  /// One step, if it is ready; then its turn comes again when it is the earliest. Else the rank waits to be woken.
  void advance(Rank me) {
    Process& rank = at(me);
    const auto& steps = plan_.programs[static_cast<std::size_t>(me.value)].steps;
    if (rank.step == steps.size()) return;
    if (!perform(me, steps[rank.step])) return;
    ++rank.step;
    queue_.push({rank.now, me.value});
  }

  bool perform(Rank me, const Step& step) {
    const auto bytes = static_cast<double>(step.bytes());
    switch (step.op()) {
      case Op::put: return work(me, is_.put.of(bytes));
      case Op::get: return work(me, is_.get.of(bytes));
      case Op::pull:
      case Op::push: return work(me, is_.single_copy.of(bytes));
      case Op::copy: return work(me, is_.copy.of(bytes));
      case Op::reduce: return work(me, is_.reduce.of(bytes));
      case Op::post: return post(me, step);
      case Op::await: return await(me, neighbour(me, step.neighbour()), step);
      case Op::await_all: return await_all(me, step);
      case Op::send: return send(me, step);
      case Op::recv: return receive(me, step);
      case Op::finish: return finish(me, step);
    }
    return true;
  }

  /// Takes a core of the node for a while, where there are not enough for all.
  bool work(Rank me, double time) {
    Process& rank = at(me);
    time += is_.step;
    if (!topology_.capabilities().oversubscribed) {
      rank.now += time;
      return true;
    }
    auto& cores = cores_[node(me)];
    double& core = *std::min_element(cores.begin(), cores.end());
    rank.now = core = std::max(rank.now, core) + time;
    return true;
  }

  bool post(Rank me, const Step& step) {
    work(me, 0);
    at(me).posts[static_cast<int>(step.flag())].push_back({step.tick(), at(me).now});
    wake(me);
    return true;
  }

  /// Earlier calls are over.
  bool await(Rank me, Rank owner, const Step& step) {
    if (step.calls_back() > 0) return work(me, 0);
    const auto& posts = at(owner).posts[static_cast<int>(step.flag())];
    const auto post = std::lower_bound(posts.begin(), posts.end(), std::pair{step.tick(), 0.0});
    if (post == posts.end()) return wait_for(me, owner);
    see(me, post->second + is_.flag);
    return true;
  }

  bool await_all(Rank me, const Step& step) {
    const double begin = at(me).now;
    for (const Rank owner : topology_.ranks_on(topology_.node_of(me)))
      if (owner != me && !await(me, owner, step)) {
        at(me).now = begin;
        return false;
      }
    return true;
  }

  /// Something happens at `when` that the rank has been waiting for, or that is past already.
  void see(Rank me, double when) {
    Process& rank = at(me);
    const bool has_waited = when > rank.now;
    rank.now = std::max(rank.now, when);
    work(me, has_waited && topology_.capabilities().oversubscribed ? is_.yield : 0);
  }

  Message& message(Rank from, Rank to, std::map<std::pair<int, int>, std::size_t>& counts) {
    auto& messages = messages_[{from.value, to.value}];
    const std::size_t number = counts[{from.value, to.value}]++;
    while (messages.size() <= number) messages.emplace_back();
    return messages[number];
  }

  bool send(Rank me, const Step& step) {
    work(me, is_.overhead);
    Message& sent = message(me, step.peer(), sent_);
    const double serial = std::max(is_.gap, static_cast<double>(step.bytes()) / is_.link_rate);
    double& out = link_out_[node(me)];
    out = std::max(out, at(me).now) + serial;
    double& in = link_in_[node(step.peer())];
    in = std::max(in, out - serial + is_.latency) + serial;
    sent.arrival = in;
    at(me).slots[step.slot()] = {&sent, true};
    wake(me);
    return true;
  }

  bool receive(Rank me, const Step& step) {
    work(me, 0);
    at(me).slots[step.slot()] = {&message(step.peer(), me, received_), false};
    senders_[&*at(me).slots[step.slot()].first] = step.peer();
    return true;
  }

  bool finish(Rank me, const Step& step) {
    const auto [sent, is_own] = at(me).slots[step.slot()];
    if (is_own) {
      work(me, 0);
    } else {
      if (sent->arrival < 0) return wait_for(me, senders_[sent]);
      see(me, sent->arrival + is_.overhead);
    }
    return true;
  }

  bool wait_for(Rank me, Rank other) {
    waiters_[static_cast<std::size_t>(other.value)].push_back(me);
    return false;
  }

  void wake(Rank me) {
    for (const Rank waiter : waiters_[static_cast<std::size_t>(me.value)]) queue_.push({at(waiter).now, waiter.value});
    waiters_[static_cast<std::size_t>(me.value)].clear();
  }

  const plan::Plan& plan_;
  const Parameters& is_;
  const topology::Topology& topology_;
  std::vector<Process> ranks_;
  std::vector<std::vector<Rank>> waiters_;  ///< by the rank they wait for
  std::vector<double> link_out_, link_in_;  ///< by node: busy until
  std::vector<std::vector<double>> cores_;  ///< by node: each busy until
  std::map<std::pair<int, int>, std::deque<Message>> messages_;
  std::map<std::pair<int, int>, std::size_t> sent_, received_;
  std::map<const Message*, Rank> senders_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> queue_;
};

}  // namespace

Estimate estimate_time(const plan::Plan& plan, const Parameters& parameters) { return Play(plan, parameters).run(); }

}  // namespace espalier::cost
