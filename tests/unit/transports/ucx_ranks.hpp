#pragma once
// Ranks as processes of their own, which find each other through a page they share: UCX without MPI.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transports/ucx/ucx.hpp"

namespace espalier::transports::testing {

using Progress = execute::Network::Progress;

/// What all ranks see. Zero to begin with.
struct Board {
  static constexpr int most_ranks = 8;
  struct Address {
    std::atomic<std::uint32_t> bytes;
    std::array<std::byte, 4096> text;
  };
  std::array<Address, most_ranks> addresses;
  std::array<std::atomic<int>, 8> counters;  ///< for the test
};

/// One rank's view of a test.
struct Ranks {
  Board& board;
  Rank me;
  int size;
  UcxNetwork& network;

  Progress wait(std::uint32_t slot) const {
    for (;;) {
      const Progress progress = network.test(slot);
      if (progress != Progress::pending) return progress;
      sched_yield();
    }
  }
  bool finish(std::uint32_t slot) const { return wait(slot) == Progress::complete; }
  /// Waits for all ranks to come by, without any progress of messages.
  void meet(int counter) const {
    for (++board.counters[counter]; board.counters[counter] < size;) sched_yield();
  }
  /// Whether to go on after `done` repetitions, the same on all ranks, which all ask: no longer than ten seconds. On a
  /// busy machine every message between processes may take a scheduler's time slice.
  bool goes_on(int done) const {
    constexpr int apart = 100;
    if (done % apart != 0) return true;
    auto &met = board.counters[7], &end = board.counters[6];
    if (me == Rank(0) && std::chrono::steady_clock::now() > patience) end = done;
    for (++met; met < size * (done / apart + 1);) {
      network.progress();  // a peer's flush may need it
      sched_yield();
    }
    return end == 0 || done < end;
  }
  std::chrono::steady_clock::time_point patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
};

inline std::vector<std::vector<std::byte>> exchange(Board& board, Rank me, int size,
                                                    const std::vector<std::byte>& mine) {
  auto& place = board.addresses[static_cast<std::size_t>(me.value)];
  std::memcpy(place.text.data(), mine.data(), mine.size());
  place.bytes = static_cast<std::uint32_t>(mine.size());
  std::vector<std::vector<std::byte>> all;
  for (int rank = 0; rank < size; ++rank) {
    auto& theirs = board.addresses[static_cast<std::size_t>(rank)];
    while (theirs.bytes == 0) sched_yield();
    all.emplace_back(theirs.text.begin(), theirs.text.begin() + theirs.bytes);
  }
  return all;
}

/// Runs `body` on `size` processes that are connected over UCX_TLS=`tls`; its answer says whether all was well. A rank
/// that takes longer than a minute is killed. Returns each rank's wait status.
inline std::vector<int> run_ranks(int size, const std::string& tls, const UcxOptions& options,
                                  const std::function<bool(const Ranks&)>& body) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& board = *static_cast<Board*>(memory);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    alarm(60);
    setenv("UCX_TLS", tls.c_str(), 1);
    setenv("UCX_LOG_LEVEL", "fatal", 0);  // it announces peers that go as errors; here they are the test
    setenv("UCX_KEEPALIVE_INTERVAL", "1s", 1);
    bool is_well = false;
    try {
      const auto network = UcxNetwork::open(Rank(rank), size, options);
      network->connect(exchange(board, Rank(rank), size, network->address()));
      network->reserve(64);
      is_well = body({board, Rank(rank), size, *network});
    } catch (const Error& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    }
    _exit(is_well ? 0 : 1);
  }
  std::vector<int> statuses;
  for (const pid_t pid : pids) {
    int status = -1;
    waitpid(pid, &status, 0);
    statuses.push_back(status);
  }
  munmap(memory, sizeof(Board));
  return statuses;
}

inline bool all_well(const std::vector<int>& statuses) {
  for (const int status : statuses)
    if (status != 0) return false;
  return true;
}

/// Byte `offset` of the `number`-th message from one rank.
inline std::byte pattern(int from, int number, Bytes offset) {
  return static_cast<std::byte>(static_cast<Bytes>(from) * 151 + static_cast<Bytes>(number) * 37 + offset * 7 +
                                (offset >> 8) * 13 + 1);
}

inline std::vector<std::byte> message(int from, int number, Bytes bytes) {
  std::vector<std::byte> data(bytes);
  for (Bytes i = 0; i < bytes; ++i) data[i] = pattern(from, number, i);
  return data;
}

/// Which networks to test: what UCX may use, and how.
struct Wire {
  const char* tls;
  bool one_write = false;
  bool shared_memory = false;

  UcxOptions options() const { return {.one_write = one_write, .shared_memory = shared_memory}; }
};

// Over tcp UCX emulates writes; in posix and sysv segments a peer stores itself; cma copies large messages.
inline const auto wires = ::testing::Values(Wire{"tcp,self"}, Wire{"tcp,self", true}, Wire{"sm,self", false, true},
                                            Wire{"posix,self", false, true}, Wire{"all"}, Wire{"all", false, true});

inline std::string name_of(const ::testing::TestParamInfo<Wire>& info) {
  std::string name = info.param.tls;
  for (char& c : name)
    if (c == ',') c = '_';
  return name + (info.param.one_write ? "_one_write" : "_flushed") + (info.param.shared_memory ? "_shared" : "");
}

}  // namespace espalier::transports::testing
