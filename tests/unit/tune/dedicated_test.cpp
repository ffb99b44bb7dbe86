#include "tune/dedicated.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

using namespace espalier;
using namespace espalier::tune;
using plan::Operation;

TEST(Dedicated, is_what_it_was_written_as) {
  EXPECT_EQ(parse_dedicated(Operation::broadcast, "tiny"), Dedicated{});
  EXPECT_EQ(parse_dedicated(Operation::gather, "tiny,window=32K"), Dedicated{32 << 10});
  EXPECT_EQ(parse_dedicated(Operation::alltoall, "tiny,window=0"), Dedicated{0});
  EXPECT_EQ(to_string(Dedicated{}), "tiny");
  EXPECT_EQ(to_string(Dedicated{32 << 10}), "tiny,window=32K");
}

TEST(Dedicated, is_not_selected_by_what_names_something_else) {
  for (const char* text : {"native", "flat", "tinyish", "knomial,cell=8K", ""})
    EXPECT_EQ(parse_dedicated(Operation::gather, text), std::nullopt) << text;
}

TEST(Dedicated, has_a_window_only_where_no_rank_knows_all_sizes) {
  EXPECT_THROW(parse_dedicated(Operation::allgather, "tiny,window=32K"), Error);
  EXPECT_THROW(parse_dedicated(Operation::gather, "tiny,cell=32K"), Error);
  EXPECT_THROW(parse_dedicated(Operation::gather, "tiny,window=much"), Error);
  EXPECT_THROW(parse_dedicated(Operation::gather, "tiny,window=128M"), Error);
  EXPECT_THROW(parse_dedicated(Operation::gather, "tiny,"), Error);
}
