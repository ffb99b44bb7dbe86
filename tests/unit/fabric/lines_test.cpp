#include "fabric/dumps/lines.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace espalier::fabric {
namespace {

std::vector<std::string> split(const std::string& text, std::size_t piece, std::string* rest = nullptr) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at += piece)
    splitter.feed(std::string_view(text).substr(at, piece),
                  [&](std::string_view line, std::uint64_t) { lines.emplace_back(line); });
  if (rest != nullptr) *rest = splitter.rest();
  return lines;
}

TEST(LineSplitter, PiecesDoNotShow) {
  const std::string text = "one\r\n\ntwo\nthree";
  for (std::size_t piece = 1; piece < 8; ++piece) {
    std::string rest;
    EXPECT_EQ(split(text, piece, &rest), (std::vector<std::string>{"one", "", "two"})) << piece;
    EXPECT_EQ(rest, "three");
  }
}

TEST(LineSplitter, OfAnEndlessLineBothEndsStay) {
  const auto text = "begin" + std::string(2'000'000, 'x') + "end\n";
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{4097}, text.size()}) {
    const auto lines = split(text, piece);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_LE(lines[0].size(), 8192U);
    EXPECT_TRUE(lines[0].starts_with("begin"));
    EXPECT_TRUE(lines[0].ends_with("end"));
  }
}

}  // namespace
}  // namespace espalier::fabric
