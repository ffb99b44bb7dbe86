#include "smp/reduce/apart.hpp"

#include <algorithm>

#include "plan/blocks.hpp"
#include "smp/operations.hpp"
#include "smp/reduce/fold.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// Scratch for all neighbours' vectors together, twice: about half of a second-level cache of 2 MiB.
constexpr Bytes pulled_at_once = 512 << 10;
constexpr Bytes single_copy_stretch = 128 << 10;

/// A vector in pieces of equal length, but for the last one.
class Pieces {
 public:
  Pieces(Bytes bytes, Bytes piece) : bytes_(bytes), piece_(piece) {}

  int count() const { return static_cast<int>((bytes_ + piece_ - 1) / piece_); }
  Bytes begin(int i) const { return static_cast<Bytes>(i) * piece_; }
  Bytes bytes(int i) const { return std::min(piece_, bytes_ - begin(i)); }

 private:
  Bytes bytes_;
  Bytes piece_;
};

bool is_prefix(const plan::Problem& problem) { return problem.operation != plan::Operation::allreduce; }

void fold_through_cells(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, int last) {
  const int me = builder.local().value;
  const Cells cells = cells_of(Grain(problem), choice);
  const Pieces pieces(problem.bytes, cells.bytes);
  const bool is_read = !is_prefix(problem) || me + 1 < builder.node_size();
  const auto stage = [&](int i) {
    await_free_cell(builder, cells, i);
    if (is_read) sender_put(builder, cells, i, {Buffer::input, pieces.begin(i), pieces.bytes(i)});
    builder.post(Flag::ready, tick(i));
  };
  Fold fold(builder, problem, Fold::Source::cells, cells.bytes, 0);
  builder.need_scratch(Fold::scratch_bytes(cells.bytes));
  const auto fold_piece = [&](int i) {
    if (last == builder.node_size() - 1) builder.await_neighbours(Flag::ready, tick(i));
    for (int rank = last; last < builder.node_size() - 1 && rank >= 0; --rank)
      if (rank != me) builder.await(LocalRank(rank), Flag::ready, tick(i));
    if (last >= 0) fold.run(last, pieces.begin(i), cells.offset(i), {Buffer::output, pieces.begin(i), pieces.bytes(i)});
    taken_post(builder, i);
  };
  const int lag = cells.count > 1 ? 1 : 0;  // a cell is free again when all have folded it
  for (int i = 0; i < pieces.count() + lag; ++i) {
    if (i < pieces.count()) stage(i);
    if (i >= lag) fold_piece(i - lag);
  }
}

/// Pulls one piece ahead of folding, so that waiting for the slowest reader costs nothing.
void fold_single_copy(plan::Builder& builder, const plan::Problem& problem, int last) {
  const int me = builder.local().value;
  const Grain grain(problem);
  const auto neighbours = static_cast<Bytes>(builder.node_size() - 1);
  const Bytes piece =
      std::max(grain.bytes(), grain.round_down(std::min(single_copy_stretch, pulled_at_once / neighbours)));
  const Pieces pieces(problem.bytes, std::min(piece, grain.round_up(problem.bytes)));
  const Bytes stretch = std::min(piece, grain.round_up(problem.bytes));
  const auto bank = [&](int i) { return static_cast<Bytes>(i % 2) * neighbours * stretch; };
  builder.need_scratch(std::min<Bytes>(2, static_cast<Bytes>(pieces.count())) * neighbours * stretch);
  builder.expose();
  builder.post(Flag::ready, 1);
  // Nobody reads the last rank's vector and its result is without it: its output may be written as data come.
  const bool is_unread =
      problem.operation == plan::Operation::exscan && me == last + 1 && me + 1 == builder.node_size();
  const auto operand = [&](int rank, int i) -> Range {
    if (is_unread && rank == last) return {Buffer::output, pieces.begin(i), pieces.bytes(i)};
    return {Buffer::scratch, bank(i) + static_cast<Bytes>(rank < me ? rank : rank - 1) * stretch, pieces.bytes(i)};
  };
  const auto pull = [&](int i) {
    for (int rank = last; rank >= 0; --rank) {
      if (rank == me) continue;
      const Range into = operand(rank, i);
      builder.await(LocalRank(rank), Flag::ready, 1);
      builder.pull(LocalRank(rank), Buffer::input, pieces.begin(i), into.buffer, into.offset, into.bytes);
    }
    taken_post(builder, i);
  };
  Fold fold(builder, problem, Fold::Source::pulled, stretch, 0);
  for (int i = 0; i <= pieces.count(); ++i) {
    if (i < pieces.count()) pull(i);
    if (i == 0) continue;
    const Range target{Buffer::output, pieces.begin(i - 1), pieces.bytes(i - 1)};
    if (is_unread) {
      fold.run_onto(last, bank(i - 1), target);
      continue;
    }
    builder.await_neighbours(Flag::taken, tick(i - 1));
    if (last >= 0) fold.run(last, pieces.begin(i - 1), bank(i - 1), target);
  }
}

/// Blocks cut into equal slots of a cell, one for each reader.
class BlocksInCells {
 public:
  BlocksInCells(plan::Builder& builder, const plan::Problem& problem, plan::Choice choice)
      : builder_(builder),
        blocks_(problem, builder.node_size()),
        slot_(Grain(problem).round_down(choice.cell / static_cast<Bytes>(builder.node_size()))),
        cells_(slots(choice)),
        fold_(builder, problem, Fold::Source::cells, slot_, 0) {
    builder.need_scratch(Fold::scratch_bytes(slot_));
  }

  void build() {
    Bytes largest = 0;
    for (int rank = 0; rank < builder_.node_size(); ++rank) largest = std::max(largest, blocks_.bytes(Rank(rank)));
    const int count = Pieces(largest, slot_).count();
    const int lag = cells_.count > 1 ? 1 : 0;
    for (int i = 0; i < count + lag; ++i) {
      if (i < count) stage(i);
      if (i >= lag) fold(i - lag);
    }
  }

 private:
  Cells slots(plan::Choice choice) const {
    choice.cell = slot_ * static_cast<Bytes>(builder_.node_size());
    return Cells(choice);
  }

  Bytes done(int piece) const { return static_cast<Bytes>(piece) * slot_; }
  Bytes bytes(int rank, int piece) const {
    const Bytes block = blocks_.bytes(Rank(rank));
    return done(piece) < block ? std::min(slot_, block - done(piece)) : 0;
  }
  Bytes begin(int rank, int piece) const { return blocks_.begin(Rank(rank)) + done(piece); }
  Bytes place(int rank, int piece) const { return cells_.offset(piece) + static_cast<Bytes>(rank) * slot_; }

  void stage(int piece) {
    await_free_cell(builder_, cells_, piece);
    builder_.claim_window();
    for (int distance = 1; distance < builder_.node_size(); ++distance) {
      const int rank = neighbour_at(builder_, distance).value;
      if (bytes(rank, piece) > 0)
        builder_.put(Buffer::input, begin(rank, piece), bytes(rank, piece), place(rank, piece));
    }
    builder_.post(Flag::ready, tick(piece));
  }

  void fold(int piece) {
    const int me = builder_.local().value;
    if (bytes(me, piece) > 0) {
      builder_.await_neighbours(Flag::ready, tick(piece));
      fold_.run(builder_.node_size() - 1, begin(me, piece), place(me, piece),
                {Buffer::output, done(piece), bytes(me, piece)});
    }
    taken_post(builder_, piece);
  }

  plan::Builder& builder_;
  plan::Blocks blocks_;
  Bytes slot_;
  Cells cells_;
  Fold fold_;
};

void reduce_blocks_single_copy(plan::Builder& builder, const plan::Problem& problem) {
  const plan::Blocks blocks(problem, builder.node_size());
  const Grain grain(problem);
  const Rank me(builder.local().value);
  const Bytes stretch = std::max(grain.bytes(), grain.round_down(single_copy_stretch));
  const Pieces pieces(blocks.bytes(me), stretch);
  builder.need_scratch(Fold::scratch_bytes(stretch));
  builder.expose();
  builder.post(Flag::ready, 1);
  if (pieces.count() > 0) builder.await_neighbours(Flag::ready, 1);
  Fold fold(builder, problem, Fold::Source::inputs, stretch, 0);
  for (int i = 0; i < pieces.count(); ++i)
    fold.run(builder.node_size() - 1, blocks.begin(me) + pieces.begin(i), 0,
             {Buffer::output, pieces.begin(i), pieces.bytes(i)});
  taken_post(builder, 0);
  builder.await_neighbours(Flag::taken, 1);
}

}  // namespace

void reduce_apart(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, int last) {
  if (builder.node_size() > 1 && choice.within == plan::Within::single_copy)
    fold_single_copy(builder, problem, last);
  else if (builder.node_size() > 1)
    fold_through_cells(builder, problem, choice, last);
  else if (last == 0)
    builder.copy(Buffer::input, 0, Buffer::output, 0, problem.bytes);
}

void reduce_blocks(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  if (builder.node_size() == 1)
    builder.copy(Buffer::input, 0, Buffer::output, 0, plan::Blocks(problem, 1).total());
  else if (choice.within == plan::Within::single_copy)
    reduce_blocks_single_copy(builder, problem);
  else
    BlocksInCells(builder, problem, choice).build();
}

}  // namespace espalier::smp
