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
      link_(worker.link(peer.worker, peer.process, options.shared_memory)),
      mailbox_(mailbox),
      mailbox_there_(peer.mailboxes + static_cast<Bytes>(me.value) * sizeof(Mailbox)),
      in_order_(options.one_write && link_.stores_in_order()) {
  if (!mailbox_key_.unpack(handle(), peer.key)) break_off();
}

void Endpoint::put(const void* from, Bytes bytes, const Way& way, Pending& pending) noexcept {
  if (is_broken()) return;
  std::atomic_thread_fence(std::memory_order_release);  // what we stored before is seen before this write
  ucp_request_param_t parameters = parameters_for(on_completion, pending);
  if (way.memory != nullptr) {
    parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    parameters.memh = way.memory->handle();
  }
  note_result(api_.ucp_put_nbx(handle(), from, bytes, way.to, way.key.handle(), &parameters), pending);
}

void Endpoint::put_last(const void* from, Bytes bytes, const Way& way, Pending& pending) noexcept {
  if (in_order_) return put(from, bytes, way, pending);
  Last& last = lasts_[newest_++ % lasts_.size()];
  last = {from, bytes, way.to, &way.key, way.memory, &pending, {}};
  ++pending.writes;
  flush(last.earlier);
  advance();  // over shared memory a flush is over at once
}

void Endpoint::advance() noexcept {
  for (; oldest_ != newest_ && !is_broken(); ++oldest_) {
    Last& last = lasts_[oldest_ % lasts_.size()];
    if (last.earlier.has_failed) return break_off();
    if (last.earlier.writes != 0) return;
    put(last.from, last.bytes, {last.to, *last.key, last.memory}, *last.pending);
    --last.pending->writes;
  }
}

void Endpoint::flush(Pending& pending) noexcept {
  if (is_broken()) return;
  const ucp_request_param_t parameters = parameters_for(on_completion, pending);
  note_result(api_.ucp_ep_flush_nbx(handle(), &parameters), pending);
}

void Endpoint::put_note(const Note& note, std::uint64_t number, Pending& pending, const Memory* memory) noexcept {
  const Bytes offset = offsetof(Mailbox, notes) + number % notes_at_once * sizeof(Note);
  if (in_order_) return put(&note, sizeof(Note), way_to_mailbox(offset, memory), pending);
  put(&note, offsetof(Note, key) + note.key_bytes, way_to_mailbox(offset, memory), pending);
  put_last(&note.serial, sizeof(note.serial), way_to_mailbox(offset + offsetof(Note, serial), memory), pending);
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

}  // namespace espalier::transports::ucx
