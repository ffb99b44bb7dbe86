#include "mpi/observe/profile.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "mpi/observe/arrivals.hpp"

namespace espalier::mpi {
namespace {

TEST(Profile, SizesThatAreReportedTogetherLieBetweenPowersOfTwo) {
  EXPECT_EQ(size_class_of(-1), -1);
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

TEST(Profile, IsWrittenWithWhatOthersNeedToReadIt) {
  Profile profile;
  ProfileRow& row = profile.row({"4 ranks on 1 node", plan::Operation::allreduce, false, 4});
  Profile::add(row, {.bytes = 8, .seconds_ns = 2e9, .waiting_ns = 1e9, .is_split = true, .last = 0});
  row.choice = "a \"choice\"";
  EXPECT_EQ(profile.to_json(3, 10),
            "{\"rank\": 3, \"seconds\": 10, \"rows\": [\n    {\"communicator\": \"4 ranks on 1 node\", \"operation\": "
            "\"MPI_Allreduce\", \"counts\": false, \"size_class\": 4, \"calls\": 1, \"bytes\": 8, \"native\": 0, "
            "\"seconds\": 2, \"waiting\": 1, \"split\": 1, \"own\": {\"calls\": 1, \"seconds\": 1, \"squares\": 1}, "
            "\"sample\": {\"calls\": 0, \"seconds\": 0, \"squares\": 0}, \"choice\": \"a \\\"choice\\\"\", "
            "\"waited_for\": {\"0\": 1}}]}");
}

TEST(Arrivals, TheLastToComeIsKept) {
  std::vector<Arrivals::Word> memory(Arrivals::turns);
  const Arrivals arrivals(reinterpret_cast<std::byte*>(memory.data()));
  arrivals.come(7, 100, 1);
  arrivals.come(7, 300, 2);
  arrivals.come(7, 200, 3);
  EXPECT_EQ(arrivals.last(7).time, 300u);
  EXPECT_EQ(arrivals.last(7).rank, 2);
}

TEST(Arrivals, AWordIsUsedAgainWithoutBeingCleared) {
  std::vector<Arrivals::Word> memory(Arrivals::turns);
  const Arrivals arrivals(reinterpret_cast<std::byte*>(memory.data()));
  arrivals.come(7, 300, 2);
  arrivals.come(7 + Arrivals::turns, 400, 1);
  EXPECT_EQ(arrivals.last(7 + Arrivals::turns).rank, 1);
}

}  // namespace
}  // namespace espalier::mpi
