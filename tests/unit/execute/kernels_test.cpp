// Reductions' loops mean what MPI says, for every type and operation, at every length and alignment.

#include "execute/arithmetic/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace espalier::execute {
namespace {

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>) return Element::float32;
  if constexpr (std::is_same_v<T, double>) return Element::float64;
  constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<Element>(static_cast<int>(std::is_signed_v<T> ? Element::int8 : Element::uint8) + size);
}

/// The loop on vectors of any alignment: operands shifted by one byte.
template <class T>
std::vector<T> combine(Combine operation, const std::vector<T>& left, const std::vector<T>& right) {
  const Bytes bytes = left.size() * sizeof(T);
  std::vector<std::byte> far(bytes + 1), into(bytes + 2);
  std::memcpy(far.data() + 1, left.data(), bytes);
  std::memcpy(into.data() + 1, right.data(), bytes);
  into.back() = std::byte{42};
  find_kernel(element_of<T>(), operation)(far.data() + 1, into.data() + 1, bytes);
  EXPECT_EQ(into.back(), std::byte{42}) << "wrote beyond the vector";
  std::vector<T> result(left.size());
  std::memcpy(result.data(), into.data() + 1, bytes);
  return result;
}

template <class T>
T combine_one(Combine operation, T left, T right) {
  return combine(operation, std::vector<T>{left}, std::vector<T>{right}).front();
}

template <class T>
class Numbers : public ::testing::Test {};
using AllNumbers = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                    std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Numbers, AllNumbers);

template <class T>
class Integers : public ::testing::Test {};
using AllIntegers = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                     std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, AllIntegers);

TYPED_TEST(Numbers, AddMultiplyAndCompareAtEveryLength) {
  using T = TypeParam;
  for (std::size_t length = 1; length < 150; ++length) {
    std::vector<T> left(length), right(length);
    for (std::size_t i = 0; i < length; ++i)
      left[i] = static_cast<T>(i % 11), right[i] = static_cast<T>((length + 7 * i) % 10);
    const auto sum = combine(Combine::sum, left, right), product = combine(Combine::product, left, right);
    const auto least = combine(Combine::minimum, left, right), most = combine(Combine::maximum, left, right);
    for (std::size_t i = 0; i < length; ++i) {
      ASSERT_EQ(sum[i], static_cast<T>(left[i] + right[i]));
      ASSERT_EQ(product[i], static_cast<T>(left[i] * right[i]));
      ASSERT_EQ(least[i], std::min(left[i], right[i]));
      ASSERT_EQ(most[i], std::max(left[i], right[i]));
    }
  }
  EXPECT_EQ(size_of(element_of<T>()), sizeof(T));
}

TYPED_TEST(Numbers, OfSeveralOperandsAreCombinedInTheirOrder) {
  using T = TypeParam;
  for (const Combine operation : {Combine::sum, Combine::product, Combine::minimum, Combine::maximum})
    for (const std::size_t length : {1, 3, 64, 149})
      for (std::size_t count = 0; count <= 7; ++count) {
        std::vector<std::vector<T>> left(count, std::vector<T>(length));
        std::vector<T> right(length), into(length);
        std::vector<const std::byte*> operands;
        for (std::size_t k = 0; k < count; ++k) {
          for (std::size_t i = 0; i < length; ++i) left[k][i] = static_cast<T>(T((i + 5 * k) % 7) / T(3));
          operands.push_back(reinterpret_cast<const std::byte*>(left[k].data()));
        }
        for (std::size_t i = 0; i < length; ++i) right[i] = static_cast<T>(1 + i % 4);
        into = right;
        std::vector<T> expected = right;
        for (std::size_t k = 0; k < count; ++k) expected = combine(operation, left[k], expected);
        auto* const out = reinterpret_cast<std::byte*>(into.data());
        const Kernel kernel = find_kernel(element_of<T>(), operation);
        kernel(operands, out, out, length * sizeof(T));
        EXPECT_EQ(into, expected) << count << " operands, the sum where the last one was";
        if (count == 0) continue;
        kernel(operands, reinterpret_cast<const std::byte*>(right.data()), out, length * sizeof(T));
        EXPECT_EQ(into, expected) << count << " operands, the sum elsewhere";
      }
}

TYPED_TEST(Integers, WrapAround) {
  using T = TypeParam;
  constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  EXPECT_EQ(combine_one<T>(Combine::sum, most, 1), least);
  EXPECT_EQ(combine_one<T>(Combine::product, most, most), T{1});
  EXPECT_EQ(combine_one<T>(Combine::product, most, 2), static_cast<T>(-2));
}

TYPED_TEST(Integers, LogicalOperationsGiveZeroOrOne) {
  using T = TypeParam;
  for (const T left : {T{0}, T{1}, T{64}})
    for (const T right : {T{0}, T{2}, T{64}}) {
      EXPECT_EQ(combine_one<T>(Combine::logical_and, left, right), static_cast<T>(left && right));
      EXPECT_EQ(combine_one<T>(Combine::logical_or, left, right), static_cast<T>(left || right));
      EXPECT_EQ(combine_one<T>(Combine::logical_xor, left, right), static_cast<T>(!left != !right));
    }
}

TYPED_TEST(Integers, BitwiseOperationsCombineBits) {
  using T = TypeParam;
  const T left = static_cast<T>(0x5a), right = static_cast<T>(0x3c);
  EXPECT_EQ(combine_one<T>(Combine::bitwise_and, left, right), static_cast<T>(0x18));
  EXPECT_EQ(combine_one<T>(Combine::bitwise_or, left, right), static_cast<T>(0x7e));
  EXPECT_EQ(combine_one<T>(Combine::bitwise_xor, left, right), static_cast<T>(0x66));
}

// The same element must come out the same in a vector register, in a loop's remainder and in every position.
TEST(FloatingPoint, NaNIsTheMinimumAndTheMaximumEverywhere) {
  const double nan = std::nan("");
  const std::vector<double> nans(37, nan), ones(37, 1.0);
  for (const Combine operation : {Combine::minimum, Combine::maximum}) {
    for (const double x : combine(operation, nans, ones)) EXPECT_TRUE(std::isnan(x));
    for (const double x : combine(operation, ones, nans)) EXPECT_TRUE(std::isnan(x));
  }
}

TEST(FloatingPoint, HasNoLogicalOrBitwiseOperations) {
  for (const Element type : {Element::float32, Element::float64})
    for (int operation = 0; operation < combine_count; ++operation)
      EXPECT_EQ(find_kernel(type, static_cast<Combine>(operation)) == nullptr,
                static_cast<Combine>(operation) >= Combine::logical_and);
}

TEST(FloatingPoint, NegativeZeroIsLessThanZero) {
  EXPECT_FALSE(std::signbit(combine_one(Combine::maximum, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(combine_one(Combine::maximum, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(combine_one(Combine::minimum, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(combine_one(Combine::minimum, -0.0, 0.0)));
}

}  // namespace
}  // namespace espalier::execute
