#include "mpi/run/engine.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

#include "base/error.hpp"

#include "choice/choose.hpp"
#include "execute/lines/tiny.hpp"
#include "execute/yield.hpp"
#include "transports/threads.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

constexpr const char* table_text = R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [
  {"operation": "broadcast", "nodes": [1, 1], "ppn": [2, 4], "bytes": [0, 255], "selection": "native",
   "measured": {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1, "calls": 400}},
  {"operation": "broadcast", "nodes": [1, 1], "ppn": [2, 4], "bytes": [256, 2048], "selection": "knomial,radix=3,cell=4K",
   "measured": {"bytes": 1024, "native_us": 7.2, "chosen_us": 5.5, "lowest_ratio": 1.1, "highest_ratio": 1.6,
                "calls": 400}},
  {"operation": "allgather", "nodes": [1, 1], "ppn": [2, 4], "bytes": [0, 8192],
   "selection": "ring,within=single_copy",
   "measured": {"bytes": 4096, "native_us": 7.2, "chosen_us": 5.5, "lowest_ratio": 1.1, "highest_ratio": 1.6,
                "calls": 400}}]})";

// A node that has no memory left.
class NoSupplies final : public Supplies {
 public:
  explicit NoSupplies(std::barrier<>& all) : all_(all) {}
  std::byte* get_long_rings(bool) override { return nullptr; }
  void ask_for_windows() override {}
  std::optional<bool> find_windows() override { return false; }
  bool get_windows() override {
    all_.arrive_and_wait();  // ranks agree
    return false;
  }

 private:
  std::barrier<>& all_;
};

// A node that has memory for long rings, once all ranks have asked.
class LongRings final : public Supplies {
 public:
  LongRings(std::barrier<>& all, std::byte* rings) : all_(all), rings_(rings) {}
  std::byte* get_long_rings(bool) override {
    all_.arrive_and_wait();
    return rings_;
  }
  void ask_for_windows() override {}
  std::optional<bool> find_windows() override { return false; }
  bool get_windows() override { return false; }

 private:
  std::barrier<>& all_;
  std::byte* rings_;
};

// One node whose ranks are threads, each with an engine of its own.
class EngineTest : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  void make_engines(int ranks = EngineTest::ranks) {
    const execute::BoardShape shape{ranks, 64 << 10};
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, execute::Board::bytes(shape))));
    std::fill_n(memory.get(), execute::Board::bytes(shape), std::byte{0});
    for (int rank = 0; rank < ranks; ++rank) {
      Means means;
      means.topology =
          topology::Topology::from_nodes(std::vector<int>(ranks, 0), {has_single_copy, true, shape.window_bytes});
      means.me = Rank(rank);
      means.board = execute::Board::furnished(memory.get(), shape);
      means.waiter = std::make_unique<execute::Yield>();
      means.table = table;
      if (has_no_supplies) means.supplies = std::make_unique<NoSupplies>(all_ranks);
      if (gets_long_rings) {
        if (rank == 0)
          rings = std::make_unique<execute::Line[]>(execute::Board::long_ring_bytes(ranks) / sizeof(execute::Line));
        means.supplies = std::make_unique<LongRings>(all_ranks, reinterpret_cast<std::byte*>(rings.get()));
      }
      engines.push_back(std::make_unique<Engine>(std::move(means), policy, budget, statistics));
    }
  }

  // Every rank's result must be what rank `root` brought.
  void broadcast(Bytes bytes, int root) {
    transports::for_each_rank(ranks, [&](Rank me) {
      std::vector<std::byte> data(bytes, me.value == root ? std::byte{42} : std::byte{0});
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      EXPECT_TRUE(engine.run(engine.prepare({Operation::broadcast, bytes, Rank(root)}), data.data(), data.data()));
      EXPECT_EQ(data, std::vector<std::byte>(bytes, std::byte{42}));
    });
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory;
  const tune::Table* table = nullptr;
  bool has_single_copy = false;
  bool has_no_supplies = false, gets_long_rings = false;
  std::unique_ptr<execute::Line[]> rings;
  std::barrier<> all_ranks{ranks};
  Policy policy;
  CacheBudget budget{Bytes{1} << 20, 0};
  Statistics statistics;
  std::vector<std::unique_ptr<Engine>> engines;
};

TEST_F(EngineTest, BroadcastsAnySizeFromAnyRoot) {
  policy.verify = true;
  make_engines();
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, execute::tiny_bytes, execute::tiny_bytes + 1, Bytes{100'000}, Bytes{1}})
    for (int root = 0; root < ranks; ++root) broadcast(bytes, root);
}

// Native calls need not keep ranks together. What a root said of the next one, whoever was slow took for what it had
// said of this one, and ended with "truncated".
TEST_F(EngineTest, HearsNobodyWhereMemoryWasDeniedBefore) {
  has_no_supplies = true;
  make_engines();
  const auto is_supplied = [&](int rank, Bytes bytes) {
    Engine& engine = *engines[static_cast<std::size_t>(rank)];
    return engine.supply(engine.prepare({Operation::broadcast, bytes, Rank(0)}));
  };
  transports::for_each_rank(ranks, [&](Rank me) { EXPECT_FALSE(is_supplied(me.value, 50'000)); });
  EXPECT_FALSE(is_supplied(0, 60'000));
  EXPECT_FALSE(is_supplied(0, 70'000));
  for (const int slow : {1, 2}) EXPECT_FALSE(is_supplied(slow, 60'000));
}

// A root that is late is asked what else it does: not what it said before memory was denied.
TEST_F(EngineTest, ForgetsWhatWasSaidInACallThatMemoryWasDeniedFor) {
  has_no_supplies = true;
  make_engines();
  transports::for_each_rank(ranks, [&](Rank me) {
    Engine& engine = *engines[static_cast<std::size_t>(me.value)];
    EXPECT_FALSE(engine.supply(engine.prepare({Operation::broadcast, 50'000, Rank(0)})));
    if (me == Rank(0)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::byte data[8] = {me == Rank(0) ? std::byte{42} : std::byte{0}};
    const execute::Ending ending = engine.run(engine.prepare({Operation::broadcast, 8, Rank(0)}), data, data);
    EXPECT_EQ(ending.kind, execute::Ending::done);
    EXPECT_EQ(data[0], std::byte{42});
  });
}

// What was said before rings were got holds in the call, and who waits long for a line compares it with what lines say.
TEST_F(EngineTest, BlocksOfDifferentSizesAreWaitedForThoughRingsWereGotForThem) {
  gets_long_rings = true;
  make_engines();
  constexpr Bytes most = 1'200;
  Problem problem{Operation::allgather, most - 100};
  problem.counts = {most - 200, most, most - 100};
  transports::for_each_rank(ranks, [&](Rank me) {
    Engine& engine = *engines[static_cast<std::size_t>(me.value)];
    std::vector<std::byte> own(problem.counts[static_cast<std::size_t>(me.value)], std::byte(me.value + 1));
    std::vector<std::byte> all(3 * most);
    Entry& entry = engine.prepare(problem);
    EXPECT_EQ(entry.kind, Entry::Kind::tiny);
    EXPECT_TRUE(engine.supply(entry));
    if (me.value == 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_TRUE(engine.run(entry, own.data(), all.data()));
    EXPECT_EQ(all[2 * most - 200], std::byte{3});
  });
}

TEST_F(EngineTest, GathersInPlaceAndNot) {
  make_engines();
  for (const Bytes bytes : {Bytes{8}, Bytes{5000}})
    transports::for_each_rank(ranks, [&](Rank me) {
      Engine& engine = *engines[static_cast<std::size_t>(me.value)];
      const Problem problem{Operation::allgather, bytes, Rank(0)};
      std::vector<std::byte> expected(ranks * bytes), output(ranks * bytes), input(bytes, std::byte(me.value));
      for (int rank = 0; rank < ranks; ++rank) std::fill_n(expected.begin() + rank * bytes, bytes, std::byte(rank));
      EXPECT_TRUE(engine.run(engine.prepare(problem), input.data(), output.data()));
      EXPECT_EQ(output, expected);
      std::fill(output.begin(), output.end(), std::byte{99});
      std::fill_n(output.begin() + me.value * bytes, bytes, std::byte(me.value));
      EXPECT_TRUE(engine.run(engine.prepare(problem), output.data() + me.value * bytes, output.data()));
      EXPECT_EQ(output, expected);
    });
}

TEST_F(EngineTest, ChoosesTheShortestPath) {
  make_engines();
  Engine& engine = *engines[0];
  EXPECT_EQ(engine.prepare({Operation::broadcast, 0, Rank(0)}).kind, Entry::Kind::nothing);
  EXPECT_EQ(engine.prepare({Operation::broadcast, 1, Rank(0)}).kind, Entry::Kind::tiny);
  EXPECT_EQ(engine.prepare({Operation::barrier, 0, Rank(0)}).kind, Entry::Kind::tiny);
  EXPECT_EQ(engine.prepare({Operation::broadcast, execute::tiny_bytes + 1, Rank(0)}).kind, Entry::Kind::program);
}

TEST_F(EngineTest, LeavesResultsTooLargeToNative) {
  make_engines();
  const Entry& entry = engines[0]->prepare({Operation::allgather, Bytes{512} << 20, Rank(0)});
  EXPECT_EQ(entry.kind, Entry::Kind::native);
  EXPECT_NE(entry.label.find("1G"), std::string::npos) << entry.label;
}

TEST_F(EngineTest, ObeysAForcedChoiceAndTakesTheBuiltInOneWhereItDoesNotApply) {
  std::vector<std::string> told;
  policy.tell = [&](const std::string& line) { told.push_back(line); };
  policy.forced[static_cast<std::size_t>(Operation::broadcast)] =
      parse_selection(Operation::broadcast, "knomial,radix=3,cell=4K,cells=2");
  policy.forced[static_cast<std::size_t>(Operation::allgather)] =
      parse_selection(Operation::allgather, "ring,within=single_copy");
  make_engines();
  EXPECT_NE(engines[0]->prepare({Operation::broadcast, 9, Rank(0)}).label.find("radix=3"), std::string::npos);
  const Entry& entry = engines[0]->prepare({Operation::allgather, 9, Rank(0)});
  EXPECT_EQ(entry.kind, Entry::Kind::tiny);
  EXPECT_EQ(entry.origin, "") << "it was not what the setting says";
  engines[1]->prepare({Operation::allgather, 9, Rank(0)});
  ASSERT_EQ(told.size(), 1u) << "rank 0 speaks for all";
  EXPECT_NE(told[0].find("ESPALIER_CHOICE"), std::string::npos) << told[0];
  EXPECT_NE(told[0].find("single copy"), std::string::npos) << told[0];
  broadcast(9, 1);
}

TEST_F(EngineTest, TakesLeadersFromTheSettingUnlessTheChoiceIsForced) {
  policy.leaders = plan::Leaders::spread;
  const char* forced = "ring,cell=4K,cells=2";
  policy.forced[static_cast<std::size_t>(Operation::allgather)] = parse_selection(Operation::allgather, forced);
  make_engines();
  EXPECT_NE(engines[0]->prepare({Operation::broadcast, 9000}).label.find("leaders=spread"), std::string::npos);
  EXPECT_EQ(engines[0]->prepare({Operation::allgather, 9000}).origin, "ESPALIER_CHOICE");
  EXPECT_EQ(engines[0]->prepare({Operation::allgather, 9000}).label.find("leaders"), std::string::npos);
}

TEST_F(EngineTest, FollowsSelectionsUntilTheyAreTakenBack) {
  make_engines();
  const Problem problem{Operation::broadcast, 64, Rank(0)};
  const auto select = [&](const char* text) {
    std::optional<Selection> selection;
    if (*text != '\0') selection = parse_selection(Operation::broadcast, text);
    for (const auto& engine : engines) engine->select(Operation::broadcast, selection);
  };
  select("native");
  EXPECT_EQ(engines[0]->prepare(problem).kind, Entry::Kind::native);
  EXPECT_EQ(engines[0]->prepare(problem).origin, "Espalier_Choose");
  select("knomial,cell=4K,cells=2");
  EXPECT_EQ(engines[0]->prepare(problem).kind, Entry::Kind::program);
  broadcast(64, 0);
  select("tiny");
  EXPECT_EQ(engines[0]->prepare(problem).kind, Entry::Kind::tiny);
  const Entry& too_long = engines[0]->prepare({Operation::broadcast, execute::tiny_bytes + 1, Rank(0)});
  EXPECT_EQ(too_long.kind, Entry::Kind::native);
  EXPECT_NE(too_long.label.find("short messages"), std::string::npos) << too_long.label;
  select("");
  EXPECT_EQ(engines[0]->prepare(problem).kind, Entry::Kind::tiny);
  EXPECT_EQ(engines[0]->prepare(problem).origin, "");
}

TEST_F(EngineTest, FollowsTheTableWhereNothingElseIsSaid) {
  const tune::Table measured = tune::Table::parse(table_text, "table");
  table = &measured;
  make_engines();
  EXPECT_EQ(engines[0]->prepare({Operation::broadcast, 64, Rank(0)}).kind, Entry::Kind::native);
  const Entry& entry = engines[0]->prepare({Operation::broadcast, 2048, Rank(0)});
  EXPECT_EQ(entry.kind, Entry::Kind::program);
  EXPECT_NE(entry.label.find("radix=3"), std::string::npos) << entry.label;
  EXPECT_NE(entry.origin.find("row 2 of the tuned table: 5.5 us against 7.2 us"), std::string::npos) << entry.origin;
  EXPECT_EQ(engines[0]->prepare({Operation::broadcast, 4096, Rank(0)}).kind, Entry::Kind::tiny) << "no row";
  engines[0]->select(Operation::broadcast, parse_selection(Operation::broadcast, "tiny"));
  EXPECT_EQ(engines[0]->prepare({Operation::broadcast, 64, Rank(0)}).kind, Entry::Kind::tiny);
}

TEST_F(EngineTest, SaysOfARowWithoutAMeasurementThatItHasNone) {
  const tune::Table measured = tune::Table::parse(
      R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [
        {"operation": "allgather", "form": "uneven", "nodes": [1, 1], "ppn": [2, 4], "bytes": [0, 255],
         "selection": "native", "measured": {"bytes": 64, "native_us": 0, "chosen_us": 0, "lowest_ratio": 1,
                                             "highest_ratio": 1, "calls": 0}}]})",
      "table");
  table = &measured;
  make_engines();
  const Problem uneven{Operation::allgather, 60, Rank(0), 1, true, {40, 60, 80}};
  EXPECT_EQ(engines[0]->prepare(uneven).kind, Entry::Kind::native);
  EXPECT_NE(engines[0]->prepare(uneven).origin.find("row 1 of the tuned table: not measured"), std::string::npos);
}

TEST_F(EngineTest, PassesOnCallsLikeTheLastOneThatNativeWasSelectedFor) {
  make_engines();
  Engine& engine = *engines[0];
  const auto passes = [&](Bytes total, bool is_uneven) {
    return engine.passes_on(Operation::allgather, [&] { return Deal{total, is_uneven}; });
  };
  const Problem uneven{Operation::allgather, 60, Rank(0), 1, true, {40, 60, 80}};
  engine.select(Operation::allgather, parse_selection(Operation::allgather, "native"));
  EXPECT_FALSE(passes(180, true)) << "nobody has decided yet";
  engine.pass_on(engine.prepare(uneven));
  EXPECT_TRUE(passes(180, true));
  EXPECT_FALSE(passes(180, false)) << "equal blocks may have a row of their own";
  EXPECT_FALSE(passes(181, true));
  engine.pass_on(engine.prepare({Operation::allgather, 64, Rank(0)}));
  EXPECT_TRUE(passes(192, false));
  engine.select(Operation::allgather, parse_selection(Operation::allgather, "ring"));
  EXPECT_FALSE(passes(192, false)) << "another selection";
  engine.report();
  EXPECT_NE(statistics.to_json().find(R"("native was selected": 4)"), std::string::npos) << statistics.to_json();
}

TEST_F(EngineTest, PassesOnNothingThatIsNativeForAnotherReason) {
  make_engines();
  Engine& engine = *engines[0];
  engine.select(Operation::allgather, parse_selection(Operation::allgather, "tiny"));
  Entry& entry = engine.prepare({Operation::allgather, 1 << 20, Rank(0)});
  ASSERT_EQ(entry.kind, Entry::Kind::native);
  engine.pass_on(entry);
  EXPECT_FALSE(engine.passes_on(Operation::allgather, [] { return Deal{Bytes{ranks} << 20, false}; }));
}

TEST_F(EngineTest, TakesTheBuiltInChoiceWhereATablesRowDoesNotApply) {
  const tune::Table measured = tune::Table::parse(table_text, "table");
  table = &measured;
  make_engines();
  const Entry& entry = engines[0]->prepare({Operation::allgather, 4096, Rank(0)});
  EXPECT_NE(entry.kind, Entry::Kind::native);
  EXPECT_EQ(entry.label.find("single_copy"), std::string::npos) << entry.label;
}

TEST_F(EngineTest, KnowsBeforeAnySizeWhichUnevenCallsStayNative) {
  const std::string measured = R"("measured": {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1,
                                              "highest_ratio": 1, "calls": 400}}]})";
  const tune::Table said = tune::Table::parse(
      R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [{"operation": "gather", "nodes": [1, 1],
          "ppn": [1, 9], "form": "uneven", "bytes": [0, 1099511627776], "selection": "native", )" +
          measured,
      "table");
  table = &said;
  make_engines();
  EXPECT_TRUE(engines[0]->decider().leaves_uneven(Operation::gather));
  EXPECT_FALSE(engines[0]->decider().leaves_uneven(Operation::scatter));
  EXPECT_EQ(engines[0]->prepare({Operation::gather, 64, Rank(0)}).kind, Entry::Kind::tiny) << "equal blocks";
  engines[0]->select(Operation::gather, parse_selection(Operation::gather, "flat"));
  EXPECT_FALSE(engines[0]->decider().leaves_uneven(Operation::gather)) << "the program's word counts more";
  engines[0]->select(Operation::scatter, parse_selection(Operation::scatter, "native"));
  EXPECT_TRUE(engines[0]->decider().leaves_uneven(Operation::scatter));
}

TEST_F(EngineTest, LeavesLongUnevenBlocksToNativeWhereTheDedicatedPathTakesTheShortOnes) {
  const auto row = [](const char* bytes, const char* selection) {
    return std::string(R"({"operation": "gather", "nodes": [1, 1], "ppn": [1, 9], "form": "uneven", "bytes": )") +
           bytes + R"(, "selection": ")" + selection +
           R"(", "measured": {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1,
                               "calls": 400}})";
  };
  const tune::Table said =
      tune::Table::parse(R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [)" +
                             row("[0, 1000]", "tiny") + "," + row("[1001, 1099511627776]", "native") + "]}",
                         "table");
  table = &said;
  make_engines();
  EXPECT_FALSE(engines[0]->decider().leaves_uneven(Operation::gather));
  EXPECT_TRUE(engines[0]->decider().leaves_long_blocks(Operation::gather));
  EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::gather).longest, 1000u);
  EXPECT_FALSE(engines[0]->decider().leaves_long_blocks(Operation::scatter)) << "no row: they are exchanged";
  engines[0]->select(Operation::gather, parse_selection(Operation::gather, "tiny"));
  EXPECT_GT(engines[0]->decider().uneven_kind(Operation::gather).longest, 1000u) << "the program's word counts more";
  EXPECT_TRUE(engines[0]->decider().leaves_long_blocks(Operation::gather)) << "not what the program asked for";
}

namespace {

std::string uneven_table(const std::string& selection, const std::string& bytes = "[0, 1099511627776]") {
  return R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [{"operation": "gather",
             "nodes": [1, 1], "ppn": [1, 9], "form": "uneven", "bytes": )" +
         bytes + R"(, "selection": ")" + selection +
         R"(", "measured": {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1,
                            "calls": 400}}]})";
}

}  // namespace

TEST_F(EngineTest, TakesUnevenBlocksOfAnySizeInOneGoWhereSingleCopyWorks) {
  has_single_copy = true;
  make_engines();
  EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::gather).longest, execute::any_size);
  EXPECT_FALSE(engines[0]->decider().leaves_long_blocks(Operation::gather));
  EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::allgather).longest, 0u) << "all ranks know all sizes";
  engines[0]->select(Operation::gather, parse_selection(Operation::gather, "tiny"));
  EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::gather).longest, execute::any_size);
  engines[0]->select(Operation::gather, parse_selection(Operation::gather, "flat"));
  EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::gather).longest, 0u);
}

TEST_F(EngineTest, DoesSoWhenATableSaysItOfAllSizesAndNotWhenItTellsSizesApart) {
  has_single_copy = true;
  const tune::Table all = tune::Table::parse(uneven_table("tiny"), "table");
  const tune::Table some = tune::Table::parse(uneven_table("flat", "[0, 1000]"), "table");
  for (const tune::Table* one : {&all, &some}) {
    table = one;
    engines.clear();
    make_engines();
    EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::gather).longest == execute::any_size, one == &all);
    EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::scatter).longest, execute::any_size) << "no row";
  }
}

TEST_F(EngineTest, SendsUnevenBlocksThroughWindowsAsFarAsTheTableSays) {
  has_single_copy = true;
  const tune::Table said = tune::Table::parse(uneven_table("tiny,window=20K"), "table");
  table = &said;
  make_engines();
  Engine& engine = *engines[0];
  EXPECT_EQ(engine.decider().uneven_kind(Operation::gather).longest, execute::any_size);
  EXPECT_EQ(engine.decider().uneven_kind(Operation::gather).longest_in_window, Bytes{20} << 10);
  const Problem gatherv{Operation::gather, 100'000, Rank(0), 1, true, {50'000, 150'000, 100'000}};
  EXPECT_EQ(engine.describe(gatherv).find("tiny,window=20K (row 1 of"), 0u) << engine.describe(gatherv);
  EXPECT_NE(engine.decider().uneven_kind(Operation::scatter).longest_in_window, Bytes{20} << 10) << "another operation";
  engine.select(Operation::gather, parse_selection(Operation::gather, "tiny,window=64K"));
  EXPECT_EQ(engine.decider().uneven_kind(Operation::gather).longest_in_window, Bytes{64} << 10)
      << "the program's word counts";
}

TEST_F(EngineTest, DescribesUnevenBlocksAsTheyAreDone) {
  has_single_copy = true;
  const tune::Table said = tune::Table::parse(uneven_table("native"), "table");
  table = &said;
  make_engines();
  Engine& engine = *engines[0];
  const Problem gatherv{Operation::gather, 100'000, Rank(0), 1, true, {50'000, 150'000, 100'000}};
  EXPECT_EQ(engine.describe(gatherv).find("native: native was selected (row 1 of"), 0u) << engine.describe(gatherv);
  engine.select(Operation::gather, parse_selection(Operation::gather, "tiny"));
  EXPECT_EQ(engine.describe(gatherv), "tiny (Espalier_Choose)");
  const Problem scatterv{Operation::scatter, 100'000, Rank(0), 1, true, {50'000, 150'000, 100'000}};
  EXPECT_EQ(engine.describe(scatterv), "tiny");
  const Problem allgatherv{Operation::allgather, 100'000, Rank(0), 1, true, {50'000, 150'000, 100'000}};
  EXPECT_EQ(engine.describe(allgatherv), engine.prepare(allgatherv).label);
}

TEST_F(EngineTest, LetsSizesChooseWhereBothOfTwoRanksKnowThem) {
  has_single_copy = true;
  const auto row = [](const char* bytes, const char* selection) {
    return std::string(R"({"operation": "gather", "nodes": [1, 1], "ppn": [1, 9], "form": "uneven", "bytes": )") +
           bytes + R"(, "selection": ")" + selection +
           R"(", "measured": {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1,
                               "calls": 400}})";
  };
  const tune::Table said = tune::Table::parse(
      R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [)" + row("[0, 99]", "tiny") + "," +
          row("[100, 999]", "native") + "," + row("[1000, 1099511627776]", "tiny,window=20K") + "]}",
      "table");
  table = &said;
  make_engines(2);
  Engine& engine = *engines[0];
  ASSERT_TRUE(engine.decider().has_uneven_ways(Operation::gather));
  EXPECT_FALSE(engine.decider().has_uneven_ways(Operation::scatter)) << "no row";
  EXPECT_FALSE(engine.decider().leaves_uneven(Operation::gather));
  EXPECT_EQ(engine.decider().natives_of(Operation::gather, true), tune::Natives::some);
  EXPECT_EQ(engine.decider().uneven_kind(Operation::gather).longest, execute::any_size) << "nothing is too long";
  EXPECT_NE(engine.decider().find_uneven_way(Operation::gather, 149), nullptr)
      << "99 B are half and one and a half of that";
  EXPECT_EQ(engine.decider().find_uneven_way(Operation::gather, 150), nullptr);
  EXPECT_EQ(engine.decider().find_uneven_way(Operation::gather, 1499), nullptr);
  EXPECT_EQ(engine.decider().find_uneven_way(Operation::gather, 1500)->longest_in_window, Bytes{20} << 10);
  EXPECT_NE(engine.decider().find_uneven_way(Operation::gather, 9)->longest_in_window, Bytes{20} << 10);
  EXPECT_EQ(engine.decider().find_uneven_way(Operation::gather, execute::any_size)->longest, execute::any_size);
  const Problem in_the_middle{Operation::gather, 200, Rank(0), 1, true, {100, 300}};
  EXPECT_EQ(engine.describe(in_the_middle).find("native: native was selected (row 2 of"), 0u);
  const Problem long_one{Operation::gather, 2000, Rank(0), 1, true, {1000, 3000}};
  EXPECT_EQ(engine.describe(long_one).find("tiny,window=20K (row 3 of"), 0u) << engine.describe(long_one);
  engine.select(Operation::gather, parse_selection(Operation::gather, "tiny"));
  EXPECT_FALSE(engine.decider().has_uneven_ways(Operation::gather)) << "the program's word counts more";
  engines.clear();
  make_engines(3);
  EXPECT_FALSE(engines[0]->decider().has_uneven_ways(Operation::gather)) << "no rank knows all sizes";
}

TEST_F(EngineTest, AsksNoCallForItsSizeWhereAllSizesGoOneWay) {
  has_single_copy = true;
  const tune::Table some = tune::Table::parse(uneven_table("tiny", "[0, 1000]"), "table");
  const tune::Table all = tune::Table::parse(uneven_table("native"), "table");
  table = &some;
  make_engines(2);
  EXPECT_FALSE(engines[0]->decider().has_uneven_ways(Operation::gather)) << "beyond, the built-in choice is the same";
  EXPECT_EQ(engines[0]->decider().uneven_kind(Operation::gather).longest, execute::any_size);
  table = &all;
  engines.clear();
  make_engines(2);
  EXPECT_FALSE(engines[0]->decider().has_uneven_ways(Operation::gather));
  EXPECT_TRUE(engines[0]->decider().leaves_uneven(Operation::gather));
}

TEST_F(EngineTest, ChoosesByTheTablesCostsWhereItHasNoRow) {
  const std::string text = R"({"espalier_table": 1, "machine": "a box", "mpi": "an MPI", "rows": [],
                              "model": {"flag": 0.001, "put": [0.001, 11400], "get": [0.001, 11400]}})";
  const tune::Table measured = tune::Table::parse(text, "table");
  table = &measured;
  make_engines();
  const Problem problem{Operation::broadcast, 64 << 10, Rank(0)};
  const plan::Choice chosen = choice::choose(engines[0]->topology(), problem, measured.parameters());
  EXPECT_EQ(engines[0]->prepare(problem).label, plan::to_string(chosen));
  EXPECT_NE(chosen, choice::choose(engines[0]->topology(), problem))
      << "short pieces overlap more, and here they cost nothing";
}

TEST_F(EngineTest, ExchangesOfTheLibraryItselfAreNotCounted) {
  make_engines();
  transports::for_each_rank(ranks, [&](Rank me) {
    std::uint64_t value = me == Rank(1) ? 7 : 0;
    auto* bytes = reinterpret_cast<std::byte*>(&value);
    const Problem problem{Operation::broadcast, sizeof value, Rank(1)};
    EXPECT_EQ(engines[static_cast<std::size_t>(me.value)]->exchange(problem, bytes, bytes), Engine::Outcome::done);
    EXPECT_EQ(value, 7u);
  });
  for (const auto& engine : engines) engine->report();
  EXPECT_EQ(statistics.to_text(), "");
}

// Adds 32-bit integers; the left operand first, which nobody can tell.
class Add final : public execute::Reducer {
 public:
  void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept override {
    for (Bytes at = 0; at < bytes; at += sizeof(std::int32_t)) {
      std::int32_t a = 0, b = 0;
      std::memcpy(&a, left + at, sizeof a);
      std::memcpy(&b, into + at, sizeof b);
      a += b;
      std::memcpy(into + at, &a, sizeof a);
    }
  }
};

TEST_F(EngineTest, ReducesWithTheOperationOfTheCall) {
  make_engines();
  transports::for_each_rank(ranks, [&](Rank me) {
    std::int32_t mine = me.value + 1, sum = 0;
    Engine& engine = *engines[static_cast<std::size_t>(me.value)];
    Entry& entry = engine.prepare({Operation::allreduce, sizeof mine, Rank(0), sizeof mine});
    const Add add;
    EXPECT_TRUE(engine.run(entry, reinterpret_cast<std::byte*>(&mine), reinterpret_cast<std::byte*>(&sum), &add));
    EXPECT_EQ(sum, 6);
  });
}

TEST(Selection, IsAWordOrAChoice) {
  EXPECT_EQ(parse_selection(Operation::scan, "native").kind, Selection::Kind::native);
  EXPECT_EQ(parse_selection(Operation::scan, "tiny").kind, Selection::Kind::tiny);
  EXPECT_EQ(parse_selection(Operation::broadcast, "chain,segment=8K").choice.segment, Bytes{8192});
  EXPECT_THROW(parse_selection(Operation::broadcast, "nativ"), Error);
  EXPECT_THROW(parse_selection(Operation::broadcast, ""), Error);
}

TEST_F(EngineTest, CountsEveryCallUnderItsChoice) {
  make_engines();
  for (int call = 0; call < 5; ++call) broadcast(4, call % ranks);
  for (const auto& engine : engines) engine->report();
  EXPECT_EQ(statistics.to_text(), "espalier: MPI_Bcast: handled 15 (15x tiny), native 0\n");
}

}  // namespace
}  // namespace espalier::mpi
