// bench_ucx tcp|sm [flushed] [zero_copy_from=BYTES] [ring=BYTES]: latency and bandwidth of the UCX transport between
// two processes of this machine, each on a core of its own. bench_ucx_mpi measures the same with MPI's point-to-point.

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "timing.hpp"
#include "transports/ucx/ucx.hpp"

namespace {

using namespace espalier;
using Network = transports::UcxNetwork;

constexpr std::array<Bytes, 9> sizes{1, 8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
constexpr std::uint32_t window = 16;  // messages under way when bandwidth is measured

struct Shared {
  struct {
    std::atomic<std::uint32_t> bytes;
    std::array<std::byte, 4096> text;
  } addresses[2];
};

std::vector<std::vector<std::byte>> exchange(Shared& shared, int me, const std::vector<std::byte>& mine) {
  std::memcpy(shared.addresses[me].text.data(), mine.data(), mine.size());
  shared.addresses[me].bytes = static_cast<std::uint32_t>(mine.size());
  std::vector<std::vector<std::byte>> all;
  for (auto& place : shared.addresses) {
    while (place.bytes == 0) sched_yield();
    all.emplace_back(place.text.begin(), place.text.begin() + place.bytes);
  }
  return all;
}

// Spins, then yields, for machines that have other things to do; bench_ucx_mpi does the same.
void finish(Network& network, std::uint32_t slot) {
  for (int attempt = 1;; ++attempt) {
    const Network::Progress progress = network.test(slot);
    if (progress == Network::Progress::complete) return;
    if (progress == Network::Progress::broken) throw Error("the peer is gone");
    if (attempt % 100 == 0) sched_yield();
  }
}

void send(Network& network, Rank to, const std::vector<std::byte>& data, Bytes bytes, std::uint32_t slot = 0) {
  if (!network.start_send(slot, to, data.data(), bytes)) throw Error("a send could not start");
}

void receive(Network& network, Rank from, std::vector<std::byte>& data, Bytes bytes, std::uint32_t slot = 0) {
  if (!network.start_recv(slot, from, data.data(), bytes)) throw Error("a receipt could not start");
}

// Half a round trip, in microseconds.
double latency(Network& network, int me, std::vector<std::byte>& data, Bytes bytes) {
  const Rank peer(1 - me);
  std::vector<double> times;
  for (int i = 0; i < (bytes > 65536 ? 300 : 3000); ++i) {
    times.push_back(microseconds([&] {
                      for (int turn = 0; turn < 2; ++turn) {
                        (turn == me) ? send(network, peer, data, bytes) : receive(network, peer, data, bytes);
                        finish(network, 0);
                      }
                    }) /
                    2);
  }
  return median(times);
}

// Megabytes a second, one way.
double bandwidth(Network& network, int me, std::vector<std::byte>& data, Bytes bytes) {
  const Rank peer(1 - me);
  std::vector<double> rates;
  for (int i = 0; i < 60; ++i) {
    const double took = microseconds([&] {
      for (std::uint32_t slot = 0; slot < window; ++slot)
        me == 0 ? send(network, peer, data, bytes, slot) : receive(network, peer, data, bytes, slot);
      for (std::uint32_t slot = 0; slot < window; ++slot) finish(network, slot);
      me == 0 ? receive(network, peer, data, 1) : send(network, peer, data, 1);
      finish(network, 0);
    });
    rates.push_back(static_cast<double>(window * bytes) / took);
  }
  return median(rates);
}

void run(Shared& shared, int me, const transports::UcxOptions& options) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(me, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  const auto network = Network::open(Rank(me), 2, options);
  network->connect(exchange(shared, me, network->address()));
  network->reserve(window);
  std::vector<std::byte> data(sizes.back(), std::byte{1});
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (me == 0) std::printf("%9s %12s %10s\n", "bytes", "latency/us", "MB/s");
  for (const Bytes bytes : sizes) {
    const double time = latency(*network, me, data, bytes), rate = bandwidth(*network, me, data, bytes);
    if (me == 0) std::printf("%9llu %12.2f %10.0f\n", static_cast<unsigned long long>(bytes), time, rate);
  }
}

transports::UcxOptions parse(const std::string& wire, std::span<char*> arguments) {
  transports::UcxOptions options{.shared_memory = wire == "sm"};
  for (const std::string argument : arguments) {
    if (argument == "flushed") options.one_write = false;
    if (argument.starts_with("zero_copy_from=")) options.zero_copy_from = std::stoull(argument.substr(15));
    if (argument.starts_with("ring=")) options.ring = std::stoull(argument.substr(5));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wire = argc > 1 ? argv[1] : "";
  if (wire != "tcp" && wire != "sm") {
    std::fprintf(stderr, "usage: %s tcp|sm [flushed] [zero_copy_from=BYTES] [ring=BYTES]\n", argv[0]);
    return 2;
  }
  setenv("UCX_TLS", (wire + ",self").c_str(), 0);
  const transports::UcxOptions options = parse(wire, std::span(argv + 2, static_cast<std::size_t>(argc - 2)));
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = fork();
  int status = 0;
  try {
    run(*static_cast<Shared*>(memory), child == 0 ? 1 : 0, options);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  if (child != 0) waitpid(child, nullptr, 0);
  return status;
}
