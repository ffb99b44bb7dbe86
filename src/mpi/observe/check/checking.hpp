#pragma once
// ESPALIER_CHECK: ranks tell each other what they are about to do.

#include <cstdint>
#include <optional>
#include <vector>

#include "mpi/calls/start.hpp"
#include "mpi/observe/check/record.hpp"
#include "mpi/observe/observed_communicator.hpp"
#include "mpi/observe/subject.hpp"

namespace espalier::mpi {

/// One call compared among all ranks of its communicator, by native's nonblocking collectives: in steps that wait for
/// nobody, so that calls that do not block can be compared, too. All ranks come to the same.
class Check final : public Preparation {
 public:
  /// `shares` are empty where the call's blocks are equal. `comm` and `communicator` outlive it.
  Check(MPI_Comm comm, const ObservedCommunicator& communicator, const Subject& subject, Shares shares);

  /// MPI's code, once all have told; reported if it is no success: the call must not be made, and nothing has moved.
  std::optional<int> advance(bool is_next) noexcept override;

 private:
  /// What has been started, and is waited for.
  enum class Step { nothing, records, sizes, misfits, announcement };

  std::optional<int> go_on();
  std::optional<int> compare_records();
  std::optional<int> compare_sizes();
  void announce(int speaker, const std::string& misfit, int one, int other, int code);
  template <class Record>
  void gather(const Record& mine, std::vector<Record>& all);

  MPI_Comm comm_;
  const ObservedCommunicator& communicator_;
  CallRecord mine_;
  std::vector<CallRecord> records_;
  Shares shares_;
  std::vector<std::int64_t> sent_;  ///< what every other rank sends this one, as they say
  ShareMisfit misfit_;
  std::vector<ShareMisfit> misfits_;
  Step step_ = Step::nothing;
  MPI_Request request_{};
  int code_ = MPI_SUCCESS;
};

}  // namespace espalier::mpi
