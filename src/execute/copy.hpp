#pragma once
// Copies where memcpy is not the fastest: by where the target lies, or because it had better not be in this core's
// caches: nobody will read it soon, or another core will.

#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "execute/closeness.hpp"

namespace espalier::execute {

/// Whether one long memcpy may be slow: the target begins 1 to 15 bytes behind the source, counted within their pages.
/// C libraries copy from 2 or 4 KB on with the processor's string move, and where a load seems to depend on the store
/// before it, some processors do that byte by byte (AMD Zen 3 and 4; glibc before 2.40). An allgather of 1025 doubles
/// has its second block there.
inline bool is_just_behind(const std::byte* into, const std::byte* from) noexcept {
  const std::uintptr_t behind =
      (reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  return behind > 0 && behind < 16;
}

/// As memcpy, also there: in pieces too short for the string move. 64 KB, 8 bytes behind: 2 us in place of 18.7.
void copy_bytes(std::byte* into, const std::byte* from, Bytes bytes) noexcept;

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
