#pragma once
// Flags as the cache lines that they are: what it takes to see one, when many look at it, and when one looks at many.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/step.hpp"
#include "simulate/nodes/ahead.hpp"
#include "simulate/nodes/node_platform.hpp"

namespace espalier::simulate {

/// A look at a line that has changed fetches it from its owner's cache, or from a core below the same cache that has
/// fetched it before. Who holds a line serves those who ask one after the other (Ramos and Hoefler, HPDC 2013: the cost
/// of a line grows linearly with those who ask at once). A core has several looks under way (ahead.hpp).
class FlagLines {
 public:
  /// `are_single`: every tick is a line of its own, as in short messages (execute/lines/tiny.hpp).
  FlagLines(const NodePlatform& platform, bool are_single) : platform_(platform), are_single_(are_single) {}

  struct Seat {
    int rank;
    int cache;  ///< on its node
  };
  /// A call begins: nothing has been raised in it, nobody looks.
  void begin_call(int call);
  void raise(int owner, const plan::Step& step, double when);
  /// When `reader` sees what `owner` raised at `raised`, looking from `when` on. Negative: in an earlier call; who has
  /// seen a later one's flag since need not look again, as the interpreter's seat remembers (execute/seat.hpp).
  /// `ahead` is the reader's core.
  double see(const Seat& reader, const Seat& owner, const plan::Step& step, double raised, double when, Ahead& ahead);

 private:
  struct Copy {
    int cache;
    std::uint64_t tick;
    double since, free;
  };
  struct Line {
    double free = 0;
    std::vector<Copy> copies;
    std::vector<std::pair<double, std::uint64_t>> raised;
  };
  double fetch(Line& line, const Seat& reader, const Seat& owner, std::uint64_t tick, double start) const;
  std::uint64_t version(const Line& line, std::uint64_t tick, double when) const;

  const NodePlatform& platform_;
  bool are_single_;
  int call_ = 0;
  std::map<std::pair<int, int>, Line> lines_;  ///< by owner and flag
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;
};

}  // namespace espalier::simulate
