#pragma once
// What we need to know about an MPI datatype: its size, and whether its data lie as plain bytes.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi/native/native.hpp"

namespace espalier::mpi {

/// What MPI's operations may do with elements of a predefined type (MPI 4.0, section 6.9.2). A struct of any kind, or a
/// type that the standard gives no operations, is `other`.
enum class Number : std::uint8_t {
  other,
  c_signed,
  c_unsigned,
  fortran_integer,
  floating,
  logical,
  complex,
  byte,
  address,  ///< MPI_AINT, MPI_OFFSET, MPI_COUNT
  pair,     ///< a value and its index
};

struct Layout {
  /// Bytes of data in one element, without gaps: what ranks must agree on.
  MPI_Count size = 0;
  /// Elements are bytes without gaps, in the order of the type map, one after the other: the buffer can be used as it
  /// is.
  bool is_dense = false;
  /// Predefined: it needs no commit and its handle is never reused.
  bool is_named = false;
  /// Bytes from one element to the next.
  MPI_Aint extent = 0;
  Number number = Number::other;
};

namespace detail {

struct Remembered {
  MPI_Datatype type;
  Layout layout;
};

// Direct mapped: a program uses few predefined types. `is_named` tells filled entries from empty ones.
inline constexpr std::size_t remembered_types = 8;
ESPALIER_FAST_THREAD_LOCAL extern thread_local constinit Remembered remembered[remembered_types];

// Handles are small integers or addresses of large objects: the upper bits of a product mix both.
inline Remembered& slot_of(MPI_Datatype type) {
  const auto bits = (std::uint64_t)type;  // C style: a number in MPICH, a pointer elsewhere
  return remembered[(bits * 0x9e37'79b9'7f4a'7c15) >> 61];
}

Layout ask(MPI_Datatype type);
MPI_Count ask_size(MPI_Datatype type);

}  // namespace detail

/// `type` is not the null datatype. Predefined types are remembered; for others MPI is asked each time, since their
/// handles come back for other types.
inline Layout describe(MPI_Datatype type) {
  const detail::Remembered& known = detail::slot_of(type);
  return known.type == type && known.layout.is_named ? known.layout : detail::ask(type);
}

/// Its size alone, which of types that are not predefined takes far less: nobody looks at what they were made of.
inline MPI_Count size_of(MPI_Datatype type) {
  const detail::Remembered& known = detail::slot_of(type);
  return known.type == type && known.layout.is_named ? known.layout.size : detail::ask_size(type);
}

/// How far behind the buffer the data of one element begin, if they lie there as bytes without gaps, in the order of
/// the type map: of a part of an array that is cut along its slowest axis, say. Nothing: they do not, or it cannot be
/// told. Asks MPI for all that the type was made of.
std::optional<MPI_Aint> find_run(MPI_Datatype type);

/// Elements at an address, as MPI_Pack and MPI_Unpack will take them: MPICH's refuse address 0, which is MPI_BOTTOM,
/// although the standard allows it. Those are described from another address instead, by a displaced type that lives as
/// long as this.
class Elements {
 public:
  Elements(void* buffer, int count, MPI_Datatype type);
  ~Elements();
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  void* buffer() const { return buffer_; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  void* buffer_;
  int count_;
  MPI_Datatype type_;
  bool is_displaced_;
};

}  // namespace espalier::mpi
