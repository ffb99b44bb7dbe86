#pragma once
// Whether a job learns from its own calls.

#include <cstdint>

namespace espalier {

enum class Learning : std::uint8_t {
  on,    ///< tries, decides, keeps what it found, and uses what earlier jobs found
  read,  ///< uses what earlier jobs found
  off,
};

}  // namespace espalier
