#pragma once
// The arithmetic of reductions for the types and operations that MPI predefines, as loops that compilers vectorise.
// Everything else (user-defined operations, Fortran's logical values, rare types) is MPI's own business.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.hpp"

namespace espalier::execute {

/// Numbers; complex numbers of two; pairs of a value and its index, laid out as C does.
enum class Element : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  extended,  ///< long double
  complex32,
  complex64,
  complex_extended,
  int16_int,
  int32_int,
  int64_int,
  float32_int,
  float64_int,
  extended_int,
  float32_float32,
  float64_float64,
};
inline constexpr int element_count = 22;

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

/// The fastest loops that this processor can run, or those for any of its kind; none where MPI defines none: floating
/// point has no logical and bitwise operations, complex numbers only sum and product, pairs only maximum and minimum
/// (MPI_MAXLOC, MPI_MINLOC). MPI's meaning (4.0, section 6.9.2): logical operations give 0 or 1. Integer sums and
/// products wrap around. With NaN and zeros of both signs: execute/arithmetic/elements.hpp.
///
/// a o b has the same bits as b o a, NaN's payload included, and all loops for one type and operation give the same:
/// each element is one operation, rounded once. Gaps inside pairs are not written.
enum class Loops : bool { fastest, plain };
Kernel find_kernel(Element type, Combine operation, Loops loops = Loops::fastest) noexcept;

/// Bytes from one element to the next.
Bytes size_of(Element type) noexcept;

}  // namespace espalier::execute
