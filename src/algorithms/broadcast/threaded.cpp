// Broadcast along one chain of all ranks, re-threaded so that every node is entered through its rank near the card and
// every byte goes from NUMA domain to NUMA domain once (Goglin and Moreaud 2011, section 4.5):
//
//     root ─► 7 ─ 4 ─ 5 ─► 9 ─ 8 ─ 10 ─ 11 ─► 13 ─ 12 ─ …       ─► message   ─ through a cell
//
// With leaders=natural nodes are entered through their first ranks, as a chain by rank is.

#include <algorithm>
#include <optional>

#include "algorithms/row.hpp"
#include "leaders/direction.hpp"
#include "smp/operations.hpp"

namespace espalier::algorithms::broadcast_threaded {
namespace {

class ThreadedChain {
 public:
  ThreadedChain(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        cells_(choice),
        segment_(choice.segment == 0 ? problem.bytes : std::min(choice.segment, problem.bytes)),
        call_{problem.operation, problem.root, choice.leaders} {
    find_place();
  }

  void run() {
    std::optional<std::uint32_t> sent;
    for (Bytes offset = 0; offset < problem_.bytes; offset += segment_) {
      const smp::Range segment{Buffer::output, offset, std::min(segment_, problem_.bytes - offset)};
      if (before_ && !is_here(*before_))
        builder_.finish(builder_.recv(*before_, segment.buffer, segment.offset, segment.bytes));
      hand_on(segment);
      if (!after_ || is_here(*after_)) continue;
      if (sent) builder_.finish(*sent);  // one under way, while the next one comes
      sent = builder_.send(*after_, segment.buffer, segment.offset, segment.bytes);
    }
    if (sent) builder_.finish(*sent);
  }

 private:
  bool is_here(Rank rank) const { return builder_.topology().node_of(rank) == builder_.node(); }

  /// Only this node's thread, and the ends of those beside it: never all ranks.
  void find_place() {
    const topology::Topology& topology = builder_.topology();
    const int nodes = topology.nodes(), first = topology.node_of(problem_.root).value;
    const int position = (builder_.node().value - first + nodes) % nodes;
    const auto thread_of = [&](int at) {
      return leaders::derive_thread(topology, NodeId((first + at) % nodes), call_);
    };
    const std::vector<Rank> mine = thread_of(position);
    const auto me = std::ranges::find(mine, builder_.me());
    if (me != mine.begin())
      before_ = *std::prev(me);
    else if (position > 0)
      before_ = thread_of(position - 1).back();
    if (std::next(me) != mine.end())
      after_ = *std::next(me);
    else if (position + 1 < nodes)
      after_ = thread_of(position + 1).front();
  }

  /// From the neighbour before me to the one behind me, piece by piece.
  void hand_on(const smp::Range& segment) {
    const topology::Topology& topology = builder_.topology();
    for (Bytes done = 0; done < segment.bytes; done += cells_.bytes, ++pieces_) {
      const smp::Range piece{segment.buffer, segment.offset + done, std::min(cells_.bytes, segment.bytes - done)};
      if (before_ && is_here(*before_)) {
        const LocalRank writer = topology.local_rank(*before_);
        smp::pair_sync(builder_, writer, pieces_);
        smp::receiver_get(builder_, cells_, writer, pieces_, 0, piece);
        smp::taken_post(builder_, pieces_);
      }
      if (after_ && is_here(*after_)) {
        if (pieces_ >= cells_.count) smp::await_taken(builder_, topology.local_rank(*after_), pieces_ - cells_.count);
        smp::sender_put(builder_, cells_, pieces_, piece);
        smp::pair_sync(builder_, builder_.local(), pieces_);
      }
    }
  }

  Builder& builder_;
  const Problem& problem_;
  smp::Cells cells_;
  Bytes segment_;
  leaders::Call call_;
  std::optional<Rank> before_, after_;
  int pieces_ = 0;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) ThreadedChain(builder, problem, choice).run();
}

std::string limits(const topology::Topology&, const Problem&, const Choice& choice) {
  return choice.within == plan::Within::cells ? "" : "a chain of all ranks goes through cells: use within=cells";
}

/// Until the last rank has the first segment, and then a segment at the pace of the slowest link.
double price(const Scene& s) {
  const double segment = s.segment(), cell = static_cast<double>(s.choice.cell), piece = std::min(segment, cell);
  const double link = s.node.put(piece) + s.node.flag_to_one() + s.node.get(piece);
  const double pieces = std::ceil(segment / piece), copies = pieces * (s.node.put(piece) + s.node.get(piece));
  const double way = (s.nodes - 1) * s.network.message(segment) + (s.ranks - s.nodes) * link;
  const double period = std::max(s.nodes > 1 ? s.network.serial(segment) : 0, copies);
  return way + (s.on_node > 1 ? copies : 0) + (s.segments() - 1) * period;
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "threaded",
    .place = 7,
    .source = "Goglin, Moreaud 2011, section 4.5",
    .summary =
        "every rank is a link of one chain, each node entered beside its card, p - 1 + segments rounds: to compare "
        "with, since past a node's first rank shared memory serves all at once",
    .knobs = "segment within=cells cell cells leaders",
    .build = build,
    .limits = limits,
    .way = over_trunks,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_threaded
