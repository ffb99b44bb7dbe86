#include "verify/machine/clocks.hpp"

namespace espalier::verify {

namespace {

constexpr std::size_t block = 16;

/// The hot spot of large plans. Compilers turn a loop of fixed length over memory that cannot overlap into vector
/// instructions even at -O2.
void raise_to(Moment* __restrict mine, const Moment* __restrict theirs, std::size_t blocks) {
  for (; blocks > 0; --blocks, mine += block, theirs += block)
    for (std::size_t i = 0; i < block; ++i) mine[i] = mine[i] < theirs[i] ? theirs[i] : mine[i];
}

}  // namespace

Clocks::Clocks(int ranks) : ends_(static_cast<std::size_t>(ranks), {0}) {
  const std::size_t blocks = (static_cast<std::size_t>(ranks) + block - 1) / block;
  const auto nothing = std::make_shared<Moments>(blocks * block, 0);
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
  std::shared_ptr<Moments>& known = known_[index(me)];
  if (known.use_count() > 1) known = std::make_shared<Moments>(*known);
  raise_to(known->data(), past.known->data(), known->size() / block);
  (*known)[index(past.at.rank)] = past.at.moment;
}

}  // namespace espalier::verify
