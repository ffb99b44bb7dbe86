// A peer that dies is an event, never a hang.

#include <chrono>

#include "transports/ucx_ranks.hpp"

namespace espalier::transports::testing {
namespace {

class UcxFailure : public ::testing::TestWithParam<Wire> {
 protected:
  /// Rank 1 exchanges a message, then dies; rank 0 goes on with `rest`.
  static void run(const std::function<bool(const Ranks&)>& rest) {
    const auto statuses = run_ranks(2, GetParam().tls, GetParam().options(), [&](const Ranks& ranks) {
      const Rank peer(1 - ranks.me.value);
      std::byte in{}, out{7};
      if (!ranks.network.start_recv(0, peer, &in, 1) || !ranks.network.start_send(1, peer, &out, 1)) return false;
      if (!ranks.finish(0) || !ranks.finish(1)) return false;
      ranks.meet(0);
      if (ranks.me == Rank(1)) kill(getpid(), SIGKILL);
      return rest(ranks);
    });
    EXPECT_EQ(statuses[0], 0);
    EXPECT_TRUE(WIFSIGNALED(statuses[1]));
  }
};

INSTANTIATE_TEST_SUITE_P(Over, UcxFailure, wires, name_of);

TEST_P(UcxFailure, BreaksAReceiptWhoseSenderIsKilled) {
  run([](const Ranks& ranks) {
    std::byte in{};
    return !ranks.network.start_recv(0, Rank(1), &in, 1) || ranks.wait(0) == Progress::broken;
  });
}

TEST_P(UcxFailure, BreaksALargeSendWhoseReceiverIsKilled) {
  run([](const Ranks& ranks) {
    const std::vector<std::byte> out(1 << 20);
    return !ranks.network.start_send(0, Rank(1), out.data(), out.size()) || ranks.wait(0) == Progress::broken;
  });
}

TEST_P(UcxFailure, BreaksShortSendsSoonerOrLaterWhenTheirReceiverIsKilled) {
  run([](const Ranks& ranks) {
    const std::vector<std::byte> out(1000);
    for (int i = 0; i < 100; ++i)
      if (!ranks.network.start_send(0, Rank(1), out.data(), out.size()) || ranks.wait(0) == Progress::broken)
        return true;
    return false;
  });
}

// UCX 1.13 aborts a process that has to acknowledge emulated writes of a peer that is gone: an end too, and as loud as
// MPI's.
TEST_P(UcxFailure, EndsUnderFullTraffic) {
  const auto statuses = run_ranks(2, GetParam().tls, GetParam().options(), [](const Ranks& ranks) {
    const Rank peer(1 - ranks.me.value);
    std::vector<std::byte> in(50000), out(50000);
    for (int i = 0; i < 100000; ++i) {
      const Bytes bytes = i % 4 == 0 ? 50000 : 2000;
      if (ranks.me == Rank(1) && i == 100) kill(getpid(), SIGKILL);
      if (!ranks.network.start_recv(0, peer, in.data(), bytes)) return true;
      if (!ranks.network.start_send(1, peer, out.data(), bytes)) return true;
      if (ranks.wait(0) == Progress::broken || ranks.wait(1) == Progress::broken) return true;
    }
    return false;
  });
  EXPECT_TRUE(statuses[0] == 0 || (WIFSIGNALED(statuses[0]) && WTERMSIG(statuses[0]) == SIGABRT)) << statuses[0];
}

TEST_P(UcxFailure, DestroysItselfThoughAPeerNeverComes) {
  UcxOptions options = GetParam().options();
  options.farewell = 0.5;
  const auto statuses = run_ranks(2, GetParam().tls, options, [](const Ranks& ranks) {
    std::byte byte{};
    const bool is_sender = ranks.me == Rank(0);
    if (!(is_sender ? ranks.network.start_send(0, Rank(1), &byte, 1) : ranks.network.start_recv(0, Rank(0), &byte, 1)))
      return false;
    if (!ranks.finish(0)) return false;
    if (ranks.me == Rank(1)) {
      while (ranks.board.counters[0] == 0) usleep(1000);  // alive, but busy elsewhere
      _exit(0);
    }
    const auto begin = std::chrono::steady_clock::now();
    ranks.network.~UcxNetwork();
    ranks.board.counters[0] = 1;
    _exit(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5) ? 0 : 1);
  });
  EXPECT_TRUE(all_well(statuses));
}

}  // namespace
}  // namespace espalier::transports::testing
