#include "mpi/buffers/side.hpp"

namespace espalier::mpi {

Bytes Side::bytes_of_parts() const {
  Bytes bytes = 0;
  for (int b = 0; b < blocks_; ++b) bytes += block_bytes(b);
  return bytes;
}

// Parts that follow each other without gaps, wherever the first begins. Empty ones may be anywhere.
bool Side::are_parts_in_a_row() const {
  const std::byte* next = nullptr;
  for (int b = 0; b < blocks_; ++b) {
    const Bytes bytes = block_bytes(b);
    if (bytes == 0) continue;
    if (next != nullptr && plain_block(b) != next) return false;
    next = plain_block(b) + bytes;
  }
  return true;
}

// Blocks of one behind the other are one run only if their elements are.
bool Side::are_blocks_dense() const {
  if (layout_.is_named && types_ == nullptr) return false;
  if (!has_parts() && blocks_ != 1) return false;
  for (int b = 0; b < blocks_; ++b)
    if (count(b) > 0 && !is_block_dense(b)) return false;
  return true;
}

// To ask MPI what a type was made of takes longer than to pack a few bytes.
bool Side::is_block_dense(int block) const {
  constexpr Bytes least_worth = 4096;
  const Layout layout = this->layout(block);
  if (layout.is_dense) return true;
  return count(block) == 1 && multiply(1, layout.size) >= least_worth && find_run(type(block)).has_value();
}

std::byte* Side::first_part() const {
  for (int b = 0; b < blocks_; ++b)
    if (block_bytes(b) > 0) return plain_block(b);
  return const_cast<std::byte*>(static_cast<const std::byte*>(buffer_));
}

int Side::pack(std::byte* into, MPI_Comm comm) const {
  int code = MPI_SUCCESS;
  if (is_plain()) {
    if (bytes() > 0) std::memcpy(into, plain(), bytes());
  } else if (has_parts()) {
    for (int b = 0; b < blocks_ && code == MPI_SUCCESS; into += block_bytes(b++)) code = block(b).pack(into, comm);
  } else {
    const Elements elements(address(0), all_elements(), type_);
    int position = 0;
    code = native().Pack(elements.buffer(), elements.count(), elements.type(), into, static_cast<int>(bytes()),
                         &position, comm);
  }
  return code;
}

int Side::unpack(const std::byte* from, MPI_Comm comm) const {
  int code = MPI_SUCCESS;
  if (is_plain()) {
    if (bytes() > 0) std::memcpy(plain(), from, bytes());
  } else if (has_parts()) {
    for (int b = 0; b < blocks_ && code == MPI_SUCCESS; from += block_bytes(b++)) code = block(b).unpack(from, comm);
  } else {
    const Elements elements(address(0), all_elements(), type_);
    int position = 0;
    code = native().Unpack(from, static_cast<int>(bytes()), &position, elements.buffer(), elements.count(),
                           elements.type(), comm);
  }
  return code;
}

int Side::ask_committed(MPI_Comm comm) const {
  std::byte nothing[1] = {};
  int code = MPI_SUCCESS;
  for (int b = 0; b < (types_ == nullptr ? 1 : blocks_) && code == MPI_SUCCESS; ++b) {
    int position = 0;
    if (!layout(b).is_named) code = native().Pack(nothing, 0, type(b), nothing, sizeof nothing, &position, comm);
  }
  return code;
}

}  // namespace espalier::mpi
