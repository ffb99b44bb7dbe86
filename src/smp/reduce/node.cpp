#include "smp/reduce/node.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// What one rank folds at once under single copy: accumulator and operand stay in the second-level cache, and the 0.7
/// µs of a system call are a tenth of the copying.
constexpr Bytes single_copy_slice = 128 << 10;

/// Below this, handing slices around costs a leader more than folding everything itself; unless so much comes together
/// that many ranks, each on a core of its own, are faster however short their slices (2 nodes of 64 ranks, 256K: the
/// leader of each alone 1.43 ms, all ranks 0.26; simulated).
constexpr Bytes least_slice = 4 << 10;
constexpr Bytes least_shared_sum = 256 << 10;

/// The same under single copy, where results are pushed, a stage of its own: of all ranks' vectors together. Two ranks,
/// the leader alone / both, in us: 32K 2.6 / 4.8, 64K 4.5 / 5.5, 96K 7.0 / 6.6, 128K 9.5 / 7.7.
constexpr Bytes least_shared_pull = 160 << 10;

/// The most that one rank folds at once.
Bytes slice_limit(const Grain& grain, const plan::Choice& choice) {
  if (choice.within == plan::Within::cells) return cells_of(grain, choice).bytes;
  return std::max(grain.bytes(), grain.round_down(single_copy_slice));
}

/// Under single copy every rank pulls and folds its slice of each neighbour's vector, and all but the leader push the
/// result. The leader's slice is longer by that: a push is to the work on one neighbour's bytes as 2 to 3 (a copy and
/// a sum half as long). Two ranks, halves / 5 to 3, in us: 128K 9.0 / 7.7, 256K 16.3 / 13.4, 1M 66 / 54.
struct Shares {
  explicit Shares(Bytes ranks) : led(3 * (ranks - 1)), leading(led + 2), all(leading + (ranks - 1) * led) {}
  Bytes led, leading, all;
};

/// What one rank folds at most when all ranks fold a piece for a leader.
Bytes piece_limit(const Grain& grain, Bytes slice, Bytes ranks, bool is_led) {
  if (!is_led || ranks == 1) return slice * ranks;
  const Shares shares(ranks);
  return std::max(grain.bytes(), grain.round_down(slice * shares.all / shares.leading));
}

}  // namespace

NodeReduction::NodeReduction(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice,
                             LocalRank leader, Buffer result, Bytes scratch)
    : builder_(builder),
      grain_(problem),
      cells_(cells_of(grain_, choice)),
      is_single_copy_(choice.within == plan::Within::single_copy),
      leader_(leader),
      result_(result),
      fold_(builder, problem, is_single_copy_ ? Fold::Source::inputs : Fold::Source::cells, slice_limit(grain_, choice),
            scratch),
      scratch_(scratch + Fold::scratch_bytes(slice_limit(grain_, choice))),
      piece_(is_single_copy_ ? piece_limit(grain_, slice_limit(grain_, choice), static_cast<Bytes>(builder.node_size()),
                                           leader != everyone)
                             : cells_.bytes) {
  if (!is_single_copy_ || builder.node_size() == 1) return;
  builder_.expose();
  builder_.post(Flag::ready, 1);  // my input may be read and my result written
}

Bytes NodeReduction::scratch_bytes(const plan::Problem& problem, const plan::Choice& choice) {
  const Bytes slice = slice_limit(Grain(problem), choice);
  return Fold::scratch_bytes(slice) + slice;
}

void NodeReduction::reduce(Bytes offset, Bytes to, Bytes bytes) {
  if (builder_.node_size() == 1) return builder_.copy(Buffer::input, offset, result_, to, bytes);
  if (bytes == 0) return;
  const int count = static_cast<int>((bytes + piece_ - 1) / piece_);
  // A short last piece would be the leader's alone.
  const auto all = static_cast<Bytes>(count);
  const Bytes length = is_single_copy_ ? grain_.round_up((bytes + all - 1) / all) : piece_;
  const auto piece_at = [&](int i) {
    const Bytes begin = static_cast<Bytes>(i) * length;
    return Piece{pieces_ + i, offset + begin, to + begin, std::min(length, bytes - begin)};
  };
  // How far folding and collecting lag behind staging. A cell is staged again when its last piece is collected, so that
  // the lag must be less than the number of cells.
  const int collect_lag = is_single_copy_ ? 1 : std::min(2, cells_.count - 1);
  const int fold_lag = collect_lag / 2;
  for (int i = 0; i < count + collect_lag; ++i) {
    if (i < count) stage(piece_at(i));
    if (i >= fold_lag && i - fold_lag < count) fold(piece_at(i - fold_lag));
    if (i >= collect_lag) collect(piece_at(i - collect_lag));
  }
  pieces_ += count;
}

bool NodeReduction::is_shared_by(int rank, const Piece& piece) const { return slice_of(rank, piece).bytes > 0; }

bool NodeReduction::is_for_leader_alone(const Piece& piece) const {
  const auto count = static_cast<Bytes>(builder_.node_size());
  if (leader_ == everyone) return false;
  if (is_single_copy_) return piece.bytes * count < least_shared_pull;
  const bool have_cores = !builder_.topology().capabilities().oversubscribed;
  return piece.bytes < least_slice * count && !(have_cores && piece.bytes * count >= least_shared_sum);
}

/// The part of a piece that a rank folds, as a stretch of the piece.
Range NodeReduction::slice_of(int rank, const Piece& piece) const {
  const bool leads = LocalRank(rank) == leader_;
  if (is_for_leader_alone(piece)) return {Buffer::window, 0, leads ? piece.bytes : 0};
  if (leader_ == everyone || !is_single_copy_) {
    const Slices slices(grain_, piece.bytes, builder_.node_size());
    return {Buffer::window, slices.begin(rank), slices.bytes(rank)};
  }
  const Shares shares(static_cast<Bytes>(builder_.node_size()));
  const Bytes leading = std::min(piece.bytes, grain_.round_up(piece.bytes * shares.leading / shares.all));
  if (leads) return {Buffer::window, 0, leading};
  const Slices rest(grain_, piece.bytes - leading, builder_.node_size() - 1);
  const int led = rank < leader_.value ? rank : rank - 1;
  return {Buffer::window, leading + rest.begin(led), rest.bytes(led)};
}

/// My input into my cell, but for the slice that I fold myself.
void NodeReduction::stage(const Piece& piece) {
  if (is_single_copy_) return;
  const Range own = slice_of(builder_.local().value, piece);
  const Bytes behind = own.offset + own.bytes;
  await_free_cell(builder_, cells_, piece.number);
  builder_.claim_window();
  const auto put = [&](Bytes begin, Bytes end) {
    if (begin < end)
      builder_.put(Buffer::input, piece.offset + begin, end - begin, cells_.offset(piece.number) + begin);
  };
  put(0, own.offset);
  put(behind, piece.bytes);
  if (own.bytes < piece.bytes) builder_.post(Flag::ready, tick(piece.number));
}

void NodeReduction::fold(const Piece& piece) {
  const int me = builder_.local().value;
  const Range own = slice_of(me, piece);
  if (own.bytes == 0) return;
  const Bytes cell = cells_.offset(piece.number) + own.offset;
  const Bytes at = piece.to + own.offset;
  if (!is_single_copy_ || !has_read_) builder_.await_neighbours(Flag::ready, is_single_copy_ ? 1 : tick(piece.number));
  has_read_ = true;
  Range target{result_, at, own.bytes};
  if (!wants(me))
    target = is_single_copy_ ? Range{Buffer::scratch, scratch_, own.bytes} : Range{Buffer::window, cell, own.bytes};
  fold_.run(builder_.node_size() - 1, piece.offset + own.offset, cell, target);
  if (is_leader()) return;
  if (is_single_copy_) push_result(target, at);
  if (wants(me) && !is_single_copy_) builder_.put(result_, at, own.bytes, cell);
  builder_.post(Flag::release, tick(piece.number));
}

/// The others' slices, for those who want them.
void NodeReduction::collect(const Piece& piece) {
  const int count = builder_.node_size();
  const int me = builder_.local().value;
  for (int distance = 1; wants(me) && distance < count; ++distance)
    if (const int owner = (me + distance) % count; is_shared_by(owner, piece)) take(owner, piece);
  if (!is_single_copy_) taken_post(builder_, piece.number);
}

void NodeReduction::take(int rank, const Piece& piece) {
  const Range slice = slice_of(rank, piece);
  const Bytes at = piece.to + slice.offset;
  builder_.await(LocalRank(rank), Flag::release, tick(piece.number));
  if (!is_single_copy_)
    builder_.get(LocalRank(rank), cells_.offset(piece.number) + slice.offset, result_, at, slice.bytes);
}

/// To whoever wants it. Not pulled: what a core has just written is slow to fetch from where it is (allreduce of two
/// ranks, pulled / pushed: 64K 13.5 / 6.0 us, 256K 40 / 14.9, 1M 180 / 62).
void NodeReduction::push_result(const Range& from, Bytes to) {
  const int count = builder_.node_size();
  for (int distance = 1; distance < count; ++distance)
    if (const int rank = (builder_.local().value + distance) % count; wants(rank))
      builder_.push(LocalRank(rank), result_, to, from.buffer, from.offset, from.bytes);
}

void NodeReduction::gather(Bytes offset, Bytes to, Bytes bytes) {
  const auto place = [&](int rank) { return to + static_cast<Bytes>(rank) * bytes; };
  if (is_leader()) builder_.copy(Buffer::input, offset, result_, place(leader_.value), bytes);
  if (builder_.node_size() == 1) return;
  if (!is_single_copy_) return gather_through_cells(offset, to, bytes);
  for (int rank = 0; is_leader() && rank < builder_.node_size(); ++rank) {
    if (LocalRank(rank) == leader_) continue;
    builder_.await(LocalRank(rank), Flag::ready, 1);
    builder_.pull(LocalRank(rank), Buffer::input, offset, result_, place(rank), bytes);
  }
}

void NodeReduction::gather_through_cells(Bytes offset, Bytes to, Bytes bytes) {
  const int count = static_cast<int>((bytes + piece_ - 1) / piece_);
  if (!is_leader()) taken_post(builder_, pieces_ + count - 1);  // I read nobody's
  for (Bytes done = 0; done < bytes; done += piece_, ++pieces_) {
    const Bytes piece = std::min(piece_, bytes - done);
    if (!is_leader()) {
      await_free_cell(builder_, cells_, pieces_);
      sender_put(builder_, cells_, pieces_, {Buffer::input, offset + done, piece});
      builder_.post(Flag::ready, tick(pieces_));
      continue;
    }
    for (int rank = 0; rank < builder_.node_size(); ++rank) {
      if (LocalRank(rank) == leader_) continue;
      builder_.await(LocalRank(rank), Flag::ready, tick(pieces_));
      receiver_get(builder_, cells_, LocalRank(rank), pieces_, 0,
                   {result_, to + static_cast<Bytes>(rank) * bytes + done, piece});
    }
    taken_post(builder_, pieces_);
  }
}

void NodeReduction::hand_out(LocalRank reader, const Range& from, Bytes to) {
  if (builder_.node_size() == 1 || reader == leader_ || from.bytes == 0) return;
  const int count = static_cast<int>((from.bytes + piece_ - 1) / piece_);
  const bool reads = !is_leader() && (reader == everyone || reader == builder_.local());
  if (!reads && !is_single_copy_) taken_post(builder_, pieces_ + count - 1);  // nothing of this is for me
  for (Bytes done = 0; done < from.bytes; done += piece_, ++pieces_) {
    const Range piece{from.buffer, from.offset + done, std::min(piece_, from.bytes - done)};
    if (is_leader()) offer(piece);
    if (reads) accept(piece, to + done);
  }
}

// A cell holds blocks of many readers: one flag says to all of them that theirs are there.
void NodeReduction::deal(const Range& from, std::span<const Bytes> cuts) {
  if (builder_.node_size() == 1 || from.bytes == 0) return;
  const auto me = static_cast<std::size_t>(builder_.local().value);
  const Bytes begin = cuts[me], end = cuts[me + 1];
  if (is_single_copy_) return deal_by_single_copy(from, begin, is_leader() ? 0 : end - begin);
  for (Bytes done = 0; done < from.bytes; done += piece_, ++pieces_) {
    const Bytes upto = std::min(done + piece_, from.bytes);
    const Bytes first = std::clamp(begin, done, upto), last = std::clamp(end, done, upto);  // of my own block
    if (is_leader()) {
      offer_around(from, {Buffer::window, done, upto - done}, {Buffer::window, first, last - first});
    } else if (first < last) {
      builder_.await(leader_, Flag::release, tick(pieces_));
      receiver_get(builder_, cells_, leader_, pieces_, first - done, {Buffer::output, first - begin, last - first});
    }
    taken_post(builder_, pieces_);
  }
}

/// A piece of what is at `from`, but for the part that nobody else wants.
void NodeReduction::offer_around(const Range& from, const Range& piece, const Range& own) {
  await_free_cell(builder_, cells_, pieces_);
  const auto put = [&](Bytes begin, Bytes end) {
    if (begin < end)
      sender_put(builder_, cells_, pieces_, {from.buffer, from.offset + begin, end - begin}, begin - piece.offset);
  };
  put(piece.offset, own.offset);
  put(own.offset + own.bytes, piece.offset + piece.bytes);
  builder_.post(Flag::release, tick(pieces_));
}

void NodeReduction::deal_by_single_copy(const Range& from, Bytes begin, Bytes bytes) {
  if (is_leader()) builder_.post(Flag::release, tick(pieces_));
  if (bytes > 0) {
    builder_.await(leader_, Flag::release, tick(pieces_));
    builder_.pull(leader_, from.buffer, from.offset + begin, Buffer::output, 0, bytes);
  }
  ++pieces_;
}

void NodeReduction::offer(const Range& from) {
  if (!is_single_copy_) {
    await_free_cell(builder_, cells_, pieces_);
    sender_put(builder_, cells_, pieces_, from);
  }
  builder_.post(Flag::release, tick(pieces_));
}

void NodeReduction::accept(const Range& from, Bytes to) {
  builder_.await(leader_, Flag::release, tick(pieces_));
  if (is_single_copy_) return builder_.pull(leader_, from.buffer, from.offset, Buffer::output, to, from.bytes);
  receiver_get(builder_, cells_, leader_, pieces_, 0, {Buffer::output, to, from.bytes});
  taken_post(builder_, pieces_);
}

void NodeReduction::end() {
  if (!is_single_copy_ || builder_.node_size() == 1) return;
  builder_.post(Flag::taken, 1);
  builder_.await_neighbours(Flag::taken, 1);
}

}  // namespace espalier::smp
