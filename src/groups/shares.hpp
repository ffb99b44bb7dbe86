#pragma once
// How the ranks of a node divide into groups, and who speaks for each.

#include "base/ids.hpp"

namespace espalier::groups {

/// Consecutive ranks of a node, as equal in number as can be. With more groups than ranks some have no rank of this
/// node: their share is empty, but somebody still speaks for them, ranks in turn.
///
///     5 ranks, 2 groups    [0* 1 2] [3* 4]           * master
///     2 ranks, 4 groups    [0*] [1*] [ ] [ ]         groups 2, 3: masters 0, 1
class Shares {
 public:
  Shares(int ranks, int groups) : ranks_(ranks), groups_(groups), filled_(groups < ranks ? groups : ranks) {}

  int groups() const { return groups_; }
  int first(int group) const { return group >= filled_ ? ranks_ : group * ranks_ / filled_; }
  int last(int group) const { return first(group + 1); }
  LocalRank master(int group) const { return LocalRank(first(group % filled_)); }
  /// The group that a rank's own data belong to.
  int group_of(LocalRank rank) const {
    int group = 0;
    while (last(group) <= rank.value) ++group;
    return group;
  }

 private:
  int ranks_;
  int groups_;
  int filled_;
};

}  // namespace espalier::groups
