#include "mpi/observe/check/checking.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "mpi/calls/serve.hpp"
#include "mpi/native/quiet.hpp"
#include "mpi/observe/check/signature.hpp"
#include "mpi/process/library.hpp"

namespace espalier::mpi {
namespace {

template <std::size_t room>
void copy(char (&into)[room], const std::string& text) {
  std::memcpy(into, text.data(), std::min(text.size(), room - 1));
}

/// Handles need not be the same in all processes, names are. By itself, since GCC 12 ends in an internal error where it
/// makes the record in its place (-O1, files compiled in one go).
[[gnu::noinline]] CallRecord record_of(const Subject& subject) {
  CallRecord record;
  record.call = subject.call;
  // With a count for each rank, sizes may differ, and so may those of neighbours who are no neighbours of each other.
  if (record.call.has_counts() || plan::has_edges(record.call.operation)) record.call.bytes.reset();
  if (subject.op) copy(record.op, name_operation(*subject.op));
  if (!subject.type || subject.call.bytes == Bytes{0}) return record;
  const std::string type = base_type(*subject.type);
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

}  // namespace

Check::Check(MPI_Comm comm, const ObservedCommunicator& communicator, const Subject& subject, Shares shares)
    : comm_(comm), communicator_(communicator), mine_(record_of(subject)), shares_(std::move(shares)) {}

std::optional<int> Check::advance(bool) noexcept {
  try {
    for (;;) {
      int is_complete = step_ == Step::nothing;
      if (!is_complete) check(native().Test(&request_, &is_complete, MPI_STATUS_IGNORE));
      if (!is_complete) return std::nullopt;
      if (const std::optional<int> code = go_on()) return code;
    }
  } catch (const NativeFailure&) {
    return report(comm_, MPI_ERR_OTHER);
  } catch (const std::exception&) {
    return report(comm_, MPI_ERR_NO_MEM);
  }
}

/// What was waited for is there.
std::optional<int> Check::go_on() {
  switch (step_) {
    case Step::nothing:
      gather(mine_, records_);
      step_ = Step::records;
      return std::nullopt;
    case Step::records: return compare_records();
    case Step::sizes:
      misfit_ = find_misfit(shares_, sent_);
      gather(misfit_, misfits_);
      step_ = Step::misfits;
      return std::nullopt;
    case Step::misfits: return compare_sizes();
    case Step::announcement: break;
  }
  return report(comm_, code_);
}

template <class Record>
void Check::gather(const Record& mine, std::vector<Record>& all) {
  all.resize(static_cast<std::size_t>(communicator_.ranks()));
  check(start_gather(&mine, all.data(), sizeof mine, comm_, &request_));
}

std::optional<int> Check::compare_records() {
  if (const std::optional<Misfit> misfit = find_misfit(records_)) {
    announce(misfit->one, describe(*misfit, records_), misfit->one, misfit->other, class_of(misfit->kind));
    return std::nullopt;
  }
  if (shares_.sends.empty()) return MPI_SUCCESS;
  constexpr int bytes = sizeof(std::int64_t);
  sent_.resize(shares_.sends.size());
  check(native().Ialltoall(shares_.sends.data(), bytes, native().byte, sent_.data(), bytes, native().byte, comm_,
                           &request_));
  step_ = Step::sizes;
  return std::nullopt;
}

/// Whether what is sent is what is expected, among all pairs of ranks.
std::optional<int> Check::compare_sizes() {
  const auto found = std::find_if(misfits_.begin(), misfits_.end(), [](const auto& it) { return it.sender >= 0; });
  if (found == misfits_.end()) return MPI_SUCCESS;
  const int receiver = static_cast<int>(found - misfits_.begin());
  announce(receiver, describe(*found, receiver, mine_), found->sender, receiver, MPI_ERR_TRUNCATE);
  return std::nullopt;
}

/// It has been said before anybody ends the job.
void Check::announce(int speaker, const std::string& misfit, int one, int other, int code) {
  if (communicator_.me() == speaker)
    Library::get().say("ESPALIER_CHECK: " + misfit + " (ranks of a communicator with " + communicator_.shape() +
                       "; in MPI_COMM_WORLD " + std::to_string(communicator_.member(one)) + " and " +
                       std::to_string(communicator_.member(other)) + ")");
  code_ = code;
  check(native().Ibarrier(comm_, &request_));
  step_ = Step::announcement;
}

}  // namespace espalier::mpi
