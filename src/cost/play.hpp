#pragma once
// A plan played through in time, step by step. What a network does between two ranks is another's business (Wire), and
// so may be what a node's memory does (Memory): the same play serves the closed LogGP network of `estimate_time`, a
// network simulator, and one of a node's caches.

#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::cost {

/// Carries messages between nodes.
class Wire {
 public:
  virtual ~Wire() = default;

  /// Message number `message` sets out at `when`, not earlier than any message before it. The wire answers, now or
  /// later, with Play::deliver.
  virtual void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) = 0;
};

/// Memory looked at closely: how long copying takes and when a flag is seen depend on who sits where.
class Memory {
 public:
  virtual ~Memory() = default;

  /// Rank `me` copies or combines from `when` on, not earlier than any before it by more than a step. `is_operand`: the
  /// next step is one loop with it (step_time.hpp). The memory answers, now or later, with Play::resume.
  virtual void move(Rank me, const plan::Step& step, bool is_operand, double when) = 0;
  /// A rank raised a flag: the step that posts it.
  virtual void raise(Rank owner, const plan::Step& step, double when) = 0;
  /// When `reader`, who looks from `when` on, sees what `owner` raised at `raised`: the flag and tick of a step that
  /// awaits. Negative `raised`: in an earlier call.
  virtual double see(Rank reader, Rank owner, const plan::Step& step, double raised, double when) = 0;
};

/// What one rank was busy with, or waiting for, between two points in time (microseconds).
struct Span {
  Rank rank;
  std::size_t step;
  double begin;
  double end;
};

/// All ranks begin at 0. The plan must be correct (verify), and outlive the play as parameters and wire do. Time is in
/// microseconds. Ranks take turns in order of their own clocks; a flag is seen one line's way after it was posted; on
/// oversubscribed nodes steps share the cores. A message of up to `Parameters::eager` bytes leaves when it is sent and
/// its sender goes on at once; a longer one waits for its receiver, and its sender for its departure. Without a Memory,
/// contention and cache misses are not modelled, so times order plans rather than predict them.
class Play {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// `memory`: null for one rate of all copies and one way of all flags. Nodes it is asked about have cores for all.
  Play(const plan::Plan& plan, const Parameters& parameters, Wire& wire, Memory* memory = nullptr);

  /// When the next step is due; `never` when every rank has ended or waits for the wire.
  double next() const { return turns_.empty() ? never : turns_.top().first; }
  /// Performs the step that is due next. O(log ranks).
  void advance();
  /// The wire's answer: the last byte has left at `departure` and is there at `arrival`.
  void deliver(std::size_t message, double departure, double arrival);
  /// The memory's answer: the rank's copy is over.
  void resume(Rank me, double when);
  /// Keeps the spans of all steps from now on in `spans`, which must outlive the play.
  void record(std::vector<Span>& spans) { spans_ = &spans; }

  bool is_over() const { return ended_ == processes_.size(); }
  /// When each rank ended, or where it stands.
  std::vector<double> ends() const;

 private:
  using Turn = std::pair<double, int>;
  struct Message {
    Rank from, to;
    Bytes bytes = 0;
    double sent = -1, expected = -1;  ///< by the sender, by the receiver; negative: not yet
    double departure = -1, arrival = -1;
    bool is_under_way = false;
    int waiting_sender = -1, waiting_receiver = -1;
  };
  struct Slot {
    std::size_t message = 0;
    bool is_send = false;
  };
  struct Process {
    double now = 0;
    std::size_t step = 0;
    Rank in_kernel_for{-1};
    double in_kernel_until = 0;
    bool has_moved = false;                                                 ///< the memory has answered
    double begin = 0;                                                       ///< of the step it is at
    std::vector<std::pair<std::uint64_t, double>> posts[plan::flag_count];  ///< tick and when
    std::vector<Slot> slots;
    std::vector<int> waiters;  ///< for one of its flags
  };
  /// Messages from one rank to another, matched in order.
  struct Connection {
    std::vector<std::size_t> messages;
    std::size_t sent = 0, received = 0;
  };

  Process& at(Rank rank) { return processes_[static_cast<std::size_t>(rank.value)]; }
  std::size_t node(Rank rank) const { return static_cast<std::size_t>(topology_.node_of(rank).value); }
  Rank neighbour(Rank me, LocalRank local) const;

  /// False when the step cannot be done yet: the rank's turn comes again when somebody wakes it.
  bool perform(Rank me, const plan::Step& step);
  double time_of_copy(Rank me) const;
  int count_together(Rank me, Rank other);
  bool copy_through_kernel(Rank me, Rank other, double time);
  bool move(Rank me, const plan::Step& step);
  /// When `owner` raised what the step awaits; `never`: not yet.
  double raised(Rank owner, const plan::Step& step);
  bool look_at_all(Rank me, const plan::Step& step);
  bool work(Rank me, double time);
  bool post(Rank me, const plan::Step& step);
  bool await(Rank me, Rank owner, const plan::Step& step);
  bool await_all(Rank me, const plan::Step& step);
  bool send(Rank me, const plan::Step& step);
  bool receive(Rank me, const plan::Step& step);
  bool finish(Rank me, const plan::Step& step);
  void see(Rank me, double when);
  void wake(int rank);
  bool is_eager(const Message& message) const;
  std::size_t match(Rank from, Rank to, std::size_t Connection::*count);
  void try_to_carry(std::size_t message);

  const plan::Plan& plan_;
  const Parameters is_;
  const topology::Topology& topology_;
  Wire& wire_;
  Memory* const memory_;
  std::vector<Process> processes_;
  std::vector<std::vector<double>> cores_;  ///< by node: each busy until
  std::vector<Message> messages_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::vector<Span>* spans_ = nullptr;
  std::size_t ended_ = 0;
};

}  // namespace espalier::cost
