#pragma once
// One call of the dedicated path whose blocks are all of the same size, in two halves: a rank writes its message, and
// reads the others'. Who may wait does one after the other; who may not does the second when all that it reads is
// there.

#include <algorithm>

#include "execute/lines/line_call.hpp"
#include "execute/lines/tiny.hpp"

namespace espalier::execute {

class TinyCall : public LineCall {
 public:
  TinyCall(Seat& seat, const plan::Problem& problem, const Reducer* reducer, Bytes room, Waiter& waiter)
      : LineCall(seat, problem.bytes, waiter),
        reducer_(reducer),
        bytes_(problem.bytes),
        room_(room),
        lines_(count_lines(problem.bytes)) {}

  Ending ending() const { return ending_; }

  /// Writes this rank's message of one block, for all.
  Message write(const std::byte* data) {
    const Message message = open(lines_);
    LineCall::write(message, message.lines, data, bytes_);
    return message;
  }

  /// Writes this rank's message of a block for each rank, from a line of its own; not the one that would be for itself.
  Message write_to_others(const std::byte* data) {
    const Message message = open(lines_ * static_cast<std::uint32_t>(ranks()));
    for (int r = 0; r < ranks(); ++r)
      if (LocalRank(r) != me()) write_block(message, r, data);
    return message;
  }
  /// That of `data`'s blocks for rank `r`.
  void write_block(const Message& message, int r, const std::byte* data) {
    LineCall::write(message, line_of(message, r, lines_), data + static_cast<Bytes>(r) * bytes_, bytes_);
  }

  /// Where the owner's message of `blocks` blocks lies.
  Message place(LocalRank owner, int blocks) {
    return LineCall::place(owner, lines_ * static_cast<std::uint32_t>(blocks));
  }

  /// Whether the owner of a message that has not been placed yet does something else, which read() will find.
  bool does_other(LocalRank owner, int blocks) noexcept {
    return find_other(LineCall::next(owner, lines_ * static_cast<std::uint32_t>(blocks)));
  }

  /// Bytes that came, which are those expected but for calls with sizes that do not fit together.
  Bytes read(const Message& message, int block, std::byte* into) {
    const bool is_expected = LineCall::read(message, line_of(message, block, lines_), into, bytes_);
    return is_expected ? bytes_ : read_other(message.owner, block, into);
  }

  /// into = block o into. The block is made contiguous first: elements may straddle lines.
  void fold(const Message& message, int block, std::byte* into) {
    alignas(line_bytes) std::byte left[tiny_bytes];
    reducer_->combine(left, into, read(message, block, left));
  }
  void combine(const std::byte* left, std::byte* into) const { reducer_->combine(left, into, bytes_); }

  /// For the next call, if it is like this one: lines of a message to all, and of one with a block for each other rank.
  void prefetch_next() { LineCall::prefetch_next(lines_); }
  void prefetch_next_to_others() {
    const auto all = static_cast<std::uint32_t>(ranks()), mine = static_cast<std::uint32_t>(me().value);
    LineCall::prefetch_next(lines_ * all, 0, lines_ * mine);
    LineCall::prefetch_next(lines_ * all, lines_ * (mine + 1), lines_ * (all - mine - 1));
  }

  Bytes bytes() const { return bytes_; }
  /// Room for rank `r`'s block in the output.
  std::byte* block(std::byte* output, int r) const { return output + static_cast<Bytes>(r) * room_; }
  void copy_own(const std::byte* from, std::byte* into) const {
    if (from != into) std::memcpy(into, from, bytes_);
  }

 private:
  static Line* line_of(const Message& message, int block, std::uint32_t lines) {
    return message.lines + block * static_cast<int>(lines);
  }

  /// What the owner sent instead, as far as there is room, and as far as it can be combined.
  [[gnu::noinline]] Bytes read_other(LocalRank owner, int block, std::byte* into) {
    if (stated()) {
      ending_ = {Ending::other, *stated()};
      break_off();
      return 0;
    }
    const Message message = follow(owner);
    const Bytes sent = found().bytes();
    const std::uint32_t lines = count_lines(sent);
    const bool is_here = sent != LineWord::of_blocks &&
                         message.begin + lines * (static_cast<std::uint32_t>(block) + 1) <= lines_of_ring();
    const bool is_fine = is_here && sent <= room_ && (reducer_ == nullptr || sent == bytes_);
    const bool is_first = ending_.kind == Ending::done;
    if (!is_fine)
      ending_ = {Ending::truncated};
    else if (is_first && sent < room_)
      ending_ = {Ending::shorter, sent};
    if (!is_here || (reducer_ != nullptr && !is_fine)) return 0;
    std::byte whole[tiny_bytes];
    read_found(message, line_of(message, block, lines), whole, sent);
    const Bytes taken = std::min(sent, room_);
    std::memcpy(into, whole, taken);
    return taken;
  }

  const Reducer* reducer_;
  Bytes bytes_;
  Bytes room_;
  std::uint32_t lines_;
  Ending ending_;
};

/// What is done of a call.
enum class Half { first, second, both };
constexpr bool writes(Half half) { return half != Half::second; }
constexpr bool reads(Half half) { return half != Half::first; }

template <Half half>
[[gnu::always_inline]] inline void broadcast(TinyCall& call, LocalRank root, std::byte* data) {
  if (call.me() != root) {
    if constexpr (reads(half)) call.read(call.place(root, 1), 0, data);
    return;
  }
  if constexpr (!writes(half)) return;
  call.write(data);
  call.prefetch_next();
}

template <Half half>
[[gnu::always_inline]] inline void scatter(TinyCall& call, LocalRank root, const std::byte* input, std::byte* output) {
  if (call.me() != root) {
    if constexpr (reads(half)) call.read(call.place(root, call.ranks()), call.me().value, output);
    return;
  }
  if constexpr (!writes(half)) return;
  call.write_to_others(input);
  call.copy_own(input + static_cast<Bytes>(root.value) * call.bytes(), output);
  call.prefetch_next_to_others();
}

template <Half half>
[[gnu::always_inline]] inline void gather(TinyCall& call, LocalRank root, const std::byte* input, std::byte* output) {
  if (writes(half) && call.me() != root) call.write(input);
  if constexpr (!reads(half)) return;
  for (int r = 0; r < call.ranks(); ++r) {
    const LocalRank owner(r);
    if (owner == root && call.me() == root) call.copy_own(input, call.block(output, r));
    if (owner == root || owner == call.me()) continue;
    if (const Message message = call.place(owner, 1); call.me() == root) call.read(message, 0, call.block(output, r));
  }
  if (call.me() != root) call.prefetch_next();
}

template <Half half>
[[gnu::always_inline]] inline void allgather(TinyCall& call, const std::byte* input, std::byte* output) {
  if constexpr (writes(half)) call.write(input);
  if constexpr (!reads(half)) return;
  for (int i = 1; i < call.ranks(); ++i) {
    const int r = (call.me().value + i) % call.ranks();  // not all at the same line at once
    call.read(call.place(LocalRank(r), 1), 0, call.block(output, r));
  }
  if (call.bytes() > 0) call.copy_own(input, call.block(output, call.me().value));
  call.prefetch_next();
}

template <Half half>
[[gnu::always_inline]] inline void alltoall(TinyCall& call, const std::byte* input, std::byte* output) {
  const int me = call.me().value;
  if constexpr (writes(half)) call.write_to_others(input);
  if constexpr (!reads(half)) return;
  call.copy_own(input + static_cast<Bytes>(me) * call.bytes(), call.block(output, me));
  for (int i = 1; i < call.ranks(); ++i) {
    const int r = (me + i) % call.ranks();
    call.read(call.place(LocalRank(r), call.ranks()), me, call.block(output, r));
  }
  call.prefetch_next_to_others();
}

/// output = v(first) o … o v(last), where v(r) is block `block` of rank r's message of `blocks` blocks; `own` is this
/// rank's v. It may lie in `output` where this rank has written `own_message`, or is the last. `unread` has written
/// none. Also finds the place of every other rank's message, wanted or not.
inline void fold_ranks(TinyCall& call, const Message& own_message, int blocks, int block, int last, int unread,
                       const std::byte* own, std::byte* output) {
  for (int r = call.ranks() - 1; r >= 0; --r) {
    const bool is_own = LocalRank(r) == call.me();
    const Message message = is_own || r == unread ? own_message : call.place(LocalRank(r), blocks);
    if (r == last && is_own)
      call.copy_own(own, output);
    else if (r == last)
      call.read(message, block, output);
    else if (r < last && is_own && own != output)
      call.combine(own, output);
    else if (r < last)
      call.fold(message, block, output);
  }
}

/// Reductions of one vector per rank: `last` is the last rank to take part in this rank's result, -1 for no result;
/// `unread` is the rank whose vector no other takes, -1 for none. That one leaves its ring alone: to write there would
/// keep it from looking for the others'. `own` is this rank's message, between the halves.
template <Half half>
inline void reduce_vectors(TinyCall& call, int last, int unread, const std::byte* input, std::byte* output,
                           Message& own) {
  const int me = call.me().value;
  if (writes(half) && me != unread) own = call.write(input);
  if constexpr (!reads(half)) return;
  alignas(line_bytes) std::byte kept[tiny_bytes];
  if (me == unread && input == output && me < last) {
    if (call.bytes() > 0) std::memcpy(kept, input, call.bytes());  // of nothing there may be no address
    input = kept;
  }
  fold_ranks(call, own, 1, 0, last, unread, input, output);
  if (me != unread) call.prefetch_next();
}

template <Half half>
[[gnu::always_inline]] inline void reduce_scatter(TinyCall& call, const std::byte* input, std::byte* output,
                                                  Message& own) {
  const int me = call.me().value, last = call.ranks() - 1;
  const std::byte* const own_block = input + static_cast<Bytes>(me) * call.bytes();
  if constexpr (writes(half)) {
    own = call.write_to_others(input);
    if (own_block == output && me < last) call.write_block(own, me, input);  // before that is written over
  }
  if constexpr (!reads(half)) return;
  fold_ranks(call, own, call.ranks(), me, last, -1, own_block, output);
  call.prefetch_next_to_others();
}

template <Half half>
[[gnu::always_inline]] inline void perform(TinyCall& call, const plan::Problem& problem, const std::byte* input,
                                           std::byte* output, Message& own) {
  const LocalRank root(problem.root.value);  // one node: ranks are local ranks
  const int me = call.me().value, all = call.ranks() - 1;
  switch (problem.operation) {
    case plan::Operation::broadcast: return broadcast<half>(call, root, output);
    case plan::Operation::scatter: return scatter<half>(call, root, input, output);
    case plan::Operation::gather: return gather<half>(call, root, input, output);
    case plan::Operation::barrier:
    case plan::Operation::allgather: return allgather<half>(call, input, output);
    case plan::Operation::alltoall: return alltoall<half>(call, input, output);
    case plan::Operation::reduce:
      return reduce_vectors<half>(call, call.me() == root ? all : -1, root.value, input, output, own);
    case plan::Operation::allreduce: return reduce_vectors<half>(call, all, -1, input, output, own);
    case plan::Operation::reduce_scatter: return reduce_scatter<half>(call, input, output, own);
    case plan::Operation::scan: return reduce_vectors<half>(call, me, all, input, output, own);
    case plan::Operation::exscan: return reduce_vectors<half>(call, me - 1, all, input, output, own);
    case plan::Operation::neighbor_allgather:
    case plan::Operation::neighbor_alltoall: return;  // never tiny
  }
}

}  // namespace espalier::execute
