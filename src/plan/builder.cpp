#include "plan/builder.hpp"

#include <algorithm>
#include <utility>

namespace espalier::plan {

std::uint32_t Builder::free_slot() {
  if (free_slots_.empty()) return program_.slots++;
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

std::uint32_t Builder::send(Rank to, Buffer from, Bytes offset, Bytes bytes) {
  const std::uint32_t slot = free_slot();
  emit(Step::send(to, from, offset, bytes, slot));
  return slot;
}

std::uint32_t Builder::recv(Rank from, Buffer into, Bytes offset, Bytes bytes) {
  const std::uint32_t slot = free_slot();
  if (into == Buffer::window) note_window(offset + bytes);
  emit(Step::recv(from, into, offset, bytes, slot));
  return slot;
}

void Builder::finish(std::uint32_t slot) {
  emit(Step::finish(slot));
  free_slots_.push_back(slot);
}

void Builder::put(Buffer from, Bytes offset, Bytes bytes, Bytes window_offset) {
  note_window(window_offset + bytes);
  emit(Step::put(from, offset, bytes, window_offset));
}

void Builder::get(LocalRank owner, Bytes window_offset, Buffer into, Bytes offset, Bytes bytes) {
  emit(Step::get(owner, window_offset, into, offset, bytes));
}

void Builder::pull(LocalRank owner, Buffer theirs, Bytes their_offset, Buffer into, Bytes offset, Bytes bytes) {
  emit(Step::pull(owner, theirs, their_offset, into, offset, bytes));
}

void Builder::push(LocalRank owner, Buffer theirs, Bytes their_offset, Buffer from, Bytes offset, Bytes bytes) {
  emit(Step::push(owner, theirs, their_offset, from, offset, bytes));
}

void Builder::copy(Buffer from, Bytes from_offset, Buffer into, Bytes into_offset, Bytes bytes) {
  if (bytes > 0) emit(Step::copy(from, from_offset, into, into_offset, bytes));
}

void Builder::reduce(Buffer far, Bytes far_offset, Buffer into, Bytes offset, Bytes bytes) {
  if (into == Buffer::window) note_window(offset + bytes);
  if (bytes > 0) emit(Step::reduce(local_, far, far_offset, into, offset, bytes));
}

void Builder::reduce(LocalRank owner, Bytes window_offset, Buffer into, Bytes offset, Bytes bytes) {
  if (into == Buffer::window) note_window(offset + bytes);
  if (bytes > 0) emit(Step::reduce(owner, Buffer::window, window_offset, into, offset, bytes));
}

void Builder::await_neighbours(Flag flag, std::uint64_t tick, Bytes calls_back) {
  if (node_size() > 1) emit(Step::await_all(flag, tick, calls_back));
}

void Builder::claim_window() {
  if (std::exchange(has_window_, true)) return;
  await_neighbours(Flag::done, 1, window_banks);
}

void Builder::begin_phase(const char* name) {
  std::vector<Phase>& phases = program_.phases;
  if (!phases.empty() && phases.back().first_step == program_.steps.size()) phases.pop_back();
  phases.push_back({name, program_.steps.size()});
}

void Builder::note_window(Bytes end) { program_.window_bytes = std::max(program_.window_bytes, end); }

Program Builder::take() && {
  if (node_size() > 1) post(Flag::done, 1);
  return std::move(program_);
}

}  // namespace espalier::plan
