#include "tune/table.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/error.hpp"

using namespace espalier;
using namespace espalier::tune;
using plan::Operation;
using plan::Problem;
using topology::Topology;

namespace {

constexpr const char* tail =
    R"("measured":{"bytes":64,"native_us":2.0,"chosen_us":1.0,"lowest_ratio":1.9,"highest_ratio":2.2,"calls":400}})";

std::string row(const std::string& head) { return "{" + head + "," + tail; }

std::string file(const std::string& rows, const std::string& version = "1") {
  return R"({"espalier_table":)" + version + R"(,"machine":"a box","mpi":"an MPI","rows":[)" + rows + "]}";
}

const std::string small =
    row(R"("operation":"broadcast","nodes":[1,1],"ppn":[2,4],"bytes":[0,255],"selection":"tiny")");
const std::string large =
    row(R"("operation":"broadcast","nodes":[1,1],"ppn":[2,4],"bytes":[0,65535],"selection":"knomial,radix=4,cell=8K")");

std::string complaint(const std::string& text) {
  try {
    Table::parse(text, "it");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Topology one_node(int ranks) { return Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0)); }

Problem broadcast(Bytes bytes) { return {Operation::broadcast, bytes, Rank(0)}; }

class TableFile : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_) << text; }
  void TearDown() override { std::remove(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "espalier_table_" + std::to_string(getpid()) + ".json";
};

}  // namespace

TEST(Table, gives_back_what_its_rows_say) {
  const Table table = Table::parse(file(small), "it");
  ASSERT_EQ(table.rows().size(), 1u);
  const Row& row = table.rows()[0];
  EXPECT_EQ(row.operation, Operation::broadcast);
  EXPECT_EQ(row.ppn, (Range<int>{2, 4}));
  EXPECT_EQ(row.bytes, (Range<Bytes>{0, 255}));
  EXPECT_EQ(row.selection, "tiny");
  EXPECT_EQ(row.measured.bytes, 64u);
  EXPECT_DOUBLE_EQ(row.measured.highest_ratio, 2.2);
  EXPECT_EQ(row.measured.calls, 400);
  EXPECT_EQ(table.signature(), (Signature{"a box", "an MPI"}));
}

TEST(Table, the_first_row_that_matches_wins) {
  const Table table = Table::parse(file(small + "," + large), "it");
  EXPECT_EQ(table.find(one_node(2), broadcast(255)), &table.rows()[0]);
  EXPECT_EQ(table.find(one_node(2), broadcast(256)), &table.rows()[1]);
}

TEST(Table, has_no_answer_outside_what_was_measured) {
  const Table table = Table::parse(file(small + "," + large), "it");
  EXPECT_EQ(table.find(one_node(2), broadcast(65536)), nullptr);
  EXPECT_EQ(table.find(one_node(5), broadcast(4)), nullptr);
  EXPECT_EQ(table.find(Topology::from_nodes(std::vector{0, 0, 1, 1}), broadcast(4)), nullptr);
  EXPECT_EQ(table.find(one_node(2), {Operation::allgather, 4, Rank(0)}), nullptr);
}

TEST(Table, between_nodes_only_rows_of_the_same_transport_count) {
  const Topology two = Topology::from_nodes(std::vector{0, 0, 1, 1}), one = one_node(2);
  const std::string by_ucx =
      row(R"("operation":"broadcast","transport":"ucx","nodes":[1,2],"ppn":[2,2],"bytes":[0,255],"selection":"chain")");
  const Table table = Table::parse(file(by_ucx), "it");
  EXPECT_EQ(table.rows()[0].transport, Transport::ucx);
  EXPECT_EQ(table.find(two, broadcast(4)), nullptr);
  EXPECT_NE(table.find(two, broadcast(4), Transport::ucx), nullptr);
  EXPECT_NE(table.find(one, broadcast(4)), nullptr) << "nothing is carried on one node";
}

TEST(Table, may_name_the_transport_to_use) {
  std::string text = file(small);
  EXPECT_EQ(Table::parse(text, "it").transport(), Transport::mpi);
  text.insert(1, R"("transport":"ucx",)");
  EXPECT_EQ(Table::parse(text, "it").transport(), Transport::ucx);
  EXPECT_NE(complaint(file(small).insert(1, R"("transport":"pigeon",)")).find("transport"), std::string::npos);
}

TEST(Table, takes_the_largest_node_for_the_shape_of_unequal_ones) {
  const Table table = Table::parse(
      file(row(R"("operation":"barrier","nodes":[3,3],"ppn":[4,4],"bytes":[0,0],"selection":"native")")), "it");
  EXPECT_NE(table.find(Topology::from_nodes(std::vector{0, 0, 0, 1, 2, 2, 2, 2}), {Operation::barrier, 0, Rank(0)}),
            nullptr);
}

TEST(Table, passes_over_members_it_does_not_know) {
  std::string text = file(small);
  text.insert(1, R"("made":{"when":"today"},)");
  EXPECT_EQ(complaint(text), "");
}

TEST(Table, brings_the_costs_that_were_measured_and_assumes_the_others) {
  const std::string text = file(small);
  const auto with = [&](const std::string& model) {
    return text.substr(0, text.size() - 1) + ",\"model\":" + model + "}";
  };
  const cost::Parameters assumed, old = Table::parse(text, "it").parameters();
  EXPECT_EQ(old.link_rate, assumed.link_rate) << "tables without costs stay readable";
  const auto is =
      Table::parse(with(R"({"link_rate":25.0,"single_copy":[0.7,9000],"colour":"red"})"), "it").parameters();
  EXPECT_EQ(is.link_rate, 25);
  EXPECT_EQ(is.connection_rate(), 25) << "nobody has seen that a connection carries less";
  EXPECT_EQ(Table::parse(with(R"({"link_rate":25.0,"flow_rate":14})"), "it").parameters().connection_rate(), 14);
  EXPECT_EQ(is.single_copy.fixed, 0.7);
  EXPECT_EQ(is.single_copy.rate, 9000);
  EXPECT_EQ(is.latency, assumed.latency);
  EXPECT_NE(complaint(with(R"({"link_rate":-1})")).find("link_rate"), std::string::npos);
  EXPECT_NE(complaint(with(R"({"put":[1]})")).find("[fixed, rate]"), std::string::npos);
}

TEST(Table, hashes_follow_the_text) {
  EXPECT_EQ(Table::parse(file(small), "a").hash(), Table::parse(file(small), "b").hash());
  EXPECT_NE(Table::parse(file(small), "a").hash(), Table::parse(file(small) + "\n", "a").hash());
}

TEST(Table, every_truncation_is_refused) {
  const std::string text = file(small + "," + large);
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(complaint(text.substr(0, length)), "") << length;
}

TEST(Table, a_newer_version_is_refused_with_both_numbers) {
  EXPECT_EQ(complaint(file("", "2")), "it: version 2 of the format is newer than this Espalier reads (1)");
}

TEST(Table, what_is_no_table_is_refused) {
  EXPECT_EQ(complaint("[]"), "it: not a table of Espalier");
  EXPECT_EQ(complaint(R"({"rows":[]})"), "it: not a table of Espalier");
  EXPECT_NE(complaint("\x80\xff"), "");
}

TEST(Table, a_wrong_member_is_named_with_its_row) {
  EXPECT_EQ(complaint(file(small + "," +
                           row(R"("operation":"bcast","nodes":[1],"ppn":[2,4],"bytes":[0,1],"selection":"tiny")"))),
            R"(it: row 2: "nodes" must be [first, last], whole numbers from 1, the first no larger than the last)");
  EXPECT_EQ(complaint(file(row(R"("operation":"bcast","nodes":[1,1],"ppn":[4,2],"bytes":[0,1],"selection":"tiny")"))),
            R"(it: row 1: "ppn" must be [first, last], whole numbers from 1, the first no larger than the last)");
  EXPECT_EQ(complaint(file(row(R"("operation":"bcast","nodes":[1,1],"ppn":[2,2],"bytes":[-1,1],"selection":"tiny")"))),
            R"(it: row 1: "bytes" must be [first, last], whole numbers from 0, the first no larger than the last)");
  EXPECT_EQ(complaint(file(row(R"("nodes":[1,1])"))), R"(it: row 1: "operation" is missing)");
}

TEST(Table, a_selection_that_no_algorithm_understands_is_refused) {
  const std::string text =
      complaint(file(row(R"("operation":"bcast","nodes":[1,1],"ppn":[2,2],"bytes":[0,1],"selection":"teleport")")));
  EXPECT_NE(text.find("row 1: unknown algorithm 'teleport'"), std::string::npos) << text;
}

TEST_F(TableFile, is_read_for_the_machine_it_was_made_for) {
  write(file(small));
  EXPECT_EQ(Table::load(path_, {"a box", "an MPI"}).rows().size(), 1u);
}

TEST_F(TableFile, is_refused_on_another_machine_and_under_another_mpi_with_both_names) {
  write(file(small));
  for (const Signature& here : {Signature{"a desk", "an MPI"}, Signature{"a box", "its rival"}}) try {
      Table::load(path_, here);
      FAIL() << "accepted";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(here.machine == "a desk" ? "(a box), this is a desk" : "(an MPI), this is its rival"),
                std::string::npos)
          << text;
    }
}

TEST_F(TableFile, that_is_missing_or_a_folder_is_refused_with_the_systems_reason) {
  EXPECT_THROW(Table::load(path_), Error);
  EXPECT_THROW(Table::load(testing::TempDir()), Error);
}

TEST_F(TableFile, that_is_a_pipe_or_a_device_is_refused_and_not_waited_for) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW(Table::load(path_), Error);
  EXPECT_THROW(Table::load("/dev/zero"), Error);
}

TEST_F(TableFile, of_more_than_any_tuning_writes_is_refused_before_it_is_read) {
  std::string text = file(small);
  text.insert(text.size() - 1, std::string(Table::most_bytes, ' '));
  write(text);
  try {
    Table::load(path_);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is larger than the 8M that are read"), std::string::npos) << error.what();
  }
}

TEST(Table, of_too_many_rows_is_refused_with_both_numbers) {
  std::string rows = small;
  for (std::size_t count = 1; count <= Table::most_rows; ++count) rows += "," + small;
  EXPECT_EQ(complaint(file(rows)), "it: it has 16385 rows; at most 16384 are read");
}

namespace {

std::string uneven_row(const std::string& operation, const std::string& bytes, const std::string& selection) {
  return row(R"("operation":")" + operation + R"(","nodes":[1,1],"ppn":[2,2],"form":"uneven","bytes":)" + bytes +
             R"(,"selection":")" + selection + R"(")");
}

}  // namespace

TEST(Table, rows_about_uneven_blocks_hold_for_those_only_and_other_rows_for_all) {
  const std::string any =
      row(R"("operation":"allgather","nodes":[1,1],"ppn":[2,2],"bytes":[0,4096],"selection":"tiny")");
  const Table table = Table::parse(file(uneven_row("allgather", "[0,255]", "native") + "," + any), "it");
  const Problem even{Operation::allgather, 64, Rank(0)};
  Problem uneven = even;
  uneven.counts = {32, 96};
  EXPECT_EQ(table.find(one_node(2), even)->selection, "tiny");
  EXPECT_EQ(table.find(one_node(2), uneven)->selection, "native");
  uneven.bytes = 1024;
  EXPECT_EQ(table.find(one_node(2), uneven)->selection, "tiny");
}

TEST(Table, knows_from_which_size_on_uneven_blocks_stay_native_where_that_is_all_there_is_to_know) {
  const std::string all = "[0,1099511627776]", rest = "[1025,1099511627776]";
  const auto native_from = [](const std::string& rows, int ranks = 2) {
    return Table::parse(file(rows), "it").uneven_native_from(one_node(ranks), Operation::gather);
  };
  EXPECT_EQ(native_from(uneven_row("gather", all, "native")), Bytes{0});
  EXPECT_EQ(native_from(uneven_row("gather", "[0,1024]", "tiny") + "," + uneven_row("gather", rest, "native")), 1025u);
  EXPECT_EQ(native_from(uneven_row("gather", all, "tiny")), ~Bytes{0}) << "none is native";
  EXPECT_EQ(native_from(uneven_row("gather", "[0,1024]", "tiny") + "," + uneven_row("gather", rest, "tiny")),
            ~Bytes{0});
  const std::optional<Bytes> unknown;
  EXPECT_EQ(native_from(uneven_row("gather", all, "native"), 3), unknown) << "another shape";
  EXPECT_EQ(native_from(uneven_row("scatter", all, "native")), unknown) << "another operation";
  EXPECT_EQ(native_from(uneven_row("gather", "[0,255]", "native")), unknown) << "some sizes only";
  EXPECT_EQ(native_from(uneven_row("gather", "[0,1024]", "tiny")), unknown) << "nothing about the rest";
  EXPECT_EQ(native_from(uneven_row("gather", all, "knomial")), unknown) << "ours at all";
  EXPECT_EQ(native_from(uneven_row("gather", "[0,1024]", "knomial") + "," + uneven_row("gather", rest, "native")),
            unknown)
      << "short ones by a plan, which needs sizes";
  EXPECT_EQ(native_from(uneven_row("gather", "[0,99]", "tiny") + "," + uneven_row("gather", rest, "native")), unknown)
      << "a gap, which is the built-in choice's";
}

TEST(Table, knows_whether_all_calls_of_an_operation_are_native_or_some_or_none) {
  const auto natives = [](const std::string& rows, bool are_equal, int ranks = 2) {
    return Table::parse(file(rows), "it").natives_of(one_node(ranks), Operation::allgather, are_equal);
  };
  const auto any = [](const std::string& bytes, const std::string& selection) {
    return row(R"("operation":"allgather","nodes":[1,1],"ppn":[2,2],"bytes":)" + bytes + R"(,"selection":")" +
               selection + "\"");
  };
  const std::string all = "[0,1099511627776]", some = "[0,1024]", rest = "[1025,1099511627776]";
  EXPECT_EQ(natives(any(all, "native"), true), Natives::all);
  EXPECT_EQ(natives(any(all, "native"), false), Natives::all);
  EXPECT_EQ(natives(any(some, "native") + "," + any(rest, "native"), true), Natives::all);
  EXPECT_EQ(natives(any(some, "native") + "," + any("[1026,1099511627776]", "native"), true), Natives::some)
      << "a gap, which is the built-in choice's";
  EXPECT_EQ(natives(any(some, "tiny") + "," + any(rest, "native"), true), Natives::some);
  EXPECT_EQ(natives(any(all, "ring"), true), Natives::none);
  EXPECT_EQ(natives(any(all, "native"), true, 3), Natives::none) << "another shape";
  const std::string uneven = uneven_row("allgather", all, "native");
  EXPECT_EQ(natives(uneven, true), Natives::none) << "about other calls";
  EXPECT_EQ(natives(uneven, false), Natives::some) << "counts may be equal, too";
  EXPECT_EQ(natives(uneven_row("allgather", some, "ring") + "," + any(all, "native"), false), Natives::some);
}

TEST(Table, knows_how_long_blocks_go_through_windows_where_the_dedicated_path_takes_them) {
  const auto window = [](const std::string& rows, int ranks = 2) {
    return Table::parse(file(rows), "it").uneven_window(one_node(ranks), Operation::gather);
  };
  const std::string some = uneven_row("gather", "[0,1099511627776]", "tiny,window=32K");
  EXPECT_EQ(window(some), Bytes{32} << 10);
  EXPECT_EQ(Table::parse(file(some), "it").uneven_native_from(one_node(2), Operation::gather), ~Bytes{0});
  const std::optional<Bytes> usual;
  EXPECT_EQ(window(some, 3), usual) << "another shape";
  EXPECT_EQ(window(uneven_row("gather", "[0,9]", "tiny")), usual);
  EXPECT_EQ(window(uneven_row("gather", "[0,9]", "native")), usual);
}

TEST(Table, tells_which_row_holds_for_uneven_blocks_by_their_size) {
  const std::string rest = "[1025,1099511627776]";
  const auto spans = [](const std::string& rows, int ranks = 2) {
    std::vector<std::pair<Bytes, std::string>> told;
    const Table table = Table::parse(file(rows), "it");
    for (const Span& it : table.uneven_spans(one_node(ranks), Operation::gather))
      told.emplace_back(it.last, it.row == nullptr ? "" : it.row->selection);
    return told;
  };
  using Told = std::vector<std::pair<Bytes, std::string>>;
  constexpr Bytes end = ~Bytes{0};
  const std::string some = uneven_row("gather", "[10,99]", "native") + "," + uneven_row("gather", "[50,1024]", "tiny");
  EXPECT_EQ(spans(some), (Told{{9, ""}, {99, "native"}, {1024, "tiny"}, {end, ""}})) << "the first that matches";
  EXPECT_EQ(spans(some + "," + uneven_row("gather", rest, "native")),
            (Told{{9, ""}, {99, "native"}, {1024, "tiny"}, {end, "native"}}));
  EXPECT_EQ(spans(uneven_row("gather", "[0,1099511627776]", "native")), (Told{{end, "native"}}));
  EXPECT_EQ(spans(some, 3), Told{}) << "another shape";
  EXPECT_EQ(spans(uneven_row("scatter", "[0,9]", "tiny")), Told{}) << "another operation";
}

TEST(Table, knows_whether_it_says_anything_of_uneven_blocks_alone) {
  const Table table = Table::parse(file(uneven_row("gather", "[0,255]", "native")), "it");
  EXPECT_TRUE(table.has_uneven(one_node(2), Operation::gather));
  EXPECT_FALSE(table.has_uneven(one_node(3), Operation::gather)) << "another shape";
  EXPECT_FALSE(table.has_uneven(one_node(2), Operation::scatter));
}

TEST(Table, refuses_a_form_that_it_does_not_know) {
  const std::string odd =
      row(R"("operation":"gather","nodes":[1,1],"ppn":[2,2],"form":"odd","bytes":[0,9],"selection":"tiny")");
  EXPECT_NE(complaint(file(odd)).find("form"), std::string::npos);
}
