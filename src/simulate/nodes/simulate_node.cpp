// The play, the copies and the messages take turns on one clock, as in simulate_fluid.cpp.

#include "simulate/nodes/simulate_node.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "cost/step_time.hpp"
#include "flows/fluid.hpp"
#include "simulate/nodes/ahead.hpp"
#include "simulate/nodes/flag_lines.hpp"
#include "simulate/nodes/holdings.hpp"
#include "simulate/nodes/node_links.hpp"

namespace espalier::simulate {
namespace {

using flows::Fluid;
using plan::Buffer;
using plan::Op;
using plan::Step;

constexpr double line_bytes = 64;
/// Shorter copies are a handful of lines under way at once: no stream that others could slow down.
constexpr Bytes short_bytes = 512;
constexpr int buffers = 4;
/// Copies out of one process's memory by way of the kernel that several make at once: they take turns at its pages
/// (Chakraborty, Subramoni, Panda, CLUSTER 2017). 16 Xeon cores, broadcast of 256 KB by single copy: 7 readers 204 us,
/// 15 readers 440 us, 9 GB/s for all together.
constexpr double rate_at_one_process = 9000;

/// Where a rank sits, and what of its memory fits which cache.
struct Seat {
  int node, cache, numa, socket;
  bool fits_private = true;  ///< both buffers, in the core's own cache
  bool fits_cache = true;    ///< those of all ranks below the shared one
};

class NodeStage final : public cost::Wire, public cost::Memory {
 public:
  NodeStage(const plan::Plan& plan, const NodeJob& job, const cost::Parameters& parameters, bool are_lines)
      : plan_(plan),
        topology_(plan.topology),
        platform_(job.platform),
        job_(job),
        is_(parameters),
        links_(platform_, plan.topology.nodes()),
        every_link_(links_.all()),
        readers_(static_cast<std::size_t>(topology_.ranks())),
        flags_(platform_, are_lines) {
    for (int rank = 0; rank < topology_.ranks(); ++rank)
      every_link_.push_back({{rate_at_one_process, 0}, "memory map of rank " + std::to_string(rank)});
    loads_.resize(every_link_.size());
    sit();
    for (int rank = 0; rank < topology_.ranks(); ++rank)
      holdings_.insert(holdings_.end(), buffers, Holdings(seat(Rank(rank)).cache));
  }

  /// One call after the others.
  void run(int call, std::vector<cost::Span>* spans, NodeResult& result) {
    begin_call(call);
    cost::Play play(plan_, is_, *this, this);
    if (spans != nullptr) play.record(*spans);
    Fluid fluid(std::vector<flows::Link>(every_link_.begin(), every_link_.end()));
    play_ = &play, fluid_ = &fluid;
    for (now_ = 0; (now_ = std::max(now_, due())) < Fluid::never;) {
      set_out();
      if (fluid.next() <= now_) arrive();
      while (play.next() <= now_) play.advance();
    }
    if (!play.is_over()) throw Error("the plan did not come to its end: verify it");
    result.ends = play.ends();
    result.total = *std::ranges::max_element(result.ends);
  }

  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    Stream stream{.message = static_cast<std::ptrdiff_t>(message),
                  .connection = {from.value, to.value},
                  .bytes = static_cast<double>(bytes),
                  .latency = when + job_.latency};
    cross_network(seat(from), seat(to), stream);
    const double soonest = stream.latency;
    std::deque<std::size_t>& queue = connections_[stream.connection];
    queue.push_back(add(std::move(stream)));
    if (queue.size() == 1) waiting_.emplace(soonest, queue.front());
  }

  void move(Rank me, const Step& step, bool is_operand, double when) override;

  void raise(Rank owner, const Step& step, double when) override { flags_.raise(owner.value, step, when); }

  double see(Rank reader, Rank owner, const Step& step, double raised, double when) override {
    return flags_.see({reader.value, seat(reader).cache}, {owner.value, seat(owner).cache}, step, raised, when,
                      cores_[static_cast<std::size_t>(reader.value)]);
  }

  std::vector<NodeResult::Load> loads() const {
    std::vector<NodeResult::Load> all;
    for (std::size_t i = 0; i < loads_.size(); ++i)
      if (loads_[i] > 0) all.push_back({every_link_[i].name, every_link_[i].rate, loads_[i]});
    return all;
  }

 private:
  /// Bytes on their way: a rank's copy, or a message.
  struct Stream {
    Rank mover{-1};
    Rank mapped{-1};  ///< whose map of memory the kernel walks
    std::ptrdiff_t message = -1;
    std::pair<int, int> connection = {};  ///< of a message
    double bytes = 0;
    std::vector<int> route = {};
    double most = Fluid::never;                 ///< rate
    double latency = 0;                         ///< before its first byte; of a message: when that may be there
    Holdings::Mover behind = Holdings::nobody;  ///< whose copies it copies, which may be at it still
    double end = Fluid::never;
    std::vector<std::size_t> followers = {};

    void cross(int link) {
      if (std::ranges::find(route, link) == route.end()) route.push_back(link);
    }
  };
  struct Place {
    Rank rank;
    Buffer buffer;
    Bytes offset;
  };

  const Seat& seat(Rank rank) const { return seats_[static_cast<std::size_t>(rank.value)]; }
  Holdings& holdings(const Place& place) {
    return holdings_[static_cast<std::size_t>(place.rank.value) * buffers + static_cast<std::size_t>(place.buffer)];
  }
  double handover(int from, int to) const {
    return platform_.handover[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  Rank neighbour(Rank me, LocalRank local) const {
    return topology_.ranks_on(topology_.node_of(me))[static_cast<std::size_t>(local.value)];
  }
  std::size_t add(Stream stream) {
    streams_.push_back(std::move(stream));
    return streams_.size() - 1;
  }

  void sit();
  void begin_call(int call);
  Place source_of(Rank me, const Step& step) const;
  Place target_of(Rank me, const Step& step) const;
  void fetch(Rank me, const Place& from, Bytes bytes, Stream& stream);
  void use_own(const Seat& mine, Stream& stream) const;
  void claim(Rank me, const Place& to, Bytes bytes, Stream& stream);
  void cross_network(const Seat& from, const Seat& to, Stream& stream) const;
  void enter_kernel(Rank other, Stream& stream);
  double set_out_early(Rank me, double when, double latency);
  void bound(double latency, Stream& stream) const {
    stream.latency = std::max(stream.latency, latency);
    stream.most = std::min(stream.most, platform_.lines * line_bytes / latency);
  }

  double due() {
    const double first = waiting_.empty() ? Fluid::never : waiting_.begin()->first;
    return std::min({play_->next(), fluid_->next(), first});
  }

  void set_out() {
    for (; !waiting_.empty() && waiting_.begin()->first <= now_; waiting_.erase(waiting_.begin())) {
      const std::size_t name = waiting_.begin()->second;
      const Stream& it = streams_[name];
      if (it.route.empty() || it.bytes <= short_bytes) {
        over(name, now_ + it.bytes / it.most);
        continue;
      }
      for (const int link : it.route) loads_[static_cast<std::size_t>(link)] += it.bytes;
      fluid_->start(name, it.route, it.bytes, now_, it.most);
    }
  }

  void arrive() {
    ended_.clear();
    fluid_->advance(ended_);
    for (const std::size_t name : ended_) over(name, now_);
  }

  void over(std::size_t name, double when) {
    Stream& it = streams_[name];
    if (it.message >= 0) return arrive(it, when);
    if (it.behind != Holdings::nobody) {
      Stream& ahead = streams_[static_cast<std::size_t>(it.behind)];
      if (ahead.end == Fluid::never) return ahead.followers.push_back(name);
      when = std::max(when, ahead.end + it.latency);
    }
    it.end = when;
    if (it.mapped.value >= 0) --readers_[static_cast<std::size_t>(it.mapped.value)];
    play_->resume(it.mover, when);
    for (const std::size_t follower : std::exchange(it.followers, {})) over(follower, when);
  }

  /// Messages of a connection come one behind the other.
  void arrive(const Stream& message, double when) {
    std::deque<std::size_t>& queue = connections_[message.connection];
    queue.pop_front();
    if (!queue.empty()) waiting_.emplace(std::max(when, streams_[queue.front()].latency), queue.front());
    play_->deliver(static_cast<std::size_t>(message.message), when - job_.latency, when);
  }

  const plan::Plan& plan_;
  const topology::Topology& topology_;
  const NodePlatform& platform_;
  const NodeJob& job_;
  const cost::Parameters is_;
  NodeLinks links_;
  std::vector<Link> every_link_;  ///< and one for each rank's map of memory
  std::vector<int> readers_;      ///< by rank: who is in the kernel for it
  std::vector<double> loads_;
  std::vector<Seat> seats_;         ///< by rank
  std::vector<Holdings> holdings_;  ///< by rank and buffer
  FlagLines flags_;
  std::vector<Ahead> cores_;  ///< by rank
  std::vector<Stream> streams_;
  std::map<std::pair<int, int>, std::deque<std::size_t>> connections_;  ///< messages that have not arrived
  std::multimap<double, std::size_t> waiting_;                          ///< by when they set out
  std::vector<std::size_t> ended_;
  std::vector<int> had_;
  cost::Play* play_ = nullptr;
  Fluid* fluid_ = nullptr;
  double now_ = 0;
};

/// Cells are touched first by their owners, so that they lie in their domains, as private buffers do. What a rank's
/// call uses is both its buffers, its scratch and its cells.
void NodeStage::sit() {
  std::vector<double> below(platform_.caches.size() * static_cast<std::size_t>(topology_.nodes()));
  std::vector<double> own;
  const auto cache_of = [&](const Seat& seat) -> double& {
    return below[static_cast<std::size_t>(seat.node) * platform_.caches.size() + static_cast<std::size_t>(seat.cache)];
  };
  for (int r = 0; r < topology_.ranks(); ++r) {
    const Rank rank(r);
    const int core = job_.core_of_rank[static_cast<std::size_t>(r)];
    const NodePlatform::Cache& cache = platform_.cache_of(core);
    seats_.push_back({topology_.node_of(rank).value, platform_.cache_of_core[static_cast<std::size_t>(core)],
                      cache.numa, cache.socket});
    const plan::Program& program = plan_.programs[static_cast<std::size_t>(r)];
    own.push_back(static_cast<double>(plan::input_bytes(plan_.problem, topology_.ranks(), rank) +
                                      plan::output_bytes(plan_.problem, topology_.ranks(), rank) +
                                      program.scratch_bytes + program.window_bytes));
    cache_of(seats_.back()) += own.back();
  }
  for (std::size_t r = 0; r < seats_.size(); ++r) {
    seats_[r].fits_private = own[r] <= platform_.private_bytes;
    seats_[r].fits_cache = cache_of(seats_[r]) <= platform_.cache_bytes;
  }
}

/// Callers have written their inputs, and read their results.
void NodeStage::begin_call(int call) {
  flags_.begin_call(call);
  streams_.clear();
  cores_.assign(seats_.size(), {});
  std::ranges::fill(loads_, 0.0);
  for (int rank = 0; rank < topology_.ranks(); ++rank)
    for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch})
      holdings({Rank(rank), buffer, 0}) = Holdings(seat(Rank(rank)).cache);
  // Who moved the cells' copies then is done.
  for (Holdings& it : holdings_) it.forget_movers();
}

NodeStage::Place NodeStage::source_of(Rank me, const Step& step) const {
  const LocalRank owner = step.neighbour();
  if (step.op() == Op::get) return {neighbour(me, owner), Buffer::window, step.window_offset()};
  if (step.op() == Op::pull || step.op() == Op::reduce)
    return {neighbour(me, owner), step.far_buffer(), step.far_offset()};
  if (step.op() == Op::copy) return {me, step.far_buffer(), step.far_offset()};
  return {me, step.buffer(), step.offset()};
}

NodeStage::Place NodeStage::target_of(Rank me, const Step& step) const {
  if (step.op() == Op::put) return {me, Buffer::window, step.window_offset()};
  if (step.op() == Op::push) return {neighbour(me, step.neighbour()), step.far_buffer(), step.far_offset()};
  return {me, step.buffer(), step.offset()};
}

/// Loads and stores of one copy overlap: the slower of the two sets its pace.
void NodeStage::move(Rank me, const Step& step, bool is_operand, double when) {
  const bool is_local = step.op() == Op::put || step.op() == Op::copy;
  if (is_operand && is_local) return play_->resume(me, when);  // the next step brings it
  Stream stream{.mover = me, .bytes = static_cast<double>(step.bytes())};
  const bool is_in_kernel = step.op() == Op::pull || step.op() == Op::push;
  stream.most = is_in_kernel ? is_.single_copy.rate : step.op() == Op::reduce ? is_.reduce.rate : is_.copy.rate;
  fetch(me, source_of(me, step), step.bytes(), stream);
  if (is_in_kernel && is_.together > 0) enter_kernel(neighbour(me, step.neighbour()), stream);
  if (!is_operand) claim(me, target_of(me, step), step.bytes(), stream);
  const double fixed = is_in_kernel ? is_.single_copy.fixed : is_.copy.fixed;
  const bool is_short = step.bytes() <= short_bytes && !is_in_kernel && stream.behind == Holdings::nobody;
  if (!is_short) cores_[static_cast<std::size_t>(me.value)].forget();
  const double start = is_short ? set_out_early(me, when + fixed, stream.latency) : when + fixed + stream.latency;
  waiting_.emplace(start, add(std::move(stream)));
}

/// Whoever finds somebody there takes turns.
void NodeStage::enter_kernel(Rank other, Stream& stream) {
  const auto index = static_cast<std::size_t>(other.value);
  stream.mapped = other;
  if (readers_[index]++ > 0) stream.cross(static_cast<int>(links_.all().size() + index));
}

/// When the first byte of a short copy is there that could begin at `when`.
double NodeStage::set_out_early(Rank me, double when, double latency) {
  Ahead& core = cores_[static_cast<std::size_t>(me.value)];
  const double gap = is_.step + is_.copy.fixed;
  const double asked = core.ask(when, gap, Ahead::per_step, static_cast<std::size_t>(platform_.lines));
  const double done = std::max(when, asked + latency);
  core.note(asked, done, Ahead::per_step, false);
  return done;
}

/// Reads what lies in its own core's cache, in the shared one, or in memory.
void NodeStage::use_own(const Seat& mine, Stream& stream) const {
  if (mine.fits_private) return;
  stream.cross(links_.inside(mine.node, mine.cache));
  if (mine.fits_cache) return;
  stream.cross(links_.memory(mine.node, mine.numa));
  bound(platform_.memory_latency, stream);
}

void NodeStage::fetch(Rank me, const Place& from, Bytes bytes, Stream& stream) {
  const Seat &mine = seat(me), &theirs = seat(from.rank);
  const auto number = static_cast<Holdings::Mover>(streams_.size());
  const Holdings::Source source = holdings(from).read(from.offset, from.offset + bytes, mine.cache, number);
  if (from.rank == me && source.cache == mine.cache) return use_own(mine, stream);
  bound(handover(source.cache, mine.cache), stream);
  if (source.cache == mine.cache) {
    stream.cross(links_.inside(mine.node, mine.cache));
    stream.behind = source.brought_by;
    return;
  }
  if (theirs.fits_cache) {
    stream.cross(links_.out_of(mine.node, source.cache));
  } else {
    stream.cross(links_.memory(mine.node, theirs.numa));
    bound(platform_.memory_latency, stream);
  }
  stream.cross(links_.into(mine.node, mine.cache));
  const int socket = platform_.caches[static_cast<std::size_t>(source.cache)].socket;
  if (socket != mine.socket) stream.cross(links_.between(mine.node, socket, mine.socket));
}

/// To write, a core takes the lines away from all who have copies; the farthest of them counts.
void NodeStage::claim(Rank me, const Place& to, Bytes bytes, Stream& stream) {
  const Seat& mine = seat(me);
  had_.clear();
  holdings(to).write(to.offset, to.offset + bytes, mine.cache, had_);
  double farthest = 0;
  for (const int cache : had_)
    if (cache != mine.cache) farthest = std::max(farthest, handover(mine.cache, cache));
  const bool is_shared = to.buffer == Buffer::window || to.rank != me;
  if (is_shared && platform_.caches[static_cast<std::size_t>(mine.cache)].cores > 1)
    farthest = std::max(farthest, handover(mine.cache, mine.cache));
  if (farthest > 0) bound(farthest, stream);
  if (!is_shared) use_own(mine, stream);
}

/// Out of the sender's memory by way of its card and the receiver's, and into its memory. A card's reach into far
/// memory is its own.
void NodeStage::cross_network(const Seat& from, const Seat& to, Stream& stream) const {
  if (platform_.cards.empty()) throw Error("nodes of " + platform_.name + " have no card between them");
  const auto nearest = [&](const Seat& seat) {
    const auto card = std::ranges::find(platform_.cards, seat.numa, &NodePlatform::Card::numa);
    return card == platform_.cards.end() ? 0 : static_cast<int>(card - platform_.cards.begin());
  };
  const int out = nearest(from), in = nearest(to);
  const auto numa_of = [&](int card) { return platform_.cards[static_cast<std::size_t>(card)].numa; };
  stream.cross(links_.memory(from.node, from.numa));
  if (const int socket = platform_.socket_of(numa_of(out)); socket != from.socket)
    stream.cross(links_.between(from.node, from.socket, socket));
  stream.cross(links_.sends(from.node, out));
  stream.cross(links_.receives(to.node, in));
  if (const int socket = platform_.socket_of(numa_of(in)); socket != to.socket)
    stream.cross(links_.between(to.node, socket, to.socket));
  if (numa_of(in) != to.numa) stream.cross(links_.reaches(to.node, in));
  stream.cross(links_.memory(to.node, to.numa));
}

}  // namespace

NodeResult simulate_node(const plan::Plan& plan, const NodeJob& job, const cost::Parameters& parameters, bool are_lines,
                         bool keeps_spans) {
  if (plan.topology.capabilities().oversubscribed) throw Error("ranks that share cores are not simulated inside nodes");
  NodeStage stage(plan, job, parameters, are_lines);
  NodeResult result;
  double before = 0;
  constexpr int calls = 4;
  for (int call = 0; call < calls; ++call) {
    before = result.total;
    const bool is_last = call + 1 == calls;
    stage.run(call, keeps_spans && is_last ? &result.spans : nullptr, result);
  }
  result.total = std::midpoint(before, result.total);
  result.loads = stage.loads();
  return result;
}

}  // namespace espalier::simulate
