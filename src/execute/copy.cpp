#include "execute/copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace espalier::execute {
namespace {

constexpr Bytes cache_line = 64;

/// Where C libraries begin to use the string move.
constexpr Bytes least_by_string_move = 2 << 10;

/// Blocks that the compiler copies in registers.
void copy_downwards(std::byte* into, const std::byte* from, Bytes bytes) noexcept {
  constexpr Bytes block = 128;
  for (; bytes >= block; bytes -= block) std::memcpy(into + bytes - block, from + bytes - block, block);
  std::memcpy(into, from, bytes);
}

}  // namespace

void copy_bytes(std::byte* into, const std::byte* from, Bytes bytes) noexcept {
  if (bytes >= least_by_string_move && is_just_behind(into, from)) return copy_downwards(into, from, bytes);
  std::memcpy(into, from, bytes);
}

#if defined(__SSE2__)

namespace {

/// Four stores fill the write-combining buffer of one line; wider ones leave memory no faster, so this needs no choice
/// at run time, unlike the arithmetic in kernels.cpp.
void stream_line(std::byte* into, const std::byte* from) noexcept {
  const auto* const source = reinterpret_cast<const __m128i*>(from);
  auto* const target = reinterpret_cast<__m128i*>(into);
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void copy_streaming(std::byte* into, const std::byte* from, Bytes bytes) noexcept {
  const Bytes head = std::min<Bytes>(bytes, -reinterpret_cast<std::uintptr_t>(into) % cache_line);
  std::memcpy(into, from, head);
  const Bytes lines_end = head + (bytes - head) / cache_line * cache_line;
  for (Bytes at = head; at < lines_end; at += cache_line) stream_line(into + at, from + at);
  std::memcpy(into + lines_end, from + lines_end, bytes - lines_end);
  _mm_sfence();  // streaming stores do not keep their order with a flag's release
}

#else

void copy_streaming(std::byte* into, const std::byte* from, Bytes bytes) noexcept { std::memcpy(into, from, bytes); }

#endif

void copy_for_reader(std::byte* into, const std::byte* from, Bytes bytes, const Way& way,
                     Closeness& closeness) noexcept {
  if (way.is_streamed && bytes >= least_streamed) return copy_streaming(into, from, bytes);
  if (!way.is_timed) return copy_bytes(into, from, bytes);
  const auto begin = std::chrono::steady_clock::now();
  copy_bytes(into, from, bytes);
  closeness.learn(way, bytes, std::chrono::steady_clock::now() - begin);
}

// Other readers, if any, find the same bytes before and after, which ThreadSanitizer does not see. The tests of
// interleavings are told, and find that there is one reader only.
#if !defined(ESPALIER_EXPLORED)
[[gnu::no_sanitize_thread]]
#endif
void take_over(std::byte* lines, Bytes bytes) noexcept {
  for (Bytes at = 0; at < bytes; at += cache_line) {
    volatile std::byte& byte = lines[at];
    byte = byte;
  }
}

void copy_taking_over(std::byte* into, std::byte* from, Bytes bytes) noexcept {
  constexpr Bytes piece = 4 << 10;  // is still in the nearest cache when its lines are written
  for (Bytes at = 0, part = 0; at < bytes; at += part) {
    part = std::min(piece, bytes - at);
    copy_bytes(into + at, from + at, part);
    take_over(from + at, part);
  }
}

}  // namespace espalier::execute
