// Blocks whose sizes no rank knows alone (execute/uneven_blocks, block_call, root_share): in lines, through windows and
// out of memory, refused, and with less room than was sent.

#include "execute/lines/uneven_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "expect.hpp"
#include "node.hpp"

namespace espalier::interleavings {
namespace {

using execute::Block;
using execute::UnevenKind;
using execute::UnevenOutcome;
using plan::Operation;

constexpr Bytes window_bytes = 64 << 10;
/// Of all kinds: in lines, in the window, in its owner's memory; 0: none.
constexpr Bytes in_lines = 100, in_window = 9000, in_memory = 20'000, shared = 52'000;

/// One rank's blocks, its own memory, of one value each.
class Blocks {
 public:
  Blocks(const std::vector<Bytes>& sizes, std::byte value) {
    Bytes total = 0;
    for (const Bytes size : sizes) total += size;
    memory_.resize(total, value);
    std::byte* begin = memory_.data();
    for (const Bytes size : sizes) blocks_.push_back({begin, size}), begin += size;
  }
  std::span<const Block> all() const { return blocks_; }
  /// As the caller does after a call.
  void overwrite() { std::fill(memory_.begin(), memory_.end(), std::byte{0xee}); }
  /// Looks at both ends: what lies between them was moved with one of them.
  bool holds(std::size_t block, std::byte value) const {
    const Block& it = blocks_[block];
    return it.bytes == 0 || (it.data[0] == value && it.data[it.bytes - 1] == value);
  }

 private:
  std::vector<std::byte> memory_;
  std::vector<Block> blocks_;
};

/// Calls in a row of the same kind; `bytes(from, to, call)` are sent, and there is as much room, but for `lack` bytes.
struct Calls {
  UnevenKind kind;
  int ranks = 2;
  int calls = 1;
  std::function<Bytes(int, int, int)> bytes;
  Bytes lack = 0;
  UnevenOutcome outcome = UnevenOutcome::done;
  Options options = {};

  bool is_sent(int from, int to) const {
    if (kind.operation == Operation::alltoall) return true;
    return (kind.operation == Operation::scatter ? from : to) == root;
  }
  static constexpr int root = 0;
};

std::byte value_of(int from, int call) { return static_cast<std::byte>(from * 16 + call + 1); }

void run_rank(const Calls& it, const Node& node, int rank) {
  execute::Seat seat = node.seat(rank);
  execute::PatientWaiter waiter = node.waiter();
  PlainCopy copy;
  for (int call = 0; call < it.calls; ++call) {
    std::vector<Bytes> sent, taken;
    std::vector<int> senders;
    for (int other = 0; other < it.ranks; ++other) {
      if (it.is_sent(rank, other)) sent.push_back(it.bytes(rank, other, call));
      if (!it.is_sent(other, rank)) continue;
      const Bytes bytes = it.bytes(other, rank, call);
      taken.push_back(bytes - std::min(bytes, other == rank ? Bytes{0} : it.lack));
      senders.push_back(other);
    }
    Blocks input(sent, value_of(rank, call)), output(taken, std::byte{0xff});
    const execute::UnevenCall arguments{LocalRank(Calls::root), input.all(), output.all(), {}};
    const UnevenOutcome outcome = execute::run_uneven_blocks(seat, it.kind, arguments, &copy, waiter);
    const bool has_other = std::any_of(senders.begin(), senders.end(), [&](int from) { return from != rank; });
    const bool is_short = it.outcome == UnevenOutcome::truncated && !has_other;
    require(outcome == (is_short ? UnevenOutcome::done : it.outcome), "the call ends otherwise");
    for (std::size_t b = 0; b < senders.size() && it.outcome == UnevenOutcome::done; ++b)
      require(output.holds(b, value_of(senders[b], call)), "other bytes come");
    input.overwrite();
    output.overwrite();
  }
}

Report explore_calls(const Calls& it) {
  Node node(it.ranks, window_bytes);
  node.with_long_rings();
  Scenario scenario;
  scenario.ranks = it.ranks;
  scenario.prepare = [&](Arena& arena) { node.prepare(arena); };
  scenario.run = [&](int rank) { run_rank(it, node, rank); };
  return explore(scenario, it.options);
}

constexpr Operation operations[] = {Operation::scatter, Operation::gather, Operation::alltoall};
const auto all_of = [](Bytes bytes) { return [bytes](int, int, int) { return bytes; }; };
std::string text(const char* what, Operation operation, int ranks) {
  return std::string(plan::name(operation)) + "v " + what + ", " + std::to_string(ranks) + " ranks";
}

UnevenKind any_size(Operation operation) {
  return {.operation = operation, .longest = execute::any_size, .longest_in_window = in_window};
}

// Long enough to use lines and both windows again.
TEST(Blocks, ComeInLinesThroughWindowsAndOutOfMemoryInAnyOrder) {
  for (const Operation operation : operations) {
    const auto sizes = [](int from, int to, int call) {
      constexpr Bytes kinds[] = {in_lines, in_window, 0, in_memory};
      return kinds[(from + 2 * to + call) % 4];
    };
    expect_right(explore_calls({any_size(operation), 2, 3, sizes}), text("of all kinds", operation, 2));
  }
}

TEST(Blocks, ThatAreShortFollowEachOtherOnThreeRanks) {
  for (const Operation operation : {Operation::scatter, Operation::gather})
    expect_right(explore_calls({any_size(operation), 3, 2, all_of(24)}), text("in lines", operation, 3));
}

TEST(Blocks, OfAWindowAreWrittenAgainOnlyAfterTheyWereRead) {
  for (const Operation operation : operations)
    expect_right(explore_calls({any_size(operation), 2, 4, all_of(2500)}), text("in windows", operation, 2));
}

TEST(Blocks, ThatBothEndsCopyAreWhole) {
  for (const Operation operation : {Operation::scatter, Operation::gather}) {
    UnevenKind kind = any_size(operation);
    kind.root_copies = true;
    expect_right(explore_calls({kind, 2, 2, all_of(shared)}), text("that both ends copy", operation, 2));
  }
}

TEST(Blocks, ThatAreTooLongAreRefusedOnAllRanks) {
  for (const Operation operation : operations) {
    const UnevenKind kind{.operation = operation, .longest = in_lines};
    Calls calls{kind, 2, 2, all_of(in_window)};
    calls.outcome = UnevenOutcome::too_long;
    expect_right(explore_calls(calls), text("too long", operation, 2));
  }
}

TEST(Blocks, ThatThereIsNoRoomForHangNobody) {
  for (const Operation operation : operations)
    for (const Bytes bytes : {in_lines, in_window, in_memory}) {
      Calls calls{any_size(operation), 2, 2, all_of(bytes)};
      calls.lack = 8;
      calls.outcome = UnevenOutcome::truncated;
      expect_right(explore_calls(calls), text("without room", operation, 2));
    }
}

TEST(PlantedFaults, InBlocksAreFound) {
  const auto with = [](const Fault& fault, Bytes bytes) {
    Calls calls{any_size(Operation::scatter), 2, 4, all_of(bytes)};
    calls.options.faults = {fault};
    return explore_calls(calls);
  };
  expect_found(with({Fault::relaxed_store, "line"}, in_lines), "a block in lines that is not released");
  expect_found(with({Fault::relaxed_store, "flag ready"}, in_window), "a piece in the window that is not released");
  expect_found(with({Fault::relaxed_load, "flag ready"}, in_window), "a piece in the window that is not acquired");
  expect_found(with({Fault::lie, "flag done", ~0ull}, 2500), "a window written again too early");
  expect_found(with({Fault::relaxed_store, "flag done"}, in_memory), "the end of a copy without a release");
  expect_found(with({Fault::lie, "flag done", ~0ull}, in_memory), "a buffer given back before it was read");
}

}  // namespace
}  // namespace espalier::interleavings
