#include "mpi/process/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::mpi {
namespace {

using plan::Operation;

TEST(Statistics, AddUpPerOperationReasonAndChoice) {
  Statistics statistics;
  statistics.add_handled(Operation::broadcast, "tiny", 2, CallForm::nonblocking);
  statistics.add_handled(Operation::broadcast, "chain", 1);
  statistics.add_handled(Operation::broadcast, "tiny", 3);
  statistics.add_native(Operation::barrier, "a \"reason\"", 4);
  const std::string json = statistics.to_json();
  const auto has = [&](const char* line) { return json.find(line) != std::string::npos; };
  EXPECT_TRUE(has(R"({
  "MPI_Bcast": {"handled": 6, "native": 0, "forms": {"blocking": 4, "nonblocking": 2, "persistent": 0}, )"
                  R"("reasons": {}, "choices": {"chain": 1, "tiny": 5}},)"))
      << json;
  EXPECT_TRUE(has(R"(  "MPI_Reduce_scatter": {"handled": 0, "native": 0, "forms": )")) << json;
  EXPECT_TRUE(has(R"("reasons": {"a \"reason\"": 4}, "choices": {}},
)")) << json;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 2 + plan::operation_count);
}

TEST(Statistics, TextNamesOnlyWhatWasCalled) {
  Statistics statistics;
  EXPECT_EQ(statistics.to_text(), "");
  statistics.add_handled(Operation::allgather, "tiny", 2);
  statistics.add_native(Operation::allgather, "one rank", 1);
  statistics.add_native(Operation::barrier, "one rank", 0);
  EXPECT_EQ(statistics.to_text(), "espalier: MPI_Allgather: handled 2 (2x tiny), native 1 (1x one rank)\n");
  statistics.add_handled(Operation::allgather, "ring", 3, CallForm::persistent);
  EXPECT_EQ(statistics.to_text(),
            "espalier: MPI_Allgather: handled 5 of which 3 persistent (3x ring; 2x tiny), native 1 (1x one rank)\n");
}

}  // namespace
}  // namespace espalier::mpi
