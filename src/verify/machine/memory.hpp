#pragma once
// One buffer as the verifier sees it: for every byte, where it came from, who wrote it, who has read it since.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "verify/machine/clocks.hpp"

namespace espalier::verify {

/// The contents of a run of bytes: those of an expression (verify/machine/expressions.hpp), from `offset` on.
struct Value {
  static constexpr std::uint32_t undefined = 0;
  std::uint32_t expression = undefined;
  Bytes offset = 0;

  Value after(Bytes bytes) const { return {expression, expression == undefined ? 0 : offset + bytes}; }
  bool operator==(const Value&) const = default;
};

/// A run of bytes with one value.
struct Piece {
  Bytes bytes = 0;
  Value value;
};
using Contents = std::vector<Piece>;

/// Adds a piece at the end, joined with the last one where that goes on in it. Empty pieces vanish.
void append(Contents& contents, Piece piece);

/// Bytes [first, last) of a buffer.
struct Extent {
  Bytes first = 0;
  Bytes last = 0;
  bool empty() const { return first == last; }
};

/// Who touches a buffer, and in which call: contents of other calls are undefined to it.
struct Access {
  Event event;
  int call = 1;
};

/// An earlier access to the same bytes that is not certainly over.
struct Conflict {
  Extent where;
  Event other;
  bool other_writes = false;
};

/// An interval map. Neighbouring intervals are split where an access begins or ends.
class Memory {
 public:
  /// What the bytes hold for someone in this call, adjoining pieces of one value joined.
  void peek(Extent where, int call, Contents& contents) const;
  /// Notes the read and adds its conflicts with writes.
  void read(Extent where, const Access& by, const Clocks& clocks, std::vector<Conflict>& conflicts);
  /// Notes the write, which replaces contents and history, and adds its conflicts with reads and writes.
  /// `contents` are as long as `where`.
  void write(Extent where, const Access& by, std::span<const Piece> contents, const Clocks& clocks,
             std::vector<Conflict>& conflicts);
  /// Replaces the contents that a write under way has left open: its data have arrived.
  void fill(Extent where, const Access& by, std::span<const Piece> contents);

 private:
  struct Range {
    Bytes last = 0;
    Value value;
    int call = 0;
    Event writer;
    std::vector<Event> readers;  ///< since the write
  };
  using Ranges = std::map<Bytes, Range>;

  void split(Bytes at);
  Ranges::iterator begin_of(Extent where);

  Ranges ranges_;  ///< by first byte; disjoint; bytes in none have never been touched
};

}  // namespace espalier::verify
