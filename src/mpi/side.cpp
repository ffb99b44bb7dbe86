#include "mpi/side.hpp"

namespace espalier::mpi {
namespace {

std::byte* as_bytes(const void* buffer) { return const_cast<std::byte*>(static_cast<const std::byte*>(buffer)); }

}  // namespace

bool is_valid(const Parts& parts, int ranks) {
  if (parts.counts.is_missing() || parts.displacements.is_missing()) return false;
  for (int r = 0; r < ranks; ++r)
    if (parts.counts[r] < 0) return false;
  return parts.buffer != MPI_IN_PLACE && parts.type != native().datatype_null;
}

Side::Side(const Parts& parts, int ranks)
    : buffer_(parts.buffer),
      count_(0),
      blocks_(ranks),
      type_(parts.type),
      counts_(parts.counts),
      displacements_(parts.displacements),
      layout_(describe(parts.type)),
      bytes_(0),
      is_plain_(layout_.is_dense),
      plain_(as_bytes(parts.buffer)) {
  place_parts();
}

// Parts that follow each other without gaps, wherever the first begins, are plain. Empty ones may be anywhere.
void Side::place_parts() {
  bool is_first = true;
  MPI_Count next = 0;
  for (int b = 0; b < blocks_; ++b) {
    if (block_bytes(b) == 0) continue;
    bytes_ += block_bytes(b);
    if (is_first) plain_ = address(b);
    is_plain_ = is_plain_ && (is_first || displacements_[b] == next);
    next = displacements_[b] + counts_[b];
    is_first = false;
  }
  is_plain_ = is_plain_ || bytes_ == 0;
}

std::byte* Side::address(int block) const {
  const MPI_Count index = has_parts() ? displacements_[block] : block * count_;
  return index == 0 ? as_bytes(buffer_) : as_bytes(buffer_) + index * layout_.extent;
}

int Side::pack(std::byte* into, MPI_Comm comm) const {
  int code = MPI_SUCCESS;
  if (is_plain_) {
    if (bytes_ > 0) std::memcpy(into, plain_, bytes_);
  } else if (has_parts()) {
    for (int b = 0; b < blocks_ && code == MPI_SUCCESS; into += block_bytes(b++)) code = block(b).pack(into, comm);
  } else {
    const Elements elements(as_bytes(buffer_), all_elements(), type_);
    int position = 0;
    code = native().Pack(elements.buffer(), elements.count(), elements.type(), into, static_cast<int>(bytes_),
                         &position, comm);
  }
  return code;
}

int Side::unpack(const std::byte* from, MPI_Comm comm) const {
  int code = MPI_SUCCESS;
  if (is_plain_) {
    if (bytes_ > 0) std::memcpy(plain_, from, bytes_);
  } else if (has_parts()) {
    for (int b = 0; b < blocks_ && code == MPI_SUCCESS; from += block_bytes(b++)) code = block(b).unpack(from, comm);
  } else {
    const Elements elements(as_bytes(buffer_), all_elements(), type_);
    int position = 0;
    code = native().Unpack(from, static_cast<int>(bytes_), &position, elements.buffer(), elements.count(),
                           elements.type(), comm);
  }
  return code;
}

int Side::check_committed(MPI_Comm comm) const {
  if (layout_.is_named) return MPI_SUCCESS;
  std::byte nothing[1] = {};
  int position = 0;
  return native().Pack(nothing, 0, type_, nothing, sizeof nothing, &position, comm);
}

}  // namespace espalier::mpi
