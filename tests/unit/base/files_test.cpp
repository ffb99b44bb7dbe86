// What somebody named is read to its end or refused, and never waited for.

#include "base/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace espalier {
namespace {

class AFile : public testing::Test {
 protected:
  AFile() { std::filesystem::create_directory(folder_); }
  ~AFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) {
    std::ofstream(folder_ + "/file") << text;
    return folder_ + "/file";
  }
  static std::string complaint(const std::string& path, Bytes limit = 100) {
    try {
      read_file(path, limit);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  const std::string folder_ = testing::TempDir() + "espalier_files_" + std::to_string(getpid());
};

TEST(AbsolutePath, StaysWhereAFileIsMeantNow) {
  const std::string here = std::filesystem::current_path();
  EXPECT_EQ(to_absolute("a/b.json"), here + "/a/b.json");
  EXPECT_EQ(to_absolute("/dev/stdout"), "/dev/stdout");
  EXPECT_EQ(to_absolute(""), "");
}

TEST_F(AFile, IsReadWhole) {
  const std::string text = std::string("a\0b\n", 4);
  EXPECT_EQ(read_file(write(text), 4), text);
  EXPECT_EQ(read_file(write(""), 0), "");
  EXPECT_GT(read_file("/proc/self/status", 1 << 20).size(), 100U) << "it says that it has no bytes";
}

TEST_F(AFile, ThatIsTooLargeIsRefusedByNameAndBound) {
  EXPECT_NE(complaint(write("12345"), 4).find("/file: is larger than the 4 "), std::string::npos);
  EXPECT_NE(complaint("/proc/self/status", 10).find("is larger than the 10 "), std::string::npos);
}

TEST_F(AFile, ThatIsNoneIsRefusedAtOnce) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(complaint(pipe).find("cannot be read (it is no regular file)"), std::string::npos);
  EXPECT_NE(complaint("/dev/zero").find("cannot be read (it is no regular file)"), std::string::npos);
  EXPECT_NE(complaint(folder_).find("cannot be read (it is a folder)"), std::string::npos);
  EXPECT_NE(complaint(folder_ + "/none").find("cannot be read (No such file"), std::string::npos);
}

TEST(ReplaceFile, LeavesTheNewTextAndNoDraft) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("espalier_replace_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "file";
  EXPECT_EQ(replace_file(path, "old"), "");
  EXPECT_EQ(replace_file(path, "new"), "");
  EXPECT_EQ(read_file(path, 100), "new");
  const auto files = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  std::filesystem::remove_all(folder);
}

TEST(ReplaceFile, IsForeseenAndLeavesNothing) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("espalier_foresee_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  EXPECT_EQ(probe_replacing(folder / "file"), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(probe_replacing("/nonexistent/file"), replace_file("/nonexistent/file", "text"));
  EXPECT_EQ(probe_replacing(folder), replace_file(folder, "text"));
  std::filesystem::remove_all(folder);
}

TEST(ReplaceFile, LeavesLinksAndReplacesWhatTheyLeadTo) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("espalier_link_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "file", link = folder / "link";
  ASSERT_EQ(replace_file(file, "old"), "");
  std::filesystem::create_symlink(file, link);
  EXPECT_EQ(probe_replacing(link), "");
  EXPECT_EQ(replace_file(link, "new"), "");
  EXPECT_EQ(read_file(file, 100), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  std::filesystem::remove_all(folder);
}

TEST(ReplaceFile, WritesIntoAPipeThatStaysOneAndWaitsForNobodyToReadIt) {
  const std::string pipe = std::string(testing::TempDir()) + "/espalier_pipe_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(replace_file(pipe, "text"), "") << "nobody has opened the other end";
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(probe_replacing(pipe), "");
  EXPECT_EQ(replace_file(pipe, "text"), "");
  char got[8] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 4);
  EXPECT_STREQ(got, "text");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  close(reader);
  unlink(pipe.c_str());
}

TEST(ReplaceFile, NamesTheFileItCannotWrite) {
  const std::string trouble = replace_file("/nonexistent/statistics", "text");
  EXPECT_NE(trouble.find("/nonexistent/statistics"), std::string::npos);
  EXPECT_NE(trouble.find("No such file"), std::string::npos);
}

TEST_F(AFile, OfTheSystemIsReadOrEmpty) {
  EXPECT_EQ(read_system_file(write("max 100000\nmore\n")), "max 100000\nmore\n");
  EXPECT_EQ(read_first_line(write("max 100000\nmore\n")), "max 100000");
  EXPECT_EQ(read_first_line(write("no end")), "no end");
  EXPECT_EQ(read_system_file(write(std::string(10'000, 'x'))).size(), 10'000u);
  EXPECT_EQ(read_system_file("/nowhere"), "");
  EXPECT_EQ(read_system_file("/proc"), "") << "a folder";
  EXPECT_TRUE(read_system_file("/proc/self/stat").starts_with(std::to_string(getpid()) + " "));
}

}  // namespace
}  // namespace espalier
