#include "verify/clocks.hpp"

#include <algorithm>

namespace espalier::verify {

Clocks::Clocks(int ranks) : ends_(static_cast<std::size_t>(ranks), {0}) {
  const auto nothing = std::make_shared<std::vector<Moment>>(static_cast<std::size_t>(ranks), 0);
  known_.assign(static_cast<std::size_t>(ranks), nothing);
}

Event Clocks::next(Rank me) {
  std::vector<Moment>& ends = ends_[index(me)];
  const auto moment = static_cast<Moment>(ends.size());
  ends.push_back(moment);
  return {me, moment};
}

void Clocks::join(Rank me, const Snapshot& past) {
  if (knows(me, past.at)) return;
  std::shared_ptr<std::vector<Moment>>& known = known_[index(me)];
  if (known.use_count() > 1) known = std::make_shared<std::vector<Moment>>(*known);
  // Plain arrays: the compiler turns this loop, the hot spot of large plans, into vector instructions.
  Moment* mine = known->data();
  const Moment* theirs = past.known->data();
  for (std::size_t i = 0, count = known->size(); i < count; ++i) mine[i] = std::max(mine[i], theirs[i]);
  mine[index(past.at.rank)] = past.at.moment;
}

}  // namespace espalier::verify
