#pragma once
// Which NUMA node shared memory lies on.

#include <cstddef>

#include "base/ids.hpp"

namespace espalier::transports {

/// Has the system take these shared pages anew, from where the calling thread runs: they read as zero afterwards, in
/// all processes that map them. An arena's blocks lie where the process ran that allocated them, so a rank calls this
/// for what it writes itself, before anybody uses it. `begin` and `bytes` are whole pages of an arena's block.
///
/// False when memory ran out meanwhile: then the pages must not be touched. Where the kernel cannot do it safely
/// (before Linux 5.14) nothing happens, and all is well.
bool settle_here(std::byte* begin, Bytes bytes) noexcept;

}  // namespace espalier::transports
