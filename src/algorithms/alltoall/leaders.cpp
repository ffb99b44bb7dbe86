// All-to-all of short blocks: each leader fetches what its node has for another node and sends it as one message.
//
//     rank i's window    | blocks for node 0 | blocks for node 1 | …          put by rank i, node by node
//     message n → m      | i = 0: j = 0, 1, … | i = 1: j = 0, 1, … | …        got from all windows, sent by n's leader
//     m's leader         | for neighbours | message of node 0 | …             received into its window: rank j gets
//                                                                             block (i, j) of every i
//
// The paper (section 8.3) gave this up because its leader had to rearrange data between the stages; here nobody does:
// sources lay out by node, targets pick their own. It costs two copies more than pairwise and saves all messages but
// one.
//
// With groups of leaders (multi_group) each of g leaders of a node exchanges with every g-th other node; the leader of
// such a node keeps no blocks for it in its window, the others do. Leaders send straight to each other, or pass on what
// others send (parcel_exchange.hpp): fewer, longer messages.
//
// Between many nodes leaders turn what they have fetched round: j = 0: i = 0, 1, … | j = 1: i = 0, 1, … Then a rank
// takes one stretch of every message, and where blocks are short one of the messages of several nodes: they bundle
// them, to fetch and to show (AlltoallLayout).
//
// What a node of many ranks has for another fits no leader's window, and would keep one leader busy for long: it goes
// in slices, each for a share of the other's ranks, by a leader of its own:
//
//     n → m, slice 0     | i = 0: j = 0, 1 | i = 1: j = 0, 1 | …             between leaders of one group
//            slice 1     | i = 0: j = 2, 3 | i = 1: j = 2, 3 | …             between leaders of another
//
// What does not fit the windows goes in batches of parcels. Two of them are in the windows at once: while the messages
// of one are on the wire, what the one before brought is taken.

#include "algorithms/alltoall/leaders.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <span>

#include "algorithms/alltoall/layout.hpp"
#include "algorithms/alltoall/parcel_exchange.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/words.hpp"
#include "base/bytes.hpp"
#include "smp/operations.hpp"

namespace espalier::algorithms {

using topology::Topology;

namespace {

class LeaderSwap {
 public:
  LeaderSwap(Builder& builder, const Problem& problem, const plan::Choice& choice)
      : builder_(builder),
        layout_(builder.topology(), problem, choice, derive_form(builder.topology(), problem, choice)),
        choice_(choice),
        cells_(choice),
        node_(builder.node().value),
        is_by_target_(layout_.form().is_by_target),
        largest_fetch_(is_by_target_ ? layout_.most_bundled() * index(builder.node_size()) : 0),
        scratch_(builder, largest_fetch_ + (is_bundled() ? largest_fetch_ : 0)),
        sends_(builder, sends_ahead) {}

  void run() {
    builder_.claim_window();
    begin_batch(0);
    for (int batch = 0; batch < layout_.batches(); ++batch) {
      if (batch + 1 < layout_.batches()) begin_batch(batch + 1);
      if (batch == layout_.batch_on_node(builder_.me())) get_from_neighbours(batch);
      get_from_nodes(batch);
      if (layout_.batches() > 2) smp::taken_post(builder_, batch);
      bases_.pop_front();
    }
    sends_.finish_all();
  }

 private:
  /// A batch's half of the cells, and what every neighbour's hold of it.
  struct Base {
    Bytes offset;
    std::vector<AlltoallLayout::Places> places;  ///< by local rank
    std::map<int, ParcelExchange> exchanges;     ///< by group that this rank leads
    std::map<int, Bytes> fetched;                ///< by a bundle's first number: where neighbours' blocks for it lie
    bool have_put = false;                       ///< the neighbours, as far as this rank has looked
  };
  using Bundle = AlltoallLayout::Bundle;

  bool is_bundled() const { return layout_.form().bundled > 1; }
  bool leads(const Bundle& bundle) const { return leads(bundle.first); }
  bool leads(int number) const { return layout_.leads(builder_.me(), number); }
  /// The ranks that this node's parcel of a number is for, and those that what comes of it is for.
  std::span<const Rank> targets(int number) const { return layout_.targets(node_, number, 0); }
  std::span<const Rank> targets_here(int number) const { return layout_.in_slice(node_, layout_.slice(number)); }
  Bytes output_begin(Rank from) const { return layout_.blocks().output_begin(from, builder_.me()); }
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  LocalRank local(Rank rank) const { return builder_.topology().local_rank(rank); }
  const AlltoallLayout::Places& places_of(const Base& base, LocalRank rank) const {
    return base.places[index(rank.value)];
  }

  // A rank's `ready` counts in the order of its program: its blocks of a batch, then, behind those of the next batch,
  // the messages of this one.
  int tick_of_blocks(int batch) const { return batch == 0 ? 0 : batch + layout_.first(batch - 1); }
  int tick_of_message(int batch, int number) const { return number + std::min(batch + 1, layout_.batches() - 1) + 1; }

  /// Everything of a batch up to its messages' being on the wire. Its half of the windows has been left by the batch
  /// before the last.
  void begin_batch(int batch) {
    if (batch > 1) builder_.await_neighbours(plan::Flag::taken, static_cast<std::uint64_t>(batch - 1));
    Base& base = bases_.emplace_back();
    base.offset = static_cast<Bytes>(batch % 2) * (cells_.total() / 2);
    base.places = layout_.places(node_, batch);
    start_receives(base, batch);
    put_blocks(base, batch);
    for (auto& [group, exchange] : base.exchanges)
      exchange.start_sends([&](int number, Bytes begin) { collect(base, batch, number, begin); });
  }

  void start_receives(Base& base, int batch) {
    const AlltoallLayout::Places& mine = places_of(base, builder_.local());
    for (const int group : layout_.groups_of(builder_.me())) {
      const std::vector<int> numbers = layout_.numbers_of(group, batch);
      if (numbers.empty()) continue;
      std::vector<Bytes> windows;
      for (std::size_t i = 0; i < numbers.size() && !is_bundled(); ++i)
        windows.push_back(base.offset + mine.incoming[index(numbers[i] - layout_.first(batch))]);
      const auto [place, is_new] =
          base.exchanges.try_emplace(group, builder_, layout_, choice_, numbers, windows, scratch_, sends_);
      place->second.start_receives();
    }
  }

  // In one go, whatever the size of a cell: all cells together are the piece.
  void put_blocks(const Base& base, int batch) {
    smp::JoinedPuts puts(builder_, cells_);
    const Rank me = builder_.me();
    Bytes offset = base.offset;
    for (const int number : layout_.ascending(node_, batch)) {
      if (leads(number)) continue;
      const std::span<const Rank> targets = layout_.targets(node_, number, batch);
      for (std::size_t first = 0, end = 0; first < targets.size(); first = end) {
        end = number == AlltoallLayout::here ? first + 1 : end_of_run(targets, first);
        const Bytes bytes = layout_.bytes_to(me, targets.subspan(first, end - first));
        if (targets[first] != me)
          puts.add(0, {Buffer::input, layout_.blocks().input_begin(me, targets[first]), bytes}, offset);
        offset += bytes;
      }
    }
    puts.flush();
    if (builder_.node_size() > 1) smp::pair_sync(builder_, builder_.local(), tick_of_blocks(batch));
  }

  /// Behind the last of the ranks from `first` on whose blocks follow each other in a caller's buffer, as far as that
  /// needs no counts.
  std::size_t end_of_run(std::span<const Rank> ranks, std::size_t first) const {
    std::size_t end = first + 1;
    while (layout_.is_equal() && end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) ++end;
    return end;
  }

  /// Brings the node's parcel of this number to `begin` of scratch.
  void collect(Base& base, int batch, int number, Bytes begin) {
    for (const Rank from : layout_.ranks_on(node_))
      if (from != builder_.me() && !base.have_put) smp::pair_sync(builder_, local(from), tick_of_blocks(batch));
    base.have_put = true;
    copy_own_blocks(number, begin);
    if (is_by_target_) return turn_fetched(base, batch, number, begin);
    for (const Rank from : layout_.ranks_on(node_)) {
      const Bytes bytes = layout_.bytes_to(from, targets(number));
      if (from != builder_.me())
        smp::receiver_get(builder_, cells_, local(from), 0, place_of(base, batch, local(from), number),
                          {Buffer::scratch, begin, bytes});
      begin += bytes;
    }
  }

  /// Where in a neighbour's window its blocks for the node of a number begin.
  Bytes place_of(const Base& base, int batch, LocalRank owner, int number) const {
    return base.offset + places_of(base, owner).own[index(number - layout_.first(batch))];
  }

  void copy_own_blocks(int number, Bytes begin) {
    const Rank me = builder_.me();
    Bytes offset = begin;
    for (const Rank from : layout_.ranks_on(node_)) {
      if (from == me) break;
      if (!is_by_target_) offset += layout_.bytes_to(from, targets(number));
    }
    for (const Rank to : targets(number)) {
      const Bytes bytes = layout_.blocks().bytes(me, to);
      builder_.copy(Buffer::input, layout_.blocks().input_begin(me, to), Buffer::scratch,
                    is_by_target_ ? begin + place_by_target(builder_.local(), number, to) : offset, bytes);
      offset += bytes;
    }
  }

  /// What the neighbours have for a node to their places.
  void turn_fetched(Base& base, int batch, int number, Bytes begin) {
    const Bundle& bundle = layout_.bundle_of(number);
    Bytes fetched = fetch(base, batch, bundle);
    for (int before = bundle.first; before < number; ++before) fetched += bytes_for(before);
    const Bytes block = layout_.block();
    const std::size_t count = targets(number).size();  // who follow each other on their node
    for (const Rank from : layout_.ranks_on(node_)) {
      if (from == builder_.me()) continue;
      Bytes offset = fetched, place = begin + index(local(from).value) * block;
      for (std::size_t to = 0; to < count; ++to, offset += block, place += index(builder_.node_size()) * block)
        builder_.copy(Buffer::scratch, offset, Buffer::scratch, place, block);
      fetched += bytes_for(bundle);
    }
  }

  /// What each neighbour has for the nodes of a bundle, one behind the other; returns where. Relays come back to it.
  Bytes fetch(Base& base, int batch, const Bundle& bundle) {
    const bool is_kept = goes_by_relays(choice_);
    if (const auto found = base.fetched.find(bundle.first); found != base.fetched.end()) return found->second;
    if (!is_kept) base.fetched.clear();
    const Bytes begin = is_kept ? scratch_.take(bytes_for(bundle) * index(builder_.node_size() - 1)) : 0;
    Bytes end = begin;
    for (const Rank from : layout_.ranks_on(node_)) {
      if (from == builder_.me()) continue;
      for (int number = bundle.first, next = number; number < bundle.first + bundle.count; number = next) {
        const Bytes place = place_of(base, batch, local(from), number);
        Bytes bytes = 0;
        for (; next < bundle.first + bundle.count && place_of(base, batch, local(from), next) == place + bytes; ++next)
          bytes += bytes_for(next);
        smp::receiver_get(builder_, cells_, local(from), 0, place, {Buffer::scratch, end, bytes});
        end += bytes;
      }
    }
    base.fetched[bundle.first] = begin;
    return begin;
  }

  /// One rank's, where blocks are equal.
  Bytes bytes_for(int number) const { return layout_.bytes_to(builder_.me(), targets(number)); }
  Bytes bytes_for(const Bundle& bundle) const {
    Bytes sum = 0;
    for (int number = bundle.first; number < bundle.first + bundle.count; ++number) sum += bytes_for(number);
    return sum;
  }

  /// Where in a parcel a block lies.
  Bytes place_by_target(LocalRank from, int number, Rank to) const {
    const auto before = (local(to).value - local(targets(number).front()).value) * builder_.node_size() + from.value;
    return static_cast<Bytes>(before) * layout_.block();
  }

  void get_from_neighbours(int batch) {
    const Rank me = builder_.me();
    const Base& base = bases_.front();
    const std::span<const Rank> targets = layout_.targets(node_, AlltoallLayout::here, batch);
    for (const Rank from : layout_.ranks_on(node_)) {
      const LocalRank owner = local(from);
      const Bytes bytes = layout_.blocks().bytes(from, me);
      if (from == me) {
        builder_.copy(Buffer::input, layout_.blocks().input_begin(me, me), Buffer::output, output_begin(me), bytes);
        continue;
      }
      if (!base.have_put) smp::pair_sync(builder_, owner, tick_of_blocks(batch));
      smp::receiver_get(builder_, cells_, owner, 0,
                        base.offset + places_of(base, owner).on_node + layout_.begin_of(from, targets, me),
                        {Buffer::output, output_begin(from), bytes});
    }
  }

  /// Takes this rank's blocks out of what has come, a round of one bundle for each group after the other. Who leads one
  /// says that it is there before it takes anything and begins with it: if all took them in one order, every leader
  /// would keep the others waiting until it has taken those before its own (512 ranks, 4 bytes: 88 us, so 47; played).
  void get_from_nodes(int batch) {
    const std::span<const Bundle> all = layout_.bundles(batch);
    const auto groups = index(layout_.groups());
    for (std::size_t begin = 0; begin < all.size(); begin += groups) {
      const std::span<const Bundle> round = all.subspan(begin, std::min(groups, all.size() - begin));
      std::size_t first = 0;
      for (std::size_t i = 0; i < round.size(); ++i)
        if (leads(round[i])) show(batch, round[first = i]);
      for (std::size_t i = 0; i < round.size(); ++i) get_from(batch, round[(first + i) % round.size()]);
    }
  }

  /// Waits for what comes of a bundle, and says that it is there.
  void show(int batch, const Bundle& bundle) {
    ParcelExchange& exchange = bases_.front().exchanges.at(bundle.group);
    for (int number = bundle.first; number < bundle.first + bundle.count; ++number) exchange.finish(number);
    if (is_bundled()) put_by_target(batch, bundle, exchange);
    if (builder_.node_size() > 1) smp::pair_sync(builder_, builder_.local(), tick_of_message(batch, last(bundle)));
  }

  /// The parcels of a bundle into the window, target by target: source by source.
  void put_by_target(int batch, const Bundle& bundle, const ParcelExchange& exchange) {
    const Bytes sources = ranks_of(bundle), block = layout_.block();
    const Bytes begin = largest_fetch_;  // behind what is fetched
    Bytes before = 0;
    for (const int number : layout_.by_source(node_, bundle)) {
      const Bytes run = layout_.ranks_on(layout_.left(node_, number)).size() * block;
      for (Bytes to = 0; to < index(builder_.node_size()); ++to)
        builder_.copy(Buffer::scratch, exchange.arrived(number) + to * run, Buffer::scratch,
                      begin + to * sources * block + before, run);
      before += run;
    }
    smp::sender_put(builder_, cells_, 0, {Buffer::scratch, begin, before * index(builder_.node_size())},
                    incoming(batch, builder_.local(), bundle));
  }

  /// Where in a leader's window what comes of a bundle begins.
  Bytes incoming(int batch, LocalRank owner, const Bundle& bundle) const {
    const Base& base = bases_.front();
    return base.offset + places_of(base, owner).incoming[index(bundle.first - layout_.first(batch))];
  }
  Bytes ranks_of(const Bundle& bundle) const {
    Bytes sum = 0;
    for (const int number : layout_.by_source(node_, bundle))
      sum += layout_.ranks_on(layout_.left(node_, number)).size();
    return sum;
  }
  static int last(const Bundle& bundle) { return bundle.first + bundle.count - 1; }

  void get_from(int batch, const Bundle& bundle) {
    const std::span<const Rank> targets = targets_here(bundle.first);
    const auto place = index(builder_.local().value - (targets.empty() ? 0 : local(targets.front()).value));
    if (place >= targets.size()) return;
    const LocalRank owner = local(layout_.leader_of(node_, bundle.first));
    if (!leads(bundle)) smp::pair_sync(builder_, owner, tick_of_message(batch, last(bundle)));
    Bytes offset = incoming(batch, owner, bundle);
    if (is_by_target_) return get_by_target(bundle, owner, offset, place);
    for (const Rank from : layout_.ranks_on(layout_.left(node_, bundle.first))) {
      smp::receiver_get(builder_, cells_, owner, 0, offset + layout_.begin_of(from, targets, builder_.me()),
                        {Buffer::output, output_begin(from), layout_.blocks().bytes(from, builder_.me())});
      offset += layout_.bytes_to(from, targets);
    }
  }

  /// Blocks of ranks that follow each other lie together on either side. This rank is target number `place`.
  void get_by_target(const Bundle& bundle, LocalRank owner, Bytes begin, std::size_t place) {
    std::vector<Rank> sources;
    for (const int number : layout_.by_source(node_, bundle))
      for (const Rank rank : layout_.ranks_on(layout_.left(node_, number))) sources.push_back(rank);
    const Bytes block = layout_.block();
    begin += place * sources.size() * block;
    for (std::size_t first = 0, end = 0; first < sources.size(); first = end) {
      for (end = first + 1; end < sources.size() && sources[end].value == sources[end - 1].value + 1;) ++end;
      smp::receiver_get(builder_, cells_, owner, 0, begin + first * block,
                        {Buffer::output, output_begin(sources[first]), (end - first) * block});
    }
  }

  Builder& builder_;
  AlltoallLayout layout_;
  const plan::Choice& choice_;
  smp::Cells cells_;
  int node_;
  bool is_by_target_;
  Bytes largest_fetch_;  ///< what is fetched or shown of one bundle at most, each of which comes first in scratch
  Scratch scratch_;
  InFlight sends_;
  std::deque<Base> bases_;  ///< of the batches that are in the windows
};

}  // namespace

void build_alltoall_leaders(Builder& builder, const Problem& problem, const plan::Choice& choice) {
  LeaderSwap(builder, problem, choice).run();
}

std::string why_no_alltoall_leaders(const Topology& topology, const Problem& problem, const plan::Choice& choice) {
  if (topology.nodes() == 1) return "one node has no leaders that exchange: use pairwise";
  if (choice.within != plan::Within::cells) return "leaders exchange what lies in cells: use within=cells";
  if (derive_form(topology, problem, choice).batches > 0) return "";
  return "a rank's cells of " + format_bytes(choice.cell * static_cast<Bytes>(choice.cells)) +
         " do not hold even a few nodes' blocks at once: use pairwise, or more cells";
}

void vary_leaders(Candidates& candidates, plan::Choice choice) {
  candidates.add_whole_window(choice);
  choice.exchange = plan::Exchange::bruck;
  for (choice.radix = 2; choice.radix <= 8 && candidates.topology().nodes() >= many_nodes; choice.radix *= 2)
    candidates.add_whole_window(choice);
}

}  // namespace espalier::algorithms
