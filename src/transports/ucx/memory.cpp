#include "transports/ucx/memory.hpp"

#include <cstring>

#include "base/error.hpp"

namespace espalier::transports::ucx {

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this == &other) return *this;
  reset();
  context_ = std::exchange(other.context_, nullptr);
  handle_ = std::exchange(other.handle_, nullptr);
  base_ = std::exchange(other.base_, nullptr);
  return *this;
}

Memory Memory::allocate(Context& context, Bytes bytes) {
  ucp_mem_map_params_t parameters{};
  parameters.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  parameters.length = bytes;
  parameters.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h handle = nullptr;
  check(api().ucp_mem_map(context.handle(), &parameters, &handle), "cannot allocate memory");
  Memory memory(context, handle, nullptr);
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  check(api().ucp_mem_query(handle, &attributes), "cannot tell where its memory lies");
  memory.base_ = static_cast<std::byte*>(attributes.address);
  std::memset(memory.base_, 0, bytes);
  return memory;
}

Memory Memory::map(Context& context, std::byte* buffer, Bytes bytes) noexcept {
  ucp_mem_map_params_t parameters{};
  parameters.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  parameters.address = buffer;
  parameters.length = bytes;
  ucp_mem_h handle = nullptr;
  if (api().ucp_mem_map(context.handle(), &parameters, &handle) != UCS_OK) return {};
  return {context, handle, buffer};
}

std::size_t Memory::pack_key(std::span<std::byte> into) const noexcept {
  void* key = nullptr;
  std::size_t bytes = 0;
  if (handle_ == nullptr || api().ucp_rkey_pack(context_->handle(), handle_, &key, &bytes) != UCS_OK) return 0;
  const bool fits = bytes <= into.size();
  if (fits) std::memcpy(into.data(), key, bytes);
  api().ucp_rkey_buffer_release(key);
  return fits ? bytes : 0;
}

void Memory::reset() noexcept {
  if (handle_ != nullptr) api().ucp_mem_unmap(context_->handle(), handle_);
  handle_ = nullptr;
}

bool Key::unpack(ucp_ep_h endpoint, std::span<const std::byte> packed) noexcept {
  reset();
  if (api().ucp_ep_rkey_unpack(endpoint, packed.data(), &handle_) == UCS_OK) return true;
  handle_ = nullptr;
  return false;
}

void Key::reset() noexcept {
  if (handle_ != nullptr) api().ucp_rkey_destroy(handle_);
  handle_ = nullptr;
}

}  // namespace espalier::transports::ucx
