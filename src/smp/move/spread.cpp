#include "smp/move/spread.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// By rank of the node: below this, a second system call costs more than the copying it takes over (docs/adr/0004: 2
/// ranks, 16K 2.1 µs with an 8K share pushed, 1.8 µs without). The writer makes a call for each reader, all of which
/// save the time of one share.
constexpr Bytes least_pushed_per_rank = 8 << 10;

/// What the writer pushes of a piece to each reader: the last p-th, in whole pages of 4 KiB.
Bytes pushed_share(Bytes bytes, int ranks) {
  const Bytes share = bytes / static_cast<Bytes>(ranks) / 4096 * 4096;
  return share >= least_pushed_per_rank * static_cast<Bytes>(ranks) ? share : 0;
}

}  // namespace

Spread::Spread(plan::Builder& builder, const plan::Choice& choice, LocalRank writer, Buffer source,
               const Placement& placement)
    : builder_(builder),
      cells_{choice},
      is_single_copy_(choice.within == plan::Within::single_copy),
      writer_(writer),
      source_(source),
      placement_(placement),
      hop_(derive_hop(builder, choice.levels, writer)) {
  if (!is_single_copy_ || builder.node_size() == 1) return;
  builder_.expose();
  if (!is_writer()) builder_.post(Flag::release, 1);  // my output may be written now
}

void Spread::pass(Bytes offset, Bytes bytes) {
  if (builder_.node_size() == 1) return;
  if (is_single_copy_) {
    if (!is_writer()) pull_share(offset, bytes);
    if (!hop_.readers.empty()) push_share(offset, bytes);
    pieces_ += 2;
    return;
  }
  for (const Bytes end = offset + bytes; offset < end; ++pieces_) {
    const Bytes piece = std::min(cells_.bytes, end - offset);
    if (!is_writer()) get_piece(offset, piece);
    if (!hop_.readers.empty()) put_piece(offset, piece);
    offset += piece;
  }
}

// Relays have another flag than the writer: under it, what they contributed before (collect.hpp) does not count. Tick 1
// of it says that their output may be written.
void Spread::post_ready(int piece) {
  if (is_writer()) return pair_sync(builder_, writer_, piece);
  builder_.post(Flag::release, static_cast<std::uint64_t>(piece) + 2);
}

void Spread::await_ready(int piece) {
  if (hop_.from == writer_) return pair_sync(builder_, writer_, piece);
  builder_.await(hop_.from, Flag::release, static_cast<std::uint64_t>(piece) + 2);
}

void Spread::put_piece(Bytes offset, Bytes bytes) {
  if (pieces_ >= cells_.count)
    await_readers(builder_, hop_, Flag::taken, static_cast<std::uint64_t>(pieces_ - cells_.count) + 1);
  if (is_writer())
    sender_put(builder_, cells_, pieces_, {source_, offset, bytes});
  else
    placement_.for_each_part(offset, bytes, [&](Bytes from, Bytes to, Bytes part) {
      sender_put(builder_, cells_, pieces_, {Buffer::output, to, part}, from - offset);
    });
  post_ready(pieces_);
}

void Spread::get_piece(Bytes offset, Bytes bytes) {
  await_ready(pieces_);
  group_get(builder_, cells_, hop_.from, pieces_, offset, bytes, placement_);
  taken_post(builder_, pieces_);
}

// Of each piece's two ticks the first says "pull", the second "my part is in your buffer".
void Spread::push_share(Bytes offset, Bytes bytes) {
  post_ready(pieces_);
  const Bytes share = pushed_share(bytes, static_cast<int>(hop_.readers.size()) + 1);
  if (share == 0) return;
  for (const LocalRank reader : hop_.readers) {
    if (!are_readers_open_) builder_.await(reader, Flag::release, 1);
    placement_.for_each_part(offset + bytes - share, share, [&](Bytes from, Bytes to, Bytes part) {
      const Range mine = is_writer() ? Range{source_, from, part} : Range{Buffer::output, to, part};
      builder_.push(reader, Buffer::output, to, mine.buffer, mine.offset, part);
    });
  }
  are_readers_open_ = true;
  post_ready(pieces_ + 1);
}

void Spread::pull_share(Bytes offset, Bytes bytes) {
  await_ready(pieces_);
  const Bytes share = pushed_share(bytes, hop_.siblings + 1);
  placement_.for_each_part(offset, bytes - share, [&](Bytes from, Bytes to, Bytes part) {
    const Range theirs = hop_.from == writer_ ? Range{source_, from, part} : Range{Buffer::output, to, part};
    builder_.pull(hop_.from, theirs.buffer, theirs.offset, Buffer::output, to, part);
  });
  if (share > 0) await_ready(pieces_ + 1);
}

void Spread::end() {
  if (!is_single_copy_ || pieces_ == 0) return;
  if (!is_writer()) builder_.post(Flag::taken, 1);
  if (!hop_.readers.empty()) await_readers(builder_, hop_, Flag::taken, 1);
}

}  // namespace espalier::smp
