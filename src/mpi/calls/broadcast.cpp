#include "mpi/calls/serve.hpp"

namespace espalier::mpi {
namespace {

using execute::Ending;
using plan::Operation;

int run_packed(const Broadcast& call, const Side& data, Communicator& communicator, Entry& entry) {
  std::byte* packed = communicator.packed().take(data.bytes());
  const bool is_root = communicator.rank() == call.root;
  int code = is_root ? data.pack(packed, call.comm) : MPI_SUCCESS;
  if (code == MPI_SUCCESS && communicator.is_broken) code = fail(communicator, call.comm);
  if (code != MPI_SUCCESS) return code;
  const Ending ending = communicator.engine()->run(entry, packed, packed);
  if (!is_root && ending.kind == Ending::shorter)
    code = data.front(ending.bytes).unpack(packed, call.comm);
  else if (!is_root && ending.kind != Ending::broken)
    code = data.unpack(packed, call.comm);
  communicator.packed().trim();
  return code == MPI_SUCCESS && ending.kind != Ending::done ? conclude(communicator, call.comm, ending) : code;
}

}  // namespace

std::optional<int> try_call(Communicator& communicator, const Broadcast& call) {
  if (!is_valid(call.data) || call.root < 0 || call.root >= communicator.ranks())
    return refuse_arguments(Operation::broadcast);
  const Side data(call.data);
  if (data.is_missing()) return refuse_arguments(Operation::broadcast);
  if (const int code = data.check_committed(call.comm); code != MPI_SUCCESS) return code;
  Entry* entry = prepare(communicator, {Operation::broadcast, data.bytes(), Rank(call.root)});
  if (entry == nullptr) return std::nullopt;
  if (!data.is_plain()) return run_packed(call, data, communicator, *entry);
  return run(communicator, call.comm, *entry, data.plain(), data.plain());
}

std::optional<int> try_call(Communicator& communicator, const Barrier& call) {
  Entry* entry = prepare(communicator, {Operation::barrier});
  if (entry == nullptr) return std::nullopt;
  return run(communicator, call.comm, *entry, nullptr, nullptr);
}

}  // namespace espalier::mpi
