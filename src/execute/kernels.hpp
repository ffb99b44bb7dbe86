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

/// One type's loop for one operation, or none. Vectors are `bytes` of whole elements, need not be aligned and must not
/// overlap unless told otherwise.
class Kernel {
 public:
  using Loop = void (*)(const std::byte* left, const std::byte* right, std::byte* into, Bytes bytes) noexcept;

  constexpr Kernel(Loop loop = nullptr) : loop_(loop) {}
  bool operator==(const Kernel&) const = default;

  /// into[i] = left[i] o into[i]
  void operator()(const std::byte* left, std::byte* into, Bytes bytes) const noexcept {
    loop_(left, into, into, bytes);
  }
  /// into[i] = left[i] o right[i]; `right` may be `into`. Saves copying the operand to where the result shall be.
  void operator()(const std::byte* left, const std::byte* right, std::byte* into, Bytes bytes) const noexcept {
    loop_(left, right, into, bytes);
  }

 private:
  Loop loop_;
};

/// The fastest loop that this processor can run; none where MPI defines none (logical and bitwise operations on
/// floating-point numbers). MPI's meaning (4.0, section 6.9.2): logical operations give 0 or 1. Integer sums and
/// products wrap around. Minimum and maximum are `left < right ? left : right` and `left > right ? left : right`, also
/// for NaN. All loops for one type and operation give the same bits: each element is one operation, rounded once.
Kernel find_kernel(Scalar type, Combine operation) noexcept;

/// Bytes of one element.
Bytes size_of(Scalar type) noexcept;

}  // namespace espalier::execute
