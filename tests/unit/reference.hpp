#pragma once
// What every operation means, in plain bytes: what a rank brings and what it must find, computed the obvious way.

#include <cstddef>
#include <vector>

#include "execute/seams.hpp"
#include "plan/blocks.hpp"
#include "plan/problem.hpp"

namespace espalier::testing {

/// What memory holds before anything is written there.
inline constexpr std::byte garbage{0xa5};

/// Byte `offset` of what a rank brings in a call.
inline std::byte brought(int call, int rank, Bytes offset) {
  return static_cast<std::byte>(
      (static_cast<Bytes>(call) * 59 + static_cast<Bytes>(rank) * 101 + offset * 7 + offset / 256) % 251);
}

/// Associative operations on bytes. Commutative: their sum modulo 256. Not commutative, for elements of two bytes: the
/// composition of the maps x -> a x + b modulo 256.
class ReferenceReducer final : public execute::Reducer {
 public:
  explicit ReferenceReducer(bool is_commutative) : is_commutative_(is_commutative) {}

  void combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept override {
    const auto at = [](const std::byte* p) { return std::to_integer<unsigned>(*p); };
    if (is_commutative_) {
      for (Bytes i = 0; i < bytes; ++i) into[i] = static_cast<std::byte>(at(left + i) + at(into + i));
      return;
    }
    for (Bytes i = 0; i + 1 < bytes; i += 2) {
      const unsigned a = at(left + i), b = at(left + i + 1);
      into[i + 1] = static_cast<std::byte>(a * at(into + i + 1) + b);
      into[i] = static_cast<std::byte>(a * at(into + i));
    }
  }

 private:
  bool is_commutative_;
};

/// Whether a problem can be checked with these operations.
inline bool has_reference(const plan::Problem& problem) {
  return !is_reduction(problem.operation) || problem.is_commutative || problem.element == 2;
}

/// What the rank has in its input, or, at the root of a broadcast, in its output, before the call.
inline std::vector<std::byte> brought_by(const plan::Problem& problem, int ranks, Rank me, int call) {
  const bool is_broadcast = problem.operation == plan::Operation::broadcast;
  std::vector<std::byte> bytes(is_broadcast ? (me == problem.root ? problem.bytes : 0)
                                            : input_bytes(problem, ranks, me));
  for (Bytes i = 0; i < bytes.size(); ++i) bytes[i] = brought(call, me.value, i);
  return bytes;
}

namespace reference {

/// v(first) o … o v(last), of the stretch that begins at `offset`.
inline std::vector<std::byte> fold(const plan::Problem& problem, int first, int last, Bytes offset, Bytes bytes,
                                   int call) {
  const ReferenceReducer reducer(problem.is_commutative);
  std::vector<std::byte> result(bytes), left(bytes);
  for (Bytes i = 0; i < bytes; ++i) result[i] = brought(call, last, offset + i);
  for (int r = last - 1; r >= first; --r) {
    for (Bytes i = 0; i < bytes; ++i) left[i] = brought(call, r, offset + i);
    reducer.combine(left.data(), result.data(), bytes);
  }
  return result;
}

inline std::vector<std::byte> move(const plan::Problem& problem, int ranks, Rank me, int call) {
  using plan::Operation;
  if (has_edges(problem.operation)) {
    std::vector<std::byte> result(output_bytes(problem, ranks, me), garbage);
    for (const plan::Edge& edge : problem.edges)
      for (Bytes i = 0; edge.to == me && i < edge.bytes; ++i)
        result[edge.output_begin + i] = brought(call, edge.from.value, edge.input_begin + i);
    return result;
  }
  const plan::Blocks blocks =
      problem.operation == Operation::alltoall ? plan::Blocks({}, 0) : plan::Blocks(problem, ranks);
  const plan::PairBlocks pairs(problem, ranks);
  std::vector<std::byte> result;
  const auto take = [&](Rank from, Bytes offset, Bytes bytes) {
    for (Bytes i = 0; i < bytes; ++i) result.push_back(brought(call, from.value, offset + i));
  };
  if (problem.operation == Operation::broadcast) take(problem.root, 0, problem.bytes);
  if (problem.operation == Operation::scatter) take(problem.root, blocks.begin(me), blocks.bytes(me));
  for (int r = 0; r < ranks; ++r) {
    if (problem.operation == Operation::allgather || (problem.operation == Operation::gather && me == problem.root))
      take(Rank(r), 0, blocks.bytes(Rank(r)));
    if (problem.operation == Operation::alltoall)
      take(Rank(r), pairs.input_begin(Rank(r), me), pairs.bytes(Rank(r), me));
  }
  return result;
}

}  // namespace reference

/// What the rank must find in its output after the call.
inline std::vector<std::byte> expected_by(const plan::Problem& problem, int ranks, Rank me, int call) {
  using plan::Operation;
  const Bytes bytes = output_bytes(problem, ranks, me);
  const int last = ranks - 1;
  switch (problem.operation) {
    case Operation::reduce:
    case Operation::allreduce: return reference::fold(problem, 0, last, 0, bytes, call);
    case Operation::reduce_scatter:
      return reference::fold(problem, 0, last, plan::Blocks(problem, ranks).begin(me), bytes, call);
    case Operation::scan: return reference::fold(problem, 0, me.value, 0, bytes, call);
    case Operation::exscan: return reference::fold(problem, 0, me.value - 1, 0, bytes, call);
    case Operation::broadcast:
    case Operation::scatter:
    case Operation::gather:
    case Operation::allgather:
    case Operation::alltoall:
    case Operation::barrier:
    case Operation::neighbor_allgather:
    case Operation::neighbor_alltoall: break;
  }
  return reference::move(problem, ranks, me, call);
}

/// A rank's buffers for one call, apart or as under MPI_IN_PLACE.
class CallerBuffers {
 public:
  CallerBuffers(const plan::Problem& problem, int ranks, Rank me, int call, bool is_in_place)
      : alias_(is_in_place ? alias_of(problem, ranks, me) : plan::Alias{}),
        bytes_(output_bytes(problem, ranks, me)),
        input_(input_bytes(problem, ranks, me)),
        output_(bytes_, garbage) {
    const std::vector<std::byte> mine = brought_by(problem, ranks, me, call);
    std::byte* into = problem.operation == plan::Operation::broadcast ? output() : input();
    for (std::size_t i = 0; i < mine.size(); ++i) into[i] = mine[i];
  }

  std::byte* input() {
    return alias_.kind == plan::Alias::input_in_output ? output_.data() + alias_.offset : input_.data();
  }
  std::byte* output() {
    return alias_.kind == plan::Alias::output_in_input ? input_.data() + alias_.offset : output_.data();
  }
  std::vector<std::byte> result() { return {output(), output() + bytes_}; }

 private:
  plan::Alias alias_;
  Bytes bytes_;
  std::vector<std::byte> input_, output_;
};

}  // namespace espalier::testing
