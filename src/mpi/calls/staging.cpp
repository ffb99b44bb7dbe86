#include "mpi/calls/staging.hpp"

namespace espalier::mpi {

using execute::Ending;

Packed::Packed(const Stage& stage, const Sides& sides) {
  const auto is_staged = [](const Side* side) { return side != nullptr && !side->is_plain(); };
  const auto plain = [](const Side* side) { return side == nullptr ? nullptr : side->plain(); };
  const int ranks = stage.communicator.ranks();
  const Rank me(stage.communicator.rank());
  if (is_staged(sides.input) || sides.must_copy) input_ = *sides.input;
  if (is_staged(sides.output)) output_ = *sides.output;
  const Bytes in = input_ ? align_to_line(plan::input_bytes(stage.problem, ranks, me)) : 0;
  const Bytes out = output_ ? plan::output_bytes(stage.problem, ranks, me) : 0;
  std::byte* const staged = stage.memory.take(in + out);
  buffers_ = {input_ ? staged : plain(sides.input), output_ ? staged + in : plain(sides.output)};
}

int Packed::fetch(MPI_Comm comm) { return input_ ? input_->pack(buffers_.input, comm) : MPI_SUCCESS; }

// What came may be less than there is room for.
int Packed::deliver(MPI_Comm comm, Ending& ending) {
  if (!output_) return MPI_SUCCESS;
  const bool is_short = ending.kind == Ending::shorter && output_->blocks() == 1;
  return is_short ? output_->front(ending.bytes).unpack(buffers_.output, comm) : output_->unpack(buffers_.output, comm);
}

PackedMessage::PackedMessage(const Stage& stage, const Side& data, bool is_root) : data_(data), is_root_(is_root) {
  buffers_.input = buffers_.output = stage.memory.take(data.bytes());
}

int PackedMessage::fetch(MPI_Comm comm) { return is_root_ ? data_.pack(buffers_.input, comm) : MPI_SUCCESS; }

int PackedMessage::deliver(MPI_Comm comm, Ending& ending) {
  if (is_root_) return MPI_SUCCESS;
  return ending.kind == Ending::shorter ? data_.front(ending.bytes).unpack(buffers_.output, comm)
                                        : data_.unpack(buffers_.output, comm);
}

}  // namespace espalier::mpi
