#pragma once
// The memories of all ranks during a few calls, and what happens to them.

#include <span>
#include <vector>

#include "plan/program.hpp"
#include "verify/machine/clocks.hpp"
#include "verify/machine/contents.hpp"
#include "verify/machine/memory.hpp"
#include "verify/violation.hpp"

namespace espalier::verify {

/// A rank at one of its steps (or at the begin or end of a program), as an event.
struct Actor {
  Event event;
  int call = 1;
  int step = Violation::before_first;

  Rank rank() const { return event.rank; }
};

/// Bytes of somebody's buffer. For the window: of the bank that the actor's call uses.
struct Place {
  Rank owner{};
  plan::Buffer buffer = plan::Buffer::input;
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// Where the caller's buffers lie: apart, or overlapping as under MPI_IN_PLACE (plan::alias_of).
enum class Placement : bool { apart, in_place };

/// Every access is noted in the memory it touches; what conflicts or reads undefined bytes is reported.
class World {
 public:
  /// `calls[c - 1]` is the plan of call c. Everything passed must outlive the world.
  World(std::span<const plan::Plan* const> calls, Placement placement, const Clocks& clocks, Report& report);

  /// The caller has filled its buffers and enters the call: counts as its write to all of them.
  void begin(const Actor& by);
  /// The caller looks at its output and may use its buffers for something else: counts as its write to all of them.
  void end(const Actor& by);

  /// One copy by the actor.
  void transfer(const Actor& by, const Place& from, const Place& to);
  /// One reduction by the actor: to = from o to.
  void reduce(const Actor& by, const Place& from, const Place& to);
  /// The contents of a message that starts now.
  Contents load(const Actor& by, const Place& from);
  /// A receipt starts: the place belongs to the network until deliver().
  void open(const Actor& by, const Place& to);
  /// `by` is the actor that started the receipt.
  void deliver(const Actor& by, const Place& to, const Contents& contents);

 private:
  /// The memory that a place lies in, after aliasing.
  struct Location {
    Memory* memory = nullptr;
    Rank owner{};
    plan::Buffer buffer = plan::Buffer::input;
    Extent extent;
  };

  const plan::Plan& plan_of(int call) const { return *calls_[static_cast<std::size_t>(call - 1)]; }
  plan::Alias alias_of(int call, Rank rank) const {
    if (placement_ == Placement::apart) return {};
    return plan::alias_of(plan_of(call).problem, plan_of(call).topology.ranks(), rank);
  }
  Location locate(const Actor& by, const Place& place);
  void store(const Actor& by, const Location& to, const Contents& contents);
  void refill(const Actor& by, plan::Buffer buffer, const Contents& contents);
  void check_output(const Actor& by);
  void check_reduction(const Actor& by, const Contents& found);
  void check_same_bits(const Actor& by, const Contents& found);
  void report_data(const Actor& by, Extent where, const Value& found, const std::string& wanted);
  bool overlaps(const Actor& by, const Location& source, const Location& target);
  void report_undefined(const Actor& by, const Location& from, const Contents& contents);
  void report_conflicts(const Actor& by, const Location& location, bool writes);
  std::string describe(Event other) const;

  std::span<const plan::Plan* const> calls_;
  Placement placement_;
  const Clocks& clocks_;
  Report& report_;
  std::vector<Memory> memories_;
  std::vector<Expressions> expressions_;  ///< by call
  std::vector<Contents> first_results_;   ///< by call: what the first rank to end an allreduce has found
  std::vector<Conflict> conflicts_;       ///< of the access under way
};

}  // namespace espalier::verify
