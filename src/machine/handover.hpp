#pragma once
// How a core gets cache lines that another one has written, which decides between cells and single copies.

#include <cstdint>

namespace espalier::machine {

/// Between two cores of one last-level cache.
enum class Handover : std::uint8_t {
  quick,  ///< at that cache's rate: AMD's Zen, 16 KB read in 0.6 us
  slow,   ///< out of the other core's own second-level cache: Intel's servers, 16 KB in 2 us (docs/adr/0038)
};

/// Of this machine, as its processors' maker tells; of makers that nobody has measured: slow.
Handover probe_handover();

}  // namespace espalier::machine
