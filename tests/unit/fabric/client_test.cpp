#include "fabric/queries/client.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <thread>

namespace espalier::fabric {
namespace {

using namespace std::chrono_literals;

// A service that says what it is told to: per connection it reads one line, sends `reply` in pieces, and closes (or
// keeps silent until the client goes).
class Scripted {
 public:
  struct Script {
    std::string reply;
    std::size_t piece = 1 << 20;
    bool closes = true;
  };

  explicit Scripted(std::vector<Script> scripts, const std::string& path = {}) : path_(path) {
    listen_at(path);
    thread_ = std::thread([this, scripts = std::move(scripts)] {
      for (const auto& script : scripts) serve(script);
    });
  }
  ~Scripted() {
    thread_.join();
    close(listener_);
    if (!path_.empty()) unlink(path_.c_str());
  }

  std::string address() const { return path_.empty() ? "127.0.0.1:" + std::to_string(port_) : path_; }
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  void listen_at(const std::string& path) {
    listener_ = socket(path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    if (path.empty()) {
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof at;
      ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&at), size), 0);
      getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
      port_ = ntohs(at.sin_port);
    } else {
      sockaddr_un at{};
      at.sun_family = AF_UNIX;
      path.copy(at.sun_path, sizeof at.sun_path - 1);
      ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    }
    listen(listener_, 4);
  }

  void serve(const Script& script) {
    const int client = accept(listener_, nullptr, nullptr);
    std::string line;
    for (char c = 0; c != '\n' && read(client, &c, 1) == 1;) line += c;
    requests_.push_back(line);
    for (std::size_t at = 0; at < script.reply.size(); at += script.piece) {
      const auto piece = std::string_view(script.reply).substr(at, script.piece);
      if (send(client, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) break;
    }
    char ignored = 0;
    while (!script.closes && read(client, &ignored, 1) == 1) {
    }
    close(client);
  }

  std::string path_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<std::string> requests_;
  std::thread thread_;
};

const std::vector<std::string> kHosts = {"a", "b"};
const Question kHops;
constexpr auto kPatience = 5s;

TEST(Client, AsksForTheMatrixOfAJobInOneRoundTrip) {
  Scripted service({{"matrix 2 combined:64\n0 1.5\ninf 0\n", 3}});
  std::vector<double> delays;
  {
    Client client(service.address(), kPatience);
    ASSERT_TRUE(client.ask_matrix(kHosts, {Metric::combined, 64, {}}, delays)) << client.error();
  }
  EXPECT_EQ(delays, (std::vector<double>{0, 1.5, INFINITY, 0}));
  EXPECT_EQ(service.requests(), std::vector<std::string>{"matrix combined:64 a b\n"});
}

TEST(Client, AsksForClassesInsteadOfAMatrix) {
  Scripted service({{"classes 6 2 2 1\n0 1\n0 1\n0 0.5\n1.5 0.25\n0 0\n0 0\n", 3}});
  ClassDelays delays;
  {
    Client client(service.address(), kPatience);
    ASSERT_TRUE(client.ask_classes(kHosts, delays)) << client.error();
  }
  EXPECT_EQ(delays.way(0, 1).latency, 1.5);
  EXPECT_EQ(service.requests(), std::vector<std::string>{"classes a b\n"});
}

TEST(Client, RefusesWhatAreNoClasses) {
  const std::array<std::pair<const char*, const char*>, 3> replies = {{
      {"classes 6 2 2 1\n0 1\n0 9\n0 0.5\n1.5 0.25\n0 0\n0 0\n", "no classes of ours"},
      {"classes 6 2 2 1\n0 1\n", "closed before"},
      {"error unknown-host 'b' is no host\n", "unknown-host"},
  }};
  for (const auto& [reply, why] : replies) {
    Scripted service({{reply}});
    Client client(service.address(), kPatience);
    ClassDelays delays;
    EXPECT_FALSE(client.ask_classes(kHosts, delays)) << reply;
    EXPECT_TRUE(delays.class_of.empty());
    EXPECT_NE(client.error().find(why), std::string::npos) << client.error();
  }
}

TEST(Client, SpeaksOverASocketInTheFileSystemToo) {
  Scripted service({{"4\n"}}, "/tmp/espalier-client-test-" + std::to_string(getpid()));
  Client client(service.address(), kPatience);
  std::string reply;
  ASSERT_TRUE(client.ask("hops a:b", reply)) << client.error();
  EXPECT_EQ(reply, "4");
}

TEST(Client, RefusesWhatIsNoAnswerAndSaysWhy) {
  const std::array<std::pair<const char*, const char*>, 9> replies = {{
      {"error unknown-host 'b' is no host\n", "unknown-host"},
      {"", "closed before"},
      {"matrix 2 hops\n0 1\n", "closed before"},
      {"matrix 3 hops\n0 1\n1 0\n", "no matrix of ours"},
      {"matrix 2 hops\n0\n1 0\n", "fewer"},
      {"matrix 2 hops\n0 1 2\n1 0\n", "more numbers"},
      {"matrix 2 hops\n\n\n", "fewer"},
      {"matrix 2 hops\n0 x\n1 0\n", "something else"},
      {"matrix 2 hops\n0 nan\n1 0\n", "something else"},
  }};
  for (const auto& [reply, why] : replies) {
    Scripted service({{reply}});
    Client client(service.address(), kPatience);
    std::vector<double> delays = {7};
    EXPECT_FALSE(client.ask_matrix(kHosts, kHops, delays)) << reply;
    EXPECT_NE(client.error().find(why), std::string::npos) << client.error();
    EXPECT_TRUE(delays.empty());
  }
}

TEST(Client, RepeatsNothingThatATerminalWouldObeyAndNothingLong) {
  Scripted service({{"error busy \x1b[2J\x9b" + std::string(100'000, 'x') + "\n"}});
  Client client(service.address(), kPatience);
  std::string reply;
  EXPECT_FALSE(client.ask("version", reply));
  EXPECT_NE(client.error().find("busy \\x1b[2J\\x9bxxx"), std::string::npos) << client.error();
  EXPECT_LT(client.error().size(), 1000U);
}

TEST(Client, WaitsForASilentServiceNoLongerThanItsLimit) {
  Scripted service({{"matrix 2 hops\n0", 1, false}});
  Client client(service.address(), 50ms);
  std::vector<double> delays;
  const auto begin = Client::Clock::now();
  EXPECT_FALSE(client.ask_matrix(kHosts, kHops, delays));
  EXPECT_GE(Client::Clock::now() - begin, 45ms);
  EXPECT_NE(client.error().find("within 50 ms"), std::string::npos) << client.error();
}

TEST(Client, TakesNoReplyThatDoesNotEnd) {
  Scripted service({{std::string(8 << 20, '1')}});
  Client client(service.address(), kPatience);
  std::string reply;
  EXPECT_FALSE(client.ask("hops a:b", reply));
  EXPECT_NE(client.error().find("does not end"), std::string::npos) << client.error();
}

TEST(Client, ConnectsAnewAfterAFailure) {
  Scripted service({{""}, {"2\n"}});
  Client client(service.address(), kPatience);
  std::string reply;
  EXPECT_FALSE(client.ask("hops a:b", reply));
  EXPECT_TRUE(client.ask("hops a:b", reply)) << client.error();
  EXPECT_EQ(reply, "2");
  EXPECT_EQ(client.error(), "");
}

TEST(Client, SaysWhenNobodyIsThere) {
  std::string reply;
  for (const auto* address : {"127.0.0.1:1", "/nonexistent/socket", "nothing", "host:", ":", "", "127.0.0.1:http!"}) {
    Client client(address, 1s);
    EXPECT_FALSE(client.ask("version", reply)) << address;
    EXPECT_NE(client.error().find(address), std::string::npos);
  }
}

TEST(Client, SendsNoNameThatWouldBeAnotherRequest) {
  Client client("127.0.0.1:1", 1s);
  std::vector<double> delays;
  for (const auto* name : {"", "a b", "a\nquit"}) {
    EXPECT_FALSE(client.ask_matrix({{name}}, kHops, delays));
    EXPECT_NE(client.error().find("blanks"), std::string::npos) << client.error();
  }
}

}  // namespace
}  // namespace espalier::fabric
