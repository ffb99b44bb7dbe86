#pragma once
// The clock that all ranks of a host share, in nanoseconds.

#include <cstdint>
#include <ctime>

namespace espalier::mpi {

inline std::uint64_t read_clock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace espalier::mpi
