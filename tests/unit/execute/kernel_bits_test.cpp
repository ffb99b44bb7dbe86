// Kernels are symmetric in bits: whichever operand comes first, whatever the bits are, in every loop and position.

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "execute/arithmetic/kernels.hpp"

namespace espalier::execute {
namespace {

using Bits = std::vector<std::byte>;

/// How elements are made: of numbers of one format, one behind the other, with gaps.
struct Format {
  Element element;
  enum Kind { whole, float32, float64, extended } kind;
  Bytes value;       ///< bytes of the first number
  Bytes second = 0;  ///< where the second number begins; 0: there is none
  Kind second_kind = whole;
};

// clang-format off
const Format formats[] = {
    {Element::int8, Format::whole, 1}, {Element::int16, Format::whole, 2}, {Element::int32, Format::whole, 4},
    {Element::int64, Format::whole, 8}, {Element::uint8, Format::whole, 1}, {Element::uint16, Format::whole, 2},
    {Element::uint32, Format::whole, 4}, {Element::uint64, Format::whole, 8}, {Element::float32, Format::float32, 4},
    {Element::float64, Format::float64, 8}, {Element::extended, Format::extended, 16},
    {Element::complex32, Format::float32, 4, 4, Format::float32},
    {Element::complex64, Format::float64, 8, 8, Format::float64},
    {Element::complex_extended, Format::extended, 16, 16, Format::extended},
    {Element::int16_int, Format::whole, 2, 4}, {Element::int32_int, Format::whole, 4, 4},
    {Element::int64_int, Format::whole, 8, 8}, {Element::float32_int, Format::float32, 4, 4},
    {Element::float64_int, Format::float64, 8, 8}, {Element::extended_int, Format::extended, 16, 16},
    {Element::float32_float32, Format::float32, 4, 4, Format::float32},
    {Element::float64_float64, Format::float64, 8, 8, Format::float64},
};
// clang-format on
static_assert(std::size(formats) == element_count);

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  /// One in two is special: zeros, infinities, NaNs of any payload, denormals, all of both signs; few values otherwise,
  /// so that many are equal.
  void number(Format::Kind kind, Bytes bytes, std::byte* into) {
    const std::uint64_t all = random_();
    if (kind == Format::float32) return floating<float, std::uint32_t, 8>(static_cast<std::uint32_t>(all), into);
    if (kind == Format::float64) return floating<double, std::uint64_t, 11>(all, into);
    if (kind == Format::extended) return extended(all, into);
    const std::int64_t value =
        random_() % 2 == 0 ? static_cast<std::int64_t>(all) : static_cast<std::int64_t>(all % 3) - 1;
    std::memcpy(into, &value, std::min<Bytes>(bytes, 8));
  }

  Bits vector(const Format& format, std::size_t length) {
    Bits bits(length * size_of(format.element));
    for (std::size_t i = 0; i < length; ++i) {
      std::byte* const at = bits.data() + i * size_of(format.element);
      number(format.kind, format.value, at);
      const Bytes rest = format.second_kind == Format::whole ? 4 : format.value;
      if (format.second > 0) number(format.second_kind, rest, at + format.second);
    }
    return bits;
  }

 private:
  template <class T, class Word, int exponent_bits>
  void floating(Word all, std::byte* into) {
    constexpr int mantissa_bits = static_cast<int>(sizeof(Word)) * 8 - 1 - exponent_bits;
    constexpr Word exponent = ((Word{1} << exponent_bits) - 1) << mantissa_bits,
                   mantissa = (Word{1} << mantissa_bits) - 1;
    const Word sign = all & ~(exponent | mantissa);
    Word bits = all;
    switch (random_() % 10) {
      case 0: bits = sign; break;
      case 1: bits = sign | exponent; break;
      case 2: bits = all | exponent; break;
      case 3: bits = sign | exponent | (all & 3); break;
      case 4: bits = all & ~exponent; break;
      case 5:
      case 6: bits = std::bit_cast<Word>(static_cast<T>(static_cast<int>(all % 5) - 2)); break;
      default: break;
    }
    std::memcpy(into, &bits, sizeof bits);
  }

  /// Numbers of 64 and of more bits, and, where x86 has its own, any pattern of 80.
  void extended(std::uint64_t all, std::byte* into) {
    double narrow;
    floating<double, std::uint64_t, 11>(all, reinterpret_cast<std::byte*>(&narrow));
    long double value = narrow;
    if (random_() % 4 == 0) value += value * 0x1p-60L;
    std::memset(into, 0, sizeof value);
    std::memcpy(into, &value, LDBL_MANT_DIG == 64 ? 10 : 16);
    if (LDBL_MANT_DIG == 64 && random_() % 4 == 0) std::memcpy(into, &all, random_() % 2 == 0 ? 8 : 3);
  }

  std::mt19937_64 random_;
};

template <class Test>
void for_each_kernel(Test test) {
  for (const Format& format : formats)
    for (int operation = 0; operation < combine_count; ++operation)
      for (const Loops loops : {Loops::plain, Loops::fastest})
        if (const Kernel kernel = find_kernel(format.element, static_cast<Combine>(operation), loops);
            kernel != nullptr) {
          SCOPED_TRACE("element " + std::to_string(static_cast<int>(format.element)) + ", operation " +
                       std::to_string(operation) + (loops == Loops::plain ? ", plain" : ", fastest"));
          test(format, static_cast<Combine>(operation), kernel);
        }
}

Bits combine(const Kernel& kernel, const Bits& left, const Bits& right) {
  Bits into(right.size());
  kernel(left.data(), right.data(), into.data(), into.size());
  return into;
}

constexpr std::size_t lengths[] = {1, 2, 3, 5, 8, 15, 16, 31, 37, 64, 300};

TEST(KernelBits, AreTheSameWhicheverOperandComesFirst) {
  Draw draw(1);
  for_each_kernel([&](const Format& format, Combine, const Kernel& kernel) {
    for (int turn = 0; turn < 20; ++turn)
      for (const std::size_t length : lengths) {
        const Bits left = draw.vector(format, length), right = draw.vector(format, length);
        ASSERT_EQ(combine(kernel, left, right), combine(kernel, right, left)) << length << " elements";
      }
  });
}

// So that a rank may fold a part where another folds the whole.
TEST(KernelBits, OfAnElementDoNotDependOnItsPlaceOrAlignmentOrLoop) {
  Draw draw(2);
  for_each_kernel([&](const Format& format, Combine operation, const Kernel& kernel) {
    const Bytes one = size_of(format.element);
    const Kernel plain = find_kernel(format.element, operation, Loops::plain);
    for (const std::size_t length : lengths) {
      const Bits left = draw.vector(format, length), right = draw.vector(format, length);
      Bits expected(right.size());
      for (std::size_t i = 0; i < length; ++i)
        plain(left.data() + i * one, right.data() + i * one, expected.data() + i * one, one);
      EXPECT_EQ(combine(kernel, left, right), expected);
      Bits shifted(right.size() + 2);
      std::memcpy(shifted.data() + 1, right.data(), right.size());
      shifted.back() = std::byte{42};
      kernel(left.data(), shifted.data() + 1, right.size());
      EXPECT_EQ(std::memcmp(shifted.data() + 1, expected.data(), expected.size()), 0) << "in place, not aligned";
      EXPECT_EQ(shifted.back(), std::byte{42}) << "wrote beyond the vector";
    }
  });
}

TEST(KernelBits, OfSeveralOperandsAreThoseOfOneAfterTheOther) {
  Draw draw(3);
  for_each_kernel([&](const Format& format, Combine, const Kernel& kernel) {
    for (const std::size_t length : lengths)
      for (const std::size_t count : {3u, 4u, 7u}) {
        std::vector<Bits> left(count);
        std::vector<const std::byte*> operands;
        Bits expected = draw.vector(format, length), into = expected;
        for (Bits& operand : left) {
          operand = draw.vector(format, length);
          operands.push_back(operand.data());
          expected = combine(kernel, operand, expected);
        }
        kernel(operands, into.data(), into.data(), into.size());
        ASSERT_EQ(into, expected) << length << " elements, " << count << " operands";
      }
  });
}

// Then even the brackets do not matter.
TEST(KernelBits, OfMinimaAndMaximaDoNotDependOnTheBrackets) {
  Draw draw(4);
  for_each_kernel([&](const Format& format, Combine operation, const Kernel& kernel) {
    if (operation != Combine::minimum && operation != Combine::maximum) return;
    const Bits a = draw.vector(format, 2000), b = draw.vector(format, 2000), c = draw.vector(format, 2000);
    EXPECT_EQ(combine(kernel, a, combine(kernel, b, c)), combine(kernel, combine(kernel, a, b), c));
  });
}

TEST(KernelBits, OfGapsInPairsAreNotWritten) {
  for (const Element element : {Element::int16_int, Element::int64_int, Element::float64_int}) {
    Bits left(size_of(element)), right(size_of(element)), into(size_of(element), std::byte{77});
    find_kernel(element, Combine::maximum)(left.data(), right.data(), into.data(), into.size());
    const bool is_behind = element != Element::int16_int;
    EXPECT_EQ(into[is_behind ? 12 : 2], std::byte{77});
    EXPECT_EQ(into[is_behind ? 15 : 3], std::byte{77});
    EXPECT_EQ(into[0], std::byte{0});
  }
}

/// The rules once more, of one double, as a person would write them.
double reference(Combine operation, double left, double right) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const bool is_order = operation == Combine::minimum || operation == Combine::maximum;
  if (left != left && right != right) {
    const std::uint64_t larger = std::max(bits(left), bits(right));
    return std::bit_cast<double>(is_order ? larger : larger | 0x0008'0000'0000'0000);
  }
  if (operation == Combine::sum) return left + right;
  if (operation == Combine::product) return left * right;
  if (left != left) return left;
  if (right != right) return right;
  if (left == right) return std::signbit(left) == (operation == Combine::minimum) ? left : right;
  return (left > right) == (operation == Combine::maximum) ? left : right;
}

TEST(KernelBits, OfDoublesAreThoseOfTheWrittenRule) {
  Draw draw(5);
  const Format& format = formats[static_cast<int>(Element::float64)];
  for (const Combine operation : {Combine::sum, Combine::product, Combine::minimum, Combine::maximum}) {
    const Bits left = draw.vector(format, 20000), right = draw.vector(format, 20000);
    const Bits found = combine(find_kernel(Element::float64, operation), left, right);
    for (std::size_t i = 0; i < found.size(); i += 8) {
      double l, r, f;
      std::memcpy(&l, &left[i], 8), std::memcpy(&r, &right[i], 8), std::memcpy(&f, &found[i], 8);
      const double expected = reference(operation, l, r);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(f), std::bit_cast<std::uint64_t>(expected)) << l << ", " << r;
    }
  }
}

TEST(KernelBits, OfComplexProductsSurviveInfinities) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double left[] = {infinity, nan}, right[] = {1, 2};
  double into[2];
  find_kernel(Element::complex64, Combine::product)(reinterpret_cast<const std::byte*>(left),
                                                    reinterpret_cast<const std::byte*>(right),
                                                    reinterpret_cast<std::byte*>(into), sizeof into);
  EXPECT_TRUE(std::isinf(into[0]) || std::isinf(into[1]));
}

TEST(KernelBits, OfLocationsAreThoseOfTheFirstNaNOrTheFirstExtremeZeroOfEitherSign) {
  struct Place {
    double value;
    int index;
    int gap = 0;
  };
  const auto greatest = [](Place left, Place right) {
    find_kernel(Element::float64_int, Combine::maximum)(reinterpret_cast<const std::byte*>(&left),
                                                        reinterpret_cast<std::byte*>(&right), sizeof right);
    return right;
  };
  EXPECT_EQ(greatest({std::nan(""), 5}, {7, 1}).index, 5);
  EXPECT_EQ(greatest({std::nan("1"), 5}, {std::nan("2"), 3}).index, 3);
  EXPECT_EQ(greatest({-0.0, 1}, {0.0, 2}).index, 1);
  EXPECT_FALSE(std::signbit(greatest({-0.0, 1}, {0.0, 2}).value));
}

}  // namespace
}  // namespace espalier::execute
