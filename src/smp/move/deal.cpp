#include "smp/move/deal.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// The pieces as they run through the writer's cells. Every rank walks all of them and acts in those that concern it.
class CellDeal {
 public:
  CellDeal(plan::Builder& builder, const Cells& cells, LocalRank writer, Buffer source, const NodeBlocks& blocks,
           const Fetch& fetch)
      : builder_(builder),
        cells_(cells),
        writer_(writer),
        source_(source),
        blocks_(blocks),
        fetch_(fetch),
        to_pass_(blocks.total() - blocks.bytes(writer)),
        puts_(builder, cells) {}

  void run() {
    for (int i = 0; i < builder_.node_size(); ++i)
      if (LocalRank(i) != writer_) pass_block(LocalRank(i));
    end_piece();
  }

 private:
  bool is_writer() const { return builder_.local() == writer_; }

  void pass_block(LocalRank reader) {
    const Bytes block = blocks_.bytes(reader);
    for (Bytes done = 0; done < block;) {
      const Bytes bytes = std::min(cells_.bytes - filled_, block - done);
      if (is_writer())
        put_part(reader, blocks_.begin(reader) + done, bytes);
      else if (reader == builder_.local())
        get_part(done, bytes);
      filled_ += bytes;
      done += bytes;
      if (filled_ == cells_.bytes) end_piece();
    }
  }

  void put_part(LocalRank reader, Bytes offset, Bytes bytes) {
    if (filled_ == 0) await_readers();
    if (filled_ == 0) readers_of_.push_back({reader.value, reader.value});
    readers_of_.back().last = reader.value;
    if (fetch_) fetch_(offset, offset + bytes);
    puts_.add(piece_, {source_, offset, bytes}, filled_);
  }

  // The readers of a piece are neighbours in rank, the last of one perhaps the first of the next.
  void await_readers() {
    if (piece_ < cells_.count) return;
    const Readers old = readers_of_[static_cast<std::size_t>(piece_ - cells_.count)];
    for (int i = old.first; i <= old.last; ++i)
      if (LocalRank(i) != writer_ && blocks_.bytes(LocalRank(i)) > 0)
        await_taken(builder_, LocalRank(i), piece_ - cells_.count);
  }

  void get_part(Bytes done, Bytes bytes) {
    pair_sync(builder_, writer_, piece_);
    group_seg_get(builder_, cells_, writer_, piece_, filled_, {Buffer::output, done, bytes});
    const bool is_used_again = static_cast<Bytes>(piece_ + cells_.count) * cells_.bytes < to_pass_;
    if (is_used_again) taken_post(builder_, piece_);
  }

  void end_piece() {
    if (filled_ == 0) return;
    if (is_writer()) {
      puts_.flush();
      pair_sync(builder_, writer_, piece_);
    }
    filled_ = 0;
    ++piece_;
  }

  plan::Builder& builder_;
  Cells cells_;
  LocalRank writer_;
  Buffer source_;
  const NodeBlocks& blocks_;
  const Fetch& fetch_;
  Bytes to_pass_;  ///< by all pieces together
  int piece_ = 0;
  Bytes filled_ = 0;  ///< of the piece's cell
  // The writer's alone:
  struct Readers {
    int first, last;
  };
  std::vector<Readers> readers_of_;  ///< of each piece
  JoinedPuts puts_;
};

void fetch_block(LocalRank rank, const NodeBlocks& blocks, const Fetch& fetch) {
  if (fetch && blocks.bytes(rank) > 0) fetch(blocks.begin(rank), blocks.begin(rank) + blocks.bytes(rank));
}

void copy_own_block(plan::Builder& builder, Buffer source, const NodeBlocks& blocks, const Fetch& fetch) {
  const LocalRank me = builder.local();
  fetch_block(me, blocks, fetch);
  if (source != Buffer::window)
    builder.copy(source, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
  else if (blocks.bytes(me) > 0)
    builder.get(me, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
}

/// Says that blocks are there: one by one where they are fetched, else all at once.
void announce(plan::Builder& builder, const NodeBlocks& blocks, const Fetch& fetch) {
  if (!fetch) return pair_sync(builder, builder.local(), 0);
  for (int i = 0; i < builder.node_size(); ++i) {
    if (LocalRank(i) == builder.local() || blocks.bytes(LocalRank(i)) == 0) continue;
    fetch_block(LocalRank(i), blocks, fetch);
    pair_sync(builder, builder.local(), i);
  }
}
void await_announced(plan::Builder& builder, LocalRank writer, bool is_fetched) {
  pair_sync(builder, writer, is_fetched ? builder.local().value : 0);
}

/// Nothing is put: it has arrived in the writer's window.
void deal_in_place(plan::Builder& builder, LocalRank writer, const NodeBlocks& blocks, const Fetch& fetch) {
  const LocalRank me = builder.local();
  if (me == writer) return announce(builder, blocks, fetch);
  if (blocks.bytes(me) == 0) return;
  await_announced(builder, writer, static_cast<bool>(fetch));
  builder.get(writer, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
}

void offer(plan::Builder& builder, Buffer source, const NodeBlocks& blocks, const Fetch& fetch) {
  builder.expose();
  announce(builder, blocks, fetch);
  copy_own_block(builder, source, blocks, fetch);
  for (int i = 0; i < builder.node_size(); ++i)  // my buffer must stay until all have read it
    if (LocalRank(i) != builder.local() && blocks.bytes(LocalRank(i)) > 0) await_taken(builder, LocalRank(i), 0);
}

void pull_block(plan::Builder& builder, LocalRank writer, Buffer source, const NodeBlocks& blocks, bool is_fetched) {
  const LocalRank me = builder.local();
  if (blocks.bytes(me) == 0) return;
  await_announced(builder, writer, is_fetched);
  builder.pull(writer, source, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
  taken_post(builder, 0);
}

}  // namespace

void deal_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank writer, Buffer source,
                 const NodeBlocks& blocks, const Fetch& fetch) {
  const bool is_writer = builder.local() == writer;
  if (builder.node_size() > 1 && source != Buffer::window && choice.within == plan::Within::single_copy) {
    if (!is_writer) return pull_block(builder, writer, source, blocks, static_cast<bool>(fetch));
    return offer(builder, source, blocks, fetch);
  }
  if (source == Buffer::window)
    deal_in_place(builder, writer, blocks, fetch);
  else
    CellDeal(builder, Cells{choice}, writer, source, blocks, fetch).run();
  if (is_writer) copy_own_block(builder, source, blocks, fetch);
}

}  // namespace espalier::smp
