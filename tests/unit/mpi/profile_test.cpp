#include "mpi/observe/profile/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "mpi/observe/arrivals.hpp"
#include "mpi/observe/members.hpp"
#include "mpi/observe/profile/trace.hpp"
#include "mpi/observe/profile/turns.hpp"

namespace espalier::mpi {
namespace {

TEST(Profile, SizesThatAreReportedTogetherLieBetweenPowersOfTwo) {
  EXPECT_EQ(size_class_of(std::nullopt), -1);
  EXPECT_EQ(size_class_of(0), 0);
  EXPECT_EQ(size_class_of(1), 1);
  EXPECT_EQ(size_class_of(4), size_class_of(7));
  EXPECT_NE(size_class_of(7), size_class_of(8));
}

TEST(Profile, SumsUpWhatWaitedAndWhatMoved) {
  ProfileRow row;
  Profile::add(row, {.bytes = 8, .seconds_ns = 100, .waiting_ns = 60, .is_split = true, .last = 2});
  Profile::add(row, {.bytes = 8, .seconds_ns = 50, .is_native = true, .is_sample = true});
  EXPECT_EQ(row.calls, 2u);
  EXPECT_EQ(row.bytes, 16u);
  EXPECT_EQ(row.native, 1u);
  EXPECT_EQ(row.seconds_ns, 150);
  EXPECT_EQ(row.waiting_ns, 60);
  EXPECT_EQ(row.split, 1u);
  EXPECT_EQ(row.own.sum, 40) << "what was no waiting";
  EXPECT_EQ(row.sample.sum, 50);
  EXPECT_EQ(row.caused, (std::vector<double>{0, 0, 60}));
}

TEST(Profile, CallsThatWereNotTimedAreCountedAndStoodForByThoseThatWere) {
  Profile profile;
  ProfileRow& row = profile.row({"2 ranks on 1 node", "0-1", plan::Operation::allreduce});
  Profile::add(row, {.bytes = 4, .seconds_ns = 100, .waiting_ns = 60, .is_split = true, .last = 1});
  Profile::add(row, {.weight = 10, .bytes = 4, .seconds_ns = 50, .waiting_ns = 30, .is_split = true, .last = 1});
  Profile::add(row, PassedCalls{.calls = 9, .bytes = 36, .native = 2});
  EXPECT_EQ(row.calls, 11u);
  EXPECT_EQ(row.bytes, 44u);
  EXPECT_EQ(row.native, 2u);
  EXPECT_EQ(row.split, 11u);
  EXPECT_EQ(row.seconds_ns, 600);
  EXPECT_EQ(row.waiting_ns, 360);
  EXPECT_EQ(row.caused, (std::vector<double>{0, 360}));
  EXPECT_EQ(row.timed.calls, 2u);
  EXPECT_NE(profile.to_json(0, 1, 1, {}).find("\"timed\": {\"calls\": 2, \"weight\": 11, \"weights_squared\": 101, "),
            std::string::npos);
}

TEST(Profile, LongWaitsAreNotEstimated) {
  ProfileRow row;
  Profile::add(row, LongWait{.ns = 1000, .waiting_ns = 1000, .whose = 1});
  Profile::add(row, LongWait{.ns = 300, .waiting_ns = 300});
  Profile::add(row, LongWait{.ns = 200});
  EXPECT_EQ(row.seconds_ns, 1500);
  EXPECT_EQ(row.waiting_ns, 1300);
  EXPECT_EQ(row.caused, (std::vector<double>{0, 1000}));
}

TEST(Profile, CallsStandForOthersButForTheirLongWaits) {
  ProfileRow row;
  Profile::add(row, LongWait{.ns = 1000, .waiting_ns = 1000, .whose = 1});
  Profile::add(row, {.weight = 10,
                     .seconds_ns = 1050,
                     .waiting_ns = 1020,
                     .is_split = true,
                     .last = 1,
                     .known_ns = 1000,
                     .known_waiting_ns = 1000});
  EXPECT_EQ(row.seconds_ns, 1000 + 10 * 50);
  EXPECT_EQ(row.waiting_ns, 1000 + 10 * 20);
  EXPECT_EQ(row.caused, (std::vector<double>{0, 1200}));
  EXPECT_EQ(row.timed.sum, 500);
}

TEST(Turns, TheFirstCallsAreAllTimedAndOfManyOneIn1024) {
  Turns turns;
  std::uint64_t timed = 0, covered = 0, longest = 0;
  constexpr std::uint64_t calls = 1'000'000;
  for (std::uint64_t call = 0; call < calls; ++call) {
    if (turns.may_pass()) {
      turns.pass();
      continue;
    }
    const std::uint64_t weight = turns.take();
    covered += weight;
    longest = std::max(longest, weight);
    ++timed;
    if (call < Turns::all_until) {
      EXPECT_EQ(covered, call + 1);
    }
  }
  EXPECT_EQ(covered + turns.passed(), calls) << "each call is counted once";
  EXPECT_LE(longest, 3 * Turns::longest_stride / 2);
  EXPECT_LT(timed, calls / Turns::longest_stride + 200);
  EXPECT_GT(timed, calls / Turns::longest_stride);
}

TEST(Turns, DoNotFollowAPeriodOfTheProgram) {
  Turns turns;
  constexpr int period = 4;
  std::array<double, period> covered{};
  for (std::uint64_t call = 0; call < 1'000'000; ++call) {
    if (turns.may_pass())
      turns.pass();
    else
      covered[call % period] += static_cast<double>(turns.take());
  }
  for (const double share : covered) EXPECT_NEAR(share, 250'000, 25'000);
}

TEST(Profile, WhatDoesNotBlockIsInMpiWhenItStartsAndWhenItIsCompleted) {
  ProfileRow row;
  Profile::add(row, {.bytes = 8, .seconds_ns = 10, .begin_ns = 5, .is_started = true});
  Profile::add_completion(row, 30, 500);
  EXPECT_EQ(row.calls, 1u);
  EXPECT_EQ(row.start_ns, 10);
  EXPECT_EQ(row.seconds_ns, 40);
  EXPECT_EQ(row.between_ns, 500);
  EXPECT_EQ(row.own.calls, 0u) << "nobody knows what of it was waiting";
}

TEST(Profile, WhatIsPlayedAgainIsKept) {
  ProfileRow row;
  Profile::add(row, {.root = 1, .begin_ns = 100});
  Profile::add_gap(row, 7, 1);
  Profile::add(row, {.root = 1, .begin_ns = 300});
  Profile::add_gap(row, 9, 1);
  EXPECT_EQ(row.first_ns, 100);
  EXPECT_EQ(row.last_ns, 300);
  EXPECT_EQ(row.gap_ns, 16);
  EXPECT_EQ(row.roots, (std::vector<std::uint64_t>{0, 2}));
}

TEST(Profile, IsWrittenWithWhatOthersNeedToReadIt) {
  Profile profile;
  const int place = 0;
  ProfileRow& row = profile.row({"4 ranks on 1 node", "0-3", plan::Operation::allreduce, plan::BlockSizes::equal, 4,
                                 plan::CallForm::blocking, &place});
  Profile::add(row, {.bytes = 8, .seconds_ns = 2e9, .waiting_ns = 1e9, .is_split = true, .last = 0});
  row.choice = "a \"choice\"";
  EXPECT_EQ(
      profile.to_json(3, 10, 2, [](const void*) { return "app+0x12 main"; }),
      "{\"rank\": 3, \"seconds\": 10, \"threads\": 2, \"rows\": [\n    {\"communicator\": \"4 ranks on 1 node\", "
      "\"members\": "
      "\"0-3\", \"operation\": \"MPI_Allreduce\", \"form\": \"blocking\", \"counts\": false, \"size_class\": 4, "
      "\"site\": \"app+0x12 main\", \"calls\": 1, \"bytes\": 8, \"native\": 0, \"seconds\": 2, \"waiting\": 1, "
      "\"split\": 1, \"start\": 0, \"between\": 0, \"gap\": 0, \"first\": 0, \"last\": 0, \"own\": {\"calls\": 1, "
      "\"seconds\": 1, \"squares\": 1}, \"sample\": {\"calls\": 0, \"seconds\": 0, \"squares\": 0}, \"choice\": "
      "\"a \\\"choice\\\"\", \"waited_for\": {\"0\": 1}, \"roots\": {}}]}");
}

TEST(Profile, SaysHowNativeComparesWhereSomebodyHasComparedThem) {
  Profile profile;
  ProfileRow& row = profile.row({"4 ranks on 1 node", "0-3", plan::Operation::allreduce});
  const auto written = [&] { return profile.to_json(0, 1, 1, {}); };
  EXPECT_EQ(written().find("\"measured\""), std::string::npos);
  row.measured = tune::Measured{
      .bytes = 64, .native_us = 3, .chosen_us = 2, .lowest_ratio = 1.25, .highest_ratio = 1.75, .calls = 9};
  EXPECT_NE(written().find(R"("measured": {"native": 3e-06, "own": 2e-06, "uncertainty": 5e-07})"), std::string::npos);
}

TEST(Profile, NeighboursAreToldWhereAllCallsFollowOneGraph) {
  Profile profile;
  ProfileRow& row = profile.row({"4 ranks on 1 node", "0-3", plan::Operation::neighbor_alltoall});
  Profile::add_neighborhood(row, {{1, 3}, {0}});
  Profile::add_neighborhood(row, {{1, 3}, {0}});
  const auto written = [&] { return profile.to_json(0, 1, 1, {}); };
  EXPECT_NE(written().find("\"from\": [1, 3], \"to\": [0]"), std::string::npos);
  Profile::add_neighborhood(row, {{1}, {}});
  EXPECT_EQ(written().find("\"from\""), std::string::npos);
}

TEST(Members, AreToldAsRunsOfEqualSteps) {
  const auto told = [](std::vector<int> members) { return describe_members(members); };
  EXPECT_EQ(told({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(told({0, 1}), "0-1");
  EXPECT_EQ(told({1, 5, 9, 13}), "1-13:4");
  EXPECT_EQ(told({3, 0, 1}), "3,0-1");
  EXPECT_EQ(told({0, 4}), "0,4") << "two are no run";
  EXPECT_EQ(told({2, 1, 0}), "2,1,0") << "steps go up";
  std::vector<int> scattered;
  for (int r = 0; r < 1000; ++r) scattered.push_back(r * r % 7919);
  EXPECT_EQ(told(scattered), "") << "too many words";
}

TEST(Trace, KeepsTheFirstCallsAndCountsTheOthers) {
  Trace trace(2);
  for (const std::uint64_t begin : {1000u, 2500u, 4000u}) {
    TraceEvent event;
    event.call = {.operation = plan::Operation::broadcast, .bytes = 64};
    event.begin_ns = begin;
    event.took_ns = 1234;
    event.waiting_ns = 200;
    trace.add(event);
  }
  EXPECT_EQ(trace.dropped(), 1u);
  EXPECT_EQ(trace.to_json(1, 3),
            "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 3, \"args\": {\"name\": \"rank 3\"}},\n"
            "{\"name\": \"MPI_Bcast\", \"ph\": \"X\", \"ts\": 1.000, \"dur\": 1.234, \"pid\": 1, \"tid\": 3, \"args\": "
            "{\"by\": \"Espalier\", \"bytes\": 64, \"waiting_us\": 0.200}},\n"
            "{\"name\": \"MPI_Bcast\", \"ph\": \"X\", \"ts\": 2.500, \"dur\": 1.234, \"pid\": 1, \"tid\": 3, \"args\": "
            "{\"by\": \"Espalier\", \"bytes\": 64, \"waiting_us\": 0.200}},\n");
}

TEST(Trace, HasALaneForEachThreadOfARank) {
  Trace trace(2);
  for (const int thread : {0, 1}) {
    TraceEvent event;
    event.thread = thread;
    trace.add(event);
  }
  const std::string text = trace.to_json(0, 3);
  for (const char* const wanted :
       {"\"tid\": 3, \"args\": {\"name\": \"rank 3\"}", "\"tid\": 16777219, \"args\": {\"name\": \"rank 3, thread 2\"}",
        "\"tid\": 16777219, \"args\": {\"sort_index\": 3}", "\"tid\": 16777219, \"args\": {\"by\":"})
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

struct ArrivalsOf {
  explicit ArrivalsOf(int ranks) : memory(Arrivals::bytes(ranks) / sizeof(Arrivals::Word) + 1) {
    std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(Arrivals::Word));  // padding, too
    arrivals = Arrivals(reinterpret_cast<std::byte*>(memory.data()), ranks);
  }
  std::vector<Arrivals::Word> memory;
  Arrivals arrivals;
};

TEST(Arrivals, WhoHasNotWaitedLongIsWaitedFor) {
  const ArrivalsOf four(4);
  const Arrivals& arrivals = four.arrivals;
  EXPECT_EQ(arrivals.awaited(1).candidates, 4);
  arrivals.wait(5, 1000, 0);
  arrivals.wait(5, 1050, 1);
  arrivals.wait(6, 1200, 1);
  arrivals.wait(4, 900, 2);
  EXPECT_EQ(arrivals.awaited(5).candidates, 2);
  EXPECT_EQ(arrivals.awaited(5).rank, 2);
  arrivals.wait(5, 1100, 2);
  EXPECT_EQ(arrivals.awaited(5).candidates, 1);
  EXPECT_EQ(arrivals.awaited(5).rank, 3);
}

TEST(Arrivals, WhoIsAlreadyInTheNextCallHadComeBefore) {
  const ArrivalsOf two(2);
  const Arrivals& arrivals = two.arrivals;
  arrivals.wait(4, 500, 1);
  arrivals.wait(5, 1000, 0);
  arrivals.wait(6, 3000, 1);
  EXPECT_EQ(arrivals.awaited(5).candidates, 1);
  EXPECT_EQ(arrivals.awaited(5).rank, 1);
  EXPECT_EQ(arrivals.awaited(5).since, 3000u);
}

TEST(Arrivals, WhereAllHaveWaitedItWasForWhoBeganLast) {
  const ArrivalsOf three(3);
  const Arrivals& arrivals = three.arrivals;
  arrivals.wait(5, 1000, 0);
  arrivals.wait(5, 2000, 1);
  arrivals.wait(5, 1500, 2);
  EXPECT_EQ(arrivals.awaited(5).candidates, 0);
  EXPECT_EQ(arrivals.awaited(5).rank, 1);
  EXPECT_EQ(arrivals.awaited(5).since, 2000u);
}

TEST(Arrivals, TheLastToComeIsKept) {
  const ArrivalsOf four(4);
  const Arrivals& arrivals = four.arrivals;
  arrivals.come(7, 100, 1);
  arrivals.come(7, 300, 2);
  arrivals.come(7, 200, 3);
  EXPECT_EQ(arrivals.last(7).time, 300u);
  EXPECT_EQ(arrivals.last(7).rank, 2);
}

TEST(Arrivals, AWordIsUsedAgainWithoutBeingCleared) {
  const ArrivalsOf four(4);
  const Arrivals& arrivals = four.arrivals;
  arrivals.come(7, 300, 2);
  arrivals.come(7 + Arrivals::turns, 400, 1);
  EXPECT_EQ(arrivals.last(7 + Arrivals::turns).rank, 1);
}

}  // namespace
}  // namespace espalier::mpi
