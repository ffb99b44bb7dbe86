#pragma once
// The arithmetic of reductions for the types and operations that MPI predefines, as loops that compilers vectorise.
// Everything else (user-defined operations, complex numbers, pairs) is MPI's own business.

#include <cstddef>
#include <cstdint>
#include <span>

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

/// One type's loops for one operation, or none. Vectors are `bytes` of whole elements, need not be aligned and must not
/// overlap unless told otherwise.
class Kernel {
 public:
  using Loop = void (*)(const std::byte* left, const std::byte* right, std::byte* into, Bytes bytes) noexcept;
  /// Of so many left operands at once.
  static constexpr std::size_t several = 3;
  using LoopOfSeveral = void (*)(const std::byte* const* left, const std::byte* right, std::byte* into,
                                 Bytes bytes) noexcept;

  constexpr Kernel(Loop loop = nullptr, LoopOfSeveral of_several = nullptr) : loop_(loop), of_several_(of_several) {}
  bool operator==(const Kernel&) const = default;

  /// into[i] = left[i] o into[i]
  void operator()(const std::byte* left, std::byte* into, Bytes bytes) const noexcept {
    loop_(left, into, into, bytes);
  }
  /// into[i] = left[i] o right[i]; `right` may be `into`. Saves copying the operand to where the result shall be.
  void operator()(const std::byte* left, const std::byte* right, std::byte* into, Bytes bytes) const noexcept {
    loop_(left, right, into, bytes);
  }
  /// The same with one left operand after the other: into[i] = left[n - 1][i] o ( … o (left[0][i] o right[i])). Three
  /// of them are one loop, in which a core has several streams of lines under way at a time: out of cells that two
  /// cores have written, 16 KB each, a core adds 20 to 25 GB/s one by one, 35 by three, 40 by five, 37 to 47 by
  /// fifteen.
  void operator()(std::span<const std::byte* const> left, const std::byte* right, std::byte* into,
                  Bytes bytes) const noexcept {
    for (; left.size() >= several; left = left.subspan(several), right = into)
      of_several_(left.data(), right, into, bytes);
    for (const std::byte* const operand : left) {
      loop_(operand, right, into, bytes);
      right = into;
    }
  }

 private:
  Loop loop_;
  LoopOfSeveral of_several_;
};

/// The fastest loops that this processor can run; none where MPI defines none (logical and bitwise operations on
/// floating-point numbers). MPI's meaning (4.0, section 6.9.2): logical operations give 0 or 1. Integer sums and
/// products wrap around. Minimum and maximum are `left < right ? left : right` and `left > right ? left : right`, also
/// for NaN. All loops for one type and operation give the same bits: each element is one operation, rounded once.
Kernel find_kernel(Scalar type, Combine operation) noexcept;

/// Bytes of one element.
Bytes size_of(Scalar type) noexcept;

}  // namespace espalier::execute
