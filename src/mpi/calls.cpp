#include "mpi/calls.hpp"

#include <limits>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "mpi/datatype.hpp"
#include "mpi/library.hpp"

namespace espalier::mpi {
namespace {

using plan::Operation;
using plan::Problem;

constexpr const char* wrong_arguments = "arguments that MPI forbids";

// MPICH refuses a send buffer that is the rank's own place in the receive buffer; Open MPI allows it, and so do we
// there.
#if defined(OPEN_MPI)
constexpr bool refuses_aliases = false;
#else
constexpr bool refuses_aliases = true;
#endif

// Saturates: what does not fit is more than anyone handles.
Bytes multiply(MPI_Count count, MPI_Count size) {
  Bytes product = 0;
  const bool overflows = __builtin_mul_overflow(static_cast<Bytes>(count), static_cast<Bytes>(size), &product);
  return overflows ? std::numeric_limits<Bytes>::max() : product;
}

bool is_valid(MPI_Count count, MPI_Datatype type) { return count >= 0 && type != native().datatype_null; }

std::byte* as_bytes(const void* buffer) { return const_cast<std::byte*>(static_cast<const std::byte*>(buffer)); }

/// One side of a call: so many elements of a type at an address. Made only of valid counts and types.
class Data {
 public:
  Data(const void* buffer, MPI_Count count, MPI_Datatype type)
      : buffer_(buffer), count_(count), type_(type), layout_(describe(type)), bytes_(multiply(count, layout_.size)) {}

  Bytes bytes() const { return bytes_; }
  /// Usable as plain bytes, without packing; so is nothing at all.
  bool is_plain() const { return layout_.is_dense || bytes_ == 0; }
  std::byte* plain() const { return as_bytes(buffer_); }

  /// There must be data, but at address 0 only a datatype with absolute addresses finds any.
  bool is_missing() const { return buffer_ == nullptr && layout_.is_dense && bytes_ > 0; }

  /// The data of the elements from `first` on, `count` of them, as bytes in the order of the type map.
  int pack(MPI_Count first, MPI_Count count, std::byte* into, MPI_Comm comm) const {
    const Elements elements(element(first), static_cast<int>(count), type_);
    int position = 0;
    return native().Pack(elements.buffer(), elements.count(), elements.type(), into, packed_size(count), &position,
                         comm);
  }
  int pack(std::byte* into, MPI_Comm comm) const { return pack(0, count_, into, comm); }
  /// The reverse, for the first `count` elements.
  int unpack(MPI_Count count, const std::byte* from, MPI_Comm comm) const {
    const Elements elements(as_bytes(buffer_), static_cast<int>(count), type_);
    int position = 0;
    return native().Unpack(from, packed_size(count), &position, elements.buffer(), elements.count(), elements.type(),
                           comm);
  }
  /// Native refuses types that are not committed, on every rank. Asked with no elements before anybody moves data.
  int check_committed(MPI_Comm comm) const {
    if (layout_.is_named) return MPI_SUCCESS;
    std::byte nothing[1] = {};
    int position = 0;
    return native().Pack(nothing, 0, type_, nothing, sizeof nothing, &position, comm);
  }

 private:
  void* element(MPI_Count index) const {
    if (index == 0) return as_bytes(buffer_);
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    native().Type_get_extent(type_, &lower_bound, &extent);
    return as_bytes(buffer_) + index * extent;
  }

  int packed_size(MPI_Count count) const { return static_cast<int>(multiply(count, layout_.size)); }

  const void* buffer_;
  MPI_Count count_;
  MPI_Datatype type_;
  Layout layout_;
  Bytes bytes_;
};

/// A communicator that Espalier serves, or null: then the call is native and has been counted.
Communicator* find_served(MPI_Comm comm, Operation operation) {
  Communicator* communicator = Communicator::find(comm);
  if (communicator == nullptr || communicator->engine() != nullptr) return communicator;
  communicator->count_native(operation);
  return nullptr;
}

std::optional<int> refuse_arguments(Operation operation) {
  Library::get().statistics().add_native(operation, wrong_arguments, 1);
  return std::nullopt;
}

int fail(Communicator& communicator, MPI_Comm comm) {
  communicator.is_broken = true;
  Library::get().say_once("a transport broke in the middle of a collective; the communicator cannot be used any more");
  native().Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

/// Runs what was prepared and returns MPI's code.
int run(Communicator& communicator, MPI_Comm comm, Entry& entry, std::byte* input, std::byte* output) {
  if (communicator.is_broken) return fail(communicator, comm);
  return communicator.engine()->run(entry, input, output) ? MPI_SUCCESS : fail(communicator, comm);
}

int run_packed(const Broadcast& call, const Data& data, Communicator& communicator, Entry& entry) {
  std::byte* packed = communicator.packed().take(data.bytes());
  const bool is_root = communicator.rank() == call.root;
  int code = is_root ? data.pack(packed, call.comm) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = run(communicator, call.comm, entry, packed, packed);
  if (code == MPI_SUCCESS && !is_root) code = data.unpack(call.count, packed, call.comm);
  communicator.packed().trim();
  return code;
}

/// Allgather with data of any layout. Packed input goes straight to its place in the output.
int run_any(const Allgather& call, const Data* send, const Data& receive, Communicator& communicator, Entry& entry) {
  const Bytes place = static_cast<Bytes>(communicator.rank()) * receive.bytes();
  const Bytes all_bytes = static_cast<Bytes>(communicator.ranks()) * receive.bytes();
  std::byte* output = receive.is_plain() ? receive.plain() : communicator.packed().take(all_bytes);
  std::byte* input = output + place;
  int code = MPI_SUCCESS;
  if (send != nullptr && send->is_plain())
    input = send->plain();
  else if (send != nullptr)
    code = send->pack(input, call.comm);
  else if (!receive.is_plain())
    code = receive.pack(communicator.rank() * call.receive_count, call.receive_count, input, call.comm);
  if (code == MPI_SUCCESS) code = run(communicator, call.comm, entry, input, output);
  if (code == MPI_SUCCESS && !receive.is_plain())
    code = receive.unpack(communicator.ranks() * call.receive_count, output, call.comm);
  communicator.packed().trim();
  return code;
}

// Whether the send side, if there is one, fits the receive side and MPI's rules.
bool is_send_side_valid(const Data* send, const Data& receive, int rank) {
  if (send == nullptr) return true;
  if (send->bytes() != receive.bytes() || send->is_missing()) return false;
  const bool is_alias = send->is_plain() && receive.is_plain() && receive.bytes() > 0 &&
                        send->plain() == receive.plain() + static_cast<Bytes>(rank) * receive.bytes();
  return !(refuses_aliases && is_alias);
}

}  // namespace

std::optional<int> try_call(const Broadcast& call) {
  Communicator* communicator = find_served(call.comm, Operation::broadcast);
  if (communicator == nullptr) return std::nullopt;
  if (!is_valid(call.count, call.type) || call.root < 0 || call.root >= communicator->ranks() ||
      call.buffer == MPI_IN_PLACE)
    return refuse_arguments(Operation::broadcast);
  const Data data(call.buffer, call.count, call.type);
  if (data.is_missing()) return refuse_arguments(Operation::broadcast);
  Entry& entry = communicator->engine()->prepare({Operation::broadcast, data.bytes(), Rank(call.root)});
  if (entry.kind == Entry::Kind::native) {
    ++entry.calls;
    return std::nullopt;
  }
  if (const int code = data.check_committed(call.comm); code != MPI_SUCCESS) return code;
  if (!data.is_plain()) return run_packed(call, data, *communicator, entry);
  return run(*communicator, call.comm, entry, data.plain(), data.plain());
}

std::optional<int> try_call(const Allgather& call) {
  Communicator* communicator = find_served(call.comm, Operation::allgather);
  if (communicator == nullptr) return std::nullopt;
  const bool has_send_side = call.send_buffer != MPI_IN_PLACE;
  if (!is_valid(call.receive_count, call.receive_type) || call.receive_buffer == MPI_IN_PLACE ||
      (has_send_side && !is_valid(call.send_count, call.send_type)))
    return refuse_arguments(Operation::allgather);
  const Data receive(call.receive_buffer, call.receive_count, call.receive_type);
  std::optional<Data> send;
  if (has_send_side) send.emplace(call.send_buffer, call.send_count, call.send_type);
  const Data* sent = send ? &*send : nullptr;
  if (receive.is_missing() || !is_send_side_valid(sent, receive, communicator->rank()))
    return refuse_arguments(Operation::allgather);
  Entry& entry = communicator->engine()->prepare({Operation::allgather, receive.bytes(), Rank(0)});
  if (entry.kind == Entry::Kind::native) {
    ++entry.calls;
    return std::nullopt;
  }
  if (const int code = receive.check_committed(call.comm); code != MPI_SUCCESS) return code;
  if (const int code = send ? send->check_committed(call.comm) : MPI_SUCCESS; code != MPI_SUCCESS) return code;
  return run_any(call, sent, receive, *communicator, entry);
}

std::optional<int> try_call(const Barrier& call) {
  Communicator* communicator = find_served(call.comm, Operation::barrier);
  if (communicator == nullptr) return std::nullopt;
  Entry& entry = communicator->engine()->prepare({Operation::barrier, 0, Rank(0)});
  if (entry.kind == Entry::Kind::native) {
    ++entry.calls;
    return std::nullopt;
  }
  return run(*communicator, call.comm, entry, nullptr, nullptr);
}

std::string describe_call(const Problem& problem, MPI_Comm comm) {
  Communicator* communicator = Communicator::find_existing(comm);
  if (communicator == nullptr) return "unknown until the first collective";
  if (communicator->engine() == nullptr) return "native: " + communicator->refusal();
  if (problem.root.value >= communicator->ranks()) throw Error("no such root");
  const Entry& entry = communicator->engine()->prepare(problem);
  return entry.kind == Entry::Kind::native ? "native: " + entry.label : entry.label;
}

}  // namespace espalier::mpi
