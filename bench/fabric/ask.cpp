// Asks a running topology service, as many clients or as one job.
//
//   ask queries PORT CONNECTIONS DEPTH SECONDS     DEPTH requests on the way per connection; random pairs of hosts
//   ask hold PORT CONNECTIONS ROUNDS               keeps all connections open; asks once on each, round after round
//   ask matrix PORT METRIC HOSTS ROUNDS            the library's client; HOSTS spread over all there are
//
// Prints one line of JSON.

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "fabric/queries/client.hpp"
#include "fabric/queries/request.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;
using namespace espalier;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Tcp::endpoint place(const std::string& port) {
  return {asio::ip::address_v4::loopback(), static_cast<asio::ip::port_type>(std::stoi(port))};
}

std::vector<std::string> ask_hosts(const std::string& port) {
  asio::io_context io;
  Tcp::socket socket(io);
  socket.connect(place(port));
  asio::write(socket, asio::buffer("hosts\nquit\n", 11));
  std::string text;
  asio::error_code end;
  asio::read(socket, asio::dynamic_buffer(text), end);
  std::vector<std::string> hosts;
  for (auto at = text.find('\n') + 1; at < text.size();) {
    const auto stop = text.find('\n', at);
    hosts.push_back(text.substr(at, stop - at));
    at = stop + 1;
  }
  return hosts;
}

struct Tally {
  std::size_t answered = 0, errors = 0;
  std::vector<double> batch_us;
};

/// One connection: `depth` requests, their replies, and again.
asio::awaitable<void> ask_until(Tcp::socket& socket, const std::vector<std::string>& hosts, unsigned seed,
                                std::size_t depth, Clock::time_point end, Tally& tally) {
  std::mt19937 random(seed);
  std::string request, received;
  while (Clock::now() < end) {
    request.clear();
    for (std::size_t index = 0; index < depth; ++index)
      request += "query " + hosts[random() % hosts.size()] + ":" + hosts[random() % hosts.size()] + "\n";
    const auto begin = Clock::now();
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    for (std::size_t index = 0; index < depth; ++index) {
      const auto size =
          co_await asio::async_read_until(socket, asio::dynamic_buffer(received), '\n', asio::use_awaitable);
      tally.errors += received.starts_with("error ");
      received.erase(0, size);
    }
    tally.answered += depth;
    tally.batch_us.push_back(seconds_since(begin) * 1e6);
  }
}

double percentile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

int measure_queries(const std::string& port, std::size_t connections, std::size_t depth, double seconds) {
  const auto hosts = ask_hosts(port);
  asio::io_context io{1};
  std::vector<Tcp::socket> sockets;
  for (std::size_t index = 0; index < connections; ++index) {
    sockets.emplace_back(io).connect(place(port));
    sockets.back().set_option(Tcp::no_delay(true));
  }
  Tally tally;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (std::size_t index = 0; index < connections; ++index)
    asio::co_spawn(io, ask_until(sockets[index], hosts, static_cast<unsigned>(index), depth, end, tally),
                   asio::detached);
  io.run();
  std::printf("{\"queries_per_s\": %.0f, \"answered\": %zu, \"errors\": %zu, \"p50_us\": %.0f, \"p99_us\": %.0f}\n",
              static_cast<double>(tally.answered) / seconds_since(begin), tally.answered, tally.errors,
              percentile(tally.batch_us, .5), percentile(tally.batch_us, .99));
  return tally.errors == 0 ? 0 : 1;
}

int hold_connections(const std::string& port, std::size_t connections, int rounds) {
  asio::io_context io;
  std::vector<Tcp::socket> sockets;
  const auto begin = Clock::now();
  for (std::size_t index = 0; index < connections; ++index) sockets.emplace_back(io).connect(place(port));
  const double connected = seconds_since(begin);
  std::size_t answered = 0;
  for (int round = 0; round < rounds; ++round) {
    for (auto& socket : sockets) asio::write(socket, asio::buffer("version\n", 8));
    for (auto& socket : sockets) {
      std::string line;
      asio::read_until(socket, asio::dynamic_buffer(line), '\n');
      answered += line.starts_with("version ");
    }
  }
  std::printf("{\"connect_s\": %.3f, \"answered\": %zu, \"asked\": %zu, \"all_s\": %.3f}\n", connected, answered,
              connections * static_cast<std::size_t>(rounds), seconds_since(begin));
  return answered == connections * static_cast<std::size_t>(rounds) ? 0 : 1;
}

int measure_matrix(const std::string& port, const std::string& metric, std::size_t count, int rounds) {
  const auto hosts = ask_hosts(port);
  std::vector<std::string> job;
  for (std::size_t index = 0; index < count; ++index) job.push_back(hosts[index * hosts.size() / count]);
  std::vector<double> delays, ms;
  for (int round = 0; round < rounds; ++round) {
    fabric::Client client("127.0.0.1:" + port, std::chrono::seconds(60));
    const auto begin = Clock::now();
    if (!client.ask_matrix(job, fabric::parse_metric_word(metric), delays)) {
      std::fprintf(stderr, "%s\n", client.error().c_str());
      return 1;
    }
    ms.push_back(seconds_since(begin) * 1e3);
  }
  std::printf("{\"hosts\": %zu, \"p50_ms\": %.1f, \"best_ms\": %.1f}\n", count, percentile(ms, .5), percentile(ms, 0));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  try {
    if (given.size() == 5 && given[0] == "queries")
      return measure_queries(given[1], std::stoul(given[2]), std::stoul(given[3]), std::stod(given[4]));
    if (given.size() == 4 && given[0] == "hold")
      return hold_connections(given[1], std::stoul(given[2]), std::stoi(given[3]));
    if (given.size() == 5 && given[0] == "matrix")
      return measure_matrix(given[1], given[2], std::stoul(given[3]), std::stoi(given[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ask: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: see the beginning of bench/fabric/ask.cpp\n");
  return 2;
}
