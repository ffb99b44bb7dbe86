// Nothing that others wrote moves a terminal's cursor.

#include "base/text.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "node 17: 3 µs", "日本", "\xf0\x9f\x8c\xb3", "a\\b"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[2Jgone\x07\n"), "\\x1b[2Jgone\\x07\\x0a");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b\x32J"), "\\xc2\\x9b2J") << "a control sequence in one character";
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Printable, ShowsBytesThatAreNoText) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc2"), "\\xc2");
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b") << "longer than it need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
}

using Parts = std::vector<std::string_view>;

TEST(Text, IsSplitIntoPartsLinesAndWords) {
  EXPECT_EQ(split("0-3,8", ','), (Parts{"0-3", "8"}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
  EXPECT_EQ(split_lines("one\n\ntwo\n"), (Parts{"one", "", "two"}));
  EXPECT_EQ(split_lines("one\ntwo"), (Parts{"one", "two"}));
  EXPECT_EQ(split_lines(""), Parts{});
  EXPECT_EQ(split_words("  max\t100000 \n"), (Parts{"max", "100000"}));
  EXPECT_EQ(split_words(" \n"), Parts{});
}

TEST(Text, IsANumberAsAWholeOrNot) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  for (const char* text : {"", " 1", "1 ", "1.5", "max", "99999999999"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), ~std::uint64_t{0});
}

TEST(Text, AsAStringOfJsonEndsNowhereElse) {
  EXPECT_EQ(json_string("a \"b\" \\ \n"), R"("a \"b\" \\ \u000a")");
  EXPECT_EQ(json_string(""), "\"\"");
}

}  // namespace
}  // namespace espalier
