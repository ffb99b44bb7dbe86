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

/// A message of no bytes takes one line, as a mere signal.
inline std::uint32_t count_lines(Bytes bytes) noexcept {
  return bytes <= Line::payload_bytes
             ? 1
             : static_cast<std::uint32_t>((bytes + Line::payload_bytes - 1) / Line::payload_bytes);
}

/// Calls `part(line, offset, bytes)` for each line of a message.
template <class Part>
inline void for_each_line(Line* line, Bytes bytes, Part part) noexcept {
  Bytes offset = 0;
  for (; bytes - offset > Line::payload_bytes; offset += Line::payload_bytes)
    part(*line++, offset, Line::payload_bytes);
  part(*line, offset, bytes - offset);
}

inline void write_message(Seat& seat, const std::byte* data, Bytes bytes, Waiter& waiter) noexcept {
  Line* const message = seat.next_message(seat.me(), count_lines(bytes));
  wait_until([&] { return seat.may_write(message); }, waiter);
  for_each_line(message, bytes, [&](Line& line, Bytes offset, Bytes part) {
    copy_tiny(line.payload, data + offset, part);
    line.call.store(seat.call(), std::memory_order_release);
  });
}

inline void read_message(Seat& seat, LocalRank owner, std::byte* data, Bytes bytes, Waiter& waiter) noexcept {
  for_each_line(seat.next_message(owner, count_lines(bytes)), bytes, [&](const Line& line, Bytes offset, Bytes part) {
    wait_until([&] { return line.call.load(std::memory_order_acquire) == seat.call(); }, waiter);
    copy_tiny(data + offset, line.payload, part);
  });
}

}  // namespace

void run_tiny_broadcast(Seat& seat, LocalRank root, std::byte* data, Bytes bytes, Waiter& waiter) noexcept {
  seat.begin_call();
  if (root == seat.me()) {
    write_message(seat, data, bytes, waiter);
    seat.prefetch_next(count_lines(bytes));
  } else {
    read_message(seat, root, data, bytes, waiter);
  }
  seat.post(plan::Flag::done, 1);
}

void run_tiny_allgather(Seat& seat, const std::byte* input, std::byte* output, Bytes bytes, Waiter& waiter) noexcept {
  seat.begin_call();
  write_message(seat, input, bytes, waiter);
  for (int i = 0; i < seat.ranks(); ++i) {
    const int r = (seat.me().value + i) % seat.ranks();  // not all at the same line at once
    std::byte* block = output + static_cast<Bytes>(r) * bytes;
    if (i > 0)
      read_message(seat, LocalRank(r), block, bytes, waiter);
    else if (block != input)
      std::memcpy(block, input, bytes);
  }
  seat.post(plan::Flag::done, 1);
  seat.prefetch_next(count_lines(bytes));
}

void run_tiny_barrier(Seat& seat, Waiter& waiter) noexcept { run_tiny_allgather(seat, nullptr, nullptr, 0, waiter); }

}  // namespace espalier::execute
