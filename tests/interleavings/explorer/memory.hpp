#pragma once
// Memory under release and acquire, as an operational semantics: each atomic location keeps the history of its writes,
// each rank a view, the writes that it must not look behind any more. A write that releases carries its rank's view; an
// acquire that reads it takes it over. This is RC11 (Lahav et al., PLDI 2017) without loops through program order and
// reads-from, which no compiler makes of these programs, in the form of Kang et al., POPL 2017, without promises.
// Sequential consistency is taken for no more than release and acquire: what holds so holds with it.
//
// What is not atomic is checked for races: conflicting accesses that no happens-before orders (vector clocks, as
// Flanagan and Freund, FastTrack, PLDI 2009, without their compression).

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explorer/explorer.hpp"

namespace espalier::interleavings {

using Clock = std::array<std::uint32_t, most_ranks>;
/// By location, the index of a write in its history.
using View = std::vector<std::uint32_t>;
using Index = std::uint32_t;

inline void raise(Clock& clock, const Clock& by) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], by[i]);
}
inline void raise(View& view, const View& by) {
  if (view.size() < by.size()) view.resize(by.size());
  for (std::size_t i = 0; i < by.size(); ++i) view[i] = std::max(view[i], by[i]);
}

/// What an access may order. Consume is taken for acquire.
struct Order {
  bool acquires, releases;
};
Order order_of(int memory_order, bool is_read, bool is_write);

struct Write {
  std::uint64_t value = 0;
  int writer = -1;          ///< -1: before the execution
  std::uint32_t epoch = 0;  ///< of the writer then
  bool releases = false;    ///< carries what follows
  View view;
  Clock clock{};
};

struct Location {
  const std::byte* address = nullptr;
  std::size_t id = 0;
  std::string name;
  const Fault* fault = nullptr;
  unsigned writers = 0;  ///< ranks that have written here in some execution so far, as bits
  std::vector<Write> history;
  std::size_t length = 0;  ///< of the history in this execution; 0: not touched yet

  Write& write(Index index) { return history[index]; }
  Index last() const { return static_cast<Index>(length - 1); }
};

/// What a rank knows.
struct Knowledge {
  View view;
  Clock clock{};

  Index floor(const Location& location) const { return location.id < view.size() ? view[location.id] : 0; }
};

class Memory {
 public:
  explicit Memory(const std::vector<Fault>& faults) : faults_(faults) {}

  /// Begins an execution. What is known about writers stays.
  void reset();
  void name(const std::byte* begin, std::size_t bytes, std::string name);
  std::string name_of(const std::byte* address) const;

  /// The location at that address; `initial` is what it holds where it has not been touched before.
  Location& at(const std::byte* address, std::uint64_t initial);

  Location& by_id(std::size_t id) { return locations_[id]; }

  std::uint64_t read(int rank, Location& location, Index index, Order order);
  /// Appends to the history. False: another rank's write comes before and is not ordered with this one, so that it
  /// might as well come after it. `read`: the write that a read-modify-write reads.
  bool write(int rank, Location& location, std::uint64_t value, Order order, std::optional<Index> read);
  /// The rank may write there: it does, or would have if it had found another value.
  void note_writer(int rank, Location& location);
  /// Whether a new writer was seen since the last time this was asked.
  bool has_new_writer() { return std::exchange(has_new_writer_, false); }

  /// Notes an access to bytes that are not atomic; who raced with it, if anybody.
  std::optional<int> touch(int rank, const std::byte* begin, std::size_t offset, std::size_t bytes, bool is_write);

  Knowledge& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

 private:
  /// The last accesses to one byte.
  struct Byte {
    std::uint32_t execution = 0;
    std::uint32_t written = 0;
    int writer = -1;
    Clock read{};
  };
  struct Named {
    const std::byte* begin;
    std::size_t bytes;
    std::string name;
  };

  const std::vector<Fault>& faults_;
  std::deque<Location> locations_;
  std::unordered_map<const std::byte*, std::size_t> ids_;
  std::vector<Named> names_;
  std::vector<Byte> bytes_;
  std::uint32_t execution_ = 0;
  std::array<Knowledge, most_ranks> ranks_;
  bool has_new_writer_ = false;
};

}  // namespace espalier::interleavings
