// Engines that learn: each rank decides alone, and all the same.

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "execute/yield.hpp"
#include "mpi/decide/contenders.hpp"
#include "mpi/run/engine.hpp"
#include "transports/threads.hpp"
#include "tune/store.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

// One node whose ranks are threads, and a native library that takes as long as it is told.
class LessonsTest : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  LessonsTest() { policy.learning.means = Learning::on; }

  void make_engines() {
    const execute::BoardShape shape{ranks, 64 << 10};
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, execute::Board::bytes(shape))));
    std::fill_n(memory.get(), execute::Board::bytes(shape), std::byte{0});
    for (int rank = 0; rank < ranks; ++rank) {
      Means means;
      means.topology = topology::Topology::from_nodes(std::vector<int>(ranks, 0), {false, true, shape.window_bytes});
      means.me = Rank(rank);
      means.board = execute::Board::furnished(memory.get(), shape);
      means.waiter = std::make_unique<execute::Yield>();
      means.experience = &experience;
      means.table = table ? &*table : nullptr;
      engines.push_back(std::make_unique<Engine>(std::move(means), policy, budget, statistics));
    }
  }

  tune::Row learned_native(Bytes bytes) {
    tune::Row row;
    row.operation = Operation::broadcast;
    row.nodes = {1, 1};
    row.ppn = {ranks, ranks};
    row.bytes = {bytes, bytes};
    row.selection = "native";
    row.measured = {bytes, 1, 2, 0.5, 0.5, 10};
    row.is_learned = true;
    return row;
  }

  /// So many jobs have found `row`.
  void keep(tune::Row row, int jobs) {
    row.day = 1;
    row.jobs = jobs;
    table = tune::Table::parse(tune::format_learned({}, {&row, 1}), "learned");
  }

  void native_broadcast(int me, int root, std::byte& data, std::chrono::microseconds time) {
    if (me == root) native_data = data;
    meeting.arrive_and_wait();
    if (me != root) data = native_data;
    if (time.count() > 0) std::this_thread::sleep_for(time);
    meeting.arrive_and_wait();
  }

  /// Returns how many of rank 0's calls were native's.
  int broadcast(int calls) {
    int natives = 0;
    transports::for_each_rank(ranks, [&](Rank me) {
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      for (int call = 0; call < calls; ++call) {
        const int root = call % ranks;
        std::byte data = me.value == root ? static_cast<std::byte>(call) : std::byte{0xff};
        Entry& entry = engine.prepare({Operation::broadcast, 1, Rank(root)});
        if (entry.kind == Entry::Kind::native) {
          native_broadcast(me.value, root, data, native_time);
          engine.pass_on(entry);
          if (me.value == 0) ++natives;
        } else {
          EXPECT_TRUE(engine.supply(entry));
          EXPECT_TRUE(engine.run(entry, &data, &data));
          if (slowed.count() > 0) std::this_thread::sleep_for(slowed);
        }
        if (engine.is_timing()) engine.stop_timing(true);
        EXPECT_EQ(data, static_cast<std::byte>(call));
      }
    });
    return natives;
  }

  /// What all ranks know of a graph.
  struct Agreed {
    bool reaches_all = true, has_single_edges = true;
  };

  /// One byte from each rank to the next, as one of them sees it.
  static Problem round_of(Rank me, Agreed agreed) {
    const Rank next((me.value + 1) % ranks), last((me.value + ranks - 1) % ranks);
    Problem problem{Operation::neighbor_allgather, 1};
    problem.edges = {{.from = me, .to = next, .bytes = 1}, {.from = last, .to = me, .bytes = 1}};
    problem.degree = 1;
    problem.reaches_all = agreed.reaches_all;
    problem.has_single_edges = agreed.has_single_edges;
    return problem;
  }

  std::byte pass_natively(Rank me, Rank from, std::byte data) {
    sent[static_cast<std::size_t>(me.value)] = data;
    meeting.arrive_and_wait();
    const std::byte got = sent[static_cast<std::size_t>(from.value)];
    std::this_thread::sleep_for(native_time);
    meeting.arrive_and_wait();
    return got;
  }

  /// Returns how many of rank 0's calls were native's.
  int pass_round(int calls, Agreed agreed) {
    int natives = 0;
    transports::for_each_rank(ranks, [&](Rank me) {
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      const Problem problem = round_of(me, agreed);
      const Rank from = problem.edges[1].from;
      for (int call = 0; call < calls; ++call) {
        std::byte mine = static_cast<std::byte>(call + me.value), got{0xff};
        Entry& entry = engine.prepare(problem);
        if (entry.kind == Entry::Kind::native) {
          got = pass_natively(me, from, mine);
          engine.pass_on(entry);
          if (me.value == 0) ++natives;
        } else {
          EXPECT_TRUE(engine.supply(entry));
          EXPECT_TRUE(engine.run(entry, &mine, &got));
        }
        if (engine.is_timing()) engine.stop_timing(true);
        EXPECT_EQ(got, static_cast<std::byte>(call + from.value));
      }
    });
    return natives;
  }

  /// Without a native library to try.
  void barrier(int calls) {
    transports::for_each_rank(ranks, [&](Rank me) {
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      for (int call = 0; call < calls; ++call) {
        Entry& entry = engine.prepare({Operation::barrier});
        if (entry.kind != Entry::Kind::native && engine.supply(entry)) engine.run(entry, nullptr, nullptr);
        if (engine.is_timing()) engine.stop_timing(true);
      }
    });
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::barrier<> meeting{ranks};
  std::byte native_data{};
  std::array<std::byte, ranks> sent{};  ///< natively
  std::chrono::microseconds native_time{2'000};
  std::chrono::microseconds slowed{0};  ///< ours
  Policy policy;
  Experience experience;
  std::optional<tune::Table> table;
  CacheBudget budget{Bytes{1} << 20, 0};
  Statistics statistics;
  std::vector<std::unique_ptr<Engine>> engines;
};

TEST_F(LessonsTest, TryNativeAndLeaveItWhereItIsSlow) {
  make_engines();
  const int natives = broadcast(600);
  EXPECT_GE(natives, 2);
  EXPECT_LE(natives, 40);
  EXPECT_EQ(broadcast(100), 0);
}

TEST_F(LessonsTest, CountEveryCallOnce) {
  make_engines();
  broadcast(600);
  for (const auto& engine : engines) engine->report();
  const std::string report = statistics.to_text();
  engines.clear();
  EXPECT_EQ(report, statistics.to_text()) << "nothing is left to be counted";
  EXPECT_NE(report.find("learned about"), std::string::npos) << report;
}

TEST_F(LessonsTest, BecomeRowsThatTheNextJobReads) {
  make_engines();
  broadcast(800);
  const std::vector<tune::Row> rows = engines[0]->derive_learned();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].operation, Operation::broadcast);
  EXPECT_EQ(rows[0].ppn, (tune::Range<int>{ranks, ranks}));
  EXPECT_EQ(rows[0].bytes, (tune::Range<Bytes>{1, 1}));
  EXPECT_NE(rows[0].selection, "native");
  EXPECT_GT(rows[0].measured.native_us, 1'000);
  for (const auto& engine : engines) EXPECT_EQ(engine->derive_learned()[0].selection, rows[0].selection);
}

TEST_F(LessonsTest, AreNotGivenWhereSomebodyHasSaidHowItIsDone) {
  policy.forced[static_cast<std::size_t>(Operation::broadcast)] =
      parse_selection(Operation::broadcast, "knomial,cell=4K,cells=2");
  make_engines();
  EXPECT_EQ(broadcast(100), 0);
  EXPECT_TRUE(engines[0]->derive_learned().empty());
}

TEST_F(LessonsTest, AreGivenAgainWhereTheMachineHasChanged) {
  policy.learning.check_after = 100;
  native_time = std::chrono::microseconds(0);
  make_engines();
  slowed = std::chrono::microseconds(2'000);
  broadcast(900);
  ASSERT_EQ(engines[0]->derive_learned().at(0).selection, "native");
  native_time = std::chrono::microseconds(8'000);
  barrier(100);
  broadcast(400);
  EXPECT_NE(engines[0]->derive_learned().at(0).selection, "native");
}

TEST_F(LessonsTest, AreGivenWhereAllRanksKnowTheCountsOfAll) {
  make_engines();
  Problem problem{Operation::allgather, 6};
  problem.counts = {4, 6, 8};
  EXPECT_NE(engines[0]->describe(problem).find("is being learned"), std::string::npos);
  problem.operation = Operation::gather;
  EXPECT_EQ(engines[0]->describe(problem).find("is being learned"), std::string::npos) << "senders know their own";
}

TEST_F(LessonsTest, LeaveSumsAloneWhoseDigitsDependOnTheOrder) {
  make_engines();
  Problem sum{Operation::allreduce, 64};
  sum.element = 8;
  EXPECT_NE(engines[0]->describe(sum).find("is being learned"), std::string::npos) << "of whole numbers";
  sum.depends_on_order = true;
  EXPECT_EQ(engines[0]->describe(sum).find("is being learned"), std::string::npos) << "of floating-point numbers";
}

TEST_F(LessonsTest, AreSparedThoseWhoseRanksKnowTheSameFromOtherCommunicators) {
  experience.add(std::vector{learned_native(1)});
  make_engines();
  EXPECT_GE(broadcast(100), 60) << "after those that show that ranks agree on sizes";
  EXPECT_NE(engines[0]->describe({Operation::broadcast, 1}).find("native: native was selected (learned by this job"),
            std::string::npos);
  EXPECT_TRUE(engines[0]->derive_learned().empty());
}

TEST_F(LessonsTest, AreGivenAlongEdgesAndKeptForNobodyElse) {
  make_engines();
  const int natives = pass_round(600, {});
  EXPECT_GE(natives, 2);
  EXPECT_LE(natives, 40);
  EXPECT_EQ(pass_round(100, {}), 0);
  EXPECT_TRUE(engines[0]->derive_learned().empty()) << "rows know nothing of graphs";
}

TEST_F(LessonsTest, AreNotGivenWhereARankWithoutEdgesKnowsNoSize) {
  make_engines();
  EXPECT_EQ(pass_round(200, {.reaches_all = false}), 0);
}

TEST_F(LessonsTest, NeverTryNativeWhereItMayTakeAnotherEdgesBlock) {
  make_engines();
  EXPECT_EQ(pass_round(200, {.has_single_edges = false}), 0);
}

TEST_F(LessonsTest, AreGivenAgainUntilEnoughJobsHaveFoundTheSame) {
  keep(learned_native(1), 1);
  policy.learning.budget = 1;
  make_engines();
  EXPECT_EQ(broadcast(200), 200) << "what one job has found is what is usual";
  barrier(400);
  broadcast(600);
  EXPECT_EQ(broadcast(100), 0) << "and was wrong";
  std::vector<tune::Row> rows = engines[0]->derive_learned();
  std::erase_if(rows, [](const tune::Row& row) { return row.operation != Operation::broadcast; });
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows[0].selection, "native");
  EXPECT_GT(rows[0].measured.native_us, 1'000);
}

TEST_F(LessonsTest, AreNotGivenAgainWhereThatCostsMoreThanTheBudget) {
  keep(learned_native(1), 1);
  make_engines();
  EXPECT_EQ(broadcast(400), 400);
  barrier(1 << 15);
  EXPECT_EQ(broadcast(200), 200) << "a contest costs more than one per cent of 400 calls";
}

TEST_F(LessonsTest, AreNotGivenAgainWhereEnoughJobsHaveFoundTheSame) {
  keep(learned_native(1), tune::Row::sure_jobs);
  policy.learning.budget = 1;
  make_engines();
  EXPECT_EQ(broadcast(200), 200);
  barrier(400);
  EXPECT_EQ(broadcast(400), 400) << "it takes no less than the two microseconds that they say";
  EXPECT_EQ(engines[0]->describe({Operation::broadcast, 1}).find("is being learned"), std::string::npos);
  std::vector<tune::Row> rows = engines[0]->derive_learned();
  EXPECT_FALSE(std::ranges::any_of(rows, [](const tune::Row& row) { return row.operation == Operation::broadcast; }));
}

// What they have found on a machine that others kept busy.
TEST_F(LessonsTest, AreGivenAgainWhereCallsTakeMuchLessThanEnoughJobsHaveFound) {
  tune::Row row = learned_native(1);
  row.measured = {1, 1e6, 1e6, 1, 1, 10};
  keep(row, tune::Row::sure_jobs);
  policy.learning.budget = 1;
  make_engines();
  EXPECT_EQ(broadcast(200), 200);
  barrier(400);
  broadcast(600);
  EXPECT_EQ(broadcast(100), 0) << "and was wrong";
}

TEST_F(LessonsTest, AreNotGivenAgainBeforeAFindingHasEarnedItsCheck) {
  tune::Row row = learned_native(1);
  row.measured = {1, 1e6, 1e6, 1, 1, 10};
  keep(row, tune::Row::sure_jobs);
  make_engines();
  EXPECT_EQ(broadcast(400), 400);
  barrier(4096);
  EXPECT_EQ(broadcast(200), 200) << "a check costs more than one per cent of 400 calls";
}

TEST(Learner, KeepsTheStudyOfAKindThatLessonsReferTo) {
  Learner learner(0.01, true);
  const Study& known = learner.begin({Operation::broadcast, 3});
  EXPECT_EQ(&learner.begin({Operation::broadcast, 4}), &known) << "of 3 and 4 bytes";
  EXPECT_NE(&learner.begin({Operation::broadcast, 5}), &known);
}

TEST_F(LessonsTest, AreForTheNextCommunicatorToo) {
  make_engines();
  broadcast(800);
  engines.clear();
  make_engines();
  broadcast(60);
  EXPECT_NE(engines[0]->describe({Operation::broadcast, 1}).find("learned by this job"), std::string::npos);
}

// Erroneous, and found in programs: others have room for more than the root sends. From the beginning, or when all is
// known already; whichever of native and ours has won at either size.
TEST_F(LessonsTest, AreTheSameForRanksThatTakeCallsToBeOfDifferentSizes) {
  experience.add(std::vector{learned_native(4)});
  make_engines();
  const std::array<Bytes, 3> sizes{4, 600, 20'000};
  int natives = 0;
  const auto send = [&](Rank me, int call, Bytes sent, Bytes room) {
    Engine& engine = *engines[static_cast<std::size_t>(me.value)];
    const int root = call % ranks;
    const Bytes mine = me.value == root ? sent : room;
    std::vector<std::byte> data(mine, me.value == root ? static_cast<std::byte>(call) : std::byte{0xff});
    Entry& entry = engine.prepare({Operation::broadcast, mine, Rank(root)});
    bool is_native = entry.kind == Entry::Kind::native;
    if (is_native)
      engine.pass_on(entry);
    else if (engine.supply(entry))
      is_native = engine.run(entry, data.data(), data.data()).kind == execute::Ending::native;
    if (is_native) native_broadcast(me.value, root, data[0], native_time / 100);
    if (engine.is_timing()) engine.stop_timing(true);
    if (is_native && me.value == 0) ++natives;
    ASSERT_EQ(data[0], static_cast<std::byte>(call));
    if (mine > sent) {
      ASSERT_EQ(data[sent], std::byte{0xff});
    }
  };
  for (const bool knows : {false, true})
    transports::for_each_rank(ranks, [&](Rank me) {
      std::mt19937 random(3);
      for (int call = 0; call < 300; ++call) {
        const Bytes sent = sizes[random() % 3];
        send(me, call, sent, knows ? std::max(sent, sizes[random() % 3]) : sent);
      }
    });
  EXPECT_GT(natives, 50);
}

TEST_F(LessonsTest, AreNoneWhereNobodyLearns) {
  policy.learning.means = Learning::read;
  make_engines();
  EXPECT_EQ(broadcast(100), 0);
}

TEST(Contenders, BeginWithWhatIsUsualAndEndWithNative) {
  const auto topology = topology::Topology::from_nodes(std::vector{0, 0, 1, 1}, {true, false, 64 << 10});
  for (const Bytes bytes : {Bytes{4}, Bytes{4096}, Bytes{1} << 20}) {
    const std::vector<Selection> all = derive_contenders(topology, {Operation::allgather, bytes}, {});
    ASSERT_GE(all.size(), 2U) << bytes;
    EXPECT_EQ(all.front().kind, Selection::Kind::plan);
    EXPECT_EQ(all.back().kind, Selection::Kind::native);
    for (const Selection& it : all)
      EXPECT_EQ(parse_selection(Operation::allgather, to_string(it)), it) << to_string(it);
  }
}

TEST(Contenders, DifferInMoreThanSizesOfCells) {
  const auto topology = topology::Topology::from_nodes(std::vector{0, 0, 0, 0}, {true, false, 64 << 10});
  const std::vector<Selection> all = derive_contenders(topology, {Operation::broadcast, 64 << 10}, {});
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (all[a].kind == Selection::Kind::plan && all[b].kind == Selection::Kind::plan) {
        EXPECT_NE(std::tuple(all[a].choice.between, all[a].choice.within, all[a].choice.levels),
                  std::tuple(all[b].choice.between, all[b].choice.within, all[b].choice.levels));
      }
}

TEST(Contenders, MayChangeHandsWhereTwoOperandsCommuteInEveryBit) {
  Problem sum{Operation::allreduce, 64, Rank(0), 8};
  sum.depends_on_order = true;
  const auto two = topology::Topology::from_nodes(std::vector{0, 0}, {});
  const auto three = topology::Topology::from_nodes(std::vector{0, 0, 0}, {});
  EXPECT_TRUE(may_change_hands(two, sum));
  EXPECT_FALSE(may_change_hands(three, sum));
  sum.is_symmetric = false;
  EXPECT_FALSE(may_change_hands(two, sum));
}

}  // namespace
}  // namespace espalier::mpi
