#pragma once
// One side of a call: the caller's data, in whatever layout, to be had as plain bytes.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "base/ids.hpp"
#include "mpi/buffers/datatype.hpp"
#include "mpi/native/native.hpp"

namespace espalier::mpi {

/// Elements of a type at an address, as a caller gave them.
struct Run {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype type;
};

/// One count or displacement per rank, in either of MPI's two widths. The caller's array, looked at only when asked.
class Numbers {
 public:
  template <class Number>
  explicit Numbers(const Number* values) : values_(values), is_wide_(sizeof(Number) == sizeof(std::int64_t)) {
    static_assert(sizeof(Number) == sizeof(std::int64_t) || sizeof(Number) == sizeof(std::int32_t));
  }

  bool is_missing() const { return values_ == nullptr; }
  /// The same array, not just the same numbers.
  bool is_array_of(const Numbers& other) const { return values_ == other.values_; }
  MPI_Count operator[](int index) const { return is_wide_ ? at<std::int64_t>(index) : at<std::int32_t>(index); }

 private:
  template <class Number>
  MPI_Count at(int index) const {
    Number value;
    std::memcpy(&value, static_cast<const Number*>(values_) + index, sizeof value);
    return value;
  }

  const void* values_;
  bool is_wide_;
};

/// A run per rank, each at its own displacement: what the v-forms take.
struct Parts {
  const void* buffer;
  Numbers counts;
  Numbers displacements;
  MPI_Datatype type;
};

/// The same with a type for each rank, and displacements in bytes: what alltoallw takes.
struct Pieces {
  const void* buffer;
  Numbers counts;
  Numbers displacements;
  const MPI_Datatype* types;
};

/// Neither MPI_IN_PLACE nor a negative count nor the null datatype; only such runs and parts make a side. Of no blocks
/// nothing is looked at.
inline bool is_valid(const Run& run) {
  return run.count >= 0 && run.buffer != MPI_IN_PLACE && run.type != native().datatype_null;
}
inline bool is_valid(const Parts& parts, int ranks) {
  if (ranks == 0) return true;
  if (parts.counts.is_missing() || parts.displacements.is_missing()) return false;
  for (int r = 0; r < ranks; ++r)
    if (parts.counts[r] < 0) return false;
  return parts.buffer != MPI_IN_PLACE && parts.type != native().datatype_null;
}

inline bool is_valid(const Pieces& pieces, int ranks) {
  if (ranks == 0) return true;
  if (pieces.counts.is_missing() || pieces.displacements.is_missing() || pieces.types == nullptr) return false;
  for (int r = 0; r < ranks; ++r)
    if (pieces.counts[r] < 0 || pieces.types[r] == native().datatype_null) return false;
  return pieces.buffer != MPI_IN_PLACE;
}

/// Saturates: what does not fit is more than anyone handles.
inline Bytes multiply(MPI_Count count, MPI_Count size) {
  Bytes product = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<Bytes>(count), static_cast<Bytes>(size), &product);
  return overflows ? std::numeric_limits<Bytes>::max() : product;
}

/// A rank's data in one call: one run, a run of equal blocks, parts, or pieces, which are parts that have types of
/// their own. A view: buffers, counts and types outlive it. What is to be said of all parts together is found out when
/// it is asked for: short calls ask for single blocks only.
class Side {
 public:
  explicit Side(const Run& run) : Side(run, 1) {}
  /// `blocks` blocks of `run.count` elements, one behind the other.
  Side(const Run& run, int blocks)
      : buffer_(run.buffer), count_(run.count), blocks_(blocks), type_(run.type), layout_(describe(run.type)) {}
  Side(const Parts& parts, int ranks)
      : buffer_(parts.buffer),
        count_(0),
        blocks_(ranks),
        type_(parts.type),
        counts_(parts.counts),
        displacements_(parts.displacements),
        layout_(describe(parts.type)) {}
  Side(const Pieces& pieces, int ranks)
      : buffer_(pieces.buffer),
        count_(0),
        blocks_(ranks),
        type_(ranks > 0 ? pieces.types[0] : native().byte),
        types_(pieces.types),
        counts_(pieces.counts),
        displacements_(pieces.displacements),
        layout_(describe(type_)) {}

  /// All data, without gaps.
  Bytes bytes() const {
    if (has_parts()) return bytes_of_parts();
    return multiply(static_cast<MPI_Count>(multiply(count_, blocks_)), layout_.size);
  }
  Bytes block_bytes(int block) const { return multiply(count(block), layout(block).size); }
  int blocks() const { return blocks_; }
  /// Blocks have counts and places of their own.
  bool has_parts() const { return !counts_.is_missing(); }
  /// Each block is usable as bytes where it lies; is_plain() wants them one behind the other, too.
  bool has_plain_blocks() const { return is_dense() || bytes() == 0; }
  std::byte* plain_block(int block) const { return address(block) + begin(block); }
  /// One block by itself.
  Side block(int block) const { return Side({address(block), count(block), type(block)}); }

  /// The whole elements among its first bytes; of one block.
  Side front(Bytes bytes) const {
    const auto elements = layout_.size > 0 ? static_cast<MPI_Count>(bytes / static_cast<Bytes>(layout_.size)) : 0;
    return Side({buffer_, std::min(count(0), elements), type_});
  }

  /// Usable as bytes without packing: in the type map's order, without gaps, blocks in order. So is nothing at all.
  bool is_plain() const { return has_plain_blocks() && (!has_parts() || are_parts_in_a_row()); }
  std::byte* plain() const {
    if (has_parts()) return first_part();
    return layout_.is_dense ? address(0) : plain_block(0);
  }
  /// Whether both are of one type and begin at one address, this one's only block and `block` of the other, as MPICH
  /// looks at it.
  bool is_at(const Side& whole, int block) const {
    const MPI_Count index = whole.has_parts() ? whole.displacements_[block] : block * whole.count_;
    return type_ == whole.type_ && address(0) == static_cast<const std::byte*>(whole.buffer_) + index * layout_.size;
  }

  /// There must be data, but at address 0 only a datatype with absolute addresses finds any.
  bool is_missing() const { return buffer_ == nullptr && is_dense() && bytes() > 0; }

  /// Copies all data, as bytes in the order of the type map, block behind block; unpack() does the reverse. `bytes()`
  /// fit an int. Return MPI's code.
  int pack(std::byte* into, MPI_Comm comm) const;
  int unpack(const std::byte* from, MPI_Comm comm) const;

  /// Native refuses types that are not committed, on every rank. Asked with no elements before anybody moves data.
  int check_committed(MPI_Comm comm) const {
    return layout_.is_named && types_ == nullptr ? MPI_SUCCESS : ask_committed(comm);
  }

 private:
  static Numbers none() { return Numbers(static_cast<const int*>(nullptr)); }
  MPI_Count count(int block) const { return has_parts() ? counts_[block] : count_; }
  MPI_Datatype type(int block) const { return types_ == nullptr ? type_ : types_[block]; }
  Layout layout(int block) const { return types_ == nullptr ? layout_ : describe(types_[block]); }
  bool is_dense() const { return (types_ == nullptr && layout_.is_dense) || are_blocks_dense(); }
  bool are_blocks_dense() const;
  bool is_block_dense(int block) const;
  MPI_Aint begin(int block) const { return layout(block).is_dense ? 0 : find_run(type(block)).value_or(0); }
  std::byte* address(int block) const {
    auto* const begin = const_cast<std::byte*>(static_cast<const std::byte*>(buffer_));
    const MPI_Count index = has_parts() ? displacements_[block] : block * count_;
    const MPI_Count unit = types_ == nullptr ? layout_.extent : 1;
    return index == 0 ? begin : begin + index * unit;
  }
  Bytes bytes_of_parts() const;
  bool are_parts_in_a_row() const;
  std::byte* first_part() const;
  int all_elements() const { return static_cast<int>(count_ * blocks_); }
  int ask_committed(MPI_Comm comm) const;

  const void* buffer_;
  MPI_Count count_;
  int blocks_;
  MPI_Datatype type_;
  const MPI_Datatype* types_ = nullptr;  ///< of pieces
  Numbers counts_ = none();
  Numbers displacements_ = none();
  Layout layout_;
};

inline const Side* address_of(const std::optional<Side>& side) { return side ? &*side : nullptr; }

}  // namespace espalier::mpi
