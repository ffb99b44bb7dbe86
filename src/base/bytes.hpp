#pragma once
// Sizes as people write them: "64K", "1M", "4096".

#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace espalier {

/// Parses a size in bytes: digits, then optionally one of K, M, G (powers of 1024, any case), then optionally "B" or
/// "iB". Throws Error naming the text when it is not a size or does not fit 64 bits.
Bytes parse_bytes(std::string_view text);

/// The shortest exact spelling that parse_bytes reads back: 65536 is "64K", 1000 is "1000".
std::string format_bytes(Bytes bytes);

}  // namespace espalier
