#include "plan/problem.hpp"

#include <algorithm>

#include "plan/blocks.hpp"

namespace espalier::plan {
namespace {

constexpr Bytes line_payload = 56;  // execute/board.hpp, which says so too
constexpr Bytes tiny_lines = tiny_bytes / line_payload;

/// The longest message for which lines are the faster way. One stage of cells is faster beyond, the sooner the more
/// messages a rank reads line by line. In us, lines / a cell: two ranks, allgather 2K 0.69 / 0.81, 3K 0.97 / 0.88;
/// reduce 3K 0.85 / 0.99, 4K 1.35 / 1.02; broadcast 4K 1.03 / 0.95; eight on two cores, allreduce 2K 13 / 12, 4K 19 /
/// 14, gather 3K 7.4 / 8.0, 4K 9.4 / 7.1.
constexpr Bytes longest_tiny_lines(Operation operation) {
  if (operation == Operation::broadcast) return tiny_lines;
  return operation == Operation::gather || operation == Operation::reduce ? 64 : tiny_lines / 2;
}

constexpr Bytes count_lines(Bytes bytes) { return bytes == 0 ? 1 : bytes / line_payload + (bytes % line_payload != 0); }

/// Where every rank knows all sizes. The others have a path of their own (execute/lines/uneven_blocks.hpp).
bool is_tiny_uneven(const Problem& problem) {
  Bytes longest = 0, all = 0;
  for (const Bytes bytes : problem.counts) {
    if (bytes > tiny_bytes) return false;
    longest = std::max(longest, count_lines(bytes));
    all += count_lines(bytes);
  }
  if (problem.operation == Operation::allgather) return longest <= longest_tiny_lines(problem.operation);
  return problem.operation == Operation::reduce_scatter && all <= tiny_lines;
}

/// Behind the last byte that `end` finds for the edges of a rank.
template <class EndOf>
Bytes furthest(const Problem& problem, EndOf end_of) {
  Bytes end = 0;
  for (const Edge& edge : problem.edges) end = std::max(end, end_of(edge));
  return end;
}

}  // namespace

bool is_tiny(const Problem& problem, int ranks) {
  if (has_edges(problem.operation)) return false;
  if (!problem.counts.empty()) return is_tiny_uneven(problem);
  if (!has_single_readers(problem.operation))
    return problem.bytes <= longest_tiny_lines(problem.operation) * line_payload;
  const Bytes lines = (problem.bytes + line_payload - 1) / line_payload;
  return lines <= tiny_lines && lines * static_cast<Bytes>(ranks) <= tiny_lines;
}

Bytes input_bytes(const Problem& problem, int ranks, Rank rank) {
  switch (problem.operation) {
    case Operation::broadcast:
    case Operation::barrier: return 0;
    case Operation::scatter: return rank == problem.root ? Blocks(problem, ranks).total() : 0;
    case Operation::gather:
    case Operation::allgather: return Blocks(problem, ranks).bytes(rank);
    case Operation::alltoall: return PairBlocks(problem, ranks).input_begin(rank, Rank(ranks));
    case Operation::reduce_scatter: return Blocks(problem, ranks).total();
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan: return problem.bytes;
    case Operation::neighbor_allgather:
    case Operation::neighbor_alltoall:
      return furthest(problem, [&](const Edge& it) { return it.from == rank ? it.input_begin + it.bytes : 0; });
  }
  return 0;
}

Bytes output_bytes(const Problem& problem, int ranks, Rank rank) {
  switch (problem.operation) {
    case Operation::barrier: return 0;
    case Operation::gather: return rank == problem.root ? Blocks(problem, ranks).total() : 0;
    case Operation::allgather: return Blocks(problem, ranks).total();
    case Operation::alltoall: return PairBlocks(problem, ranks).output_begin(Rank(ranks), rank);
    case Operation::scatter:
    case Operation::reduce_scatter: return Blocks(problem, ranks).bytes(rank);
    case Operation::reduce: return rank == problem.root ? problem.bytes : 0;
    case Operation::exscan: return rank == Rank(0) ? 0 : problem.bytes;
    case Operation::broadcast:
    case Operation::allreduce:
    case Operation::scan: return problem.bytes;
    case Operation::neighbor_allgather:
    case Operation::neighbor_alltoall:
      return furthest(problem, [&](const Edge& it) { return it.to == rank ? it.output_begin + it.bytes : 0; });
  }
  return 0;
}

Alias alias_of(const Problem& problem, int ranks, Rank rank) {
  switch (problem.operation) {
    case Operation::allgather: return {Alias::input_in_output, Blocks(problem, ranks).begin(rank)};
    case Operation::gather:
      if (rank == problem.root) return {Alias::input_in_output, Blocks(problem, ranks).begin(rank)};
      return {};
    case Operation::scatter:
      if (rank == problem.root) return {Alias::output_in_input, Blocks(problem, ranks).begin(rank)};
      return {};
    case Operation::reduce:
      if (rank == problem.root) return {Alias::input_in_output, 0};
      return {};
    case Operation::exscan:
      if (rank != Rank(0)) return {Alias::input_in_output, 0};
      return {};
    case Operation::allreduce:
    case Operation::scan: return {Alias::input_in_output, 0};
    case Operation::broadcast:
    case Operation::alltoall:
    case Operation::reduce_scatter:
    case Operation::barrier:
    case Operation::neighbor_allgather:
    case Operation::neighbor_alltoall: return {};
  }
  return {};
}

}  // namespace espalier::plan
