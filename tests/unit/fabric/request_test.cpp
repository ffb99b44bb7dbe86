#include "fabric/queries/request.hpp"

#include <gtest/gtest.h>

namespace espalier::fabric {
namespace {

std::string code_of(std::string_view line) {
  try {
    parse_request(line);
    return "";
  } catch (const ProtocolError& error) {
    return std::string(error.code());
  }
}

TEST(Requests, AreACommandAndItsArguments) {
  const auto request = parse_request(" \tquery  a:b \t");
  EXPECT_EQ(request.command, Command::query);
  EXPECT_EQ(request.arguments, "a:b");
  EXPECT_EQ(parse_request("stats").command, Command::stats);
}

TEST(Requests, ThatAreNoneHaveACode) {
  for (const auto* line : {"", "QUERY a:b", "queryy a:b", "\x01\xff", "error"})
    EXPECT_EQ(code_of(line), "unknown-command") << line;
  for (const auto* line : {"stats now", "hosts *", "quit 1"}) EXPECT_EQ(code_of(line), "bad-request") << line;
}

TEST(Pairs, AreSplitAtEveryColonBecauseNamesMayContainSome) {
  using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;
  EXPECT_EQ(parse_pair("a:b"), (Pairs{{"a", "b"}}));
  EXPECT_EQ(parse_pair("a:b:c"), (Pairs{{"a", "b:c"}, {"a:b", "c"}}));
  EXPECT_EQ(parse_pair("a:b c"), (Pairs{{"a:b", "c"}}));
  EXPECT_EQ(parse_pair(std::string(100000, ':')).size(), 16U);
  for (const auto* text : {"", "a", "a b c", "a: b c"}) EXPECT_THROW(parse_pair(text), ProtocolError) << text;
}

TEST(Metrics, AreWrittenAndReadBack) {
  for (const auto* text : {"hops", "latency", "speed", "adapter", "combined:65536"})
    EXPECT_EQ(format_metric(parse_metric_word(text)), text);
  for (const auto* text : {"", "hop", "hops:4", "hops:", "combined", "combined:", "combined:4K", "combined:-1"})
    EXPECT_THROW(parse_metric_word(text), ProtocolError) << text;
}

TEST(Quotes, ArePrintableAndShort) {
  EXPECT_EQ(quote("a\x01\xff\n"), "'a\?\?\?'");
  EXPECT_LT(quote(std::string(100000, 'x')).size(), 110U);
}

}  // namespace
}  // namespace espalier::fabric
