// A play keeps MPI's rules of who waits for whom, whatever carries the messages.

#include "cost/play.hpp"

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "choice/parse.hpp"

namespace espalier::cost {
namespace {

/// Delivers nothing by itself; remembers what set out, and when.
struct Held final : Wire {
  struct Item {
    std::size_t message;
    Rank from, to;
    Bytes bytes;
    double when;
  };
  std::vector<Item> items;
  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    items.push_back({message, from, to, bytes, when});
  }
};

plan::Plan broadcast_to_one(Bytes bytes) {
  return algorithms::build_plan(topology::Topology::from_nodes(std::vector<int>{0, 1}),
                                {plan::Operation::broadcast, bytes, Rank(0)},
                                choice::parse_choice(plan::Operation::broadcast, "knomial"));
}

void play_on(Play& play) {
  while (play.next() < Play::never) play.advance();
}

TEST(Play, StopsWhereOnlyTheWireCanHelp) {
  const plan::Plan plan = broadcast_to_one(1 << 20);
  const Parameters is;
  Held wire;
  Play play(plan, is, wire);
  play_on(play);
  EXPECT_FALSE(play.is_over());
  ASSERT_EQ(wire.items.size(), 1u);
  EXPECT_EQ(wire.items[0].from, Rank(0));
  EXPECT_EQ(wire.items[0].bytes, Bytes{1} << 20);
  play.deliver(wire.items[0].message, 100, 110);
  play_on(play);
  EXPECT_TRUE(play.is_over());
  EXPECT_NEAR(play.ends()[0], 100, 10 * is.step);
  EXPECT_NEAR(play.ends()[1], 110 + is.overhead, 10 * is.step);
}

TEST(Play, TheSenderOfAShortMessageGoesOnAtOnce) {
  const plan::Plan plan = broadcast_to_one(1 << 10);
  const Parameters is;
  Held wire;
  Play play(plan, is, wire);
  play_on(play);
  EXPECT_NEAR(play.ends()[0], is.overhead, 10 * is.step);
}

TEST(Play, ALongMessageSetsOutWhenBothSidesAreReady) {
  const plan::Plan plan = broadcast_to_one(1 << 20);
  Parameters is;
  is.step = 5;  // the receiver's only step before it expects the message
  Held wire;
  Play play(plan, is, wire);
  play_on(play);
  ASSERT_EQ(wire.items.size(), 1u);
  EXPECT_GE(wire.items[0].when, is.step + is.overhead);
}

TEST(Play, SpansCoverEveryStepOnce) {
  const plan::Plan plan = broadcast_to_one(1 << 10);
  const Parameters is;
  Held wire;
  Play play(plan, is, wire);
  std::vector<Span> spans;
  play.record(spans);
  play_on(play);
  play.deliver(wire.items[0].message, 3, 4);
  play_on(play);
  std::size_t steps = 0;
  for (const plan::Program& program : plan.programs) steps += program.steps.size();
  EXPECT_EQ(spans.size(), steps);
  for (const Span& span : spans) EXPECT_LE(span.begin, span.end);
}

}  // namespace
}  // namespace espalier::cost
