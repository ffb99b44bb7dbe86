#pragma once
// What MPI's predefined operations make of two elements. Every rule is symmetric in bits: a o b has the bits of b o a,
// whatever they are, so that ranks that combine the same operands from different sides find the same (docs/adr/0018).
// The compiler's own sums and comparisons are not: of two NaNs one's payload is kept, and of 0 and -0 neither is more.

#include <cfloat>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace espalier::execute {

/// The bits of a floating-point number as an integer: sign, exponent and mantissa from the top down.
template <class T>
struct FloatingBits;
template <>
struct FloatingBits<float> {
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
  static constexpr Unsigned quiet = Unsigned{1} << 22;
};
template <>
struct FloatingBits<double> {
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
  static constexpr Unsigned quiet = Unsigned{1} << 51;
};
/// x86's of 80 bits lie in 16 bytes, others fill them.
template <>
struct FloatingBits<long double> {
  __extension__ typedef __int128 Signed;
  __extension__ typedef unsigned __int128 Unsigned;
  static constexpr int width = LDBL_MANT_DIG == 64 ? 80 : 128;
  /// Below the first bit of the mantissa, which x86 stores, comes the one that makes a NaN quiet.
  static constexpr Unsigned quiet = Unsigned{1} << (LDBL_MANT_DIG - 2);
};
static_assert(sizeof(long double) == 16 && (LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113));

template <class T>
using SignedBits = typename FloatingBits<T>::Signed;
template <class T>
using UnsignedBits = typename FloatingBits<T>::Unsigned;

template <class T>
inline constexpr int bits_of = sizeof(T) * 8;
template <>
inline constexpr int bits_of<long double> = FloatingBits<long double>::width;

/// Sign-extended, where the bits do not fill the integer.
template <class T>
inline __attribute__((always_inline)) SignedBits<T> to_bits(T value) noexcept {
  UnsignedBits<T> bits;
  std::memcpy(&bits, &value, sizeof value);
  constexpr int unused = static_cast<int>(sizeof(bits)) * 8 - bits_of<T>;
  return static_cast<SignedBits<T>>(bits << unused) >> unused;
}
template <class T>
inline __attribute__((always_inline)) T to_number(SignedBits<T> bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
inline __attribute__((always_inline)) bool is_nan(T value) noexcept {
  return value != value;
}

/// Of two NaNs the one with the larger bits, made quiet as a sum would. For everything else the processor's own rule is
/// symmetric: a NaN that meets a number stays, or, on some processors, becomes the default one.
template <class T>
inline __attribute__((always_inline)) T nan_of(T left, T right) noexcept {
  const auto l = static_cast<UnsignedBits<T>>(to_bits(left)), r = static_cast<UnsignedBits<T>>(to_bits(right));
  return to_number<T>(static_cast<SignedBits<T>>((l > r ? l : r) | FloatingBits<T>::quiet));
}
template <class T>
inline __attribute__((always_inline)) T symmetric_sum(T left, T right) noexcept {
  const T sum = left + right;
  return __builtin_expect(is_nan(sum), false) && is_nan(left) && is_nan(right) ? nan_of(left, right) : sum;
}
template <class T>
inline __attribute__((always_inline)) T symmetric_product(T left, T right) noexcept {
  const T product = left * right;
  return __builtin_expect(is_nan(product), false) && is_nan(left) && is_nan(right) ? nan_of(left, right) : product;
}

/// Numbers in their order, -0 before 0, as integers.
template <class T>
inline __attribute__((always_inline)) SignedBits<T> order_of(SignedBits<T> bits) noexcept {
  constexpr int sign = static_cast<int>(sizeof(bits)) * 8 - 1;
  return bits ^ static_cast<SignedBits<T>>(static_cast<UnsignedBits<T>>(bits >> sign) >> 1);
}

/// Whether the left operand is the extreme one, by IEEE 754-2019 (maximum, minimum): a NaN is, of two the one with the
/// larger bits, and -0 is less than 0. Associative, too, in bits.
template <bool is_maximum, class T>
inline __attribute__((always_inline)) bool is_left_extreme(T left, T right) noexcept {
  const SignedBits<T> l = to_bits(left), r = to_bits(right);
  const bool is_left_nan = is_nan(left), is_right_nan = is_nan(right);
  if (is_left_nan && is_right_nan) return static_cast<UnsignedBits<T>>(l) > static_cast<UnsignedBits<T>>(r);
  if (is_left_nan || is_right_nan) return is_left_nan;
  return is_maximum ? order_of<T>(l) > order_of<T>(r) : order_of<T>(l) < order_of<T>(r);
}

template <bool is_maximum, class T>
inline __attribute__((always_inline)) T extreme(T left, T right) noexcept {
  if constexpr (!std::is_floating_point_v<T>) {
    return is_maximum == (left > right) ? left : right;
  } else {
    if (__builtin_expect(left > right, true)) return is_maximum ? left : right;
    if (__builtin_expect(left < right, true)) return is_maximum ? right : left;
    return is_left_extreme<is_maximum>(left, right) ? left : right;
  }
}

template <class T>
struct Complex {
  T real, imaginary;
};

/// C's product (annex G: infinities survive), any NaN in it the default one.
template <class T>
inline Complex<T> symmetric_product(const Complex<T>& left, const Complex<T>& right) noexcept {
  Complex<T> product{left.real * right.real - left.imaginary * right.imaginary,
                     left.real * right.imaginary + left.imaginary * right.real};
  if (__builtin_expect(!is_nan(product.real) && !is_nan(product.imaginary), true)) return product;
  const auto recovered = std::complex<T>(left.real, left.imaginary) * std::complex<T>(right.real, right.imaginary);
  const auto settle = [](T part) { return is_nan(part) ? static_cast<T>(__builtin_nanf("")) : part; };
  return {settle(recovered.real()), settle(recovered.imag())};
}

/// A value and where it is, as in MPI_DOUBLE_INT and its like. Between them, and behind, there may be a gap.
template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

/// MPI_MAXLOC and MPI_MINLOC: the extreme value with the least of its indices. 0 and -0 are one value, and so are all
/// NaNs, so that an index never depends on them; the value's bits are those that `extreme` finds.
template <bool is_maximum, class Value, class Index>
inline __attribute__((always_inline)) Pair<Value, Index> extreme(const Pair<Value, Index>& left,
                                                                 const Pair<Value, Index>& right) noexcept {
  if (left.value > right.value && !is_maximum) return right;
  if (left.value > right.value) return left;
  if (left.value < right.value) return is_maximum ? right : left;
  const bool is_left = is_nan(left.value), is_right = is_nan(right.value);
  if (is_left != is_right) return is_left ? left : right;
  return {extreme<is_maximum>(left.value, right.value), extreme<false>(left.index, right.index)};
}

}  // namespace espalier::execute
