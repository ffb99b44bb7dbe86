#include "simulate/nodes/peers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <string>

#include "base/error.hpp"
#include "simulate/nodes/peer_messages.hpp"

namespace espalier::simulate {
namespace {

using plan::Buffer;
using plan::Operation;
using Range = PeerMessages::Range;

// Open MPI's shared-memory transport copies up to 4 KB through a segment (btl_sm_eager_limit), and longer messages
// once. XHC and acoll do as much for theirs by default.
constexpr Bytes most_copied = 4096;

class Peer {
 public:
  Peer(const topology::Topology& topology, const plan::Problem& problem, bool is_mapped)
      : topology_(topology),
        problem_(problem),
        bytes_(problem.bytes),
        p_(topology.ranks()),
        root_(problem.root.value),
        is_mapped_(is_mapped),
        to_(p_, most_copied) {}
  virtual ~Peer() = default;

  plan::Plan build() {
    run();
    const Bytes scratch = plan::is_reduction(problem_.operation) ? 2 * bytes_ : 0;
    return {topology_, problem_, {}, to_.finish(scratch)};
  }

 protected:
  virtual void run() = 0;

  Range output(Bytes offset, Bytes bytes) const { return {Buffer::output, offset, bytes}; }
  /// A whole message from one rank to another.
  void message(int from, int to, const Range& range, const Range& into) {
    const auto sent = to_.send(from, range);
    to_.receive(to, sent, 0, into);
    if (!to_.is_copied(range.bytes)) to_.wait_for(from, to, to_.take(to));
  }
  void combine_message(int from, int to, const Range& range, const Range& into) {
    const auto sent = to_.send(from, range);
    to_.combine(to, sent, 0, into, is_mapped_);
    if (!to_.is_copied(range.bytes)) to_.wait_for(from, to, to_.take(to));
  }
  /// In one round: all send, then all receive.
  struct Hop {
    int from, to;
    Range range, into;
  };
  void round(const std::vector<Hop>& hops, bool combines = false) {
    std::vector<PeerMessages::Sent> sent;
    for (const Hop& hop : hops) sent.push_back(to_.send(hop.from, hop.range));
    std::map<int, std::vector<std::pair<int, std::uint64_t>>> waits;
    for (std::size_t i = 0; i < hops.size(); ++i) {
      const Hop& hop = hops[i];
      combines ? to_.combine(hop.to, sent[i], 0, hop.into, is_mapped_) : to_.receive(hop.to, sent[i], 0, hop.into);
      if (!sent[i].is_copied) waits[hop.from].push_back({hop.to, to_.take(hop.to)});
    }
    for (const auto& [from, receivers] : waits)
      for (const auto& [receiver, tick] : receivers) to_.wait_for(from, receiver, tick);
  }
  int real(int virtual_rank) const { return (virtual_rank + root_) % p_; }
  /// Everyone starts from its own vector.
  void begin_sum() {
    for (int r = 0; r < p_; ++r) to_.copy(r, {Buffer::input, 0, bytes_}, Buffer::output, 0);
  }
  void begin_blocks() {
    for (int r = 0; r < p_; ++r)
      to_.copy(r, {Buffer::input, 0, bytes_}, Buffer::output, static_cast<Bytes>(r) * bytes_);
  }
  Range block(int r, int count = 1) const {
    return output(static_cast<Bytes>(r) * bytes_, static_cast<Bytes>(count) * bytes_);
  }

  const topology::Topology& topology_;
  const plan::Problem& problem_;
  Bytes bytes_;
  int p_, root_;
  bool is_mapped_;
  PeerMessages to_;
};

/// One stage: whoever needs something takes it from who has it.
class FlatPeer final : public Peer {
 public:
  using Peer::Peer;

 private:
  void run() override {
    const Operation operation = problem_.operation;
    if (operation == Operation::gather) return collect();
    if (operation == Operation::allgather || operation == Operation::alltoall) return exchange();
    if (operation != Operation::broadcast) take_in();
    if (operation != Operation::reduce) hand_out();
  }
  void hand_out() {
    const auto sent = to_.send(root_, output(0, bytes_));
    for (int r = 0; r < p_; ++r)
      if (r != root_) to_.receive(r, sent, 0, output(0, bytes_));
    leave();
  }
  void take_in() {
    if (bytes_ > 0) to_.copy(root_, {Buffer::input, 0, bytes_}, Buffer::output, 0);
    for (int r = p_ - 1; r >= 0; --r)
      if (r != root_) to_.combine(root_, to_.send(r, {Buffer::input, 0, bytes_}), 0, output(0, bytes_), is_mapped_);
  }
  void collect() {
    for (int r = 0; r < p_; ++r)
      if (r != root_) to_.receive(root_, to_.send(r, {Buffer::input, 0, bytes_}), 0, block(r));
  }
  void exchange() {
    const bool is_dealt = problem_.operation == Operation::alltoall;
    const Bytes all = is_dealt ? static_cast<Bytes>(p_) * bytes_ : bytes_;
    std::vector<PeerMessages::Sent> sent;
    for (int r = 0; r < p_; ++r) sent.push_back(to_.send(r, {Buffer::input, 0, all}));
    for (int r = 0; r < p_; ++r)
      for (int i = 1; i < p_; ++i) {
        const int from = (r + i) % p_;
        to_.receive(r, sent[static_cast<std::size_t>(from)], is_dealt ? static_cast<Bytes>(r) * bytes_ : 0,
                    block(from));
      }
    leave();
  }
  /// Nobody's buffer is written again before all have read it.
  void leave() {
    if (to_.is_copied(bytes_)) return;
    for (int r = 0; r < p_; ++r) {
      const auto tick = to_.take(r);
      if (r != root_) to_.wait_for(root_, r, tick);
    }
  }
};

/// Open MPI's coll/tuned over sends and receives, by its fixed decisions in outline: binomial and doubling while short;
/// pipelined, in rings and pairwise when long.
class TunedPeer final : public Peer {
 public:
  using Peer::Peer;

 private:
  static constexpr Bytes longest_binomial = 8 << 10, longest_doubled = 10 << 10, longest_gathered = 80 << 10,
                         longest_bruck = 200, segment = 32 << 10;

  void run() override {
    const Operation operation = problem_.operation;
    if (operation == Operation::reduce || operation == Operation::allreduce) begin_sum();
    if (operation == Operation::allgather || operation == Operation::gather) begin_blocks();
    if (operation == Operation::gather)
      binomial_gather();
    else if (operation == Operation::broadcast)
      bytes_ <= longest_binomial ? binomial() : chain();
    else if (operation == Operation::reduce)
      binomial_reduce();
    else if (operation == Operation::allreduce)
      bytes_ <= longest_doubled ? doubling() : ring();
    else if (operation == Operation::barrier)
      disseminate();
    else if (operation == Operation::allgather)
      bytes_* static_cast<Bytes>(p_) <= longest_gathered ? bruck() : ring_of_blocks();
    else
      bytes_ <= longest_bruck&& p_ >= 12 ? bruck_alltoall() : pairwise();
  }
  void binomial() {
    for (int mask = static_cast<int>(std::bit_ceil(static_cast<unsigned>(p_))) / 2; mask > 0; mask /= 2) {
      std::vector<Hop> hops;
      for (int v = 0; v + mask < p_; v += 2 * mask)
        hops.push_back({real(v), real(v + mask), output(0, bytes_), output(0, bytes_)});
      round(hops);
    }
  }
  void binomial_reduce() {
    for (int mask = 1; mask < p_; mask *= 2) {
      std::vector<Hop> hops;
      for (int v = 0; v + mask < p_; v += 2 * mask)
        hops.push_back({real(v + mask), real(v), output(0, bytes_), output(0, bytes_)});
      round(hops, true);
    }
  }
  void binomial_gather() {
    for (int mask = 1; mask < p_; mask *= 2) {
      std::vector<Hop> hops;
      for (int v = 0; v + mask < p_; v += 2 * mask) {
        const Range blocks = block(v + mask, std::min(mask, p_ - v - mask));
        hops.push_back({real(v + mask), real(v), blocks, blocks});
      }
      round(hops);
    }
  }
  /// Four chains from the root, in segments.
  void chain() {
    constexpr int chains = 4;
    for (Bytes at = 0; at < bytes_; at += segment) {
      const Range part = output(at, std::min(segment, bytes_ - at));
      for (int v = 1; v < p_; ++v) {
        const int length = (p_ - 1 + chains - 1) / chains;
        message(real((v - 1) % length == 0 ? 0 : v - 1), real(v), part, part);
      }
    }
  }
  void doubling() {
    const int doubled = static_cast<int>(std::bit_floor(static_cast<unsigned>(p_)));
    const Range all = output(0, bytes_);
    for (int r = doubled; r < p_; ++r) combine_message(r, r - doubled, all, all);
    for (int mask = 1; mask < doubled; mask *= 2) {
      std::vector<Hop> hops;
      for (int r = 0; r < doubled; ++r) hops.push_back({r, r ^ mask, all, all});
      round(hops, true);
    }
    for (int r = doubled; r < p_; ++r) message(r - doubled, r, all, all);
  }
  void ring() {
    const auto ranks = static_cast<Bytes>(p_);
    const Bytes share = (bytes_ + ranks - 1) / ranks;
    const auto part = [&](int i) {
      const Bytes begin = std::min(bytes_, static_cast<Bytes>((i % p_ + p_) % p_) * share);
      return output(begin, std::min(share, bytes_ - begin));
    };
    for (int step = 0; step < 2 * (p_ - 1); ++step) {
      std::vector<Hop> hops;
      for (int r = 0; r < p_; ++r) hops.push_back({r, (r + 1) % p_, part(r - step), part(r - step)});
      round(hops, step < p_ - 1);
    }
  }
  void disseminate() {
    for (int distance = 1; distance < p_; distance *= 2) {
      std::vector<Hop> hops;
      for (int r = 0; r < p_; ++r) hops.push_back({r, (r + distance) % p_, output(0, 0), output(0, 0)});
      round(hops);
    }
  }
  void bruck() {
    for (int distance = 1; distance < p_; distance *= 2) {
      std::vector<Hop> hops;
      const int count = std::min(distance, p_ - distance);
      for (int r = 0; r < p_; ++r) hops.push_back({(r + distance) % p_, r, block(0, count), block(0, count)});
      round(hops);
    }
  }
  void ring_of_blocks() {
    for (int step = 0; step + 1 < p_; ++step) {
      std::vector<Hop> hops;
      for (int r = 0; r < p_; ++r) {
        const Range which = block((r - step % p_ + p_) % p_);
        hops.push_back({r, (r + 1) % p_, which, which});
      }
      round(hops);
    }
  }
  void bruck_alltoall() {
    for (int distance = 1; distance < p_; distance *= 2) {
      std::vector<Hop> hops;
      for (int r = 0; r < p_; ++r) hops.push_back({r, (r + distance) % p_, block(0, p_ / 2), block(0, p_ / 2)});
      round(hops);
    }
  }
  void pairwise() {
    for (int step = 1; step < p_; ++step) {
      std::vector<Hop> hops;
      for (int r = 0; r < p_; ++r)
        hops.push_back({r, (r + step) % p_, {Buffer::input, block((r + step) % p_).offset, bytes_}, block(r)});
      round(hops);
    }
  }
};

/// XHC and acoll: groups of ranks by what they share, each with a leader, groups of leaders above them; data go down in
/// pieces, and sums go up with each member folding a slice of its group's vectors.
class HierarchicalPeer final : public Peer {
 public:
  /// `keys`: from the inside out, which group a rank belongs to.
  using Key = std::function<int(const machine::RankFacts&)>;
  HierarchicalPeer(const topology::Topology& topology, const plan::Problem& problem, std::vector<Key> keys)
      : Peer(topology, problem, true), keys_(std::move(keys)) {
    derive_levels();
  }

 private:
  using Group = std::vector<int>;  ///< its leader first
  static constexpr Bytes piece = 16 << 10;

  void run() override {
    const Operation operation = problem_.operation;
    if (operation == Operation::barrier) return signal();
    if (operation == Operation::gather) return gather();
    if (operation == Operation::allgather) return gather(), hand_down(static_cast<Bytes>(p_) * bytes_);
    if (operation != Operation::broadcast) begin_sum(), fold_up();
    if (operation != Operation::reduce) hand_down(bytes_);
  }

  /// The root leads all its groups, so that nothing is handed to it first.
  void derive_levels() {
    Group all;
    for (int r = 0; r < p_; ++r) all.push_back(real(r));
    const auto facts = topology_.facts_on(NodeId(0));
    for (const Key& key : keys_) {
      std::map<int, Group> groups;
      std::vector<int> order;
      for (const int rank : all) {
        const int name = facts.empty() ? 0 : key(facts[static_cast<std::size_t>(rank)]);
        if (groups[name].empty()) order.push_back(name);
        groups[name].push_back(rank);
      }
      std::vector<Group> level;
      all.clear();
      for (const int name : order) level.push_back(groups[name]), all.push_back(groups[name].front());
      levels_.push_back(level);
    }
    levels_.push_back({all});
  }

  void hand_down(Bytes bytes) {
    const Bytes unit = to_.is_copied(bytes) ? std::max<Bytes>(bytes, 1) : piece;
    for (Bytes at = 0; at == 0 || at < bytes; at += unit) {
      const Range part = output(at, std::min(unit, bytes - at));
      for (std::size_t i = levels_.size(); i-- > 0;)
        for (const Group& group : levels_[i]) {
          if (group.size() < 2) continue;
          const auto sent = to_.send(group.front(), part);
          for (std::size_t m = 1; m < group.size(); ++m) to_.receive(group[m], sent, 0, part);
        }
    }
  }

  /// Up to 4 KB a leader folds its members' vectors; of longer ones every member folds a slice into the leader's.
  void fold_up() {
    for (const auto& level : levels_)
      for (const Group& group : level) {
        if (group.size() < 2) continue;
        if (to_.is_copied(bytes_)) {
          for (std::size_t m = group.size(); m-- > 1;)
            to_.combine(group.front(), to_.send(group[m], output(0, bytes_)), 0, output(0, bytes_), true);
        } else {
          fold_slices(group);
        }
      }
  }
  void fold_slices(const Group& group) {
    const auto count = static_cast<Bytes>(group.size());
    const Bytes share = (bytes_ + count - 1) / count;
    std::vector<PeerMessages::Sent> sent;
    for (const int member : group) sent.push_back(to_.send(member, output(0, bytes_)));
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Bytes begin = std::min(bytes_, static_cast<Bytes>(i) * share);
      const Bytes bytes = std::min(share, bytes_ - begin);
      for (std::size_t k = 1; k < group.size(); ++k)
        to_.combine(group[i], sent[(i + k) % group.size()], begin, output(begin, bytes), true);
      if (i > 0) to_.receive(group.front(), to_.send(group[i], output(begin, bytes)), 0, output(begin, bytes));
    }
  }

  void signal() {
    for (const auto& level : levels_)
      for (const Group& group : level)
        for (std::size_t m = 1; m < group.size(); ++m)
          to_.receive(group.front(), to_.send(group[m], output(0, 0)), 0, output(0, 0));
    hand_down(0);
  }

  /// Everyone's block to its leader, and what leaders have to theirs.
  void gather() {
    begin_blocks();
    std::vector<Group> under(static_cast<std::size_t>(p_));
    for (int r = 0; r < p_; ++r) under[static_cast<std::size_t>(r)] = {r};
    for (const auto& level : levels_)
      for (const Group& group : level)
        for (std::size_t m = 1; m < group.size(); ++m) {
          Group& mine = under[static_cast<std::size_t>(group[m])];
          for (const auto& [first, count] : runs_of(mine))
            to_.receive(group.front(), to_.send(group[m], block(first, count)), 0, block(first, count));
          Group& theirs = under[static_cast<std::size_t>(group.front())];
          theirs.insert(theirs.end(), mine.begin(), mine.end());
        }
  }
  /// Ranks that follow each other are one stretch.
  static std::vector<std::pair<int, int>> runs_of(Group ranks) {
    std::ranges::sort(ranks);
    std::vector<std::pair<int, int>> runs;
    for (const int rank : ranks)
      if (!runs.empty() && runs.back().first + runs.back().second == rank)
        ++runs.back().second;
      else
        runs.push_back({rank, 1});
    return runs;
  }

  std::vector<Key> keys_;
  std::vector<std::vector<Group>> levels_;
};

int socket_of(const machine::RankFacts& facts) { return facts.numa; }
int cache_of(const machine::RankFacts& facts) { return facts.l3; }

}  // namespace

std::span<const std::string_view> peer_names() {
  static constexpr std::array<std::string_view, 4> names{"flat", "tuned", "xhc", "acoll"};
  return names;
}

bool has_peer(std::string_view peer, Operation operation) {
  const bool is_known = operation == Operation::broadcast || operation == Operation::reduce ||
                        operation == Operation::allreduce || operation == Operation::barrier ||
                        operation == Operation::gather || operation == Operation::allgather;
  if (peer == "xhc") return is_known && operation != Operation::gather && operation != Operation::allgather;
  return is_known || (operation == Operation::alltoall && peer != "acoll");
}

cost::Parameters parameters_of_peer(std::string_view peer, const cost::Parameters& is) {
  cost::Parameters theirs = is;
  // Each side of a message: matching, a fragment, a turn of the progress loop. Two ranks of Open MPI on one socket take
  // 0.2 to 0.3 us one way, of which two lines' hand-over are half.
  if (peer == "tuned") theirs.copy.fixed += 0.05;
  if (peer == "xhc" || peer == "acoll") theirs.single_copy.fixed = is.copy.fixed, theirs.together = 0;
  return theirs;
}

plan::Plan build_peer(std::string_view peer, const topology::Topology& topology, const plan::Problem& problem) {
  if (std::ranges::find(peer_names(), peer) == peer_names().end() || !has_peer(peer, problem.operation))
    throw Error("no peer '" + std::string(peer) + "' does " + plan::name(problem.operation));
  if (peer == "flat") return FlatPeer(topology, problem, false).build();
  if (peer == "tuned") return TunedPeer(topology, problem, false).build();
  if (peer == "xhc") return HierarchicalPeer(topology, problem, {socket_of}).build();
  return HierarchicalPeer(topology, problem, {cache_of, socket_of}).build();
}

}  // namespace espalier::simulate
