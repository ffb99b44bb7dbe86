#include "execute/interpreter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

using plan::Buffer;
using plan::Flag;
using plan::Program;
using plan::Step;

topology::Topology pair() { return topology::Topology::from_nodes(std::vector<int>{0, 0}); }

TEST(Interpreter, StopsAtAnUnmetWaitAndGoesOnThere) {
  transports::ThreadWorld world(pair(), 4096);
  Program waits;
  waits.steps = {Step::copy(Buffer::input, 0, Buffer::output, 0, 1), Step::await(LocalRank(1), Flag::ready, 2),
                 Step::copy(Buffer::input, 1, Buffer::output, 1, 1)};
  std::byte input[] = {std::byte{1}, std::byte{2}}, output[2] = {};
  world.seat(Rank(0)).begin_call();
  world.seat(Rank(1)).begin_call();
  Interpreter interpreter(waits, {input, output, nullptr}, {&world.seat(Rank(0)), nullptr, nullptr});

  EXPECT_EQ(interpreter.advance(), Status::waiting);
  EXPECT_EQ(interpreter.position(), 1u);
  world.seat(Rank(1)).post(Flag::ready, 1);
  EXPECT_EQ(interpreter.advance(), Status::waiting);
  world.seat(Rank(1)).post(Flag::ready, 2);
  EXPECT_EQ(interpreter.advance(), Status::done);
  EXPECT_EQ(output[1], std::byte{2});
}

TEST(Seat, RemembersThatFlagsNeverGoBack) {
  transports::ThreadWorld world(pair(), 4096);
  Seat &mine = world.seat(Rank(0)), &theirs = world.seat(Rank(1));
  mine.begin_call();
  theirs.begin_call();
  EXPECT_FALSE(mine.reached(LocalRank(1), Flag::done, 1, 0));
  EXPECT_TRUE(mine.reached(LocalRank(1), Flag::done, 1, 1)) << "calls before the first are over";
  theirs.post(Flag::done, 1);
  EXPECT_TRUE(mine.all_reached(Flag::done, 1, 0));
  mine.begin_call();
  EXPECT_FALSE(mine.reached(LocalRank(1), Flag::done, 1, 0)) << "a new call asks anew";
  EXPECT_TRUE(mine.reached(LocalRank(1), Flag::done, 1, 1));
}

/// Strings of one letter, put one before the other; remembers how many operands came at a time.
class Spell final : public Reducer {
 public:
  void combine(const std::byte*, std::byte*, Bytes) const noexcept override { ADD_FAILURE() << "not by one"; }
  void combine_several(std::span<const std::byte* const> left, const std::byte* right, std::byte* into,
                       Bytes) const noexcept override {
    std::string word(1, static_cast<char>(*right));
    for (const std::byte* operand : left) word = static_cast<char>(*operand) + word;
    words.push_back(word);
    *into = std::byte{'='};
  }
  mutable std::vector<std::string> words;
};

TEST(Interpreter, CombinesSuccessiveOperandsOfTheSameBytesAtATime) {
  transports::ThreadWorld world(pair(), 4096);
  const auto add = [](Bytes from, Bytes into) {
    return Step::reduce(LocalRank(0), Buffer::scratch, from, Buffer::output, into, 1);
  };
  Program program;
  program.steps = {add(0, 0),
                   add(1, 0),
                   add(2, 0),  // onto x
                   Step::copy(Buffer::input, 0, Buffer::output, 1, 1),
                   add(0, 1),
                   add(1, 1),  // onto i, elsewhere
                   Step::post(Flag::ready, 1),
                   add(2, 1),
                   add(0, 0)};
  std::byte input[] = {std::byte{'i'}}, output[] = {std::byte{'x'}, std::byte{'y'}},
            scratch[] = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  const Spell spell;
  world.seat(Rank(0)).begin_call();
  Interpreter interpreter(program, {input, output, scratch}, {&world.seat(Rank(0)), nullptr, nullptr, &spell});
  EXPECT_EQ(interpreter.advance(), Status::done);
  EXPECT_EQ(spell.words, (std::vector<std::string>{"cbax", "bai", "c=", "a="}));
}

/// Runs a program of one long put twice. How many of these its seat has counted as cells with one reader.
int counted_of_two_puts(bool has_one_reader, Bytes bytes) {
  transports::ThreadWorld world(pair(), 16 << 10);
  Program program;
  program.has_one_reader = has_one_reader;
  program.steps = {Step::put(Buffer::input, 0, bytes, 0)};
  std::vector<std::byte> input(bytes, std::byte{7});
  Seat& seat = world.seat(Rank(0));
  for (int call = 0; call < 2; ++call) {
    seat.begin_call();
    EXPECT_EQ(Interpreter(program, {input.data(), nullptr, nullptr}, {&seat}).advance(), Status::done);
    const std::byte* const window = seat.board().window(LocalRank(0), seat.call());
    EXPECT_TRUE(std::equal(input.begin(), input.end(), window));
  }
  const auto cells_until_timed = [](Closeness& closeness) {
    int cells = 1;
    while (!closeness.next(true).is_timed) ++cells;
    return cells;
  };
  Closeness unused;
  return cells_until_timed(unused) - cells_until_timed(seat.closeness());
}

TEST(Interpreter, LooksHowLongCellsTakeThatOneReaderHasHad) {
  EXPECT_EQ(counted_of_two_puts(true, 8 << 10), 2);
  EXPECT_EQ(counted_of_two_puts(true, 1 << 10), 0) << "too short to matter";
  EXPECT_EQ(counted_of_two_puts(false, 8 << 10), 0) << "each of several readers would take it from the others";
}

TEST(Seat, TakesLinesOverFromOthersThatAskForIt) {
  transports::ThreadWorld world(pair(), 4096);
  Seat& reader = world.seat(Rank(1));
  EXPECT_FALSE(reader.takes_over_from(LocalRank(0)));
  reader.board().notice(LocalRank(0)).is_taken.store(true);
  reader.board().notice(LocalRank(1)).is_taken.store(true);
  EXPECT_TRUE(reader.takes_over_from(LocalRank(0)));
  EXPECT_FALSE(reader.takes_over_from(LocalRank(1))) << "its own";
}

TEST(Interpreter, ReadsTheSameWhereItTakesLinesOver) {
  for (const bool is_taken : {false, true}) {
    transports::ThreadWorld world(pair(), 16 << 10);
    Seat& reader = world.seat(Rank(1));
    reader.begin_call();
    reader.board().notice(LocalRank(0)).is_taken.store(is_taken);
    std::byte* const window = reader.board().window(LocalRank(0), reader.call());
    for (int i = 0; i < 8192; ++i) window[i] = static_cast<std::byte>(i % 251);
    const std::vector<std::byte> written(window, window + 8192);
    Program program;
    program.has_one_reader = true;
    program.steps = {Step::get(LocalRank(0), 0, Buffer::output, 0, 8192)};
    std::vector<std::byte> output(8192);
    EXPECT_EQ(Interpreter(program, {nullptr, output.data(), nullptr}, {&reader}).advance(), Status::done);
    EXPECT_EQ(output, written);
    EXPECT_TRUE(std::equal(written.begin(), written.end(), window));
  }
}

class BrokenCopy final : public SingleCopy {
 public:
  bool read(LocalRank, const std::byte*, std::byte*, Bytes) noexcept override { return false; }
  bool write(LocalRank, std::byte*, const std::byte*, Bytes) noexcept override { return false; }
};

TEST(Interpreter, ReportsATransportThatBroke) {
  transports::ThreadWorld world(pair(), 4096);
  BrokenCopy broken;
  Program pulls;
  pulls.steps = {Step::pull(LocalRank(1), Buffer::input, 0, Buffer::output, 0, 1)};
  std::byte output[1];
  world.seat(Rank(0)).begin_call();
  Interpreter interpreter(pulls, {nullptr, output, nullptr}, {&world.seat(Rank(0)), nullptr, &broken});
  EXPECT_EQ(interpreter.advance(), Status::failed);
}

}  // namespace
}  // namespace espalier::execute
