#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"

namespace espalier {
namespace {

Settings read(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  return read_settings(environment.data());
}

TEST(Bytes, AreReadWithBinaryUnits) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("1MiB"), 1u << 20);
  EXPECT_EQ(parse_bytes("2gb"), Bytes{2} << 30);
}

TEST(Bytes, AreWrittenAsTheyAreRead) {
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{1000}, Bytes{1024}, Bytes{1536}, Bytes{65536}, Bytes{3} << 30})
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  EXPECT_EQ(format_bytes(65536), "64K");
}

TEST(Bytes, ThatAreNoneSayWhy) {
  for (const char* text : {"", "K", "-1", "64X", "64KK", "1.5M", "99999999999999999999", "17179869184G"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

TEST(Settings, HaveTheirDocumentedDefaults) {
  const Settings settings = read({"HOME=/nowhere"});
  EXPECT_EQ(settings.verbose, 0);
  EXPECT_EQ(settings.shm_limit, Bytes{1} << 30);
  EXPECT_EQ(settings.single_copy, CopyMeans::automatic);
  EXPECT_TRUE(settings.complaints.empty());
  EXPECT_TRUE(settings.collective_text.empty());
}

// The table shown to people and the structure used by the code must not drift apart.
TEST(Settings, DefaultsInTheTableParseToTheDefaultsInTheStructure) {
  std::vector<std::string> variables;
  for (const SettingInfo& info : setting_infos())
    variables.push_back(std::string(info.name) + "=" + info.default_value);
  const Settings from_table = read(variables);
  const Settings built_in;
  EXPECT_TRUE(from_table.complaints.empty());
  EXPECT_EQ(from_table.shm_limit, built_in.shm_limit);
  EXPECT_EQ(from_table.window, built_in.window);
  EXPECT_EQ(from_table.wait_spin, built_in.wait_spin);
  EXPECT_EQ(from_table.cache_limit, built_in.cache_limit);
  EXPECT_EQ(from_table.single_copy, built_in.single_copy);
  EXPECT_TRUE(from_table.collective_text.empty());
}

TEST(Settings, ThatAreUnknownAreNamed) {
  const Settings settings = read({"ESPALIER_VERBSE=1"});
  ASSERT_EQ(settings.complaints.size(), 1u);
  EXPECT_NE(settings.complaints[0].find("ESPALIER_VERBSE"), std::string::npos);
}

TEST(Settings, WithAWrongValueKeepTheirDefaultAndSaySo) {
  const Settings settings = read({"ESPALIER_SHM_LIMIT=lots", "ESPALIER_VERBOSE=9", "ESPALIER_SHM_WINDOW=5000"});
  EXPECT_EQ(settings.complaints.size(), 3u);
  EXPECT_EQ(settings.shm_limit, Bytes{1} << 30);
  EXPECT_NE(settings.complaints[0].find("stays in force"), std::string::npos);
}

TEST(Settings, OfSingleCopyNameItsMeans) {
  EXPECT_EQ(read({"ESPALIER_SINGLE_COPY=off"}).single_copy, CopyMeans::none);
  EXPECT_EQ(read({"ESPALIER_SINGLE_COPY=cma"}).single_copy, CopyMeans::cma);
  EXPECT_EQ(read({"ESPALIER_SINGLE_COPY=xpmem"}).single_copy, CopyMeans::xpmem);
  EXPECT_EQ(read({"ESPALIER_SINGLE_COPY=knem"}).complaints.size(), 1u);
}

TEST(Settings, OfWaitingAreKnownToAllRanks) {
  EXPECT_EQ(read({}).waiting, Waiting::auto_);
  EXPECT_EQ(read({"ESPALIER_WAIT=auto"}).waiting, Waiting::auto_);
  EXPECT_EQ(read({"ESPALIER_WAIT=yield"}).waiting, Waiting::yield);
  EXPECT_EQ(read({"ESPALIER_WAIT=spin"}).waiting, Waiting::spin);
  const Settings sleeping = read({"ESPALIER_WAIT=futex"});
  EXPECT_EQ(sleeping.waiting, Waiting::futex);
  EXPECT_FALSE(sleeping.collective_text.empty()) << "neighbours must ring for those that sleep";
  EXPECT_EQ(read({"ESPALIER_WAIT=doze"}).complaints.size(), 1u);
}

TEST(Settings, ThatAllRanksMustShareReadTheSameInAnyOrder) {
  const Settings a = read({"ESPALIER_VIRTUAL_NODES=4", "ESPALIER_VERIFY=1", "ESPALIER_VERBOSE=1"});
  const Settings b = read({"ESPALIER_VERIFY=1", "ESPALIER_VIRTUAL_NODES=4"});
  EXPECT_EQ(a.collective_text, b.collective_text);
  EXPECT_FALSE(a.collective_text.empty());
}

}  // namespace
}  // namespace espalier
