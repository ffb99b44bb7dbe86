// Blocks of unknown sizes, with threads as ranks: right bytes, and one answer on all ranks.

#include "execute/lines/uneven_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "execute/lines/tiny.hpp"
#include "execute/one_node.hpp"
#include "execute/yield.hpp"
#include "plain_copy.hpp"
#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;

/// A call of a run, the same for all ranks; `from` and `to` count for scatter and gather as the root has it.
struct Call {
  Operation operation;
  int ranks;
  int number;
  bool has_any_size = false;
  Bytes times = 1;  ///< as long

  LocalRank root() const { return LocalRank(number / 20 % ranks); }
  Bytes longest() const { return longest_in_lines(operation, ranks); }
  /// Every ninth call has one block that is too long, unless none is; sizes around the ends of lines come up.
  Bytes bytes(int from, int to) const {
    if (has_any_size) return static_cast<Bytes>(number * 37 + from * 53 + to * 29) * 17 % (3 * longest()) * times;
    if (number % 9 == 8 && from == root().value && to == (from + 1) % ranks) return longest() + 1;
    if (number % 9 == 8 && operation == Operation::gather && from == (to + 1) % ranks) return longest() + 1;
    return static_cast<Bytes>(number * 37 + from * 53 + to * 29) % (longest() + 1);
  }
  bool is_sent(int from, int to) const {
    return operation == Operation::alltoall || root().value == (operation == Operation::gather ? to : from);
  }
  Bytes largest() const {
    Bytes longest = 0;
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        if (is_sent(from, to)) longest = std::max(longest, bytes(from, to));
    return longest;
  }
  std::byte value(int from, int to, Bytes i) const {
    return static_cast<std::byte>(number * 31 + from * 7 + to * 3 + static_cast<int>(i));
  }
};

/// One rank's blocks in one buffer, one behind the other with gaps.
class Blocks {
 public:
  template <class Size>
  Blocks(int count, Size size) {
    for (int b = 0; b < count; ++b) total_ += size(b) + gap;
    memory_.resize(total_);
    Bytes begin = 0;
    for (int b = 0; b < count; begin += size(b++) + gap) blocks_.push_back({memory_.data() + begin, size(b)});
  }
  std::span<const Block> all() const { return blocks_; }
  const Block& operator[](int b) const { return blocks_[static_cast<std::size_t>(b)]; }

 private:
  static constexpr Bytes gap = 3;
  Bytes total_ = 0;
  std::vector<std::byte> memory_;
  std::vector<Block> blocks_;
};

void fill(const Block& block, const Call& call, int from, int to) {
  for (Bytes i = 0; i < block.bytes; ++i) block.data[i] = call.value(from, to, i);
}
bool holds(const Block& block, const Call& call, int from, int to) {
  for (Bytes i = 0; i < block.bytes; ++i)
    if (block.data[i] != call.value(from, to, i)) return false;
  return true;
}
bool is_zero(const Block& block) {
  return std::all_of(block.data, block.data + block.bytes, [](std::byte it) { return it == std::byte{}; });
}

/// Both sides of a rank, and who the other end of each block is.
struct Sides {
  Sides(const Call& call, int me)
      : call(call),
        me(me),
        sends_all(call.operation == Operation::alltoall ||
                  (call.operation == Operation::scatter && me == call.root().value)),
        takes_all(call.operation == Operation::alltoall ||
                  (call.operation == Operation::gather && me == call.root().value)),
        sends(call.operation != Operation::scatter || sends_all),
        takes(call.operation != Operation::gather || takes_all),
        input(sends_all ? call.ranks : sends, [&](int b) { return call.bytes(me, receiver(b)); }),
        output(takes_all ? call.ranks : takes, [&](int b) { return call.bytes(sender(b), me); }) {
    for (int b = 0; b < static_cast<int>(input.all().size()); ++b) fill(input[b], call, me, receiver(b));
  }
  int receiver(int b) const { return sends_all ? b : call.root().value; }
  int sender(int b) const { return takes_all ? b : call.root().value; }
  MaybeBlocks in() const { return sends ? MaybeBlocks(input.all()) : std::nullopt; }
  MaybeBlocks out() const { return takes ? MaybeBlocks(output.all()) : std::nullopt; }

  UnevenCall call_of(std::span<Bytes> sizes = {}) const { return {call.root(), in(), out(), sizes}; }

  bool is_right() const {
    for (int b = 0; b < static_cast<int>(output.all().size()); ++b)
      if (!holds(output[b], call, sender(b), me)) return false;
    return true;
  }
  bool is_untouched() const {
    return std::all_of(output.all().begin(), output.all().end(), [](const Block& it) { return is_zero(it); });
  }

  Call call;
  int me;
  bool sends_all, takes_all, sends, takes;
  Blocks input, output;
};

UnevenOutcome run(Seat& seat, const UnevenKind& kind, const UnevenCall& call, Waiter& waiter) {
  testing::PlainCopy copy;
  return run_uneven_blocks(seat, kind, call, &copy, waiter);
}

class UnevenBlocks : public ::testing::TestWithParam<std::tuple<int, Operation>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  Operation operation() const { return std::get<1>(GetParam()); }
  UnevenKind kind() const { return {operation(), longest_in_lines(operation(), ranks())}; }

  /// Of any size; in every other call the root copies a part.
  UnevenKind shared(int number) const { return {operation(), any_size, 0, 0, number % 4 < 2}; }

  /// `each(seat, waiter, me)` on all ranks.
  template <class Each>
  void on_all_ranks(Each each) {
    transports::ThreadWorld world(one_node(ranks()), 4096);
    transports::for_each_rank(ranks(), [&](Rank me) {
      Yield waiter;
      each(world.seat(me), waiter, me.value);
    });
  }
};

TEST_P(UnevenBlocks, ComeInOneGoOrAllRanksKnowThatSomeAreTooLong) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 400; ++number) {
      const Call call{operation(), ranks(), number};
      const Sides sides(call, me);
      const UnevenOutcome outcome = run(seat, kind(), sides.call_of(), waiter);
      if (number % 9 == 8) {
        ASSERT_EQ(outcome, UnevenOutcome::too_long) << "call " << number;
        ASSERT_TRUE(sides.is_untouched()) << "call " << number;
      } else {
        ASSERT_EQ(outcome, UnevenOutcome::done) << "call " << number;
        ASSERT_TRUE(sides.is_right()) << "call " << number << ", rank " << me;
      }
    }
  });
}

TEST_P(UnevenBlocks, ShareTheRingWithShortMessagesOfOtherKinds) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 200; ++number) {
      const Call call{operation(), ranks(), number / 9 * 9};  // never too long
      const Sides sides(call, me);
      ASSERT_EQ(run(seat, kind(), sides.call_of(), waiter), UnevenOutcome::done);
      ASSERT_TRUE(sides.is_right());
      std::uint64_t word = me == 0 ? static_cast<std::uint64_t>(number) : 0;
      auto* const data = reinterpret_cast<std::byte*>(&word);
      run_tiny(seat, {Operation::broadcast, sizeof word}, data, data, nullptr, waiter);
      ASSERT_EQ(word, number);
    }
  });
}

TEST_P(UnevenBlocks, ThatAreNotShortComeWithTheRootsSizes) {
  if (!tells_sizes(kind(), ranks())) GTEST_SKIP() << "nobody knows all sizes of an all-to-all";
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 8; number < 200; number += 9) {
      const Call call{operation(), ranks(), number};
      const Sides sides(call, me);
      std::vector<Bytes> told(static_cast<std::size_t>(ranks()), 0), expected = told;
      for (int r = 0; r < ranks(); ++r) expected[static_cast<std::size_t>(r)] = static_cast<Bytes>(number * 1000 + r);
      if (me == call.root().value) told = expected;
      ASSERT_EQ(run(seat, kind(), sides.call_of(told), waiter), UnevenOutcome::too_long);
      ASSERT_EQ(told, expected) << "rank " << me;
    }
  });
}

TEST(UnevenBlocksTest, HaveRoomForTheSizesOfAsManyRanksAsTheySay) {
  for (int ranks = 2; ranks <= most_told_ranks; ++ranks)
    EXPECT_GE(longest_in_lines(Operation::scatter, ranks), static_cast<Bytes>(ranks) * sizeof(Bytes)) << ranks;
  EXPECT_FALSE(tells_sizes({Operation::scatter, 1}, most_told_ranks + 1));
}

TEST_P(UnevenBlocks, MayBeHeldShorterThanTheyCouldBe) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 100; ++number) {
      const Call call{operation(), ranks(), number / 9 * 9};
      const Sides sides(call, me);
      const Bytes longest = call.largest();
      const bool is_held = number % 2 == 1;
      ASSERT_EQ(run(seat, {operation(), longest - is_held}, sides.call_of(), waiter),
                is_held ? UnevenOutcome::too_long : UnevenOutcome::done);
    }
  });
}

TEST_P(UnevenBlocks, OfAnySizeComeInOneGo) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 400; ++number) {
      const Call call{operation(), ranks(), number, true};
      const Sides sides(call, me);
      ASSERT_EQ(run(seat, {operation(), any_size}, sides.call_of(), waiter), UnevenOutcome::done) << "call " << number;
      ASSERT_TRUE(sides.is_right()) << "call " << number << ", rank " << me;
    }
  });
}

TEST_P(UnevenBlocks, GoThroughWindowsAsFarAsTheyFitAndOtherwiseStraight) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 400; ++number) {
      const Call call{operation(), ranks(), number, true};
      const Sides sides(call, me);
      const Bytes longest_in_window = number % 3 == 0 ? 2 * call.longest() : 100'000;
      ASSERT_EQ(run(seat, {operation(), any_size, longest_in_window}, sides.call_of(), waiter), UnevenOutcome::done)
          << "call " << number;
      ASSERT_TRUE(sides.is_right()) << "call " << number << ", rank " << me;
    }
  });
}

TEST_P(UnevenBlocks, ArriveWhateverTheirSendersThinkOfBeingClose) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 400; ++number) {
      const Call call{operation(), ranks(), number, true};
      const Sides sides(call, me);
      const bool is_close = (number + me) % 3 == 0;  // each has an opinion of its own
      seat.closeness() = Closeness();
      seat.closeness().learn({}, 8 << 10, std::chrono::nanoseconds(is_close ? 1 : 1'000'000));
      const UnevenKind kind{operation(), any_size, 500, 2 * call.longest(), number % 4 < 2};
      ASSERT_EQ(run(seat, kind, sides.call_of(), waiter), UnevenOutcome::done) << "call " << number;
      ASSERT_TRUE(sides.is_right()) << "call " << number << ", rank " << me;
    }
  });
}

TEST_P(UnevenBlocks, AreCopiedByBothEndsWhereTheRootDoesItsShare) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 200; ++number) {
      const Call call{operation(), ranks(), number, true, 16};
      const Sides sides(call, me);
      const Bytes longest_in_window = number % 3 == 0 ? 20'000 : 0;
      const UnevenKind kind{operation(), any_size, longest_in_window, 0, true};
      ASSERT_EQ(run(seat, kind, sides.call_of(), waiter), UnevenOutcome::done) << "call " << number;
      ASSERT_TRUE(sides.is_right()) << "call " << number << ", rank " << me;
    }
  });
}

TEST_P(UnevenBlocks, MayBeLongerThanLinesAndStillBeHeldShorterThanTheyAre) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 100; ++number) {
      const Call call{operation(), ranks(), number, true};
      const Sides sides(call, me);
      const bool is_held = number % 2 == 1 && call.largest() > 0;
      ASSERT_EQ(run(seat, {operation(), call.largest() - is_held}, sides.call_of(), waiter),
                is_held ? UnevenOutcome::too_long : UnevenOutcome::done)
          << "call " << number;
      ASSERT_TRUE(is_held ? sides.is_untouched() : sides.is_right()) << "call " << number << ", rank " << me;
    }
  });
}

TEST_P(UnevenBlocks, OfAnySizeAreUnknownOnlyToTheRankWhoseArgumentsAreWrong) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 40; ++number) {
      const Call call{operation(), ranks(), number, true, 16};
      const Sides sides(call, me);
      const bool is_wrong = me == (number % 2 == 0 ? call.root().value : (call.root().value + 1) % ranks());
      const UnevenCall known = sides.call_of();
      const UnevenOutcome outcome =
          run(seat, shared(number), is_wrong ? UnevenCall{call.root(), {}, {}, {}} : known, waiter);
      if (is_wrong) {
        ASSERT_EQ(outcome, UnevenOutcome::unknown) << "call " << number;
        ASSERT_TRUE(sides.is_untouched());
      } else {
        ASSERT_TRUE(outcome == UnevenOutcome::done || outcome == UnevenOutcome::truncated) << "call " << number;
      }
    }
  });
}

bool are_rising(const Block& a, const Block& b) { return a.bytes < b.bytes; }

TEST_P(UnevenBlocks, OfOtherSizesThanExpectedKeepNobodyWaitingEvenIfOneEndTakesThemForLong) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    for (int number = 0; number < 40; ++number) {
      const Call call{operation(), ranks(), number, true, 16};
      const Sides sides(call, me);
      std::vector<Block> expected(sides.output.all().begin(), sides.output.all().end());
      const bool is_wrong = sides.takes && me == (operation() == Operation::gather ? call.root().value
                                                                                   : (call.root().value + 1) % ranks());
      std::vector<std::byte> memory(9 * 16 * call.longest());
      bool has_room = true;
      if (is_wrong) {
        Block& other = expected[expected.size() > 1 ? static_cast<std::size_t>((me + 1) % ranks()) : 0];
        has_room = other.bytes <= call.longest();
        other = {memory.data(), has_room ? 8 * 16 * call.longest() : call.longest()};
      }
      const MaybeBlocks output = sides.takes ? MaybeBlocks(expected) : std::nullopt;
      ASSERT_EQ(run(seat, shared(number), {call.root(), sides.in(), output, {}}, waiter),
                has_room ? UnevenOutcome::done : UnevenOutcome::truncated)
          << "call " << number;
    }
  });
}

TEST_P(UnevenBlocks, OfARankThatDoesNotKnowThemAreTooLongForAll) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    const Call call{operation(), ranks(), 0};
    const Sides sides(call, me);
    const bool knows = me != call.root().value;
    const bool is_gather = operation() == Operation::gather;
    const MaybeBlocks input = knows || is_gather ? sides.in() : std::nullopt;
    const MaybeBlocks output = knows || !is_gather ? sides.out() : std::nullopt;
    EXPECT_EQ(run(seat, kind(), {call.root(), input, output, {}}, waiter), UnevenOutcome::too_long);
  });
}

TEST_P(UnevenBlocks, LongerThanTheRoomForThemAreReportedWhereTheyCome) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    const Call call{operation(), ranks(), 3};
    Sides sides(call, me);
    std::vector<Block> expected(sides.output.all().begin(), sides.output.all().end());
    const bool is_concerned = sides.takes && me == (operation() == Operation::gather ? call.root().value : 1);
    Block* const longest = is_concerned ? &*std::max_element(expected.begin(), expected.end(), are_rising) : nullptr;
    const bool is_short = longest != nullptr && longest->bytes > 0;
    if (is_short) longest->bytes -= 1;
    const MaybeBlocks output = sides.takes ? MaybeBlocks(expected) : std::nullopt;
    EXPECT_EQ(run(seat, kind(), {call.root(), sides.in(), output, {}}, waiter),
              is_short ? UnevenOutcome::truncated : UnevenOutcome::done);
  });
}

TEST_P(UnevenBlocks, ShorterThanTheRoomForThemComeAllTheSameAndAreTold) {
  on_all_ranks([&](Seat& seat, Waiter& waiter, int me) {
    const Call call{operation(), ranks(), 3};
    Sides sides(call, me);
    std::vector<Block> expected(sides.output.all().begin(), sides.output.all().end());
    std::vector<std::byte> memory(16 * call.longest());
    std::vector<Bytes> taken(expected.size(), ~Bytes{0});
    const bool has_more = sides.takes && me == (operation() == Operation::gather ? call.root().value : 1);
    const std::size_t longer = expected.size() > 1 ? 1 - static_cast<std::size_t>(me != 0) : 0;
    if (has_more) expected[longer] = {memory.data(), expected[longer].bytes + 1};
    const MaybeBlocks output = sides.takes ? MaybeBlocks(expected) : std::nullopt;
    EXPECT_EQ(run(seat, kind(), {call.root(), sides.in(), output, {}, taken}, waiter), UnevenOutcome::done);
    if (!has_more) return;
    EXPECT_EQ(taken[longer], expected[longer].bytes - 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, UnevenBlocks,
                         ::testing::Combine(::testing::Values(2, 3, 8),
                                            ::testing::Values(Operation::scatter, Operation::gather,
                                                              Operation::alltoall)),
                         [](const auto& info) {
                           return std::string(name(std::get<1>(info.param))) + "_on_" +
                                  std::to_string(std::get<0>(info.param));
                         });

TEST(UnevenBlocksTest, AnAllToAllInPlaceReadsEverythingBeforeItWrites) {
  constexpr int ranks = 3;
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    for (int number = 0; number < 100; ++number) {
      Blocks blocks(ranks, [](int) { return Bytes{100}; });
      const Call call{Operation::alltoall, ranks, number};
      for (int to = 0; to < ranks; ++to) fill(blocks[to], call, me.value, to);
      ASSERT_EQ(run(world.seat(me), {Operation::alltoall, 100}, {{}, blocks.all(), blocks.all(), {}}, waiter),
                UnevenOutcome::done);
      for (int from = 0; from < ranks; ++from) ASSERT_TRUE(holds(blocks[from], call, from, me.value));
    }
  });
}

TEST(UnevenBlocksTest, ThatTheSystemRefusesToCopyBreakTheCallOfWhoTried) {
  transports::ThreadWorld world(one_node(2), 4096);
  transports::for_each_rank(2, [&](Rank me) {
    Yield waiter;
    testing::PlainCopy copy;
    copy.works = false;
    const Blocks blocks(2, [](int) { return Bytes{100'000}; }), own(1, [](int) { return Bytes{100'000}; });
    const bool is_root = me.value == 0;
    const UnevenCall call{LocalRank(0), is_root ? MaybeBlocks(blocks.all()) : std::nullopt, own.all(), {}};
    EXPECT_EQ(run_uneven_blocks(world.seat(me), {Operation::scatter, any_size}, call, &copy, waiter),
              is_root ? UnevenOutcome::done : UnevenOutcome::broken);
  });
}

TEST(UnevenBlocksTest, MoreRanksLeaveShorterBlocksAndTooManyNone) {
  EXPECT_EQ(longest_in_lines(Operation::gather, 2), 74 * 56 - 8);
  EXPECT_EQ(longest_in_lines(Operation::gather, 74), 74 * 56 - 8);
  EXPECT_EQ(longest_in_lines(Operation::scatter, 2), 37 * 56 - 8);
  EXPECT_EQ(longest_in_lines(Operation::alltoall, 74), 48);
  EXPECT_EQ(longest_in_lines(Operation::alltoall, 75), 0);
}

}  // namespace
}  // namespace espalier::execute
