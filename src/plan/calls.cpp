#include "plan/calls.hpp"

#include <cctype>

#include "base/bytes.hpp"

namespace espalier::plan {

const char* mpi_name(Operation operation) {
  switch (operation) {
    case Operation::broadcast: return "MPI_Bcast";
    case Operation::scatter: return "MPI_Scatter";
    case Operation::gather: return "MPI_Gather";
    case Operation::allgather: return "MPI_Allgather";
    case Operation::alltoall: return "MPI_Alltoall";
    case Operation::reduce: return "MPI_Reduce";
    case Operation::allreduce: return "MPI_Allreduce";
    case Operation::reduce_scatter: return "MPI_Reduce_scatter";
    case Operation::scan: return "MPI_Scan";
    case Operation::exscan: return "MPI_Exscan";
    case Operation::barrier: return "MPI_Barrier";
    case Operation::neighbor_allgather: return "MPI_Neighbor_allgather";
    case Operation::neighbor_alltoall: return "MPI_Neighbor_alltoall";
  }
  return "";
}

std::string name_of(const Call& call) {
  std::string name = mpi_name(call.operation);
  if (name.empty()) return name;
  if (call.operation == Operation::reduce_scatter)
    name += call.has_counts() ? "" : "_block";
  else if (call.has_counts())
    name += call.blocks == BlockSizes::types ? "w" : "v";
  constexpr std::size_t prefix = 4;  // MPI_
  if (call.form == CallForm::nonblocking) {
    name[prefix] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[prefix])));
    name.insert(prefix, "I");
  }
  return call.form == CallForm::persistent ? name + "_init" : name;
}

std::string describe(const Call& call, const std::string& data) {
  std::string text = name_of(call);
  if (text.empty()) return "a call";
  if (call.operation != Operation::barrier && call.bytes) text += " of " + format_bytes(*call.bytes) + " bytes";
  text += data;
  return has_root(call.operation) ? text + ", root " + std::to_string(call.root) : text;
}

const char* name(CallForm form) {
  switch (form) {
    case CallForm::blocking: return "blocking";
    case CallForm::nonblocking: return "nonblocking";
    case CallForm::persistent: return "persistent";
  }
  return "";
}

}  // namespace espalier::plan
