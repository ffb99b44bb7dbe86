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

TEST(Text, AsAStringOfJsonEndsNowhereElse) {
  EXPECT_EQ(json_string("a \"b\" \\ \n"), R"("a \"b\" \\ \u000a")");
  EXPECT_EQ(json_string(""), "\"\"");
}

}  // namespace
}  // namespace espalier
