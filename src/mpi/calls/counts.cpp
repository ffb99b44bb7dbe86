#include "mpi/calls/counts.hpp"

#include <algorithm>
#include <utility>

#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

std::byte* bytes_of(std::vector<Bytes>& sizes) { return reinterpret_cast<std::byte*>(sizes.data()); }

/// Runs an exchange of our own on the caller's communicator. `pass_on` does it natively where that was decided.
template <class PassOn>
int exchange(Communicator& communicator, MPI_Comm comm, const Problem& problem, std::byte* input, std::byte* output,
             PassOn pass_on) {
  if (communicator.is_broken) return fail(communicator, comm);
  switch (communicator.engine()->exchange(problem, input, output)) {
    case Engine::Outcome::done: return MPI_SUCCESS;
    case Engine::Outcome::native: return pass_on();
    case Engine::Outcome::broken: break;
  }
  return fail(communicator, comm);
}

}  // namespace

std::optional<int> leave_uneven(Communicator& communicator, Operation operation) {
  communicator.count_native({operation, plan::BlockSizes::counts});
  return std::nullopt;
}

std::optional<int> refuse_unknown(MPI_Comm comm, Operation operation, bool is_mine) {
  refuse_arguments(operation);
  return report(comm, is_mine ? MPI_ERR_BUFFER : MPI_ERR_OTHER);
}

bool are_known(const std::vector<Bytes>& sizes) {
  return std::find(sizes.begin(), sizes.end(), unknown_size) == sizes.end();
}

std::vector<Bytes> sizes_of(const Side* side, int ranks) {
  std::vector<Bytes> sizes(static_cast<std::size_t>(ranks), unknown_size);
  for (int r = 0; side != nullptr && r < ranks; ++r) sizes[static_cast<std::size_t>(r)] = side->block_bytes(r);
  return sizes;
}

int share_sizes(Communicator& communicator, MPI_Comm comm, int root, std::vector<Bytes>& sizes) {
  const Bytes bytes = sizes.size() * sizeof(Bytes);
  return exchange(communicator, comm, {Operation::broadcast, bytes, Rank(root)}, bytes_of(sizes), bytes_of(sizes),
                  [&] { return native().Bcast(sizes.data(), static_cast<int>(bytes), native().byte, root, comm); });
}

int share_rows(Communicator& communicator, MPI_Comm comm, const std::vector<Bytes>& row, std::vector<Bytes>& matrix) {
  const Bytes bytes = row.size() * sizeof(Bytes);
  matrix.resize(row.size() * row.size());
  std::vector<Bytes> own = row;
  return exchange(communicator, comm, {Operation::allgather, bytes}, bytes_of(own), bytes_of(matrix), [&] {
    const int count = static_cast<int>(bytes);
    return native().Allgather(own.data(), count, native().byte, matrix.data(), count, native().byte, comm);
  });
}

std::optional<int> share_sizes_first(Communicator& communicator, Operation operation, int root, std::vector<Bytes> own,
                                     Start& start, std::function<std::optional<int>(std::vector<Bytes>)> next) {
  const Decider& decider = communicator.engine()->decider();
  if (decider.leaves_uneven(operation)) return leave_uneven(communicator, operation);
  const bool is_alltoall = operation == Operation::alltoall;
  const Problem problem{is_alltoall ? Operation::allgather : Operation::broadcast, own.size() * sizeof(Bytes),
                        Rank(root)};
  const std::optional<int> code = start.exchange(communicator, problem, std::move(own), std::move(next));
  return code ? code : leave_uneven(communicator, operation);
}

std::vector<Bytes> deal_unevenly(const Problem& problem, int ranks) {
  const Bytes all = problem.bytes / problem.element, half = all / 2;
  const auto share = [&](int block) {
    const bool is_last = block + 1 == ranks;
    return problem.element * (block % 2 == 1 ? all + (all - half) : is_last ? all : half);
  };
  std::vector<Bytes> sizes;
  const int rows = problem.operation == Operation::alltoall ? ranks : 1;
  for (int from = 0; from < rows; ++from)
    for (int to = 0; to < ranks; ++to) sizes.push_back(share((to - from + ranks) % ranks));
  return sizes;
}

Problem make_uneven(Operation operation, int root, std::vector<Bytes> sizes) {
  Problem problem{operation, sizes.front(), Rank(root)};
  if (std::all_of(sizes.begin(), sizes.end(), [&](Bytes size) { return size == sizes.front(); })) return problem;
  problem.bytes = 0;
  // Mean of quotients and remainders apart: the sum of sizes that nobody could handle might not fit.
  Bytes rest = 0;
  for (const Bytes size : sizes) {
    problem.bytes += size / sizes.size();
    rest += size % sizes.size();
  }
  problem.bytes += (rest + sizes.size() - 1) / sizes.size();
  problem.counts = std::move(sizes);
  return problem;
}

}  // namespace espalier::mpi
