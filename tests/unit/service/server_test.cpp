#include "service/server.hpp"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "fabric/queries/client.hpp"
#include "fabric/texts.hpp"

namespace espalier::service {
namespace {

using namespace std::chrono_literals;
using fabric::Client;
using fabric::kSquare;
using fabric::kSquareTables;
using fabric::load_texts;
using Tcp = asio::ip::tcp;

const auto kNow = std::chrono::system_clock::now();

// A raw connection, for what a well-behaved client would not do.
class Wire {
 public:
  explicit Wire(int port, asio::ip::address_v4 from = asio::ip::address_v4::loopback()) : socket_(io_) {
    socket_.open(Tcp::v4());
    socket_.bind({from, 0});
    socket_.connect({asio::ip::address_v4::loopback(), static_cast<asio::ip::port_type>(port)});
  }

  void say(std::string_view text) {
    asio::error_code ignored;  // the server may have had enough
    asio::write(socket_, asio::buffer(text), ignored);
  }
  /// The next line; empty at the end of the connection.
  std::string hear() {
    asio::error_code error;
    const auto size = asio::read_until(socket_, asio::dynamic_buffer(received_), '\n', error);
    if (error) return "";
    const auto line = received_.substr(0, size - 1);
    received_.erase(0, size);
    return line;
  }
  bool has_heard() { return !received_.empty() || socket_.available() > 0; }
  void end_sending() { socket_.shutdown(Tcp::socket::shutdown_send); }

 private:
  asio::io_context io_;
  Tcp::socket socket_;
  std::string received_;
};

class AServer : public testing::Test {
 protected:
  AServer() { engine.publish(load_texts({kSquare, kSquareTables}), kNow); }
  int start(const Limits& limits = {}) {
    server.emplace(engine, limits);
    const int port = server->listen_tcp("127.0.0.1", 0);
    server->start();
    return port;
  }
  void wait_until(const std::function<bool()>& holds) {
    for (int round = 0; round < 6000 && !holds(); ++round) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(holds());
  }
  std::string matrix_request(std::size_t hosts) {
    std::string request = "matrix hops";
    for (std::size_t host = 0; host < hosts; ++host) request += host % 2 == 0 ? " a" : " b";
    return request + "\n";
  }

  fabric::Engine engine;
  std::optional<Server> server;
};

TEST_F(AServer, AnswersRequestsInTheirOrderHoweverTheyArrive) {
  Wire wire(start());
  std::string requests;
  for (int round = 0; round < 2000; ++round) requests += "hops a:b\r\n\nhops a:a\nmatrix hops a\n";
  std::thread sender([&] {
    for (std::size_t at = 0; at < requests.size(); at += 1009) wire.say(std::string_view(requests).substr(at, 1009));
    wire.end_sending();
  });
  for (int round = 0; round < 2000; ++round)
    for (const auto* line : {"4", "0", "matrix 1 hops", "0"}) ASSERT_EQ(wire.hear(), line) << round;
  EXPECT_EQ(wire.hear(), "");
  sender.join();
}

TEST_F(AServer, ServesTheLibrarysClientThroughBothDoors) {
  const auto path = (std::filesystem::temp_directory_path() / ("espalier-door-" + std::to_string(getpid()))).string();
  server.emplace(engine, Limits{});
  const int port = server->listen_tcp("localhost", 0);
  server->listen_unix(path);
  server->start();
  for (const auto& address : {"localhost:" + std::to_string(port), path}) {
    Client client(address, 5s);
    std::vector<double> delays;
    const std::vector<std::string> hosts = {"a", "b"};
    ASSERT_TRUE(client.ask_matrix(hosts, {}, delays)) << client.error();
    EXPECT_EQ(delays, (std::vector<double>{0, 4, 4, 0}));
    std::string reply;
    ASSERT_TRUE(client.ask("query b:a", reply)) << client.error();
    EXPECT_FALSE(client.ask("query a:z", reply));
    EXPECT_NE(client.error().find("unknown-host"), std::string::npos) << client.error();
  }
  server->stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(AServer, TakesASocketOverFromADeadServerButNotFromALiveOne) {
  const auto path = (std::filesystem::temp_directory_path() / ("espalier-left-" + std::to_string(getpid()))).string();
  {
    asio::io_context io;
    asio::local::stream_protocol::acceptor left(io, asio::local::stream_protocol::endpoint(path));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  Server first(engine, {}), second(engine, {});
  first.listen_unix(path);
  first.start();
  EXPECT_THROW(second.listen_unix(path), Error);
  first.stop();
  std::ofstream(path) << "a file of somebody";
  EXPECT_THROW(second.listen_unix(path), Error);
  std::filesystem::remove(path);
}

TEST_F(AServer, SaysWhyItCannotListen) {
  Server other(engine, {});
  EXPECT_THROW(other.listen_tcp("no such host", 1), Error);
  EXPECT_THROW(other.listen_tcp("127.0.0.1", start()), Error);
  EXPECT_THROW(other.listen_unix("/nonexistent/socket"), Error);
  EXPECT_THROW(other.listen_unix("/" + std::string(500, 'x')), Error);
}

TEST_F(AServer, AMatrixKeepsNobodyWaiting) {
  const int port = start();
  Wire large(port), small(port);
  large.say(matrix_request(4096));
  for (int round = 0; round < 20; ++round) {
    small.say("hops a:b\n");
    EXPECT_EQ(small.hear(), "4");
  }
  EXPECT_FALSE(large.has_heard());
  EXPECT_EQ(large.hear(), "matrix 4096 hops");
}

// What a job asks is answered while others keep asking for as much as can be asked.
TEST_F(AServer, AJobsQuestionIsAnsweredWhileEightClientsRepeatTheLargestMatrix) {
  const int port = start();
  std::atomic<bool> stop = false;
  std::vector<std::thread> clients;
  for (int index = 0; index < 8; ++index)
    clients.emplace_back([&] {
      Wire wire(port);
      for (bool goes_on = true; goes_on;) {
        wire.say(matrix_request(4096));
        auto line = wire.hear();
        // Told that there is no room, it insists.
        for (int rows = line.starts_with("matrix ") ? 4096 : 0; rows > 0 && !line.empty(); --rows) line = wire.hear();
        goes_on = !stop && !line.empty();
      }
    });
  wait_until([&] { return engine.counters().connections >= 8; });
  std::this_thread::sleep_for(300ms);
  const std::vector<std::string> hosts(64, "a");
  for (int round = 0; round < 5; ++round) {
    Client job("127.0.0.1:" + std::to_string(port), 2s);
    fabric::ClassDelays delays;
    EXPECT_TRUE(job.ask_classes(hosts, delays)) << job.error();
  }
  stop = true;
  server.reset();
  for (auto& client : clients) client.join();
}

TEST_F(AServer, LeavesMemoryToThoseWhoNeedLittleHoweverManyAskForMuch) {
  Limits limits;
  limits.memory = 64 << 20;
  const int port = start(limits);
  std::vector<std::unique_ptr<Wire>> greedy;
  for (int index = 0; index < 20; ++index) {
    greedy.push_back(std::make_unique<Wire>(port));
    greedy.back()->say(matrix_request(1024));
  }
  wait_until([&] { return engine.counters().connections == 20; });
  Client job("127.0.0.1:" + std::to_string(port), 5s);
  fabric::ClassDelays delays;
  for (int round = 0; round < 20; ++round)
    ASSERT_TRUE(job.ask_classes(std::vector<std::string>{"a", "b"}, delays)) << job.error();
}

TEST_F(AServer, ReloadsUnderLoadLoseNoRequest) {
  const int port = start();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, answered = 0;
  std::vector<std::thread> clients;
  for (int index = 0; index < 4; ++index)
    clients.emplace_back([&] {
      Client client("127.0.0.1:" + std::to_string(port), 10s);
      std::string reply;
      for (; !stop; ++answered) wrong += !client.ask("hops a:b", reply) || reply != "4";
    });
  const auto fabric = load_texts({kSquare, kSquareTables});
  for (int round = 0; round < 300; ++round) {
    round % 3 == 0 ? engine.reject("truncated") : engine.publish(fabric, kNow);
    std::this_thread::sleep_for(1ms);
  }
  stop = true;
  for (auto& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answered, 100);
}

TEST_F(AServer, EndsAConnectionThatIsSilentAmidARequest) {
  Limits limits;
  limits.slow = 200ms;
  const int port = start(limits);
  Wire idle(port), half(port), drop_by_drop(port);
  half.say("hops a:b\nhops a");
  EXPECT_EQ(half.hear(), "4");
  EXPECT_TRUE(half.hear().starts_with("error too-slow "));
  EXPECT_EQ(half.hear(), "");
  const auto begin = std::chrono::steady_clock::now();
  while (!drop_by_drop.has_heard() && std::chrono::steady_clock::now() - begin < 5s) {
    drop_by_drop.say("x");
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(drop_by_drop.hear().starts_with("error too-slow "));
  idle.say("hops a:b\n");
  EXPECT_EQ(idle.hear(), "4");
}

TEST_F(AServer, EndsAConnectionThatDoesNotReadItsReply) {
  Limits limits;
  limits.slow = 200ms;
  Wire wire(start(limits));
  wire.say(matrix_request(4000));
  wait_until([&] { return engine.counters().connections == 1; });
  wait_until([&] { return engine.counters().connections == 0; });
  EXPECT_EQ(engine.counters().too_slow, 1U);
}

TEST_F(AServer, RefusesALineWithoutEndAndSaysSo) {
  const int port = start();
  Wire wire(port);
  wire.say("hops a:b\n");
  EXPECT_EQ(wire.hear(), "4");
  for (int piece = 0; piece < 64; ++piece) wire.say(std::string(64 << 10, 'x'));
  EXPECT_TRUE(wire.hear().starts_with("error too-long "));
  EXPECT_EQ(wire.hear(), "");
  Wire with_end(port);
  with_end.say("query a:" + std::string(fabric::kLongestRequest, 'x') + "\n");
  EXPECT_TRUE(with_end.hear().starts_with("error too-long "));
}

TEST_F(AServer, TakesNoMoreConnectionsThanItsLimit) {
  Limits limits;
  limits.connections = 2;
  const int port = start(limits);
  {
    Wire first(port), second(port);
    wait_until([&] { return engine.counters().connections == 2; });
    Wire third(port);
    EXPECT_TRUE(third.hear().starts_with("error busy "));
    EXPECT_EQ(third.hear(), "");
  }
  wait_until([&] { return engine.counters().connections == 0; });
  Wire again(port);
  again.say("hops a:b\n");
  EXPECT_EQ(again.hear(), "4");
}

TEST_F(AServer, TakesNoMoreConnectionsOfOneAddressThanItsLimit) {
  Limits limits;
  limits.per_address = 2;
  const int port = start(limits);
  Wire first(port), second(port);
  wait_until([&] { return engine.counters().connections == 2; });
  Wire third(port);
  EXPECT_TRUE(third.hear().starts_with("error busy "));
  EXPECT_EQ(third.hear(), "");
  Wire elsewhere(port, asio::ip::make_address_v4("127.0.0.2"));
  elsewhere.say("hops a:b\n");
  EXPECT_EQ(elsewhere.hear(), "4");
}

TEST_F(AServer, WhereAnAddressHasTakenItsPlacesSilentOnesGiveThemUp) {
  Limits limits;
  limits.per_address = 4;
  limits.slow = 200ms;
  const int port = start(limits);
  Wire first(port), second(port), third(port);
  EXPECT_TRUE(first.hear().starts_with("error too-slow "));
  Wire elsewhere(port, asio::ip::make_address_v4("127.0.0.2"));
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(elsewhere.has_heard()) << "there is room: it has the time of an idle one";
}

TEST_F(AServer, HoldsNoMoreMemoryThanItsLimit) {
  Limits limits;
  limits.memory = 4 << 20;
  Wire wire(start(limits));
  wire.say(matrix_request(1024) + "hops a:b\n" + matrix_request(64));
  EXPECT_TRUE(wire.hear().starts_with("error busy "));
  EXPECT_EQ(wire.hear(), "4");
  EXPECT_EQ(wire.hear(), "matrix 64 hops");
}

TEST_F(AServer, QuitsWhenAskedTo) {
  Wire wire(start());
  wire.say("hops a:b\nquit\nhops a:b\n");
  EXPECT_EQ(wire.hear(), "4");
  EXPECT_EQ(wire.hear(), "");
}

TEST_F(AServer, StopsAmidEverything) {
  Limits limits;
  const int port = start(limits);
  std::vector<std::unique_ptr<Wire>> wires;
  for (int index = 0; index < 20; ++index) {
    wires.push_back(std::make_unique<Wire>(port));
    wires.back()->say(index % 2 == 0 ? matrix_request(3000) : "hops a");
  }
  wait_until([&] { return engine.counters().connections == 20; });
  server.reset();
  EXPECT_EQ(engine.counters().connections, 0U);
}

}  // namespace
}  // namespace espalier::service
