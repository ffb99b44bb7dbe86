#pragma once
// The call at which a communicator stands still: which, and who has come to it.

#include <cstdint>
#include <optional>
#include <span>

#include "watch/sighting.hpp"

namespace espalier::watch {

/// Who makes a call.
enum class Maker {
  espalier,
  mpi,  ///< it is left to it
  end,  ///< MPI_Finalize
};

/// In a call of its communicator that the MPI makes, or in what comes before one.
bool is_in_left_call(const Sighting& seen);

/// The first call of a communicator that is not over.
struct Front {
  Maker maker = Maker::espalier;
  std::uint64_t call = 0;  ///< of its maker's

  bool is_reached_by(const Sighting& seen) const;
  bool is_passed_by(const Sighting& seen) const;
  double seconds_of(const Sighting& seen) const;
  /// What has to be equal on all ranks of a call; the rest is not known in it.
  plan::Call gist_of(const Sighting& seen) const;
  /// That of most of those that have come; of the lowest rank where as many came with another.
  plan::Call usual_gist(std::span<const Sighting> members) const;
};

/// None where no member waits.
std::optional<Front> find_front(std::span<const Sighting> members);

}  // namespace espalier::watch
