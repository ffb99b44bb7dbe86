#include "mpi/buffers/arithmetic.hpp"

#include <array>

#include "mpi/buffers/datatype.hpp"

namespace espalier::mpi {
namespace {

using execute::Combine;
using execute::Element;

struct KnownOp {
  MPI_Op op;
  enum Kind { order, sum, logic, bits, location, access } kind;
  Combine combine;  ///< not for the last kind
};

// Looked up once: in Open MPI handles are found by name.
const std::array<KnownOp, 14>& known_ops() {
  static const std::array<KnownOp, 14> ops = {{
      {MPI_SUM, KnownOp::sum, Combine::sum},
      {MPI_MAX, KnownOp::order, Combine::maximum},
      {MPI_MIN, KnownOp::order, Combine::minimum},
      {MPI_PROD, KnownOp::sum, Combine::product},
      {MPI_LAND, KnownOp::logic, Combine::logical_and},
      {MPI_LOR, KnownOp::logic, Combine::logical_or},
      {MPI_LXOR, KnownOp::logic, Combine::logical_xor},
      {MPI_BAND, KnownOp::bits, Combine::bitwise_and},
      {MPI_BOR, KnownOp::bits, Combine::bitwise_or},
      {MPI_BXOR, KnownOp::bits, Combine::bitwise_xor},
      {MPI_MAXLOC, KnownOp::location, Combine::maximum},
      {MPI_MINLOC, KnownOp::location, Combine::minimum},
      {MPI_REPLACE, KnownOp::access, {}},  // of one-sided communication only
      {MPI_NO_OP, KnownOp::access, {}},
  }};
  return ops;
}

const KnownOp* find_known(MPI_Op op) {
  for (const KnownOp& known : known_ops())
    if (known.op == op) return &known;
  return nullptr;
}

// The table of MPI 4.0, section 6.9.2.
bool is_allowed(KnownOp::Kind kind, Number number) {
  const bool is_c_integer = number == Number::c_signed || number == Number::c_unsigned;
  const bool is_integer = is_c_integer || number == Number::fortran_integer || number == Number::address;
  switch (kind) {
    case KnownOp::order: return is_integer || number == Number::floating;
    case KnownOp::sum: return is_integer || number == Number::floating || number == Number::complex;
    case KnownOp::logic: return is_c_integer || number == Number::logical;
    case KnownOp::bits: return is_integer || number == Number::byte;
    case KnownOp::location: return number == Number::pair;
    case KnownOp::access: return false;
  }
  return false;
}

struct KnownElement {
  MPI_Datatype type;
  Element element;
};

// Those that size and class do not tell. Types that a library lacks are the null datatype, which is never asked for.
const std::array<KnownElement, 12>& known_elements() {
  static const std::array<KnownElement, 12> elements = {{
      {MPI_LONG_DOUBLE, Element::extended},
      {MPI_C_LONG_DOUBLE_COMPLEX, Element::complex_extended},
      {MPI_C_BOOL, Element::uint8},
      {MPI_SHORT_INT, Element::int16_int},
      {MPI_2INT, Element::int32_int},
      {MPI_2INTEGER, Element::int32_int},
      {MPI_LONG_INT, Element::int64_int},
      {MPI_FLOAT_INT, Element::float32_int},
      {MPI_DOUBLE_INT, Element::float64_int},
      {MPI_LONG_DOUBLE_INT, Element::extended_int},
      {MPI_2REAL, Element::float32_float32},
      {MPI_2DOUBLE_PRECISION, Element::float64_float64},
  }};
  return elements;
}

// Fortran's logical values stay with MPI: .true. is the compiler's affair. So do reals of unusual sizes.
std::optional<Element> element_of(MPI_Datatype type, const Layout& layout) {
  const auto by_size = [&](Element one, Element two, Element four, Element eight) -> std::optional<Element> {
    switch (layout.size) {
      case 1: return one;
      case 2: return two;
      case 4: return four;
      case 8: return eight;
      default: return std::nullopt;
    }
  };
  for (const KnownElement& known : known_elements())
    if (known.type == type) {
      // Fortran compilers may have been told to make them longer.
      const bool is_as_in_c = static_cast<Bytes>(layout.extent) == execute::size_of(known.element);
      return is_as_in_c ? std::optional(known.element) : std::nullopt;
    }
  switch (layout.number) {
    case Number::c_signed:
    case Number::fortran_integer:
    case Number::address: return by_size(Element::int8, Element::int16, Element::int32, Element::int64);
    case Number::c_unsigned:
    case Number::byte: return by_size(Element::uint8, Element::uint16, Element::uint32, Element::uint64);
    case Number::floating:
      if (layout.size == 4) return Element::float32;
      if (layout.size == 8) return Element::float64;
      return std::nullopt;
    case Number::complex:
      if (layout.size == 8) return Element::complex32;
      if (layout.size == 16) return Element::complex64;
      return std::nullopt;
    case Number::logical:
    case Number::pair:
    case Number::other: break;
  }
  return std::nullopt;
}

bool is_inexact(Number number) { return number == Number::floating || number == Number::complex; }

std::optional<Arithmetic> bind_known(const KnownOp& known, MPI_Datatype type, const Layout& layout) {
  if (!is_allowed(known.kind, layout.number)) return std::nullopt;
  Arithmetic arithmetic{known.op, type};
  arithmetic.is_commutative = true;
  arithmetic.depends_on_order = known.kind == KnownOp::sum && is_inexact(layout.number);
  if (const auto element = element_of(type, layout)) arithmetic.kernel = execute::find_kernel(*element, known.combine);
  arithmetic.is_symmetric = arithmetic.kernel != nullptr;
  return arithmetic;
}

// Nobody knows what a user-defined operation computes. One that is said to commute may do so in value only, as a
// maximum that meets NaN: ranks combine in one order, so that they agree.
std::optional<Arithmetic> bind_own(MPI_Op op, MPI_Datatype type) {
  if (op == native().op_null) return std::nullopt;
  Arithmetic arithmetic{op, type};
  int is_commutative = 0;
  if (native().Op_commutative(op, &is_commutative) != MPI_SUCCESS) return std::nullopt;
  arithmetic.is_commutative = is_commutative != 0;
  arithmetic.depends_on_order = true;
  return arithmetic;
}

// False when elements reach beyond their extent: then they cannot be laid side by side.
bool measure(Arithmetic& arithmetic, const Layout& layout) {
  arithmetic.element = static_cast<Bytes>(layout.extent);
  arithmetic.is_dense = layout.is_dense;
  arithmetic.is_named = layout.is_named;
  if (layout.is_dense) return layout.extent > 0;
  MPI_Aint extent = 0, true_lower_bound = 0, true_extent = 0;
  native().Type_get_extent(arithmetic.type, &arithmetic.lower_bound, &extent);
  native().Type_get_true_extent(arithmetic.type, &true_lower_bound, &true_extent);
  return extent > 0 && layout.size > 0 && true_lower_bound >= arithmetic.lower_bound &&
         true_lower_bound + true_extent <= arithmetic.lower_bound + extent;
}

std::optional<Arithmetic> ask(MPI_Op op, MPI_Datatype type, const KnownOp* known, const Layout& layout) {
  std::optional<Arithmetic> arithmetic = known != nullptr ? bind_known(*known, type, layout) : bind_own(op, type);
  if (!arithmetic || !measure(*arithmetic, layout)) return std::nullopt;
  return arithmetic;
}

ESPALIER_FAST_THREAD_LOCAL thread_local std::optional<Arithmetic> last_used;

}  // namespace

std::optional<Arithmetic> find_arithmetic(MPI_Op op, MPI_Datatype type) {
  if (last_used && last_used->op == op && last_used->type == type) return last_used;
  const KnownOp* known = find_known(op);
  const Layout layout = describe(type);
  const std::optional<Arithmetic> arithmetic = ask(op, type, known, layout);
  // Predefined operations take predefined types only, and neither's handles ever mean anything else.
  if (arithmetic && known != nullptr) last_used = arithmetic;
  return arithmetic;
}

void Combiner::combine(const std::byte* left, std::byte* into, Bytes bytes) const noexcept {
  if (arithmetic_.kernel != nullptr) return arithmetic_.kernel(left, into, bytes);
  // MPI wants the addresses that elements have, not where they begin; it only reads `left`.
  native().Reduce_local(left - arithmetic_.lower_bound, into - arithmetic_.lower_bound,
                        static_cast<int>(bytes / arithmetic_.element), arithmetic_.type, arithmetic_.op);
}

/// MPI has no loop over three vectors, kernels have.
void Combiner::combine_into(const std::byte* left, const std::byte* right, std::byte* into,
                            Bytes bytes) const noexcept {
  if (arithmetic_.kernel != nullptr) return arithmetic_.kernel(left, right, into, bytes);
  Reducer::combine_into(left, right, into, bytes);
}

void Combiner::combine_several(std::span<const std::byte* const> left, const std::byte* right, std::byte* into,
                               Bytes bytes) const noexcept {
  if (arithmetic_.kernel != nullptr) return arithmetic_.kernel(left, right, into, bytes);
  Reducer::combine_several(left, right, into, bytes);
}

}  // namespace espalier::mpi
