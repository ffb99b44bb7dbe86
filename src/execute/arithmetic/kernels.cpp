#include "execute/arithmetic/kernels.hpp"

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "execute/arithmetic/elements.hpp"
#include "execute/arithmetic/vectors.hpp"

namespace espalier::execute {
namespace {

/// Every loop exists twice: for any processor of the architecture, and with 32-byte vectors, chosen at run time.
/// Measured on sums of doubles: 4 KB in 0.17 µs and in 0.08 µs; from 64 KB on, beyond the first-level cache, both are
/// alike.
#if defined(__x86_64__)
#define ESPALIER_WIDE_VECTORS __attribute__((target("avx2")))
bool has_wide_vectors() noexcept { return __builtin_cpu_supports("avx2") != 0; }
#else
#define ESPALIER_WIDE_VECTORS
bool has_wide_vectors() noexcept { return false; }
#endif

using Elements =
    std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
               std::uint64_t, float, double, long double, Complex<float>, Complex<double>, Complex<long double>,
               Pair<std::int16_t, int>, Pair<int, int>, Pair<std::int64_t, int>, Pair<float, int>, Pair<double, int>,
               Pair<long double, int>, Pair<float, float>, Pair<double, double>>;
static_assert(std::tuple_size_v<Elements> == element_count);

template <class T>
struct Parts {
  static constexpr bool is_complex = false, is_pair = false;
};
template <class T>
struct Parts<Complex<T>> {
  static constexpr bool is_complex = true, is_pair = false;
};
template <class Value, class Index>
struct Parts<Pair<Value, Index>> {
  static constexpr bool is_complex = false, is_pair = true;
};

/// What sums and products are computed in: signed numbers would overflow, short unsigned ones are promoted to int and
/// would too.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < sizeof(std::uint32_t)), std::uint32_t, std::make_unsigned_t<T>>;

template <Combine operation, class T>
inline __attribute__((always_inline)) T apply(T left, T right) noexcept {
  constexpr bool is_whole = std::is_integral_v<T>;
  if constexpr (operation == Combine::sum && is_whole)
    return static_cast<T>(static_cast<Wide<T>>(left) + static_cast<Wide<T>>(right));
  if constexpr (operation == Combine::product && is_whole)
    return static_cast<T>(static_cast<Wide<T>>(left) * static_cast<Wide<T>>(right));
  if constexpr (operation == Combine::sum && !is_whole) return symmetric_sum(left, right);
  if constexpr (operation == Combine::product && !is_whole) return symmetric_product(left, right);
  if constexpr (operation == Combine::minimum) return extreme<false>(left, right);
  if constexpr (operation == Combine::maximum) return extreme<true>(left, right);
  if constexpr (operation == Combine::logical_and) return static_cast<T>((left != 0) & (right != 0));
  if constexpr (operation == Combine::logical_or) return static_cast<T>((left != 0) | (right != 0));
  if constexpr (operation == Combine::logical_xor) return static_cast<T>((left != 0) ^ (right != 0));
  if constexpr (operation == Combine::bitwise_and) return static_cast<T>(left & right);
  if constexpr (operation == Combine::bitwise_or) return static_cast<T>(left | right);
  if constexpr (operation == Combine::bitwise_xor) return static_cast<T>(left ^ right);
}

/// Callers' vectors may lie anywhere and hold anything, as far as the compiler is concerned.
template <class T>
struct Unaligned {
  typedef T Plain __attribute__((aligned(1), may_alias));
  static T load(const std::byte* at) noexcept { return *reinterpret_cast<const Plain*>(at); }
  static void store(std::byte* at, T value) noexcept { *reinterpret_cast<Plain*>(at) = value; }
};
/// What a long double does not fill of its 16 bytes would be whatever was there: zero, so that all ranks have the same.
template <>
struct Unaligned<long double> {
  typedef long double Plain __attribute__((aligned(1), may_alias));
  static constexpr std::size_t used = bits_of<long double> / 8;
  static long double load(const std::byte* at) noexcept { return *reinterpret_cast<const Plain*>(at); }
  static void store(std::byte* at, long double value) noexcept {
    *reinterpret_cast<Plain*>(at) = value;
    if constexpr (used < sizeof value) std::memset(at + used, 0, sizeof value - used);
  }
};
template <class T>
struct Unaligned<Complex<T>> {
  static Complex<T> load(const std::byte* at) noexcept {
    return {Unaligned<T>::load(at), Unaligned<T>::load(at + sizeof(T))};
  }
  static void store(std::byte* at, const Complex<T>& number) noexcept {
    Unaligned<T>::store(at, number.real);
    Unaligned<T>::store(at + sizeof(T), number.imaginary);
  }
};
template <class Value, class Index>
struct Unaligned<Pair<Value, Index>> {
  using Type = Pair<Value, Index>;
  static Type load(const std::byte* at) noexcept {
    return {Unaligned<Value>::load(at), Unaligned<Index>::load(at + offsetof(Type, index))};
  }
  static void store(std::byte* at, const Type& pair) noexcept {
    Unaligned<Value>::store(at, pair.value);
    Unaligned<Index>::store(at + offsetof(Type, index), pair.index);
  }
};

constexpr int plain_width = 16, wide_width = 32;  // bytes of a vector

/// into = left[count - 1] o ( … o (left[0] o right)), from byte `begin` on.
template <Combine operation, class T, std::size_t count>
inline __attribute__((always_inline)) void combine_one_by_one(const std::byte* const* left, const std::byte* right,
                                                              std::byte* into, Bytes begin, Bytes end) noexcept {
#pragma GCC ivdep  // `right` may be `into`: not __restrict, but no element depends on another
  for (Bytes at = begin; at < end; at += sizeof(T)) {
    T result = Unaligned<T>::load(right + at);
    for (std::size_t k = 0; k < count; ++k) result = apply<operation, T>(Unaligned<T>::load(left[k] + at), result);
    Unaligned<T>::store(into + at, result);
  }
}

/// Out of line, so that the loop keeps no operands for it in registers.
template <Combine operation, class T, int vectors, std::size_t count>
__attribute__((noinline, cold)) void settle_plainly(const std::byte* const* left, const std::byte* right,
                                                    std::byte* into, Bytes at) noexcept {
  combine_carefully<operation, T, plain_width, vectors, count>(left, right, into, at);
}
template <Combine operation, class T, int vectors, std::size_t count>
ESPALIER_WIDE_VECTORS __attribute__((noinline, cold)) void settle_widely(const std::byte* const* left,
                                                                         const std::byte* right, std::byte* into,
                                                                         Bytes at) noexcept {
  combine_carefully<operation, T, wide_width, vectors, count>(left, right, into, at);
}

template <class T>
constexpr bool has_vectors = std::is_same_v<T, float> || std::is_same_v<T, double>;

constexpr int several = 4;  // vectors of which one shows whether any of them is special

template <Combine operation, class T, std::size_t count>
inline __attribute__((always_inline)) void combine_all_plainly(const std::byte* const* left, const std::byte* right,
                                                               std::byte* into, Bytes at, Bytes bytes) noexcept {
  if constexpr (has_vectors<T>) {
    for (; at + several * plain_width <= bytes; at += several * plain_width)
      if (!combine_quickly<operation, T, plain_width, several, count>(left, right, into, at))
        settle_plainly<operation, T, several, count>(left, right, into, at);
    for (; at + plain_width <= bytes; at += plain_width)
      if (!combine_quickly<operation, T, plain_width, 1, count>(left, right, into, at))
        settle_plainly<operation, T, 1, count>(left, right, into, at);
  }
  combine_one_by_one<operation, T, count>(left, right, into, at, bytes / sizeof(T) * sizeof(T));
}

template <Combine operation, class T, std::size_t count>
inline __attribute__((always_inline)) void combine_all_widely(const std::byte* const* left, const std::byte* right,
                                                              std::byte* into, Bytes bytes) noexcept {
  Bytes at = 0;
  if constexpr (has_vectors<T>)
    for (; at + several * wide_width <= bytes; at += several * wide_width)
      if (!combine_quickly<operation, T, wide_width, several, count>(left, right, into, at))
        settle_widely<operation, T, several, count>(left, right, into, at);
  combine_all_plainly<operation, T, count>(left, right, into, at, bytes);
}

template <Combine operation, class T>
void combine_plainly(const std::byte* left, const std::byte* right, std::byte* into, Bytes bytes) noexcept {
  combine_all_plainly<operation, T, 1>(&left, right, into, 0, bytes);
}
template <Combine operation, class T>
void combine_three_plainly(const std::byte* const* left, const std::byte* right, std::byte* into,
                           Bytes bytes) noexcept {
  const std::byte* const operands[] = {left[0], left[1], left[2]};
  combine_all_plainly<operation, T, Kernel::several>(operands, right, into, 0, bytes);
}

template <Combine operation, class T>
ESPALIER_WIDE_VECTORS void combine_widely(const std::byte* left, const std::byte* right, std::byte* into,
                                          Bytes bytes) noexcept {
  combine_all_widely<operation, T, 1>(&left, right, into, bytes);
}
template <Combine operation, class T>
ESPALIER_WIDE_VECTORS void combine_three_widely(const std::byte* const* left, const std::byte* right, std::byte* into,
                                                Bytes bytes) noexcept {
  static_assert(Kernel::several == 3);
  const std::byte* const operands[] = {left[0], left[1], left[2]};
  combine_all_widely<operation, T, Kernel::several>(operands, right, into, bytes);
}

struct Kernels {
  Kernel plain;
  Kernel wide;
};

template <class T>
constexpr bool has(Combine operation) {
  const bool is_sum = operation == Combine::sum || operation == Combine::product;
  const bool is_order = operation == Combine::minimum || operation == Combine::maximum;
  if (Parts<T>::is_complex) return is_sum;
  if (Parts<T>::is_pair) return is_order;
  return std::is_integral_v<T> || is_sum || is_order;
}

template <Combine operation, class T>
constexpr Kernels kernels_of() {
  if constexpr (!has<T>(operation))
    return {};
  else if constexpr (!std::is_integral_v<T> && !has_vectors<T>)  // which compilers take one by one
    return {{combine_plainly<operation, T>, combine_three_plainly<operation, T>},
            {combine_plainly<operation, T>, combine_three_plainly<operation, T>}};
  else
    return {{combine_plainly<operation, T>, combine_three_plainly<operation, T>},
            {combine_widely<operation, T>, combine_three_widely<operation, T>}};
}
/// A sum of complex numbers is one of twice as many numbers.
template <Combine operation, class T>
constexpr Kernels kernels_of_parts() {
  if constexpr (operation == Combine::sum && Parts<T>::is_complex)
    return kernels_of<operation, decltype(T::real)>();
  else
    return kernels_of<operation, T>();
}

using Row = std::array<Kernels, combine_count>;

template <class T, std::size_t... operation>
constexpr Row row_of(std::index_sequence<operation...>) {
  return {kernels_of_parts<static_cast<Combine>(operation), T>()...};
}

template <std::size_t... type>
constexpr std::array<Row, element_count> make_table(std::index_sequence<type...>) {
  return {row_of<std::tuple_element_t<type, Elements>>(std::make_index_sequence<combine_count>())...};
}

constexpr std::array<Row, element_count> table = make_table(std::make_index_sequence<element_count>());

template <std::size_t... type>
constexpr std::array<Bytes, element_count> make_sizes(std::index_sequence<type...>) {
  return {sizeof(std::tuple_element_t<type, Elements>)...};
}

}  // namespace

Kernel find_kernel(Element type, Combine operation, Loops loops) noexcept {
  const Kernels& kernels = table[static_cast<std::size_t>(type)][static_cast<std::size_t>(operation)];
  return loops == Loops::fastest && has_wide_vectors() ? kernels.wide : kernels.plain;
}

Bytes size_of(Element type) noexcept {
  constexpr std::array<Bytes, element_count> sizes = make_sizes(std::make_index_sequence<element_count>());
  return sizes[static_cast<std::size_t>(type)];
}

}  // namespace espalier::execute
