// Who is to blame when nobody can go on. Every stuck rank waits for one other, so following those leads either to a rank
// that has ended, or round a circle; the others only wait behind.

#include "verify/machine.hpp"

namespace espalier::verify {

void Machine::report_deadlock() {
  int stuck = 0;
  for (int r = 0; r < ranks(); ++r) stuck += !is_over(Rank(r));
  std::vector<int> seen_in(positions_.size(), -1);
  for (int r = 0; r < ranks(); ++r) {
    Rank at(r);
    Rank last = at;
    while (!is_over(at) && seen_in[index(at)] < 0) {
      seen_in[index(at)] = r;
      last = at;
      at = awaited_by(at);
    }
    if (is_over(at)) {
      if (!is_over(last)) report_stuck(last, stuck);
    } else if (seen_in[index(at)] == r) {
      const Rank first = at;
      do report_stuck(at, stuck);
      while ((at = awaited_by(at)) != first);
    }
  }
}

void Machine::report_stuck(Rank me, int stuck_ranks) {
  const Position& at = positions_[index(me)];
  report_.add({Kind::deadlock, me, at.step, at.call, next_step(me).buffer(), 0, 0,
               plan::to_string(next_step(me)) + " waits for ever for rank " + std::to_string(awaited_by(me).value) + ", " +
                   describe_position(awaited_by(me)) + "; " + std::to_string(stuck_ranks) + " ranks are stuck"});
}

std::string Machine::describe_position(Rank rank) const {
  if (is_over(rank)) return "which has ended";
  const Position& at = positions_[index(rank)];
  return "which waits at step " + std::to_string(at.step) + " of call " + std::to_string(at.call) + " (" +
         plan::to_string(next_step(rank)) + ")";
}

}  // namespace espalier::verify
