#include "mpi/observe/checking.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "mpi/boundary/quiet.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/observe/record.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

/// Names of predefined types are the same in all processes; handles need not be.
void name_type(CallRecord& record, const Subject& subject) {
  if (!subject.has_type || subject.type == native().byte || subject.type == native().packed) return;
  if (!describe(subject.type).is_named) return;
  using GetName = int (*)(MPI_Datatype, char*, int*);
  static const auto get_name = reinterpret_cast<GetName>(find_symbol("PMPI_Type_get_name"));
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  if (get_name == nullptr || get_name(subject.type, name, &length) != MPI_SUCCESS) return;
  std::memcpy(record.type, name, std::min<std::size_t>(std::strlen(name), sizeof record.type - 1));
}

CallRecord record_of(const Subject& subject) {
  CallRecord record;
  record.operation = static_cast<std::uint8_t>(subject.operation);
  record.has_counts = subject.has_counts;
  record.root = subject.root;
  // With a count for each rank, sizes may differ.
  if (!subject.has_counts) record.bytes = subject.bytes;
  name_type(record, subject);
  return record;
}

int class_of(Misfit::Kind kind) {
  switch (kind) {
    case Misfit::root: return MPI_ERR_ROOT;
    case Misfit::bytes: return MPI_ERR_COUNT;
    case Misfit::type: return MPI_ERR_TYPE;
    case Misfit::operation: break;
  }
  return MPI_ERR_OTHER;
}

}  // namespace

int check_call(MPI_Comm comm, const ObservedCommunicator& communicator, const Subject& subject) {
  const std::vector<CallRecord> records = gather_quietly(comm, communicator.ranks(), record_of(subject));
  const std::optional<Misfit> misfit = find_misfit(records);
  if (!misfit) return MPI_SUCCESS;
  if (communicator.me() == misfit->one)
    Library::get().say("ESPALIER_CHECK: " + describe(*misfit, records) + " (ranks of a communicator with " +
                       communicator.shape() + "; in MPI_COMM_WORLD " +
                       std::to_string(communicator.member(misfit->one)) + " and " +
                       std::to_string(communicator.member(misfit->other)) + ")");
  gather_quietly(comm, communicator.ranks(), record_of(subject));  // it has been said before anybody ends the job
  return report(comm, class_of(misfit->kind));
}

}  // namespace espalier::mpi
