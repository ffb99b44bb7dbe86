#include "execute/tiny.hpp"

#include "execute/line_call.hpp"
#include "execute/tiny_counts.hpp"

namespace espalier::execute {
namespace {

/// A call whose blocks are all of the same size.
class TinyCall : public LineCall {
 public:
  TinyCall(Seat& seat, const plan::Problem& problem, const Reducer* reducer, Waiter& waiter) noexcept
      : LineCall(seat, waiter), reducer_(reducer), bytes_(problem.bytes), lines_(count_lines(problem.bytes)) {}

  /// Writes this rank's message: `blocks` blocks, each from a line of its own.
  Message write(const std::byte* data, int blocks) noexcept {
    const Message message = open(lines_ * static_cast<std::uint32_t>(blocks));
    Line* line = message.lines;
    for (int b = 0; b < blocks; ++b, line += lines_, data += bytes_) LineCall::write(line, data, bytes_);
    return message;
  }

  /// Where the owner's message of `blocks` blocks lies.
  Message place(LocalRank owner, int blocks) noexcept {
    return LineCall::place(owner, lines_ * static_cast<std::uint32_t>(blocks));
  }

  void read(const Message& message, int block, std::byte* into) noexcept {
    LineCall::read(message.owner, message.lines + block * static_cast<int>(lines_), into, bytes_);
  }

  /// into = block o into. The block is made contiguous first: elements may straddle lines.
  void fold(const Message& message, int block, std::byte* into) noexcept {
    alignas(line_bytes) std::byte left[tiny_bytes];
    read(message, block, left);
    combine(left, into);
  }
  void combine(const std::byte* left, std::byte* into) const noexcept { reducer_->combine(left, into, bytes_); }

  void prefetch_next(int blocks) noexcept { LineCall::prefetch_next(lines_ * static_cast<std::uint32_t>(blocks)); }

  Bytes bytes() const noexcept { return bytes_; }
  /// Block of rank `r` in a buffer of equal blocks.
  std::byte* block(std::byte* buffer, int r) const noexcept { return buffer + static_cast<Bytes>(r) * bytes_; }
  void copy_own(const std::byte* from, std::byte* into) const noexcept {
    if (from != into) std::memcpy(into, from, bytes_);
  }

 private:
  const Reducer* reducer_;
  Bytes bytes_;
  std::uint32_t lines_;
};

void broadcast(TinyCall& call, LocalRank root, std::byte* data) noexcept {
  if (call.me() != root) return call.read(call.place(root, 1), 0, data);
  call.write(data, 1);
  call.prefetch_next(1);
}

void scatter(TinyCall& call, LocalRank root, const std::byte* input, std::byte* output) noexcept {
  if (call.me() != root) return call.read(call.place(root, call.ranks()), call.me().value, output);
  call.write(input, call.ranks());
  call.copy_own(input + static_cast<Bytes>(root.value) * call.bytes(), output);
  call.prefetch_next(call.ranks());
}

void gather(TinyCall& call, LocalRank root, const std::byte* input, std::byte* output) noexcept {
  for (int r = 0; r < call.ranks(); ++r) {
    const LocalRank owner(r);
    if (owner == root && call.me() == root) call.copy_own(input, call.block(output, r));
    if (owner == root) continue;
    if (owner == call.me())
      call.write(input, 1);
    else if (const Message message = call.place(owner, 1); call.me() == root)
      call.read(message, 0, call.block(output, r));
  }
  if (call.me() != root) call.prefetch_next(1);
}

void allgather(TinyCall& call, const std::byte* input, std::byte* output) noexcept {
  call.write(input, 1);
  for (int i = 1; i < call.ranks(); ++i) {
    const int r = (call.me().value + i) % call.ranks();  // not all at the same line at once
    call.read(call.place(LocalRank(r), 1), 0, call.block(output, r));
  }
  if (call.bytes() > 0) call.copy_own(input, call.block(output, call.me().value));
  call.prefetch_next(1);
}

void alltoall(TinyCall& call, const std::byte* input, std::byte* output) noexcept {
  const int me = call.me().value;
  call.write(input, call.ranks());
  call.copy_own(input + static_cast<Bytes>(me) * call.bytes(), call.block(output, me));
  for (int i = 1; i < call.ranks(); ++i) {
    const int r = (me + i) % call.ranks();
    call.read(call.place(LocalRank(r), call.ranks()), me, call.block(output, r));
  }
  call.prefetch_next(call.ranks());
}

/// output = v(first) o … o v(last), where v(r) is block `block` of rank r's message of `blocks` blocks; `own` is this
/// rank's v, which may lie in `output`. Also finds the place of every other rank's message, wanted or not.
void fold_ranks(TinyCall& call, const Message& own_message, int blocks, int block, int last, const std::byte* own,
                std::byte* output) noexcept {
  for (int r = call.ranks() - 1; r >= 0; --r) {
    const bool is_own = LocalRank(r) == call.me();
    const Message message = is_own ? own_message : call.place(LocalRank(r), blocks);
    if (r == last && is_own)
      call.copy_own(own, output);
    else if (r == last)
      call.read(message, block, output);
    else if (r < last && is_own && own != output)
      call.combine(own, output);
    else if (r < last)
      call.fold(message, block, output);
  }
  call.prefetch_next(blocks);
}

/// Reductions of one vector per rank: `last` is the last rank to take part in this rank's result, -1 for no result.
void reduce_vectors(TinyCall& call, int last, const std::byte* input, std::byte* output) noexcept {
  const Message own = call.write(input, 1);
  fold_ranks(call, own, 1, 0, last, input, output);
}

void reduce_scatter(TinyCall& call, const std::byte* input, std::byte* output) noexcept {
  const int me = call.me().value;
  const Message own = call.write(input, call.ranks());
  fold_ranks(call, own, call.ranks(), me, call.ranks() - 1, input + static_cast<Bytes>(me) * call.bytes(), output);
}

}  // namespace

void run_tiny(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
              const Reducer* reducer, Waiter& waiter) noexcept {
  if (!problem.counts.empty()) return run_tiny_counts(seat, problem, input, output, reducer, waiter);
  TinyCall call(seat, problem, reducer, waiter);
  const LocalRank root(problem.root.value);  // one node: ranks are local ranks
  const int me = seat.me().value;
  const int all = seat.ranks() - 1;
  switch (problem.operation) {
    case plan::Operation::broadcast: return broadcast(call, root, output);
    case plan::Operation::scatter: return scatter(call, root, input, output);
    case plan::Operation::gather: return gather(call, root, input, output);
    case plan::Operation::barrier:
    case plan::Operation::allgather: return allgather(call, input, output);
    case plan::Operation::alltoall: return alltoall(call, input, output);
    case plan::Operation::reduce: return reduce_vectors(call, seat.me() == root ? all : -1, input, output);
    case plan::Operation::allreduce: return reduce_vectors(call, all, input, output);
    case plan::Operation::reduce_scatter: return reduce_scatter(call, input, output);
    case plan::Operation::scan: return reduce_vectors(call, me, input, output);
    case plan::Operation::exscan: return reduce_vectors(call, me - 1, input, output);
  }
}

}  // namespace espalier::execute
