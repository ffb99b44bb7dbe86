#include "collectives/halving.hpp"

#include <algorithm>

namespace espalier::collectives {

void Halving::halve() {
  for (std::size_t round = 0; round < partners_.size(); ++round) {
    const auto [kept, given] = halves(round);
    const std::uint32_t operand = sum_.recv_operand(partners_[round], begin(kept), size(kept));
    const std::uint32_t sent = sum_.send(partners_[round], begin(given), size(given));
    builder_.finish(operand);
    builder_.finish(sent);
    sum_.add(is_right(round), begin(kept), size(kept));
    mine_ = kept;
  }
  sum_.settle(begin(mine_), size(mine_));
}

void Halving::double_back() {
  for (std::size_t round = partners_.size(); round-- > 0;) {
    const Slices other = theirs(round);
    const std::uint32_t arriving = sum_.recv_result(partners_[round], begin(other), size(other));
    const std::uint32_t sent = sum_.send(partners_[round], begin(mine_), size(mine_));
    builder_.finish(arriving);
    builder_.finish(sent);
    take_on(other);
  }
}

void Halving::gather_at(int place) {
  for (std::size_t round = partners_.size(); round-- > 0;) {
    if (((place_ ^ place) >> round & 1) != 0)  // all that I have, and nothing is left for me to do
      return builder_.finish(sum_.send(partners_[round], begin(mine_), size(mine_)));
    const Slices other = theirs(round);
    builder_.finish(sum_.recv_result(partners_[round], begin(other), size(other)));
    take_on(other);
  }
}

/// What this leader keeps of its slices, and what it gives to its partner of the round.
std::pair<Halving::Slices, Halving::Slices> Halving::halves(std::size_t round) const {
  const int middle = (mine_.first + mine_.last) / 2;
  const Slices lower{mine_.first, middle}, upper{middle, mine_.last};
  return is_right(round) ? std::pair(upper, lower) : std::pair(lower, upper);
}

Halving::Slices Halving::theirs(std::size_t round) const {
  const int width = mine_.last - mine_.first;
  return is_right(round) ? Slices{mine_.first - width, mine_.first} : Slices{mine_.last, mine_.last + width};
}

void Halving::take_on(const Slices& slices) {
  mine_ = {std::min(mine_.first, slices.first), std::max(mine_.last, slices.last)};
}

}  // namespace espalier::collectives
