#pragma once
// Runs all ranks' programs symbolically, a few calls in a row.
//
// What a step waits for never becomes untrue again and no step chooses between two futures, so one schedule shows whether
// any schedule can get stuck. Every send is synchronous: its finish waits for the recv to start. That is the strictest
// behaviour MPI allows; a plan that ends under it ends everywhere.

#include <deque>
#include <span>
#include <vector>

#include "verify/messages.hpp"
#include "verify/world.hpp"

namespace espalier::verify {

class Machine {
 public:
  /// `calls[c - 1]` and `wirings[c - 1]` belong to call c; all calls are on one topology. They must outlive the machine.
  Machine(std::span<const plan::Plan* const> calls, std::span<const Wiring* const> wirings, Placement placement, Report& report);

  /// Runs to the end, or until nobody can go on, or until the report is full.
  void run();

 private:
  /// Where a rank stands: about to execute `step` of `call`.
  struct Position {
    int call = 1;
    int step = Violation::before_first;
  };
  /// A flag was raised to `tick` of `call`.
  struct Post {
    int call;
    std::uint64_t tick;
    Snapshot past;
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
  bool is_waiting_step(Rank me) const;
  bool is_ready(Rank me);
  void advance(Rank me);

  void begin(const Actor& by);
  void end(const Actor& by);
  void perform(const plan::Step& step, const Actor& by);
  void transfer(const plan::Step& step, const Actor& by);
  void start_send(const plan::Step& step, const Actor& by);
  void start_recv(const plan::Step& step, const Actor& by);
  void finish(const Actor& by);
  void post(const plan::Step& step, const Actor& by);

  Rank neighbour(Rank me, LocalRank local) const;
  Transit& transit_at(const Actor& by);
  std::vector<Post>& posts_of(Rank rank, plan::Flag flag);
  const Post* find_post(const plan::Step& await, Rank me, int call);
  void check_order(const Actor& by);

  /// Whoever waits for this rank may look again.
  void wake_waiters(Rank of);
  Rank awaited_by(Rank me) const;
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
  std::vector<std::vector<Rank>> waiters_;       ///< by the rank they wait for
  std::vector<std::vector<Post>> posts_;         ///< by rank and flag, growing
  std::vector<std::vector<Transit>> transits_;   ///< by call and message
  std::vector<std::vector<Event>> begins_;       ///< by call and rank
};

}  // namespace espalier::verify
