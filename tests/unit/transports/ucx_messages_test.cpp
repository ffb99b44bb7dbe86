// What a network promises, between real processes.

#include <thread>

#include "transports/ucx_ranks.hpp"

namespace espalier::transports::testing {
namespace {

class UcxMessages : public ::testing::TestWithParam<Wire> {
 protected:
  static UcxOptions options() { return GetParam().options(); }
  static bool run(int size, const std::function<bool(const Ranks&)>& body,
                  UcxOptions options = UcxMessages::options()) {
    return all_well(run_ranks(size, GetParam().tls, options, body));
  }
};

INSTANTIATE_TEST_SUITE_P(Over, UcxMessages, wires, name_of);

TEST_P(UcxMessages, ArriveWholeWhateverTheirSize) {
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    const Rank peer(1 - ranks.me.value);
    int number = 0;
    for (const Bytes bytes :
         {0, 1, 7, 8, 55, 56, 57, 64, 1000, 8183, 8184, 8185, 32767, 32768, 32769, 100001, 3000000}) {
      const auto out = message(ranks.me.value, number, bytes);
      std::vector<std::byte> in(bytes);
      if (!ranks.network.start_recv(0, peer, in.data(), bytes)) return false;
      if (!ranks.network.start_send(1, peer, out.data(), bytes)) return false;
      if (!ranks.finish(0) || !ranks.finish(1)) return false;
      if (in != message(peer.value, number++, bytes)) return false;
    }
    return true;
  }));
}

TEST_P(UcxMessages, KeepTheirOrderAcrossBothPaths) {
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    constexpr std::uint32_t count = 40;
    const auto size_of = [](std::uint32_t i) { return i % 3 == 0 ? Bytes{100000} + i : Bytes{i}; };
    std::vector<std::vector<std::byte>> data;
    for (std::uint32_t i = 0; i < count; ++i) {
      data.push_back(ranks.me == Rank(0) ? message(0, static_cast<int>(i), size_of(i))
                                         : std::vector<std::byte>(size_of(i)));
      const bool is_started = ranks.me == Rank(0) ? ranks.network.start_send(i, Rank(1), data[i].data(), size_of(i))
                                                  : ranks.network.start_recv(i, Rank(0), data[i].data(), size_of(i));
      if (!is_started) return false;
    }
    for (std::uint32_t i = count; i-- > 0;)
      if (!ranks.finish(i)) return false;
    for (std::uint32_t i = 0; i < count; ++i)
      if (data[i] != message(0, static_cast<int>(i), size_of(i))) return false;
    return true;
  }));
}

TEST_P(UcxMessages, FlowOneWayForLong) {
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    for (int i = 0; i < 20000 && ranks.goes_on(i); ++i) {
      std::uint64_t value = static_cast<std::uint64_t>(i) * 3;
      auto* bytes = reinterpret_cast<std::byte*>(&value);
      const bool is_sender = ranks.me == Rank(0);
      if (!is_sender) value = 0;
      if (!(is_sender ? ranks.network.start_send(0, Rank(1), bytes, 8)
                      : ranks.network.start_recv(0, Rank(0), bytes, 8)))
        return false;
      if (!ranks.finish(0) || value != static_cast<std::uint64_t>(i) * 3) return false;
    }
    return true;
  }));
}

// The receiver clears a word at the very moment in which the sender's copy may not be over.
TEST_P(UcxMessages, AreNotConfusedByWordsStoredTwice) {
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    const Rank peer(1 - ranks.me.value);
    for (int i = 0; i < 60000 && ranks.goes_on(i); ++i) {
      std::byte byte = i % 2 == ranks.me.value ? static_cast<std::byte>(i) : std::byte{};
      const bool is_started = i % 2 == ranks.me.value ? ranks.network.start_send(0, peer, &byte, 1)
                                                      : ranks.network.start_recv(0, peer, &byte, 1);
      if (!is_started || !ranks.finish(0) || byte != static_cast<std::byte>(i)) return false;
    }
    return true;
  }));
}

TEST_P(UcxMessages, ArriveThoughTheirSenderMakesNoMoreProgress) {
  if (!GetParam().one_write && !GetParam().shared_memory) GTEST_SKIP() << "a flush over tcp needs the receiver";
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    constexpr std::uint32_t count = 30;
    constexpr Bytes bytes = 900;  // 30 KiB with all words: nearly the whole ring
    std::vector<std::byte> in(bytes);
    const auto out = message(0, 0, bytes);
    if (ranks.me == Rank(0)) {
      for (std::uint32_t i = 0; i < count; ++i)
        if (!ranks.network.start_send(i, Rank(1), out.data(), bytes)) return false;
      for (std::uint32_t i = 0; i < count; ++i)
        if (!ranks.finish(i)) return false;
      ranks.meet(0);
      ranks.meet(1);  // the peer comes here when it has everything
      return true;
    }
    if (!ranks.network.start_recv(0, Rank(0), in.data(), bytes) || !ranks.finish(0)) return false;
    ranks.meet(0);
    for (std::uint32_t i = 1; i < count; ++i)
      if (!ranks.network.start_recv(0, Rank(0), in.data(), bytes) || !ranks.finish(0) || in != out) return false;
    ranks.meet(1);
    return true;
  }));
}

TEST_P(UcxMessages, LandInMemoryThatWasFreedAndMappedAgain) {
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    constexpr Bytes bytes = 1 << 20;
    constexpr std::uintptr_t free_place = 0x7e9000000000;  // below what the system hands out, also to ThreadSanitizer
    for (int i = 0; i < 20; ++i) {
      void* memory = mmap(reinterpret_cast<void*>(free_place), bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (memory == MAP_FAILED) return false;
      auto* data = static_cast<std::byte*>(memory);
      const auto expected = message(0, i, bytes);
      if (ranks.me == Rank(0)) std::memcpy(data, expected.data(), bytes);
      if (!(ranks.me == Rank(0) ? ranks.network.start_send(0, Rank(1), data, bytes)
                                : ranks.network.start_recv(0, Rank(0), data, bytes)))
        return false;
      if (!ranks.finish(0) || std::memcmp(data, expected.data(), bytes) != 0) return false;
      munmap(memory, bytes);
    }
    return true;
  }));
}

TEST_P(UcxMessages, ReachTheRankItself) {
  EXPECT_TRUE(run(1, [](const Ranks& ranks) {
    for (const Bytes bytes : {8, 5000, 200000}) {
      const auto out = message(0, 0, bytes);
      std::vector<std::byte> in(bytes);
      if (!ranks.network.start_send(0, Rank(0), out.data(), bytes)) return false;
      if (!ranks.network.start_recv(1, Rank(0), in.data(), bytes)) return false;
      if (!ranks.finish(0) || !ranks.finish(1) || in != out) return false;
    }
    return true;
  }));
}

// Two communicators of a process, each used by its own thread.
TEST_P(UcxMessages, OfTwoNetworksDoNotMeet) {
  EXPECT_TRUE(run(2, [](const Ranks& ranks) {
    const auto second = UcxNetwork::open(ranks.me, 2, UcxMessages::options());
    ranks.meet(0);  // everybody has read the first network's addresses
    ranks.board.addresses[static_cast<std::size_t>(ranks.me.value)].bytes = 0;
    ranks.meet(1);
    second->connect(exchange(ranks.board, ranks.me, 2, second->address()));
    second->reserve(2);
    const auto swap_many = [](const Ranks& mine, int salt) {
      const Rank peer(1 - mine.me.value);
      for (int i = 0; i < 300; ++i) {
        const Bytes bytes = i % 10 == 0 ? 40000 : 500;
        const auto out = message(mine.me.value, i + salt, bytes);
        std::vector<std::byte> in(bytes);
        if (!mine.network.start_recv(0, peer, in.data(), bytes)) return false;
        if (!mine.network.start_send(1, peer, out.data(), bytes)) return false;
        if (!mine.finish(0) || !mine.finish(1) || in != message(peer.value, i + salt, bytes)) return false;
      }
      return true;
    };
    bool is_second_well = false;
    std::thread other([&] { is_second_well = swap_many({ranks.board, ranks.me, 2, *second}, 1000); });
    const bool is_first_well = swap_many(ranks, 0);
    other.join();
    return is_first_well && is_second_well;
  }));
}

TEST(UcxNetwork, RefusesRingsThatItsArithmeticDoesNotKnow) {
  // In a process of its own: UCX does not survive a fork, and other tests fork.
  EXPECT_TRUE(all_well(run_ranks(1, "tcp,self", {}, [](const Ranks&) {
    for (const Bytes ring : {Bytes{0}, Bytes{1000}, Bytes{512}, Bytes{2} << 30}) {
      try {
        UcxNetwork::open(Rank(0), 1, {.ring = ring});
        return false;
      } catch (const Error&) {
      }
    }
    return true;
  })));
}

}  // namespace
}  // namespace espalier::transports::testing
