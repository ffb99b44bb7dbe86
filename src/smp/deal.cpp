#include "smp/deal.hpp"

#include <algorithm>

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// The pieces as they run through the writer's cells. Every rank walks all of them and acts in those that concern it.
class CellDeal {
 public:
  CellDeal(plan::Builder& builder, const Cells& cells, LocalRank writer, Buffer source, const NodeBlocks& blocks)
      : builder_(builder),
        cells_(cells),
        writer_(writer),
        source_(source),
        blocks_(blocks),
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

void copy_own_block(plan::Builder& builder, Buffer source, const NodeBlocks& blocks) {
  const LocalRank me = builder.local();
  if (source != Buffer::window)
    builder.copy(source, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
  else if (blocks.bytes(me) > 0)
    builder.get(me, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
}

/// Nothing is put: it has arrived in the writer's window.
void deal_in_place(plan::Builder& builder, LocalRank writer, const NodeBlocks& blocks) {
  const LocalRank me = builder.local();
  if (me != writer && blocks.bytes(me) == 0) return;
  pair_sync(builder, writer, 0);
  if (me != writer) builder.get(writer, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
}

void offer(plan::Builder& builder, Buffer source, const NodeBlocks& blocks) {
  builder.expose();
  pair_sync(builder, builder.local(), 0);
  copy_own_block(builder, source, blocks);
  for (int i = 0; i < builder.node_size(); ++i)  // my buffer must stay until all have read it
    if (LocalRank(i) != builder.local() && blocks.bytes(LocalRank(i)) > 0) await_taken(builder, LocalRank(i), 0);
}

void pull_block(plan::Builder& builder, LocalRank writer, Buffer source, const NodeBlocks& blocks) {
  const LocalRank me = builder.local();
  if (blocks.bytes(me) == 0) return;
  pair_sync(builder, writer, 0);
  builder.pull(writer, source, blocks.begin(me), Buffer::output, 0, blocks.bytes(me));
  taken_post(builder, 0);
}

}  // namespace

void deal_blocks(plan::Builder& builder, const plan::Choice& choice, LocalRank writer, Buffer source,
                 const NodeBlocks& blocks) {
  const bool is_writer = builder.local() == writer;
  if (builder.node_size() > 1 && source != Buffer::window && choice.within == plan::Within::single_copy)
    return is_writer ? offer(builder, source, blocks) : pull_block(builder, writer, source, blocks);
  if (source == Buffer::window)
    deal_in_place(builder, writer, blocks);
  else
    CellDeal(builder, Cells{choice}, writer, source, blocks).run();
  if (is_writer) copy_own_block(builder, source, blocks);
}

}  // namespace espalier::smp
