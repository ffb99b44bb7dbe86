#include "fabric/queries/engine.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "fabric/texts.hpp"

namespace espalier::fabric {
namespace {

const auto kNow = std::chrono::system_clock::now();

std::string ask(Engine& engine, std::string_view line) {
  std::string reply;
  engine.answer(line, reply);
  return reply;
}

class AnEngine : public testing::Test {
 protected:
  AnEngine() { engine.publish(load_texts({kSquare, kSquareTables}), kNow - std::chrono::seconds(90)); }
  std::string reply(std::string_view line) { return ask(engine, line); }
  Engine engine;
};

TEST_F(AnEngine, AnswersThePapersQueryWithTheSwitchesOnTheWay) {
  EXPECT_EQ(reply("query a:b"), "a 0x00000000000000a1 0x00000000000000b2 0x00000000000000a2 b\n");
  EXPECT_EQ(reply("query 0xd2 a/1\r"), "0xd2 0x00000000000000a2 0x00000000000000b1 0x00000000000000a1 a/1\n");
  EXPECT_EQ(reply("query a:a"), "a a\n");
}

TEST_F(AnEngine, NamesPortsSpeedsAndTheSlowestLinkOfARoute) {
  EXPECT_EQ(reply("route a:b"),
            "a b status=ok links=4 basis=tables slowest=4xDDR gbps=16 first=4xQDR 0x00000000000000a1[1>3,4xDDR] "
            "0x00000000000000b2[1>2,4xQDR] 0x00000000000000a2[3>1,4xQDR]\n");
  EXPECT_EQ(reply("route a:a"), "a a status=self links=0 basis=tables slowest=? gbps=0 first=4xQDR\n");
}

TEST_F(AnEngine, CountsLinksOfAPairAndOfAllPairs) {
  EXPECT_EQ(reply("hops a:b"), "4\n");
  EXPECT_EQ(reply("matrix hops a b"), "matrix 2 hops\n0 4\n4 0\n");
  EXPECT_EQ(reply("matrix combined:1000 a b"), "matrix 2 combined:1000\n0 2.745\n2.495 0\n");
  EXPECT_EQ(reply("matrix hops b"), "matrix 1 hops\n0\n");
}

// a and b, 4 links apart, each alone at its switch: two classes, and of each direction its slowest link. A cable of a's
// switch is slower than those of b's.
TEST_F(AnEngine, TellsAJobClassesInsteadOfPairs) {
  EXPECT_EQ(reply("classes a b"),
            "classes 8 2 2 3\n0 1\n0 1\n0.00016666666666666666 0.000125\n"
            "0 0\n2.245 5e-04\n2.245 0.00025\n0 1\n2 0\n");
  EXPECT_EQ(reply("classes b"), "classes 5 1 1 1\n0\n0\n0.000125\n0 0\n0\n");
}

TEST_F(AnEngine, SaysHowManyLinesFollow) {
  EXPECT_EQ(reply("hosts"), "hosts 2\na\nb\n");
  EXPECT_TRUE(reply("version").starts_with("version 1 "));
  for (const auto* line : {"stats", "help"}) {
    const auto text = reply(line);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_TRUE(text.starts_with(std::string(line) + " " + std::to_string(lines - 1) + "\n")) << text;
  }
  EXPECT_EQ(reply(""), "");
  EXPECT_EQ(reply(" \t\r"), "");
}

TEST_F(AnEngine, HasACodeForEveryError) {
  const std::pair<const char*, const char*> errors[] = {
      {"hello", "unknown-command"},        {"query a", "bad-request"},      {"query a:z", "unknown-host"},
      {"hops a:0xa1", "unknown-host"},     {"matrix hops", "bad-request"},  {"matrix", "bad-request"},
      {"classes", "bad-request"},          {"classes a z", "unknown-host"}, {"matrix far a", "unknown-metric"},
      {"matrix hops a z", "unknown-host"}, {"stats x", "bad-request"},
  };
  for (const auto& [line, code] : errors) {
    const auto text = reply(line);
    EXPECT_TRUE(text.starts_with("error " + std::string(code) + " ")) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
  std::string many = "matrix hops";
  for (std::size_t host = 0; host <= kMostMatrixHosts; ++host) many += " a";
  EXPECT_TRUE(reply(many).starts_with("error too-many-hosts "));
  EXPECT_TRUE(reply(many.replace(0, 11, "classes")).starts_with("error too-many-hosts "));
  EXPECT_LT(reply("query a:" + std::string(100000, 'z')).size(), 400U);
}

TEST_F(AnEngine, SaysWhereARouteEnds) {
  engine.publish(load_texts({kSquare, replaced(kSquareTables, "0x0005 001\n0x0006 003", "0x0005 001\n0x0006 255")}),
                 kNow);
  EXPECT_TRUE(reply("query a:b").starts_with("error no-entry switch 0x00000000000000a1 ")) << reply("query a:b");
  EXPECT_EQ(reply("matrix hops a b"), "matrix 2 hops\n0 inf\n4 0\n");
}

TEST_F(AnEngine, WeighsWhatTakesLonger) {
  for (const auto* line : {"query a:b", "stats", "help", "nonsense", ""}) EXPECT_FALSE(engine.weigh(line)) << line;
  EXPECT_TRUE(engine.weigh("hosts"));
  EXPECT_GE(engine.weigh("matrix hops a b a b")->bytes, reply("matrix hops a b a b").size());
  EXPECT_GE(engine.weigh("classes a b a b")->bytes, reply("classes a b a b").size());
  engine.publish(load_texts({kSquare}), kNow);
  EXPECT_TRUE(engine.weigh("query a:b")) << "without tables a route is a search";
}

TEST_F(AnEngine, KeepsTheLastGoodSnapshotAndSaysWhy) {
  EXPECT_NE(reply("stats").find("\ntrouble -\n"), std::string::npos);
  engine.reject("truncated:\nit ends in the middle");
  EXPECT_EQ(reply("hops a:b"), "4\n");
  EXPECT_NE(reply("stats").find("\ntrouble truncated:?it ends in the middle\n"), std::string::npos) << reply("stats");
  EXPECT_NE(reply("stats").find("\ndata_age_seconds 9"), std::string::npos);
  engine.publish(load_texts({kSquare}), kNow);
  EXPECT_NE(reply("stats").find("\ntrouble -\n"), std::string::npos);
  EXPECT_NE(reply("stats").find("snapshot 2\n"), std::string::npos);
}

TEST(Engine, HasNoAnswerBeforeItHasData) {
  Engine engine;
  for (const auto* line : {"query a:b", "hosts", "matrix hops a", "classes a"})
    EXPECT_TRUE(ask(engine, line).starts_with("error no-data ")) << line;
  EXPECT_TRUE(ask(engine, "stats").find("snapshot 0\n") != std::string::npos);
}

TEST(Engine, AnswersFromOneSnapshotWhileOthersArePublished) {
  const auto before = load_texts({kSquare, kSquareTables});
  const auto after = load_texts({kSquare, replaced(kSquareTables, "0x0006 003", "0x0006 002")});
  Engine engine;
  engine.publish(before, kNow);
  const auto first = ask(engine, "query a:b");
  std::atomic<bool> stop = false;
  std::atomic<int> odd = 0;
  std::thread reader([&] {
    while (!stop) {
      const auto reply = ask(engine, "query a:b");
      odd += reply != first && reply != "a 0x00000000000000a1 0x00000000000000b1 0x00000000000000a2 b\n";
    }
  });
  for (int round = 0; round < 200; ++round) engine.publish(round % 2 == 0 ? after : before, kNow);
  stop = true;
  reader.join();
  EXPECT_EQ(odd, 0);
}

}  // namespace
}  // namespace espalier::fabric
