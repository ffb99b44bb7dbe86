#pragma once
// Copies whose target had better not be in this core's caches: nobody will read it soon, or another core will.

#include <cstddef>

#include "base/ids.hpp"
#include "execute/closeness.hpp"

namespace espalier::execute {

/// From here on a copy may stream: each begins and ends with a piece of a cache line that it does not, and a fence.
inline constexpr Bytes least_streamed = 4 << 10;

/// As memcpy, past the caches where the processor can (x86-64): whole lines are written without having been read first,
/// and nothing else is driven out for them. For targets larger than the last-level cache; smaller ones had better stay
/// in it (docs/ideas/smp.md has the numbers). Whatever the caller stores afterwards becomes visible later.
void copy_streaming(std::byte* into, const std::byte* from, Bytes bytes) noexcept;

/// As memcpy, to where one other rank will read it and has read before: past the caches where taking the lines away
/// from it is slow. `is_timed`: through them in any case, to learn that (Closeness::is_due).
void copy_for_reader(std::byte* into, const std::byte* from, Bytes bytes, Closeness& closeness, bool is_timed) noexcept;

}  // namespace espalier::execute
