#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
using plan::Operation;

std::optional<int> try_call(Communicator& communicator, const Broadcast& call, Start* start) {
  if (!is_valid(call.data) || call.root < 0 || call.root >= communicator.ranks())
    return refuse_arguments(Operation::broadcast);
  const Side data(call.data);
  if (data.is_missing()) return refuse_arguments(Operation::broadcast);
  if (const int code = data.check_committed(call.comm); code != MPI_SUCCESS) return code;
  Entry* entry = prepare(communicator, {Operation::broadcast, data.bytes(), Rank(call.root)}, start);
  if (entry == nullptr) return std::nullopt;
  if (!data.is_plain())
    return carry_out<PackedMessage>(communicator, call.comm, *entry, start, data, communicator.rank() == call.root);
  if (start != nullptr) return carry_out<Unstaged>(communicator, call.comm, *entry, start, data.plain(), data.plain());
  return run(communicator, call.comm, *entry, data.plain(), data.plain());
}

std::optional<int> try_call(Communicator& communicator, const Barrier& call, Start* start) {
  Entry* entry = prepare(communicator, {Operation::barrier}, start);
  if (entry == nullptr) return std::nullopt;
  std::byte* const none = nullptr;
  if (start != nullptr) return carry_out<Unstaged>(communicator, call.comm, *entry, start, none, none);
  return run(communicator, call.comm, *entry, nullptr, nullptr);
}

}  // namespace espalier::mpi
