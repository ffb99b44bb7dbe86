#pragma once
// In which order everyone turns to everyone else.

#include <vector>

namespace espalier::groups {

/// 1, 2, …, count - 1, each once: how far to the right on the circle of all (nodes or ranks) partners are, round by
/// round of an exchange of all with all; in any order every round has everyone send to one and receive from one. In
/// this order any few rounds that follow each other are spread over the whole circle. In ascending order neighbours,
/// who mostly sit on one switch, would all have their partners on one other switch at a time: they crowd the few cables
/// between the two while all others are idle (16 nodes of a dragonfly of 4 groups, 8 ranks each, 4 KB per pair: 1060
/// us, so 425). Steps of the golden ratio, whose multiples leave no large gaps: it needs nothing of the network.
/// `count` >= 1.
std::vector<int> spread_distances(int count);

}  // namespace espalier::groups
