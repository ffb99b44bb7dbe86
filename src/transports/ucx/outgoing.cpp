#include "transports/ucx/outgoing.hpp"

#include <algorithm>
#include <cstring>

namespace espalier::transports::ucx {

Outgoing::Outgoing(Endpoint& endpoint, std::byte* image, const Memory& memory, Bytes ring_bytes)
    : endpoint_(endpoint),
      image_(image),
      memory_(memory),
      ring_lines_(static_cast<std::uint32_t>(ring_bytes / line_bytes)),
      longest_(longest_payload(ring_lines_)),
      cursor_(ring_lines_) {}

void Outgoing::start(Operation& send, bool is_large) noexcept {
  send.note = is_large ? ++larges_ : 0;
  queue_.push(send);
  advance();
}

void Outgoing::advance() noexcept {
  if (queue_.front() == nullptr || !find_ring()) return;
  begin_large();
  while (queue_.front() != nullptr && push(*queue_.front())) {
    queue_.front()->state = Operation::State::draining;
    queue_.pop();
  }
}

bool Outgoing::find_ring() noexcept {
  if (ring_there_ != 0) return true;
  const Note* note = arrived(0);
  if (note == nullptr) return false;
  if (note->key_bytes != 0 && ring_key_.unpack(endpoint_.handle(), note->packed_key())) {
    ring_there_ = note->address;
    return true;
  }
  endpoint_.break_off();
  return false;
}

const Note* Outgoing::arrived(std::uint64_t number) const noexcept {
  const Note& note = endpoint_.mailbox().notes[number % notes_at_once];
  return load(note.serial) == number + 1 ? &note : nullptr;
}

// Large messages behind the first start early: their writes overlap, only the records that report them keep their turn.
void Outgoing::begin_large() noexcept {
  for (Operation* send = queue_.front(); send != nullptr; send = send->next) {
    if (send->note == 0 || send->has_begun) continue;
    const Note* note = arrived(send->note);
    if (note == nullptr) return;  // later ones cannot have come either
    send->has_begun = true;
    if (note->key_bytes == 0) {
      send->note = 0;
    } else {
      begin(*send, *note);
    }
  }
}

// Flush, not fence: when the record is sent, nothing of the payload is left that would need our progress.
void Outgoing::begin(Operation& send, const Note& note) noexcept {
  LastKey& last = keys_[send.note % notes_at_once];
  if (last.key.handle() == nullptr || !std::ranges::equal(last.note.packed_key(), note.packed_key())) {
    last.note = note;
    if (!last.key.unpack(endpoint_.handle(), note.packed_key())) return endpoint_.break_off();
  }
  endpoint_.put(send.data, send.bytes, {note.address, last.key}, send.pending);
  endpoint_.flush(send.pending);
}

// True when everything of the message has been started.
bool Outgoing::push(Operation& send) noexcept {
  if (endpoint_.is_broken()) return false;
  if (send.note != 0) {
    if (!send.has_begun || send.pending.writes != 0 || send.pending.has_failed) return false;
    return push_record(send, 0);
  }
  do {
    if (!push_record(send, std::min(send.bytes - send.moved, longest_))) return false;
  } while (send.moved < send.bytes);
  return true;
}

// False: the ring is full, or too many words wait for their payload.
bool Outgoing::push_record(Operation& send, Bytes payload) noexcept {
  if (!endpoint_.has_room()) return false;
  const std::uint32_t lines = lines_of(payload);
  const Cursor::Place place = cursor_.next(lines);
  if (place.count - endpoint_.credited > ring_lines_) {
    const auto told = static_cast<std::uint32_t>(load(endpoint_.mailbox().credit));
    if (is_ahead(told, endpoint_.credited)) endpoint_.credited = told;
    if (place.count - endpoint_.credited > ring_lines_) return false;
  }
  put_record(send, payload, place, lines);
  cursor_.move_past(place, lines);
  send.moved += payload;
  return !endpoint_.is_broken();
}

// UCX orders no writes by itself, so the word is put last. Where bytes are stored in order, one write carries both.
void Outgoing::put_record(Operation& send, Bytes payload, Cursor::Place place, std::uint32_t lines) noexcept {
  const Bytes word_at = (place.begin + Bytes{lines}) * line_bytes - word_bytes;
  const std::byte* from = send.data + send.moved;
  const std::uint64_t word = Word{cursor_.sequence(), endpoint_.consumed}.bits();
  endpoint_.told = endpoint_.consumed;
  std::memcpy(image_ + word_at, &word, word_bytes);
  const Bytes start = word_at - payload;
  if (endpoint_.in_order()) {
    if (payload > 0) std::memcpy(image_ + start, from, payload);
    return endpoint_.put(image_ + start, payload + word_bytes, {ring_there_ + start, ring_key_, &memory_},
                         send.pending);
  }
  const Endpoint::Way word_way{ring_there_ + word_at, ring_key_, &memory_};
  if (payload == 0) return endpoint_.put(image_ + word_at, word_bytes, word_way, send.pending);
  endpoint_.put(from, payload, {ring_there_ + start, ring_key_}, send.pending);
  endpoint_.put_last(image_ + word_at, word_bytes, word_way, send.pending);
}

}  // namespace espalier::transports::ucx
