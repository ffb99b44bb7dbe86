#pragma once
// The instruction set: everything a rank can do inside a collective, as one small fixed-size value.

#include <cstdint>
#include <string>

#include "base/ids.hpp"

namespace espalier::plan {

enum class Op : std::uint8_t {
  send,       ///< start sending `bytes` of a buffer to a rank; the slot is busy until `finish`
  recv,       ///< start receiving `bytes` into a buffer from a rank; the slot is busy until `finish`
  finish,     ///< wait until the message in a slot is complete
  put,        ///< copy from a private buffer into this rank's own window
  get,        ///< copy from a node neighbour's window into a private buffer
  pull,       ///< single copy: from a neighbour's private buffer into one of ours
  push,       ///< single copy: from a private buffer of ours into a neighbour's
  post,       ///< raise one of our flags to a tick (release: what we did before is visible to who sees it)
  await,      ///< wait until a neighbour's flag has reached a tick (acquire)
  await_all,  ///< wait until all node neighbours' flags (not our own) have reached a tick (acquire)
  copy,       ///< copy between two private buffers of this rank
  reduce,     ///< combine: into = far o into, element by element, with the far operand on the left, as MPI_Reduce_local
};

/// Memory that a step names; pointers are bound when the program runs.
enum class Buffer : std::uint8_t {
  input,    ///< what the caller contributes (aliases its part of `output` under MPI_IN_PLACE)
  output,   ///< where the caller wants the result; broadcast uses only this, at the root too
  scratch,  ///< private memory that lives for one run of the program
  window,   ///< this rank's cells in shared memory: written by this rank (and its network), read by its node
};

/// Single-writer, monotonic 64-bit counters that each rank shows to its node neighbours. A flag's value is the pair
/// (call number on this communicator, tick within the call), so it grows from call to call without ever being reset.
enum class Flag : std::uint8_t {
  ready,    ///< so many pieces of mine are there to be read
  taken,    ///< so many pieces of others I have read
  release,  ///< the node may go on
  done,     ///< I have finished this call; posted last by every program that touches shared memory
};
inline constexpr int flag_count = 4;

/// Ticks a flag may take within one call; the call number occupies the bits above.
inline constexpr int tick_bits = 20;
inline constexpr std::uint64_t max_tick = (std::uint64_t{1} << tick_bits) - 1;

/// A rank's window exists twice: calls with even and odd numbers use different banks, so that a writer waits for its
/// readers' call before last (nearly always over) and not for the last one.
inline constexpr int window_banks = 2;

/// Operands of a reduction that lie in a window are as aligned as any predefined type needs.
inline constexpr Bytes reduce_alignment = 16;

/// One step of a rank's program: 32 bytes, no pointers. Build it with the functions below; read it with the accessors.
class Step {
 public:
  static constexpr Step send(Rank to, Buffer from, Bytes offset, Bytes bytes, std::uint32_t slot) {
    return {Op::send, from, 0, to.value, offset, bytes, slot};
  }
  static constexpr Step recv(Rank from, Buffer into, Bytes offset, Bytes bytes, std::uint32_t slot) {
    return {Op::recv, into, 0, from.value, offset, bytes, slot};
  }
  static constexpr Step finish(std::uint32_t slot) { return {Op::finish, Buffer::input, 0, 0, 0, 0, slot}; }
  static constexpr Step put(Buffer from, Bytes offset, Bytes bytes, Bytes window_offset) {
    return {Op::put, from, 0, 0, offset, bytes, window_offset};
  }
  static constexpr Step get(LocalRank owner, Bytes window_offset, Buffer into, Bytes offset, Bytes bytes) {
    return {Op::get, into, 0, owner.value, offset, bytes, window_offset};
  }
  static constexpr Step pull(LocalRank owner, Buffer theirs, Bytes their_offset, Buffer into, Bytes offset,
                             Bytes bytes) {
    return {Op::pull, into, static_cast<std::uint8_t>(theirs), owner.value, offset, bytes, their_offset};
  }
  static constexpr Step push(LocalRank owner, Buffer theirs, Bytes their_offset, Buffer from, Bytes offset,
                             Bytes bytes) {
    return {Op::push, from, static_cast<std::uint8_t>(theirs), owner.value, offset, bytes, their_offset};
  }
  static constexpr Step post(Flag flag, std::uint64_t tick) {
    return {Op::post, Buffer::input, static_cast<std::uint8_t>(flag), 0, 0, 0, tick};
  }
  /// Waits until `owner`'s flag reaches `tick` of the call `calls_back` calls before this one (always true for calls
  /// before the first).
  static constexpr Step await(LocalRank owner, Flag flag, std::uint64_t tick, Bytes calls_back = 0) {
    return {Op::await, Buffer::input, static_cast<std::uint8_t>(flag), owner.value, calls_back, 0, tick};
  }
  static constexpr Step await_all(Flag flag, std::uint64_t tick, Bytes calls_back = 0) {
    return {Op::await_all, Buffer::input, static_cast<std::uint8_t>(flag), 0, calls_back, 0, tick};
  }
  static constexpr Step copy(Buffer from, Bytes from_offset, Buffer into, Bytes into_offset, Bytes bytes) {
    return {Op::copy, into, static_cast<std::uint8_t>(from), 0, into_offset, bytes, from_offset};
  }
  /// `far` is a private buffer of this rank, or the window of `owner` (who may be this rank itself); `into` a private
  /// buffer or the own window. Both are whole elements, in a window at a multiple of `reduce_alignment`.
  static constexpr Step reduce(LocalRank owner, Buffer far, Bytes far_offset, Buffer into, Bytes offset, Bytes bytes) {
    return {Op::reduce, into, static_cast<std::uint8_t>(far), owner.value, offset, bytes, far_offset};
  }

  constexpr Op op() const { return op_; }
  /// The private buffer read (send, put, push) or written (recv, get, pull, copy, reduce); may be the own window for
  /// send, recv and reduce.
  constexpr Buffer buffer() const { return buffer_; }
  constexpr Bytes offset() const { return offset_; }
  constexpr Bytes bytes() const { return bytes_; }
  constexpr Rank peer() const { return Rank(peer_); }                                ///< send, recv
  constexpr LocalRank neighbour() const { return LocalRank(peer_); }                 ///< get, pull, push, await, reduce
  constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(far_); }  ///< send, recv, finish
  constexpr Bytes window_offset() const { return far_; }  ///< put (own window), get (the neighbour's)
  constexpr Buffer far_buffer() const {
    return static_cast<Buffer>(other_);
  }                                                                  ///< pull, push: theirs; copy, reduce: the source
  constexpr Bytes far_offset() const { return far_; }                ///< pull, push, copy, reduce
  constexpr Flag flag() const { return static_cast<Flag>(other_); }  ///< post, await, await_all
  constexpr std::uint64_t tick() const { return far_; }              ///< post, await, await_all
  constexpr Bytes calls_back() const { return offset_; }             ///< await, await_all

  constexpr bool operator==(const Step&) const = default;

 private:
  constexpr Step(Op op, Buffer buffer, std::uint8_t other, std::int32_t peer, Bytes offset, Bytes bytes,
                 std::uint64_t far)
      : op_(op), buffer_(buffer), other_(other), peer_(peer), offset_(offset), bytes_(bytes), far_(far) {}

  Op op_;
  Buffer buffer_;
  std::uint8_t other_;
  std::int32_t peer_;
  Bytes offset_;
  Bytes bytes_;
  std::uint64_t far_;
};
static_assert(sizeof(Step) == 32);

const char* name(Op op);
const char* name(Buffer buffer);
const char* name(Flag flag);

/// One step as a person reads it: "get 4096 B of local rank 0's window at 0 into output at 8192".
std::string to_string(const Step& step);

}  // namespace espalier::plan
