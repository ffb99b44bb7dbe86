#include "tune/store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/error.hpp"
#include "tune/day.hpp"
#include "tune/places.hpp"

using namespace espalier;
using namespace espalier::tune;

namespace {

const Signature here{"Model X, 8 processors, 2 NUMA nodes, 64 GiB", "MPICH Version: 5.0.2"};

const int today = parse_day("2026-11-26");

Row row_of(Bytes last, const std::string& selection = "native", double us = 2) {
  Row row;
  row.operation = plan::Operation::broadcast;
  row.nodes = {1, 1};
  row.ppn = {4, 4};
  row.bytes = {last / 2 + 1, last};
  row.selection = selection;
  row.measured = {last, us, us, 1, 1, 8};
  return row;
}

std::string text_of(const Signature& signature, std::initializer_list<Row> rows) {
  return format_learned(signature, std::vector<Row>(rows));
}

class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/espalier-store-XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~Folder() { std::system(("rm -rf " + path_).c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(Store, writes_what_it_reads) {
  const Table table = Table::parse(text_of(here, {row_of(4), row_of(64, "tiny", 1.5)}), "text");
  EXPECT_EQ(table.signature(), here);
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.rows()[1].selection, "tiny");
  EXPECT_EQ(table.rows()[1].measured.chosen_us, 1.5);
  EXPECT_EQ(table.rows()[1].number, 2);
  EXPECT_TRUE(table.is_learned() && table.rows()[0].is_learned);
}

TEST(Store, puts_tables_that_fit_exactly_before_those_that_nearly_do) {
  Signature other_release = here, other_memory = here, other_major = here, other_machine = here;
  other_release.mpi = "MPICH Version: 5.1.0";
  other_memory.machine = "Model X, 8 processors, 2 NUMA nodes, 96 GiB";
  other_major.mpi = "MPICH Version: 4.0.2";
  other_machine.machine = "Model Y, 8 processors, 2 NUMA nodes, 64 GiB";
  const std::vector<TableText> texts{{"release", text_of(other_release, {row_of(4, "tiny")})},
                                     {"major", text_of(other_major, {row_of(4, "tiny")})},
                                     {"machine", text_of(other_machine, {row_of(4, "tiny")})},
                                     {"exact", text_of(here, {row_of(4, "native")})},
                                     {"memory", text_of(other_memory, {row_of(8, "tiny")})}};
  const Selected selected = select_tables(texts, here, "");
  ASSERT_TRUE(selected.table);
  std::vector<std::string> said;
  for (const Row& row : selected.table->rows()) said.push_back(row.selection);
  EXPECT_EQ(said, (std::vector<std::string>{"native", "tiny", "tiny"}));
}

TEST(Store, uses_the_rest_where_a_file_is_corrupt_and_says_which) {
  const std::vector<TableText> texts{{"/a.json", "{\"espalier_table\": 1, "}, {"/b.json", text_of(here, {row_of(4)})}};
  const Selected selected = select_tables(texts, here, "");
  EXPECT_TRUE(selected.table);
  ASSERT_EQ(selected.remarks.size(), 1U);
  EXPECT_NE(selected.remarks.front().find("/a.json: truncated"), std::string::npos);
}

TEST(Store, says_why_a_named_table_is_of_no_use_and_is_silent_on_others) {
  const Signature other{"Model Z, 2 processors, 4 GiB", here.mpi};
  const std::vector<TableText> texts{{"/a.json", text_of(other, {})}, {"/b.json", text_of(other, {})}};
  const Selected selected = select_tables(texts, here, "/b.json");
  EXPECT_FALSE(selected.table);
  ASSERT_EQ(selected.remarks.size(), 1U);
  EXPECT_NE(selected.remarks.front().find("/b.json: made for another machine"), std::string::npos);
}

TEST(Store, replaces_rows_about_the_same_calls_and_keeps_others) {
  const std::vector<Row> fresh{row_of(16, "tiny"), row_of(4, "tiny")};
  const std::vector<Row> rows = merge_rows({row_of(64), row_of(16)}, fresh);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].bytes.last, 4U);
  EXPECT_EQ(rows[1].selection, "tiny");
  EXPECT_EQ(rows[2].selection, "native");
}

TEST(Store, loses_nothing_where_jobs_end_at_once) {
  const Folder folder;
  const std::string store = folder.path() + "/made/tables";
  std::vector<std::thread> jobs;
  for (int job = 0; job < 8; ++job)
    jobs.emplace_back([&, job] {
      const std::vector<Row> rows{row_of(Bytes{2} << job)};
      EXPECT_EQ(keep_learned(store, here, rows, today), "");
    });
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(Table::load(store + "/" + learned_name(here)).rows().size(), 8U);
}

TEST(Store, leaves_a_corrupt_file_as_it_is) {
  const Folder folder;
  const std::string path = folder.path() + "/" + learned_name(here);
  std::ofstream(path) << "not JSON";
  const std::string trouble = keep_learned(folder.path(), here, std::vector<Row>{row_of(4)}, today);
  EXPECT_NE(trouble.find("espalier table forget"), std::string::npos);
  EXPECT_EQ(read(path), "not JSON");
}

TEST(Store, what_a_job_that_was_killed_has_left_goes_with_the_next) {
  const Folder folder;
  const std::string draft = folder.path() + "/." + learned_name(here) + ".draft";
  std::ofstream(draft) << "half of a ta";
  EXPECT_EQ(keep_learned(folder.path(), here, std::vector<Row>{row_of(4)}, today), "");
  EXPECT_NE(access(draft.c_str(), F_OK), 0);
  EXPECT_EQ(Table::load(folder.path() + "/" + learned_name(here)).rows().size(), 1U);
}

TEST(Store, says_where_it_cannot_write) {
  EXPECT_NE(keep_learned("/proc/nowhere", here, std::vector<Row>{row_of(4)}, today).find("/proc/nowhere"),
            std::string::npos);
}

TEST(Store, has_a_file_for_each_signature_by_a_name_that_says_whose_it_is) {
  Signature other = here;
  other.machine = "Model Y, 8 processors";
  EXPECT_TRUE(learned_name(here).starts_with("learned-mpich-version-5-"));
  EXPECT_NE(learned_name(here), learned_name(other));
  EXPECT_TRUE(is_learned_name("/home/ann/.config/espalier/tables/" + learned_name(here)));
  EXPECT_FALSE(is_learned_name("/home/ann/learned-tables/mpich.json"));
}

TEST(Store, is_found_by_its_setting_and_read_only_if_asked_for) {
  const Folder folder;
  const std::string learned = folder.path() + "/" + learned_name(here);
  std::ofstream(learned) << text_of(here, {});
  EXPECT_EQ(probe_store("off"), "");
  EXPECT_EQ(probe_store(folder.path()), folder.path());
  EXPECT_EQ(probe_table_files("/t.json", folder.path()), (std::vector<std::string>{"/t.json", learned}));
  EXPECT_EQ(probe_table_files("off", folder.path()), (std::vector<std::string>{learned}));
  EXPECT_EQ(probe_table_files("/t.json", "off"), (std::vector<std::string>{"/t.json"}));
}

TEST(Store, says_when_a_row_was_learned_and_how_many_jobs_have_found_the_same) {
  const Folder folder;
  for (int job = 0; job < 3; ++job)
    EXPECT_EQ(keep_learned(folder.path(), here, std::vector{row_of(4)}, today + job), "");
  EXPECT_EQ(keep_learned(folder.path(), here, std::vector{row_of(64)}, today), "");
  const Table table = Table::load(folder.path() + "/" + learned_name(here));
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(format_day(table.rows()[0].day), "2026-11-28");
  EXPECT_EQ(table.rows()[0].jobs, 3);
  EXPECT_EQ(table.rows()[1].jobs, 1);
  keep_learned(folder.path(), here, std::vector{row_of(4, "tiny")}, today);
  EXPECT_EQ(Table::load(folder.path() + "/" + learned_name(here)).rows()[0].jobs, 1) << "another has won";
}

TEST(Store, takes_the_word_of_three_jobs_for_thirty_days) {
  const auto is_sure = [](int jobs, int days, const Signature& learned_with = here) {
    Row row = row_of(4);
    row.day = today;
    row.jobs = jobs;
    const std::vector<TableText> texts{{"learned", text_of(learned_with, {row})}};
    return select_tables(texts, here, "", today + days).table->rows().front().is_sure();
  };
  EXPECT_FALSE(is_sure(1, 0));
  EXPECT_FALSE(is_sure(2, 0));
  EXPECT_TRUE(is_sure(3, 0));
  EXPECT_TRUE(is_sure(3, 30));
  EXPECT_FALSE(is_sure(3, 31)) << "a network may have been rebuilt";
  EXPECT_FALSE(is_sure(3, 0, {here.machine, "MPICH Version: 5.1.0"})) << "another release";
}

TEST(Store, takes_the_word_of_who_measures) {
  Row row = row_of(4);
  row.number = 1;
  EXPECT_TRUE(row.is_sure());
  row.is_learned = true;
  EXPECT_FALSE(row.is_sure()) << "no job says that it found the same";
}

TEST(Day, is_told_as_a_date) {
  EXPECT_EQ(format_day(0), "1970-01-01");
  EXPECT_EQ(format_day(parse_day("2028-02-29")), "2028-02-29");
  for (const char* wrong : {"", "2027-02-29", "26-11-2026", "2026-11-26 ", "2026-13-01", "1969-12-31"})
    EXPECT_THROW(parse_day(wrong), Error) << wrong;
  EXPECT_GT(probe_day(), parse_day("2026-01-01"));
}
