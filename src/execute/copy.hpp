#pragma once
// Copies where memcpy is not the fastest: by where the target lies, or because of who has the lines in its caches
// before and afterwards.

#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "execute/closeness.hpp"

namespace espalier::execute {

/// Whether one long memcpy may be slow: the target begins 1 to 31 bytes behind the source, counted within their pages.
/// C libraries copy from 2 or 4 KB on with the processor's string move, and where a load seems to depend on the store
/// before it, some processors do that byte by byte (AMD Zen 3 and 4; glibc before 2.40). Large blocks of the C
/// library's allocator begin 16 bytes into a page, and cells at its beginning. An allgather of 1025 doubles has its
/// second block 8 bytes behind.
inline bool is_just_behind(const std::byte* into, const std::byte* from) noexcept {
  const std::uintptr_t behind =
      (reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  return behind > 0 && behind < 32;
}

/// As memcpy, also there: from the end to the beginning, so that no load comes behind a store that it seems to depend
/// on. Zen 3, 16 KB, 16 bytes behind: 0.4 us in place of 8; elsewhere memcpy takes 0.3.
void copy_bytes(std::byte* into, const std::byte* from, Bytes bytes) noexcept;

/// From here on a copy may stream: each begins and ends with a piece of a cache line that it does not, and a fence.
inline constexpr Bytes least_streamed = 4 << 10;

/// As memcpy, past the caches where the processor can (x86-64): whole lines are written without having been read first,
/// and nothing else is driven out for them. For targets larger than the last-level cache; smaller ones had better stay
/// in it (docs/ideas/smp.md has the numbers). Whatever the caller stores afterwards becomes visible later.
void copy_streaming(std::byte* into, const std::byte* from, Bytes bytes) noexcept;

/// From here on it matters how a cell goes to its reader, and what its writer's clock says of it.
inline constexpr Bytes least_with_ways = 2 << 10;

/// As memcpy, to where one other rank will read it and has read before, in the way that `closeness` has said.
void copy_for_reader(std::byte* into, const std::byte* from, Bytes bytes, const Way& way,
                     Closeness& closeness) noexcept;

/// After reading what a neighbour has written and will write again: makes its lines this core's own (Way::is_taken).
/// One byte of each line, of those that were read, is written as it is: nobody else may write them meanwhile.
void take_over(std::byte* lines, Bytes bytes) noexcept;
/// As memcpy, and take_over() of the source.
void copy_taking_over(std::byte* into, std::byte* from, Bytes bytes) noexcept;

}  // namespace espalier::execute
