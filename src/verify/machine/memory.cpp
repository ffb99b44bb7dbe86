#include "verify/machine/memory.hpp"

#include <algorithm>

namespace espalier::verify {

void append(Contents& contents, Piece piece) {
  if (piece.bytes == 0) return;
  if (!contents.empty() && contents.back().value.after(contents.back().bytes) == piece.value)
    contents.back().bytes += piece.bytes;
  else
    contents.push_back(piece);
}

void Memory::peek(Extent where, int call, Contents& contents) const {
  Bytes at = where.first;
  auto range = ranges_.upper_bound(at);
  if (range != ranges_.begin() && std::prev(range)->second.last > at) --range;
  for (; at < where.last; ++range) {
    const Bytes begin = range == ranges_.end() ? where.last : std::min(range->first, where.last);
    if (at < begin) append(contents, {begin - at, {}});
    at = std::max(at, begin);
    if (at == where.last) break;
    const Bytes last = std::min(range->second.last, where.last);
    const bool is_current = range->second.call == call;
    append(contents, {last - at, is_current ? range->second.value.after(at - range->first) : Value{}});
    at = last;
  }
}

void Memory::read(Extent where, const Access& by, const Clocks& clocks, std::vector<Conflict>& conflicts) {
  if (where.empty()) return;
  for (auto it = begin_of(where); it != ranges_.end() && it->first < where.last; ++it) {
    Range& range = it->second;
    if (!clocks.is_past(by.event.rank, range.writer))
      conflicts.push_back({{it->first, range.last}, range.writer, true});
    range.readers.push_back(by.event);
  }
}

void Memory::write(Extent where, const Access& by, std::span<const Piece> contents, const Clocks& clocks,
                   std::vector<Conflict>& conflicts) {
  if (where.empty()) return;
  for (auto it = begin_of(where); it != ranges_.end() && it->first < where.last; ++it) {
    const Extent part{it->first, it->second.last};
    if (!clocks.is_past(by.event.rank, it->second.writer)) conflicts.push_back({part, it->second.writer, true});
    for (const Event& reader : it->second.readers)
      if (!clocks.is_past(by.event.rank, reader)) conflicts.push_back({part, reader, false});
  }
  fill(where, by, contents);
}

void Memory::fill(Extent where, const Access& by, std::span<const Piece> contents) {
  if (where.empty()) return;
  const auto begin = begin_of(where);
  auto next = ranges_.erase(begin, ranges_.lower_bound(where.last));
  Bytes at = where.first;
  for (const Piece& piece : contents) {
    ranges_.emplace_hint(next, at, Range{at + piece.bytes, piece.value, by.call, by.event, {}});
    at += piece.bytes;
  }
}

void Memory::split(Bytes at) {
  const auto next = ranges_.lower_bound(at);
  if (next == ranges_.begin()) return;
  const auto range = std::prev(next);
  if (range->second.last <= at) return;
  Range tail = range->second;
  tail.value = tail.value.after(at - range->first);
  range->second.last = at;
  ranges_.emplace_hint(next, at, std::move(tail));
}

Memory::Ranges::iterator Memory::begin_of(Extent where) {
  split(where.first);
  split(where.last);
  return ranges_.lower_bound(where.first);
}

}  // namespace espalier::verify
