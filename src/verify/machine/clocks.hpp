#pragma once
// Happens-before among all ranks, by vector clocks (Mattern, "Virtual Time and Global States of Distributed Systems",
// 1989). The order is that of the programs alone: it does not depend on the schedule in which they are examined.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/ids.hpp"

namespace espalier::verify {

/// The events of one rank are numbered from 1; 0 is before all of them. Signed: every processor compares vectors of
/// those.
using Moment = std::int32_t;

/// One moment for each rank, padded with zeros to whole blocks for the sake of vector instructions.
using Moments = std::vector<Moment>;

struct Event {
  Rank rank{};
  Moment moment = 0;
};

/// All that a rank knows of the past at one of its events. Cheap to keep: ranks that learn nothing new share the
/// memory.
struct Snapshot {
  Event at;
  std::shared_ptr<const Moments> known;
};

class Clocks {
 public:
  explicit Clocks(int ranks);

  /// The next event of a rank. It is over at once unless `open` says otherwise.
  Event next(Rank me);
  /// The event lasts until the event at which it is closed: a message under way.
  void open(Event event) { end_of(event) = never; }
  void close(Event event) { end_of(event) = now(event.rank); }

  Snapshot snapshot(Rank me) const { return {{me, now(me)}, known_[index(me)]}; }
  /// From here on `me` comes after everything in the snapshot. Costs O(ranks), or O(1) when it knew already.
  void join(Rank me, const Snapshot& past);

  /// Whether `me` comes after `event` already, so that joining a snapshot taken there changes nothing.
  bool knows(Rank me, Event event) const { return latest_known(me, event.rank) >= event.moment; }
  /// Whether `event` was over, for certain, at the latest event of `me`.
  bool is_past(Rank me, Event event) const { return latest_known(me, event.rank) >= end_of(event); }

 private:
  static constexpr Moment never = std::numeric_limits<Moment>::max();
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank.value); }

  Moment now(Rank rank) const { return static_cast<Moment>(ends_[index(rank)].size() - 1); }
  Moment latest_known(Rank me, Rank other) const { return me == other ? now(me) : (*known_[index(me)])[index(other)]; }
  Moment& end_of(Event event) { return ends_[index(event.rank)][event.moment]; }
  Moment end_of(Event event) const { return ends_[index(event.rank)][event.moment]; }

  std::vector<std::vector<Moment>> ends_;  ///< by rank and moment: when the event was over
  /// By rank: the latest moment of each other rank that is certainly past. Shared with snapshots, replaced when
  /// written.
  std::vector<std::shared_ptr<Moments>> known_;
};

}  // namespace espalier::verify
