#include "mpi/buffers/datatype.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace espalier::mpi {
namespace {

struct Envelope {
  int combiner = 0;
  int integers = 0, addresses = 0, counts = 0, types = 0;  ///< counts: of types made by the large-count constructors
};

// Types made by the large-count constructors may only be asked about by the large-count functions.
Envelope envelope_of(MPI_Datatype type) {
  const Native& mpi = native();
  Envelope envelope;
#if ESPALIER_HAS_LARGE_COUNTS
  if (mpi.Type_get_envelope_c != nullptr) {
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    mpi.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &envelope.combiner);
    envelope.counts = static_cast<int>(counts);
    envelope.integers = static_cast<int>(integers);
    envelope.addresses = static_cast<int>(addresses);
    envelope.types = static_cast<int>(types);
    return envelope;
  }
#endif
  mpi.Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.types, &envelope.combiner);
  return envelope;
}

bool is_dense(MPI_Datatype type, const Envelope& envelope);

/// What a type was made of, if that was dense elements of one type: the first of its integers, then its counts, then
/// the other integers, as constructors with small counts have them.
struct Contents {
  std::vector<MPI_Count> numbers;
  MPI_Count base_size = 0;
};

using GetLargeContents = int(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*, MPI_Count*,
                             MPI_Datatype*);

/// MPI's code.
int get_contents(MPI_Datatype type, const Envelope& envelope, std::vector<MPI_Count>& numbers, MPI_Datatype& base) {
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers) + 1);
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses) + 1);
  std::vector<MPI_Count> counts(static_cast<std::size_t>(envelope.counts) + 1);
  int code = MPI_SUCCESS;
  if (envelope.counts == 0) {
    code = native().Type_get_contents(type, envelope.integers, envelope.addresses, 1, integers.data(), addresses.data(),
                                      &base);
  } else {
    static auto* const get = reinterpret_cast<GetLargeContents*>(find_symbol("PMPI_Type_get_contents_c"));
    if (get == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
    code = get(type, envelope.integers, envelope.addresses, envelope.counts, 1, integers.data(), addresses.data(),
               counts.data(), &base);
  }
  integers.pop_back();
  counts.pop_back();
  const auto first = integers.begin() + (integers.empty() ? 0 : 1);
  numbers.assign(integers.begin(), first);
  numbers.insert(numbers.end(), counts.begin(), counts.end());
  numbers.insert(numbers.end(), first, integers.end());
  return code;
}

// The contents hold a reference to the base type, ours to drop.
std::optional<Contents> find_dense_contents(MPI_Datatype type, const Envelope& envelope) {
  const Native& mpi = native();
  Contents contents;
  MPI_Datatype base;
  if (get_contents(type, envelope, contents.numbers, base) != MPI_SUCCESS) return std::nullopt;
  mpi.Type_size_x(base, &contents.base_size);
  const Envelope inner = envelope_of(base);
  const bool is_base_dense = is_dense(base, inner);
  if (inner.combiner != MPI_COMBINER_NAMED) mpi.Type_free(&base);
  return is_base_dense ? std::optional(std::move(contents)) : std::nullopt;
}

/// A part of an array: the axes' lengths, the part's, and where it begins, as MPI_Type_create_subarray takes them.
struct Part {
  std::span<const MPI_Count> lengths, taken, starts;
  bool is_c_order = true;

  /// From the axis whose neighbours lie next to each other on.
  int axis(int nth) const { return is_c_order ? static_cast<int>(lengths.size()) - 1 - nth : nth; }
};

// Whole axes, then one of which a stretch is taken, then those of which one place is. The elements before it are
// counted by the starts.
std::optional<MPI_Aint> find_run(const Part& part) {
  MPI_Aint begin = 0, stride = 1;
  bool is_cut = false;
  for (int nth = 0; nth < static_cast<int>(part.lengths.size()); ++nth) {
    const auto axis = static_cast<std::size_t>(part.axis(nth));
    if (is_cut && part.taken[axis] != 1) return std::nullopt;
    is_cut = is_cut || part.taken[axis] != part.lengths[axis];
    begin += part.starts[axis] * stride;
    stride *= part.lengths[axis];
  }
  return begin;
}

// Extent equal to size does not suffice: a struct may visit its bytes in another order, and the order is what ranks
// with different type maps have in common. Types that are plain bytes in other ways are packed: slower, never wrong.
bool is_dense(MPI_Datatype type, const Envelope& envelope) {
  const Native& mpi = native();
  if (envelope.combiner == MPI_COMBINER_NAMED) {
    MPI_Count size = 0;
    MPI_Aint lower_bound = 0, extent = 0;
    mpi.Type_size_x(type, &size);
    mpi.Type_get_extent(type, &lower_bound, &extent);
    return lower_bound == 0 && extent == size;  // not so for MPI_DOUBLE_INT and its like
  }
  const bool is_repetition = envelope.combiner == MPI_COMBINER_CONTIGUOUS || envelope.combiner == MPI_COMBINER_DUP;
  return is_repetition && envelope.types == 1 && find_dense_contents(type, envelope).has_value();
}

struct NumberType {
  MPI_Datatype type;
  Number number;
};

// Types that a library lacks (optional Fortran types) are the null datatype or, in Open MPI, null: never asked for.
std::vector<NumberType> list_numbers() {
  std::vector<NumberType> list;
  const auto add = [&](Number number, std::initializer_list<MPI_Datatype> types) {
    for (const MPI_Datatype type : types) list.push_back({type, number});
  };
  add(Number::c_signed, {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
                         MPI_INT32_T, MPI_INT64_T});
  add(Number::c_unsigned, {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                           MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T});
  add(Number::fortran_integer, {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8});
  add(Number::floating, {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8});
  add(Number::logical, {MPI_LOGICAL, MPI_C_BOOL});
  add(Number::complex, {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX,
                        MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16});
  add(Number::byte, {MPI_BYTE});
  add(Number::address, {MPI_AINT, MPI_OFFSET, MPI_COUNT});
  add(Number::pair, {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT,
                     MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER});
  return list;
}

Number find_number(MPI_Datatype type) {
  static const std::vector<NumberType> list = list_numbers();
  for (const NumberType& known : list)
    if (known.type == type) return known.number;
  return Number::other;
}

}  // namespace

ESPALIER_FAST_THREAD_LOCAL thread_local constinit detail::Remembered detail::remembered[remembered_types] = {};

MPI_Count detail::ask_size(MPI_Datatype type) {
  if (envelope_of(type).combiner == MPI_COMBINER_NAMED) return ask(type).size;
  MPI_Count size = 0;
  return native().Type_size_x(type, &size) == MPI_SUCCESS ? size : 0;
}

Layout detail::ask(MPI_Datatype type) {
  Layout layout;
  MPI_Aint lower_bound = 0;
  native().Type_size_x(type, &layout.size);
  native().Type_get_extent(type, &lower_bound, &layout.extent);
  const Envelope envelope = envelope_of(type);
  layout.is_named = envelope.combiner == MPI_COMBINER_NAMED;
  layout.is_dense = is_dense(type, envelope);
  if (layout.is_named) {
    layout.number = find_number(type);
    slot_of(type) = {type, layout};
  }
  return layout;
}

std::optional<MPI_Aint> find_run(MPI_Datatype type) {
  const Envelope envelope = envelope_of(type);
  if (is_dense(type, envelope)) return 0;
  if (envelope.combiner != MPI_COMBINER_SUBARRAY) return std::nullopt;
  const std::optional<Contents> contents = find_dense_contents(type, envelope);
  if (!contents) return std::nullopt;
  const std::span<const MPI_Count> numbers(contents->numbers);
  const auto axes = static_cast<std::size_t>(numbers[0]);
  const Part part{numbers.subspan(1, axes), numbers.subspan(1 + axes, axes), numbers.subspan(1 + 2 * axes, axes),
                  numbers[1 + 3 * axes] == MPI_ORDER_C};
  const std::optional<MPI_Aint> begin = find_run(part);
  return begin ? std::optional(*begin * static_cast<MPI_Aint>(contents->base_size)) : std::nullopt;
}

Elements::Elements(void* buffer, int count, MPI_Datatype type)
    : buffer_(buffer), count_(count), type_(type), is_displaced_(buffer == nullptr && count > 0) {
  if (!is_displaced_) return;
  constexpr MPI_Aint elsewhere = 4096;  // never touched: the displacement leads back to 0
  const MPI_Aint displacement = -elsewhere;
  native().Type_create_hindexed(1, &count_, &displacement, type, &type_);
  native().Type_commit(&type_);
  buffer_ = reinterpret_cast<void*>(elsewhere);
  count_ = 1;
}

Elements::~Elements() {
  if (is_displaced_) native().Type_free(&type_);
}

}  // namespace espalier::mpi
