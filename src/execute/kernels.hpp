#pragma once
// The arithmetic of reductions for the types and operations that MPI predefines, as loops that compilers vectorise.
// Everything else (user-defined operations, complex numbers, pairs) is MPI's own business.

#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"

namespace espalier::execute {

enum class Scalar : std::uint8_t { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };
inline constexpr int scalar_count = 10;

enum class Combine : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
};
inline constexpr int combine_count = 10;

/// into[i] = left[i] o into[i] over `bytes` of whole elements, which need not be aligned and must not overlap.
using Kernel = void (*)(const std::byte* left, std::byte* into, Bytes bytes) noexcept;

/// The fastest loop that this processor can run; null where MPI defines none (logical and bitwise operations on
/// floating-point numbers). MPI's meaning (4.0, section 6.9.2): logical operations give 0 or 1. Integer sums and
/// products wrap around. Minimum and maximum are `left < into ? left : into` and `left > into ? left : into`, also for
/// NaN. All loops for one type and operation give the same bits: each element is one operation, rounded once.
Kernel find_kernel(Scalar type, Combine operation) noexcept;

/// Bytes of one element.
Bytes size_of(Scalar type) noexcept;

}  // namespace espalier::execute
