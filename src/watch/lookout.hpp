#pragma once
// For how long ranks have been in what is left to the MPI: they write no time, so somebody looks again and again.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "watch/sighting.hpp"

namespace espalier::watch {

class Lookout {
 public:
  /// What was seen at `now` (nanoseconds, of any clock), with Sighting::left_seconds: since the first of all looks in
  /// a row that saw the same.
  std::vector<Sighting> look(std::vector<Sighting> seen, std::uint64_t now);

 private:
  /// Communicator, rank, where its process tells of it, process, and the word of what is left.
  using Sight = std::tuple<std::uint32_t, int, int, int, std::uint64_t>;
  std::map<Sight, std::uint64_t> known_;  ///< since when
};

/// Of all ranks in these arenas; some seconds apart where any is in something that is left to the MPI, else once.
std::vector<Sighting> find_ranks(std::span<const std::shared_ptr<const transports::Arena>> arenas, double apart);

}  // namespace espalier::watch
