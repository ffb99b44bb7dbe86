#pragma once
// Memory that peers may write to.

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/ids.hpp"
#include "transports/ucx/worker.hpp"

namespace espalier::transports::ucx {

/// A registration; unregistered when destroyed, so no peer may still be writing then. Movable.
class Memory {
 public:
  Memory() = default;
  ~Memory() { reset(); }
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;

  /// Zero-filled memory of UCX's own choosing (on one node it is shared, so that peers store into it directly). Throws
  /// Error.
  static Memory allocate(Context& context, Bytes bytes);
  /// Registers a buffer of the program; is_mapped() is false when UCX refuses. Kept for one message only, never by us
  /// for a later one: whether a buffer is still the memory it was, only UCX knows, which watches the process's mappings
  /// and caches the expensive part of registrations below this call.
  static Memory map(Context& context, std::byte* buffer, Bytes bytes) noexcept;

  bool is_mapped() const { return handle_ != nullptr; }
  std::byte* base() const { return base_; }
  ucp_mem_h handle() const { return handle_; }
  /// Writes the key that peers need and returns its size; 0 when it does not fit or there is none.
  std::size_t pack_key(std::span<std::byte> into) const noexcept;
  void reset() noexcept;

 private:
  Memory(Context& context, ucp_mem_h handle, std::byte* base) : context_(&context), handle_(handle), base_(base) {}

  Context* context_ = nullptr;
  ucp_mem_h handle_ = nullptr;
  std::byte* base_ = nullptr;
};

/// A peer's key, decoded for one endpoint. Empty or owned.
class Key {
 public:
  Key() = default;
  /// False: UCX refuses.
  bool unpack(ucp_ep_h endpoint, std::span<const std::byte> packed) noexcept;
  void reset() noexcept;
  ~Key() { reset(); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  ucp_rkey_h handle() const { return handle_; }

 private:
  ucp_rkey_h handle_ = nullptr;
};

}  // namespace espalier::transports::ucx
