#pragma once
// By what means ranks may copy straight between their memories.

#include <cstdint>
#include <string_view>

namespace espalier {

enum class CopyMeans : std::uint8_t {
  automatic,  ///< XPMEM for memory that is used again and again, cross-memory attach for the rest; what there is of
              ///< both
  xpmem,      ///< XPMEM from the first byte, cross-memory attach for what it refuses and where it is missing
  cma,        ///< cross-memory attach only
  none,
};

/// "auto" (or "on"), "xpmem", "cma", "off". Throws Error.
CopyMeans parse_copy_means(std::string_view text);

}  // namespace espalier
