#pragma once
// Nodes in an order in which an exchange that doubles has little to send while its partners are far.

#include <vector>

namespace espalier::groups {

/// The number whose `digits` lowest binary digits are those of `number` in reverse.
int reverse_digits(int number, int digits);

/// Which node is at which position when doubling goes by positions. It meets the farthest partners first, with its own
/// data, and then ever nearer ones, with more; half of all data come from the next node:
///
///     by number                                        far first
///     position 0 1 2 3 4 5 6 7                         position 0 1 2 3 4 5 6 7
///     node     0 1 2 3 4 5 6 7                         node     0 4 2 6 1 5 3 7
///     1 node to the next, 2 to the second next,        1 node to the fourth next, 2 to the second next,
///     4 to the fourth next                             4 to the next
///
/// So the few cables between far switches carry few data, however narrow they are, and nothing of the network need be
/// known but that numbers that are close are close in it. (Distance halving: Sack, Gropp 2012, section 3.) What comes
/// is in no order of numbers: it must be taken apart. Pure; O(count); best where `count` is a power of two.
std::vector<int> derive_far_first(int count);

}  // namespace espalier::groups
