#pragma once
// Flows that share links, as SimGrid's fluid model lets them (CM02 without corrections: Velho and Legrand, SIMUTools
// 2009), for many more of them at once.
//
// SimGrid shares out anew the links of all flows that are connected by way of others whenever one begins or ends. Here
// only what changes is looked at: a link's level is what it leaves to each of its flows (per weight), a flow moves at
// the lowest level of its links, and a link is looked at again only when what its flows may do elsewhere has changed.
// Levels that agree on all links are the fair shares (max-min), and no others do. A link counts how far it has moved
// each of the flows that it holds at its level, so that a new level changes one number and not all their ends (virtual
// time, as in fair queueing: Demers, Keshav and Shenker, SIGCOMM 1989).

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "flows/agenda.hpp"

namespace espalier::flows {

/// One direction of a cable.
struct Link {
  double rate;     ///< bytes per microsecond (1000 = 1 GB/s)
  double latency;  ///< microseconds, with the switch or adapter at its end
  /// Messages divide the rate among themselves. If not, each has it for itself: latency that belongs to no cable.
  bool is_shared = true;
};

/// Time in microseconds, never going back. A flow waits for the latencies of its route, then moves its bytes; on a link
/// that is not enough for all, flows are served in inverse proportion to their latencies, as in SimGrid. Shares are
/// exact to one part in a thousand, so that times are to one in ten thousand. Deterministic. Every route has a link
/// that is shared.
class Fluid {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// `connection_rate`: the most that one flow moves, in bytes per microsecond; 0: no bound.
  explicit Fluid(std::span<const Link> links, double connection_rate = 0);

  /// A flow begins at `now`, not before the last advance. `name` tells it apart when it ends; `most` is what it moves
  /// at most, in bytes per microsecond, whatever else bounds it.
  void start(std::size_t name, std::span<const int> route, double bytes, double now, double most = never);
  /// When the next one ends its latency or its bytes; `never` when there is none.
  double next() { return settle(), std::min(flows_due_.first_time(), links_due_.first_time()); }
  /// Goes on to `next()`. Appends the names of those that have ended to `ended`.
  void advance(std::vector<std::size_t>& ended);

 private:
  struct Place {
    int link;
    std::uint32_t index;  ///< among the link's flows
  };
  struct Flow {
    std::size_t name = 0;
    double weight = 1, most = never;  ///< bytes per microsecond at level 1; the highest level it may have
    double left = 0;                  ///< bytes; while nobody holds it
    double due = 0;                   ///< by the count of the link that holds it, or in time where that is `nowhere_`
    int holder = nobody;
    std::uint32_t turn = 0;  ///< how often that has changed
    bool is_moving = false;
    std::vector<Place> places;
  };
  static constexpr int nobody = -1;
  /// The end of a flow that a link holds, unless the flow's turn is another by now.
  struct End {
    double due;
    int flow;
    std::uint32_t turn;
    bool operator>(const End& other) const { return std::pair(due, flow) > std::pair(other.due, other.flow); }
  };
  /// What of a flow its link needs to share itself out, side by side with that of the others: most time goes into
  /// reading this.
  struct Member {
    int flow;
    std::uint32_t place;  ///< of this link among the flow's
    double weight, most;
  };
  struct Shared {
    double rate;
    double load = 0;              ///< of all its flows together, while there is enough for them
    double unseen = 0;            ///< by how much that may have changed since its level was reckoned
    double moved = 0, since = 0;  ///< how far what it holds had moved by then: bytes of a flow of weight 1
    bool is_waiting = false, is_changed = false;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::vector<Member> flows;
    std::vector<int> others;  ///< `width_` for each of them: its other links, then `nowhere_`
  };
  /// The lowest level among some of a flow's links, whose it is (`nowhere_`: its own bound), and the lowest but that.
  struct Lowest {
    double level, second;
    int link;
  };

  Shared& shared(int link) { return links_[static_cast<std::size_t>(link)]; }
  Shared& at(const Place& place) { return shared(place.link); }
  Flow& flow(int number) { return flows_[static_cast<std::size_t>(number)]; }
  double level_at(int link) const { return level_[static_cast<std::size_t>(link)]; }
  int take_flow();
  void widen(std::size_t width);
  void end(int number, std::vector<std::size_t>& ended);
  void enter(int number);
  void leave(int number);
  void remove(Shared& link, std::uint32_t index);
  void look_at(int link);
  void settle();
  void share(int link);
  double fair_level(int link);
  void publish(int link, double level);
  void tell(int other, double weight, double before, double after, const Lowest& elsewhere);
  std::span<const int> others(const Shared& link, std::size_t index) const {
    return std::span(link.others).subspan(index * width_, width_);
  }
  double find_limit(const Shared& link, std::size_t index) const;
  Lowest find_lowest(const Shared& link, std::size_t index) const;
  Lowest find_lowest(const Flow& flow) const;
  void load(int link, double more);
  double moved(int link) const;
  double left(const Flow& flow) const;
  void hold(int number, int holder);
  void note_change(int link);
  void expect_end(int link);

  double connection_rate_, now_ = 0;
  std::vector<double> latency_, bound_;  ///< by link; what one flow may move there
  std::vector<double> level_;            ///< by link; never: there is enough for all its flows. `nowhere_`'s is that
  int nowhere_;                          ///< behind the last link
  std::size_t width_ = 0;                ///< the most other links that a flow has had so far
  std::vector<Shared> links_;
  std::vector<bool> is_shared_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<int> changed_;  ///< links that have another level, or hold others
  std::queue<int> waiting_;   ///< links to look at
  std::vector<std::pair<double, double>> limits_;
  Agenda flows_due_;  ///< when they begin to move, and when those end that no link holds
  Agenda links_due_;  ///< when the first flow ends of those that one holds
};

}  // namespace espalier::flows
