#include "transports/ucx/endpoint.hpp"

#include <atomic>

namespace espalier::transports::ucx {
namespace {

ucp_request_param_t parameters_for(ucp_send_nbx_callback_t callback, Pending& pending) {
  ucp_request_param_t parameters;
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.send = callback;
  parameters.user_data = &pending;
  return parameters;
}

}  // namespace

Endpoint::Endpoint(Worker& worker, const PeerAddress& peer, Rank me, const Mailbox& mailbox, const UcxOptions& options)
    : worker_(worker),
      mailbox_(mailbox),
      mailbox_there_(peer.mailboxes + static_cast<Bytes>(me.value) * sizeof(Mailbox)),
      in_order_(options.in_order),
      reports_death_(!options.shared_memory) {
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(peer.worker.data());
  parameters.err_mode = reports_death_ ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  parameters.err_handler.cb = on_failure;
  parameters.err_handler.arg = this;
  check(api_.ucp_ep_create(worker.handle(), &parameters, &handle_), "cannot reach a peer");
  if (!mailbox_key_.unpack(handle_, peer.key)) break_off();
  if (!reports_death_) peer_.watch(peer.process);
}

void Endpoint::start_close() noexcept {
  break_off();
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = reports_death_ ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  const ucs_status_ptr_t request = api_.ucp_ep_close_nbx(handle_, &parameters);
  if (UCS_PTR_IS_PTR(request)) closing_ = request;
}

bool Endpoint::is_closed() noexcept {
  if (closing_ == nullptr) return true;
  if (api_.ucp_request_check_status(closing_) == UCS_INPROGRESS) return false;
  api_.ucp_request_free(closing_);
  closing_ = nullptr;
  return true;
}

void Endpoint::put(const std::byte* from, Bytes bytes, std::uint64_t to, const Key& key, Pending& pending,
                   const Memory* memory) noexcept {
  if (is_broken_) return;
  std::atomic_thread_fence(std::memory_order_release);  // what we stored before is seen before this write
  ucp_request_param_t parameters = parameters_for(on_completion, pending);
  if (memory != nullptr) {
    parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    parameters.memh = memory->handle();
  }
  note_result(api_.ucp_put_nbx(handle_, from, bytes, to, key.handle(), &parameters), pending);
}

void Endpoint::look_after_peer() noexcept {
  if (!is_broken_ && peer_.has_ended()) break_off();
}

void Endpoint::fence() noexcept {
  if (!is_broken_ && api_.ucp_worker_fence(worker_.handle()) != UCS_OK) break_off();
}

void Endpoint::flush(Pending& pending) noexcept {
  if (is_broken_) return;
  const ucp_request_param_t parameters = parameters_for(on_completion, pending);
  note_result(api_.ucp_ep_flush_nbx(handle_, &parameters), pending);
}

void Endpoint::put_mailbox(const void* from, Bytes bytes, Bytes offset, Pending& pending,
                           const Memory* memory) noexcept {
  put(static_cast<const std::byte*>(from), bytes, mailbox_there_ + offset, mailbox_key_, pending, memory);
}

void Endpoint::put_note(const Note& note, std::uint64_t number, Pending& pending, const Memory* memory) noexcept {
  const Bytes offset = offsetof(Mailbox, notes) + number % notes_at_once * sizeof(Note);
  if (in_order_) return put_mailbox(&note, sizeof(Note), offset, pending, memory);
  put_mailbox(&note, offsetof(Note, key) + note.key_bytes, offset, pending, memory);
  fence();
  put_mailbox(&note.serial, sizeof(note.serial), offset + offsetof(Note, serial), pending, memory);
}

void Endpoint::note_result(ucs_status_ptr_t result, Pending& pending) noexcept {
  if (result == nullptr) return;  // done already
  if (UCS_PTR_IS_ERR(result)) {
    pending.has_failed = true;
    break_off();
  } else {
    ++pending.writes;
  }
}

void Endpoint::on_completion(void* request, ucs_status_t status, void* pending) {
  auto& waiting = *static_cast<Pending*>(pending);
  --waiting.writes;
  if (status != UCS_OK) waiting.has_failed = true;
  api().ucp_request_free(request);
}

void Endpoint::on_failure(void* endpoint, ucp_ep_h, ucs_status_t) { static_cast<Endpoint*>(endpoint)->break_off(); }

}  // namespace espalier::transports::ucx
