#include "smp/spread.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// Below this, a second system call costs more than the copying it takes over (docs/adr/0004: 2 ranks, 16K 2.1 µs with
/// an 8K share pushed, 1.8 µs without).
constexpr Bytes least_pushed = 16 << 10;

/// What the writer pushes of a piece to each reader: the last p-th, in whole pages of 4 KiB.
Bytes pushed_share(Bytes bytes, int ranks) {
  const Bytes share = bytes / static_cast<Bytes>(ranks) / 4096 * 4096;
  return share >= least_pushed ? share : 0;
}

}  // namespace

Spread::Spread(plan::Builder& builder, const plan::Choice& choice, LocalRank writer, Buffer source,
               const Placement& placement)
    : builder_(builder),
      cells_{choice},
      is_single_copy_(choice.within == plan::Within::single_copy),
      writer_(writer),
      source_(source),
      placement_(placement) {
  if (!is_single_copy_ || builder.node_size() == 1) return;
  builder_.expose();
  if (!is_writer()) builder_.post(Flag::release, 1);  // my output may be written now
}

void Spread::pass(Bytes offset, Bytes bytes) {
  if (builder_.node_size() == 1) return;
  if (is_single_copy_) {
    is_writer() ? push_share(offset, bytes) : pull_share(offset, bytes);
    pieces_ += 2;
    return;
  }
  for (const Bytes end = offset + bytes; offset < end; ++pieces_) {
    const Bytes piece = std::min(cells_.bytes, end - offset);
    is_writer() ? put_piece(offset, piece) : get_piece(offset, piece);
    offset += piece;
  }
}

void Spread::put_piece(Bytes offset, Bytes bytes) {
  await_free_cell(builder_, cells_, pieces_);
  sender_put(builder_, cells_, pieces_, {source_, offset, bytes});
  pair_sync(builder_, writer_, pieces_);
}

void Spread::get_piece(Bytes offset, Bytes bytes) {
  pair_sync(builder_, writer_, pieces_);
  group_get(builder_, cells_, writer_, pieces_, offset, bytes, placement_);
  taken_post(builder_, pieces_);
}

// Of each piece's two ticks the first says "pull", the second "my part is in your buffer".
void Spread::push_share(Bytes offset, Bytes bytes) {
  pair_sync(builder_, writer_, pieces_);
  const Bytes share = pushed_share(bytes, builder_.node_size());
  if (share == 0) return;
  for (int i = 0; i < builder_.node_size(); ++i) {
    const LocalRank reader(i);
    if (reader == writer_) continue;
    if (!are_readers_open_) builder_.await(reader, Flag::release, 1);
    placement_.for_each_part(offset + bytes - share, share, [&](Bytes from, Bytes to, Bytes part) {
      builder_.push(reader, Buffer::output, to, source_, from, part);
    });
  }
  are_readers_open_ = true;
  pair_sync(builder_, writer_, pieces_ + 1);
}

void Spread::pull_share(Bytes offset, Bytes bytes) {
  pair_sync(builder_, writer_, pieces_);
  const Bytes share = pushed_share(bytes, builder_.node_size());
  placement_.for_each_part(offset, bytes - share, [&](Bytes from, Bytes to, Bytes part) {
    builder_.pull(writer_, source_, from, Buffer::output, to, part);
  });
  if (share > 0) pair_sync(builder_, writer_, pieces_ + 1);
}

void Spread::end() {
  if (!is_single_copy_ || pieces_ == 0) return;
  if (is_writer())
    builder_.await_neighbours(Flag::taken, 1);
  else
    builder_.post(Flag::taken, 1);
}

}  // namespace espalier::smp
