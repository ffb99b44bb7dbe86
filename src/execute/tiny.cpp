#include "execute/tiny.hpp"

#include <cstring>

namespace espalier::execute {
namespace {

// Copies of up to one line: two overlapping moves of a fixed size instead of a call of memcpy with a variable one.
inline void copy_tiny(std::byte* into, const std::byte* from, Bytes bytes) noexcept {
  const auto ends = [&]<class Word>(Word) {
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(into, &first, sizeof(Word));
    std::memcpy(into + bytes - sizeof(Word), &last, sizeof(Word));
  };
  if (bytes > 16) {
    std::memcpy(into, from, bytes);
  } else if (bytes >= 8) {
    ends(std::uint64_t{});
  } else if (bytes >= 4) {
    ends(std::uint32_t{});
  } else if (bytes >= 2) {
    ends(std::uint16_t{});
  } else if (bytes == 1) {
    *into = *from;
  }
}

template <class Ready>
inline void wait_until(Ready is_ready, Waiter& waiter) noexcept {
  for (std::uint32_t attempt = 0; !is_ready(); ++attempt) waiter.pause(attempt);
}

inline void write_line(const Seat& seat, const std::byte* data, Bytes bytes) noexcept {
  Line& line = seat.board().line(seat.me(), seat.call());
  copy_tiny(line.payload, data, bytes);
  line.call.store(seat.call(), std::memory_order_release);
}

inline const Line& await_line(const Seat& seat, LocalRank owner, Waiter& waiter) noexcept {
  const Line& line = seat.board().line(owner, seat.call());
  wait_until([&] { return line.call.load(std::memory_order_acquire) == seat.call(); }, waiter);
  return line;
}

// Before a line of the ring is written again, every neighbour must have left the call that used it last. Neighbours'
// progress is remembered, so shared memory is looked at only once in a while.
inline void await_ring(Seat& seat, Waiter& waiter) noexcept {
  wait_until([&] { return seat.all_reached(plan::Flag::done, 1, ring_lines); }, waiter);
}

}  // namespace

void run_tiny_broadcast(Seat& seat, LocalRank root, std::byte* data, Bytes bytes, Waiter& waiter) noexcept {
  seat.begin_call();
  if (root == seat.me()) {
    await_ring(seat, waiter);
    write_line(seat, data, bytes);
  } else {
    copy_tiny(data, await_line(seat, root, waiter).payload, bytes);
  }
  seat.post(plan::Flag::done, 1);
}

void run_tiny_allgather(Seat& seat, const std::byte* input, std::byte* output, Bytes bytes, Waiter& waiter) noexcept {
  seat.begin_call();
  await_ring(seat, waiter);
  write_line(seat, input, bytes);
  for (int i = 0; i < seat.ranks(); ++i) {
    const int r = (seat.me().value + i) % seat.ranks();  // not all at the same line at once
    std::byte* block = output + static_cast<Bytes>(r) * bytes;
    if (i > 0)
      copy_tiny(block, await_line(seat, LocalRank(r), waiter).payload, bytes);
    else if (block != input)
      copy_tiny(block, input, bytes);
  }
  seat.post(plan::Flag::done, 1);
}

void run_tiny_barrier(Seat& seat, Waiter& waiter) noexcept { run_tiny_allgather(seat, nullptr, nullptr, 0, waiter); }

}  // namespace espalier::execute
