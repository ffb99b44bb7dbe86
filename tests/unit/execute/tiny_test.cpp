// The dedicated path of tiny messages, with threads as ranks: right bytes, also when ranks run far ahead of each other.

#include "execute/tiny.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

class Yield final : public Waiter {
 public:
  void pause(std::uint32_t) noexcept override { std::this_thread::yield(); }
};

topology::Topology one_node(int ranks) {
  return topology::Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

std::byte pattern(int call, int rank, Bytes i) {
  return static_cast<std::byte>(call * 37 + rank * 11 + static_cast<int>(i));
}

class Tiny : public ::testing::TestWithParam<int> {};

TEST_P(Tiny, BroadcastFromEveryRootAtEverySize) {
  transports::ThreadWorld world(one_node(GetParam()), 4096);
  transports::for_each_rank(GetParam(), [&](Rank me) {
    Yield waiter;
    for (int call = 0; call < 500; ++call) {
      const int root = call / 20 % GetParam();  // long runs of one root fill its ring of lines
      const Bytes bytes =
          static_cast<Bytes>(call) * 61 % (tiny_bytes + 1);  // all residues of lines, all lengths of tails
      std::array<std::byte, tiny_bytes + 1> data{};
      for (Bytes i = 0; me.value == root && i < bytes; ++i) data[i] = pattern(call, root, i);
      run_tiny_broadcast(world.seat(me), LocalRank(root), data.data(), bytes, waiter);
      for (Bytes i = 0; i < bytes; ++i) ASSERT_EQ(data[i], pattern(call, root, i));
      ASSERT_EQ(data[bytes], std::byte{0}) << "wrote beyond the message";
    }
  });
}

TEST_P(Tiny, AllgatherAtEverySizeAlsoInPlace) {
  const int ranks = GetParam();
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    for (int call = 0; call < 300; ++call) {
      const Bytes bytes = static_cast<Bytes>(call) * 61 % (tiny_bytes + 1);
      std::vector<std::byte> output(bytes * static_cast<Bytes>(ranks) + 1), own(bytes + 1);
      std::byte* input = call % 2 ? own.data() : output.data() + bytes * static_cast<Bytes>(me.value);
      for (Bytes i = 0; i < bytes; ++i) input[i] = pattern(call, me.value, i);
      run_tiny_allgather(world.seat(me), input, output.data(), bytes, waiter);
      for (int r = 0; r < ranks; ++r)
        for (Bytes i = 0; i < bytes; ++i) ASSERT_EQ(output[static_cast<Bytes>(r) * bytes + i], pattern(call, r, i));
    }
  });
}

// Nobody leaves a barrier before everyone has come: the slowest rank's counter is never behind.
TEST_P(Tiny, BarrierHoldsEveryoneBack) {
  transports::ThreadWorld world(one_node(GetParam()), 4096);
  std::vector<std::atomic<int>> entered(static_cast<std::size_t>(GetParam()));
  transports::for_each_rank(GetParam(), [&](Rank me) {
    Yield waiter;
    for (int call = 1; call <= 300; ++call) {
      entered[static_cast<std::size_t>(me.value)].store(call);
      run_tiny_barrier(world.seat(me), waiter);
      for (const std::atomic<int>& other : entered) ASSERT_GE(other.load(), call);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Tiny, ::testing::Values(2, 3, 8));

}  // namespace
}  // namespace espalier::execute
