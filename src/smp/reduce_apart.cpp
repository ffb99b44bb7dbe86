#include "smp/reduce_apart.hpp"

#include <algorithm>

#include "plan/blocks.hpp"
#include "smp/operations.hpp"
#include "smp/reduce_fold.hpp"
#include "smp/reduce_grain.hpp"

namespace espalier::smp {

using plan::Buffer;
using plan::Flag;

namespace {

/// As in NodeReduction.
constexpr Bytes single_copy_stretch = 128 << 10;

std::uint64_t tick(int piece) { return static_cast<std::uint64_t>(piece) + 1; }

Bytes count_pieces(Bytes bytes, Bytes piece) { return (bytes + piece - 1) / piece; }

/// Calls stage(i) and fold(i) for each piece, folding one piece behind staging when there are cells for that.
template <class Stage, class Fold>
void run_pipeline(plan::Builder& builder, const Cells& cells, int pieces, Stage stage, Fold fold) {
  const int lag = cells.count > 1 ? 1 : 0;
  for (int i = 0; i < pieces + lag; ++i) {
    if (i < pieces) {
      await_free_cell(builder, cells, i);
      stage(i);
      builder.post(Flag::ready, tick(i));
    }
    if (i >= lag) {
      fold(i - lag);
      taken_post(builder, i - lag);
    }
  }
}

/// Blocks cut into equal slots of a cell, one for each reader.
void reduce_blocks_through_cells(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  const int count = builder.node_size();
  const int me = builder.local().value;
  const plan::Blocks blocks(problem, count);
  const Grain grain(problem);
  const Bytes slot = grain.round_down(choice.cell / static_cast<Bytes>(count));
  plan::Choice used = choice;
  used.cell = slot * static_cast<Bytes>(count);
  const Cells cells(used);
  builder.need_scratch(Fold::scratch_bytes(slot));
  Fold folder(builder, problem, choice, 0);
  const auto bytes_of = [&](int rank, int piece) {
    const Bytes done = static_cast<Bytes>(piece) * slot, block = blocks.bytes(Rank(rank));
    return done < block ? std::min(slot, block - done) : 0;
  };
  const auto stage = [&](int piece) {
    for (int i = 1; i < count; ++i) {
      const int rank = (me + i) % count;
      const Bytes from = blocks.begin(Rank(rank)) + static_cast<Bytes>(piece) * slot;
      builder.claim_window();
      if (const Bytes bytes = bytes_of(rank, piece); bytes > 0)
        builder.put(Buffer::input, from, bytes, cells.offset(piece) + static_cast<Bytes>(rank) * slot);
    }
  };
  const auto fold = [&](int piece) {
    const Bytes bytes = bytes_of(me, piece), done = static_cast<Bytes>(piece) * slot;
    if (bytes == 0) return;
    builder.await_neighbours(Flag::ready, tick(piece));
    folder.run(count - 1, blocks.begin(Rank(me)) + done, cells.offset(piece) + static_cast<Bytes>(me) * slot,
               {Buffer::output, done, bytes});
  };
  Bytes largest = 0;
  for (int rank = 0; rank < count; ++rank) largest = std::max(largest, blocks.bytes(Rank(rank)));
  run_pipeline(builder, cells, static_cast<int>(count_pieces(largest, slot)), stage, fold);
}

void reduce_blocks_single_copy(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  const int count = builder.node_size();
  const plan::Blocks blocks(problem, count);
  const Grain grain(problem);
  const Rank me(builder.local().value);
  const Bytes stretch = std::max(grain.bytes(), grain.round_down(single_copy_stretch));
  builder.need_scratch(Fold::scratch_bytes(stretch));
  Fold folder(builder, problem, choice, 0);
  builder.expose();
  builder.post(Flag::ready, 1);
  if (blocks.bytes(me) > 0) builder.await_neighbours(Flag::ready, 1);
  for (Bytes done = 0; done < blocks.bytes(me); done += stretch)
    folder.run(count - 1, blocks.begin(me) + done, 0,
               {Buffer::output, done, std::min(stretch, blocks.bytes(me) - done)});
  builder.post(Flag::taken, 1);
  builder.await_neighbours(Flag::taken, 1);
}

}  // namespace

void reduce_apart(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, int last) {
  const int count = builder.node_size();
  if (count == 1) {
    if (last == 0) builder.copy(Buffer::input, 0, Buffer::output, 0, problem.bytes);
    return;
  }
  const Cells cells = cells_of(Grain(problem), choice);
  builder.need_scratch(Fold::scratch_bytes(cells.bytes));
  Fold folder(builder, problem, choice, 0);
  const bool is_prefix = problem.operation != plan::Operation::allreduce;
  const bool is_read = !is_prefix || builder.local().value < count - 1;
  const auto piece_at = [&](int i) {
    const Bytes done = static_cast<Bytes>(i) * cells.bytes;
    return Range{Buffer::output, done, std::min(cells.bytes, problem.bytes - done)};
  };
  const auto stage = [&](int i) {
    const Range piece = piece_at(i);
    if (is_read) sender_put(builder, cells, i, {Buffer::input, piece.offset, piece.bytes});
  };
  const auto fold = [&](int i) {
    const Range piece = piece_at(i);
    if (!is_prefix) builder.await_neighbours(Flag::ready, tick(i));
    for (int rank = last; is_prefix && rank >= 0; --rank)
      if (LocalRank(rank) != builder.local()) builder.await(LocalRank(rank), Flag::ready, tick(i));
    if (last >= 0) folder.run(last, piece.offset, cells.offset(i), piece);
  };
  run_pipeline(builder, cells, static_cast<int>(count_pieces(problem.bytes, cells.bytes)), stage, fold);
}

void reduce_blocks(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  if (builder.node_size() == 1)
    builder.copy(Buffer::input, 0, Buffer::output, 0, plan::Blocks(problem, 1).total());
  else if (choice.within == plan::Within::single_copy)
    reduce_blocks_single_copy(builder, problem, choice);
  else
    reduce_blocks_through_cells(builder, problem, choice);
}

}  // namespace espalier::smp
