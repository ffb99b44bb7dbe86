#include "mpi/observe/checking.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "mpi/boundary/quiet.hpp"
#include "mpi/calls/serve.hpp"
#include "mpi/observe/signature.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

template <std::size_t room>
void copy(char (&into)[room], const std::string& text) {
  std::memcpy(into, text.data(), std::min(text.size(), room - 1));
}

/// Handles need not be the same in all processes, names are.
CallRecord record_of(const Subject& subject) {
  CallRecord record;
  record.operation = static_cast<std::uint8_t>(subject.operation);
  record.has_counts = subject.has_counts;
  record.root = subject.root;
  // With a count for each rank, sizes may differ.
  if (!subject.has_counts) record.bytes = subject.bytes;
  if (subject.has_op) copy(record.op, name_operation(subject.op));
  if (!subject.has_type || subject.bytes == 0) return record;
  const std::string type = base_type(subject.type);
  if (type != "MPI_BYTE" && type != "MPI_PACKED") copy(record.type, type);
  return record;
}

int class_of(Misfit::Kind kind) {
  switch (kind) {
    case Misfit::root: return MPI_ERR_ROOT;
    case Misfit::bytes: return MPI_ERR_COUNT;
    case Misfit::type: return MPI_ERR_TYPE;
    case Misfit::op: return MPI_ERR_OP;
    case Misfit::operation: break;
  }
  return MPI_ERR_OTHER;
}

std::string place_of(const ObservedCommunicator& communicator, int one, int other) {
  return " (ranks of a communicator with " + communicator.shape() + "; in MPI_COMM_WORLD " +
         std::to_string(communicator.member(one)) + " and " + std::to_string(communicator.member(other)) + ")";
}

/// What every other rank sends this one, as they say.
std::vector<std::int64_t> exchange(MPI_Comm comm, const std::vector<std::int64_t>& sends) {
  constexpr int bytes = sizeof(std::int64_t);
  std::vector<std::int64_t> sent(sends.size());
  MPI_Request request;
  check(native().Ialltoall(sends.data(), bytes, native().byte, sent.data(), bytes, native().byte, comm, &request));
  wait_quietly(request);
  return sent;
}

/// Whether what is sent is what is expected, among all pairs of ranks.
int check_shares(MPI_Comm comm, const ObservedCommunicator& communicator, const CallRecord& record,
                 const Shares& shares) {
  const ShareMisfit mine = find_misfit(shares, exchange(comm, shares.sends));
  const std::vector<ShareMisfit> found = gather_quietly(comm, communicator.ranks(), mine);
  const auto misfit = std::find_if(found.begin(), found.end(), [](const auto& it) { return it.sender >= 0; });
  if (misfit == found.end()) return MPI_SUCCESS;
  const int receiver = static_cast<int>(misfit - found.begin());
  if (communicator.me() == receiver)
    Library::get().say("ESPALIER_CHECK: " + describe(*misfit, receiver, record) +
                       place_of(communicator, misfit->sender, receiver));
  gather_quietly(comm, communicator.ranks(), mine);  // it has been said before anybody ends the job
  return report(comm, MPI_ERR_TRUNCATE);
}

}  // namespace

int check_call(MPI_Comm comm, const ObservedCommunicator& communicator, const Subject& subject, const Shares& shares) {
  const CallRecord mine = record_of(subject);
  const std::vector<CallRecord> records = gather_quietly(comm, communicator.ranks(), mine);
  const std::optional<Misfit> misfit = find_misfit(records);
  if (!misfit) return shares.sends.empty() ? MPI_SUCCESS : check_shares(comm, communicator, mine, shares);
  if (communicator.me() == misfit->one)
    Library::get().say("ESPALIER_CHECK: " + describe(*misfit, records) +
                       place_of(communicator, misfit->one, misfit->other));
  gather_quietly(comm, communicator.ranks(), mine);  // it has been said before anybody ends the job
  return report(comm, class_of(misfit->kind));
}

}  // namespace espalier::mpi
