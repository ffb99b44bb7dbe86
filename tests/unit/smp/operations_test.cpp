// The paper's seven operations, step by step.

#include "smp/operations.hpp"

#include <gtest/gtest.h>

namespace espalier::smp {
namespace {

using plan::Buffer;
using plan::Builder;
using plan::Flag;
using plan::Step;
using topology::Topology;

const Topology& node_of_3() {
  static const Topology topology = Topology::from_nodes(std::vector{0, 0, 0});
  return topology;
}

/// What local rank `me` emits, without the `done` at its end.
template <class Emit>
std::vector<Step> steps_of(int me, Emit emit) {
  Builder builder(node_of_3(), Rank(me));
  emit(builder);
  std::vector<Step> steps = std::move(builder).take().steps;
  steps.pop_back();
  return steps;
}

Cells cells_of(Bytes bytes, int count) {
  plan::Choice choice;
  choice.cell = bytes;
  choice.cells = count;
  return Cells(choice);
}

const Step claim = Step::await_all(Flag::done, 1, plan::window_banks);

TEST(SenderPut, ClaimsTheWindowOnceAndGoesRoundTheCells) {
  const Cells cells = cells_of(64, 2);
  const auto steps = steps_of(0, [&](Builder& builder) {
    for (int piece = 0; piece < 3; ++piece) sender_put(builder, cells, piece, {Buffer::input, 0, 8}, 16);
  });
  EXPECT_EQ(steps, (std::vector{claim, Step::put(Buffer::input, 0, 8, 16), Step::put(Buffer::input, 0, 8, 80),
                                Step::put(Buffer::input, 0, 8, 16)}));
}

TEST(ReceiverGet, OfNothingIsNothing) {
  const Cells cells = cells_of(64, 2);
  EXPECT_EQ(steps_of(1,
                     [&](Builder& builder) {
                       receiver_get(builder, cells, LocalRank(0), 1, 4, {Buffer::output, 12, 8});
                       receiver_get(builder, cells, LocalRank(0), 1, 4, {Buffer::output, 12, 0});
                     }),
            (std::vector{Step::get(LocalRank(0), 68, Buffer::output, 12, 8)}));
}

TEST(PairSync, TellsAtTheWriterAndWaitsAtTheReader) {
  const auto sync = [](Builder& builder) { pair_sync(builder, LocalRank(1), 4); };
  EXPECT_EQ(steps_of(1, sync), (std::vector{Step::post(Flag::ready, 5)}));
  EXPECT_EQ(steps_of(2, sync), (std::vector{Step::await(LocalRank(1), Flag::ready, 5)}));
}

TEST(GroupGet, IsForAllButTheWriter) {
  const auto get = [](Builder& builder) { group_get(builder, cells_of(64, 2), LocalRank(1), 1, 100, 20, Placement{}); };
  EXPECT_TRUE(steps_of(1, get).empty());
  EXPECT_EQ(steps_of(0, get), (std::vector{Step::get(LocalRank(1), 64, Buffer::output, 100, 20)}));
}

TEST(GroupSegGet, TakesTheOwnSegment) {
  const auto get = [](Builder& builder) {
    group_seg_get(builder, cells_of(64, 2), LocalRank(1), 0, 8 * static_cast<Bytes>(builder.local().value),
                  {Buffer::output, 0, 8});
  };
  EXPECT_TRUE(steps_of(1, get).empty());
  EXPECT_EQ(steps_of(2, get), (std::vector{Step::get(LocalRank(1), 16, Buffer::output, 0, 8)}));
}

TEST(GroupSegPut, PutsIntoTheOwnCell) {
  EXPECT_EQ(steps_of(2,
                     [](Builder& builder) {
                       group_seg_put(builder, cells_of(64, 2), 1, {Buffer::input, 0, 8});
                     }),
            (std::vector{claim, Step::put(Buffer::input, 0, 8, 64)}));
}

TEST(GroupSync, TellsAllAndWaitsForAll) {
  EXPECT_EQ(steps_of(0, [](Builder& builder) { group_sync(builder, 0); }),
            (std::vector{Step::post(Flag::ready, 1), Step::await_all(Flag::ready, 1)}));
}

TEST(JoinedPuts, JoinWhatGoesOnInSourceAndCell) {
  const auto steps = steps_of(0, [](Builder& builder) {
    JoinedPuts puts(builder, cells_of(64, 2));
    puts.add(0, {Buffer::input, 10, 5}, 0);
    puts.add(0, {Buffer::input, 15, 5}, 5);
    puts.add(0, {Buffer::input, 30, 0}, 10);
    puts.add(0, {Buffer::input, 40, 5}, 10);
    puts.flush();
    puts.flush();
  });
  EXPECT_EQ(steps, (std::vector{claim, Step::put(Buffer::input, 10, 10, 0), Step::put(Buffer::input, 40, 5, 10)}));
}

}  // namespace
}  // namespace espalier::smp
