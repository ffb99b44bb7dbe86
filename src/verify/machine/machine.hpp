#pragma once
// Runs all ranks' programs symbolically, a few calls in a row.
//
// What a step waits for never becomes untrue again and no step chooses between two futures, so one schedule shows
// whether any schedule can get stuck. Every send is synchronous: its finish waits for the recv to start. That is the
// strictest behaviour MPI allows; a plan that ends under it ends everywhere.

#include <deque>
#include <span>
#include <vector>

#include "verify/machine/messages.hpp"
#include "verify/machine/world.hpp"

namespace espalier::verify {

class Machine {
 public:
  /// `calls[c - 1]` and `wirings[c - 1]` belong to call c; all calls are on one topology. They must outlive the
  /// machine.
  Machine(std::span<const plan::Plan* const> calls, std::span<const Wiring* const> wirings, Placement placement,
          Report& report);

  /// Runs to the end, or until nobody can go on, or until the report is full.
  void run();

 private:
  /// Where a rank stands: about to execute `step` of `call`.
  struct Position {
    int call = 1;
    int step = Violation::before_first;
    int met = 0;       ///< of an await_all: neighbours known to have posted
    Rank waits_for{};  ///< while the step is not ready: who must do something first
  };
  /// A flag was raised to `tick` of `call`.
  struct Post {
    int call;
    std::uint64_t tick;
    Snapshot past;
  };
  /// All posts of one flag, growing. Of the first `forgotten`, every neighbour has learned what there is to learn.
  struct Posts {
    std::vector<Post> list;
    std::size_t forgotten = 0;
    std::size_t look_again_at = 64;
  };
  /// A message between its first start and its last finish.
  struct Transit {
    bool is_sent = false;
    bool is_received = false;
    Actor sender;
    Actor receiver;
    Snapshot sent;
    Contents contents;
  };

  int ranks() const { return static_cast<int>(positions_.size()); }
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank.value); }
  const plan::Program& program(Rank me) const;
  const plan::Step& next_step(Rank me) const;
  bool is_over(Rank me) const { return positions_[index(me)].call > static_cast<int>(calls_.size()); }
  void advance(Rank me);

  void begin(const Actor& by);
  void end(const Actor& by);
  void perform(const plan::Step& step, const Actor& by);
  void transfer(const plan::Step& step, const Actor& by);
  void start_send(const plan::Step& step, const Actor& by);
  void start_recv(const plan::Step& step, const Actor& by);
  void finish(const Actor& by);
  void post(const plan::Step& step, const Actor& by);

  void learn(const plan::Step& await, const Actor& by, Rank owner);
  void check_order(const Actor& by);

  std::span<const Rank> neighbours_of(Rank me) const;
  Transit& transit_at(Rank me, int call, int step);
  Posts& posts_of(Rank rank, plan::Flag flag);
  void forget_known(Rank owner, Posts& posts);

  // Waiting: waiting.cpp
  bool is_ready(Rank me);
  bool have_all_posted(const plan::Step& step, Rank me);
  bool is_finished(Rank me);
  const Post* find_post(const plan::Step& await, Rank owner, int call);
  void wake_waiters(Rank of);
  bool is_hopeless(Rank me) const;
  void report_deadlock();
  void report_stuck(Rank me, int stuck_ranks);
  std::string describe_position(Rank rank) const;

  std::span<const plan::Plan* const> calls_;
  std::span<const Wiring* const> wirings_;
  Report& report_;
  Clocks clocks_;
  World world_;
  std::vector<Position> positions_;
  std::deque<Rank> ready_;
  std::vector<std::vector<Rank>> waiters_;      ///< by the rank they wait for
  std::vector<Posts> posts_;                    ///< by rank and flag
  std::vector<std::vector<Transit>> transits_;  ///< by call and message
  std::vector<std::vector<Event>> begins_;      ///< by call and rank
};

}  // namespace espalier::verify
