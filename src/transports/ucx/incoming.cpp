#include "transports/ucx/incoming.hpp"

#include <algorithm>
#include <cstring>

namespace espalier::transports::ucx {

Incoming::Incoming(Endpoint& endpoint, std::byte* ring, Outbox& outbox, const Memory& memory, Bytes ring_bytes)
    : endpoint_(endpoint),
      ring_(ring),
      outbox_(outbox),
      memory_(memory),
      ring_lines_(static_cast<std::uint32_t>(ring_bytes / line_bytes)),
      longest_(longest_payload(ring_lines_)),
      cursor_(ring_lines_) {}

void Incoming::start(Operation& receipt, bool is_large) noexcept {
  receipt.note = is_large ? ++larges_ : 0;
  queue_.push(receipt);
  advance();
}

void Incoming::advance() noexcept {
  if (queue_.front() == nullptr) return;
  if (!is_ring_named_) name_ring();
  name_buffers();
  while (queue_.front() != nullptr && pull(*queue_.front())) {
    queue_.front()->state = Operation::State::idle;
    queue_.pop();
    name_buffers();
  }
  give_credit();
}

void Incoming::name_ring() noexcept {
  if (!endpoint_.has_room()) return;
  is_ring_named_ = true;
  send_note(0, ring_, memory_);
}

// As early as possible, so that the sender need not wait; in order, so all behind one that has no place wait too.
void Incoming::name_buffers() noexcept {
  for (Operation* receipt = queue_.front(); receipt != nullptr; receipt = receipt->next) {
    if (receipt->note == 0 || receipt->has_begun) continue;
    // The note it replaces has been acted upon when its message is complete; that of the ring, when any record came.
    if (receipt->note > completed_ + notes_at_once) return;
    if (receipt->note == notes_at_once && cursor_.count() == 0) return;
    if (!endpoint_.has_room()) return;
    name_buffer(*receipt);
  }
}

void Incoming::name_buffer(Operation& receipt) noexcept {
  receipt.has_begun = true;
  receipt.memory = Memory::map(endpoint_.context(), receipt.data, receipt.bytes);
  if (!send_note(receipt.note, receipt.data, receipt.memory)) receipt.memory.reset();
}

// False: there is no key, and the note says so.
bool Incoming::send_note(std::uint64_t number, const std::byte* address, const Memory& memory) noexcept {
  Note& note = outbox_.notes[number % notes_at_once];
  note.address = reinterpret_cast<std::uint64_t>(address);
  note.key_bytes = static_cast<std::uint32_t>(memory.pack_key(note.key));
  note.serial = number + 1;
  endpoint_.put_note(note, number, pending_, &memory_);
  return note.key_bytes != 0;
}

// True when the message is complete.
bool Incoming::pull(Operation& receipt) noexcept {
  const bool is_large = receipt.note != 0;
  if (is_large && !receipt.has_begun) return false;
  if (is_large && receipt.memory.is_mapped()) {
    if (!pull_record(receipt, 0)) return false;
    receipt.memory.reset();
  } else {
    do {
      if (!pull_record(receipt, std::min(receipt.bytes - receipt.moved, longest_))) return false;
    } while (receipt.moved < receipt.bytes);
  }
  if (is_large) ++completed_;
  return true;
}

// False: it has not come yet.
bool Incoming::pull_record(Operation& receipt, Bytes payload) noexcept {
  const std::uint32_t lines = lines_of(payload);
  const Cursor::Place place = cursor_.next(lines);
  std::byte* const begin = ring_ + place.begin * line_bytes;
  std::byte* const end = begin + lines * line_bytes;
  const std::uint64_t bits = load(*reinterpret_cast<const std::uint64_t*>(end - word_bytes));
  const Word word = Word::from(bits);
  if (bits == 0 || is_ahead(cursor_.sequence(), word.sequence)) return false;
  if (word.sequence != cursor_.sequence()) {  // memory was overwritten
    endpoint_.break_off();
    return false;
  }
  if (is_ahead(word.consumed, endpoint_.credited)) endpoint_.credited = word.consumed;
  if (payload > 0) std::memcpy(receipt.data + receipt.moved, end - word_bytes - payload, payload);
  for (std::byte* line = begin; line != end; line += line_bytes)
    std::memset(line + line_bytes - word_bytes, 0, word_bytes);
  cursor_.move_past(place, lines);
  endpoint_.consumed = cursor_.count();
  receipt.moved += payload;
  return true;
}

// Only when a record of ours has not told for long: see longest_payload for why a quarter.
void Incoming::give_credit() noexcept {
  if (endpoint_.consumed - endpoint_.told < ring_lines_ / 4 || pending_.writes != 0) return;
  endpoint_.told = endpoint_.consumed;
  outbox_.credit = endpoint_.consumed;
  endpoint_.put(&outbox_.credit, sizeof(outbox_.credit), endpoint_.way_to_mailbox(offsetof(Mailbox, credit), &memory_),
                pending_);
}

}  // namespace espalier::transports::ucx
