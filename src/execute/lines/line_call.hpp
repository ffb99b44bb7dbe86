#pragma once
// One call through lines, as one rank makes it: places, writes and reads messages whose lines carry their sequence
// numbers. What the dedicated paths of short messages share (execute/lines/tiny.hpp, execute/lines/uneven_blocks.hpp).

#include <cstring>
#include <optional>
#include <utility>

#include "execute/lines/line_word.hpp"
#include "execute/seams.hpp"
#include "execute/seat.hpp"

namespace espalier::execute {

// Copies of up to one line: two overlapping moves of a fixed size instead of a call of memcpy with a variable one.
// Whole lines, of a size the compiler knows, and most of one had better be left to memcpy.
struct Quarter {
  std::byte bytes[16];
};
inline void copy_tiny(std::byte* into, const std::byte* from, Bytes bytes) noexcept {
  const auto ends = [&]<class Word>(Word) {
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(into, &first, sizeof(Word));
    std::memcpy(into + bytes - sizeof(Word), &last, sizeof(Word));
  };
  if (bytes > 2 * sizeof(Quarter)) {
    std::memcpy(into, from, bytes);
  } else if (bytes > sizeof(Quarter)) {
    ends(Quarter{});
  } else if (bytes >= 8) {
    ends(std::uint64_t{});
  } else if (bytes >= 4) {
    ends(std::uint32_t{});
  } else if (bytes >= 2) {
    ends(std::uint16_t{});
  } else if (bytes == 1) {
    *into = *from;
  }
}

/// A message of no bytes takes one line, as a mere signal.
inline std::uint32_t count_lines(Bytes bytes) noexcept {
  return bytes <= Line::payload_bytes
             ? 1
             : static_cast<std::uint32_t>((bytes + Line::payload_bytes - 1) / Line::payload_bytes);
}

/// Where a rank's message of the call lies.
struct Message {
  LocalRank owner;
  std::uint32_t begin;  ///< in the owner's ring
  Line* lines;
};

/// Begins the call, and ends it by saying that this rank is done, unless finish() has said so before.
class LineCall {
 public:
  /// `block_bytes`: of what this rank expects or writes, for its lines to say.
  LineCall(Seat& seat, Bytes block_bytes, Waiter& waiter) noexcept
      : seat_(seat), waiter_(waiter), word_(seat.begin_call(), 0, block_bytes) {}
  ~LineCall() {
    if (!is_finished_) finish();
    seat_.close_window();
  }
  LineCall(const LineCall&) = delete;
  LineCall& operator=(const LineCall&) = delete;

  int ranks() const noexcept { return seat_.ranks(); }
  LocalRank me() const noexcept { return seat_.me(); }
  Closeness& closeness() noexcept { return seat_.closeness(); }
  Way next_way() noexcept { return seat_.next_way(); }
  bool takes_over_from(LocalRank owner) const noexcept { return seat_.takes_over_from(owner); }

  /// Where the owner's message of so many lines lies. Every rank asks once for every message of the call, read or not:
  /// that keeps the cursors together.
  Message place(LocalRank owner, std::uint32_t lines) noexcept {
    return message_at(owner, seat_.next_place(owner, lines));
  }

  /// Places this rank's message and waits until it may be written.
  Message open(std::uint32_t lines) {
    const RingPlace place = seat_.next_place(me(), lines);
    wait_until([this, place] { return seat_.may_write(place); }, [this] { return seat_.missed_bell(); });
    return message_at(me(), place);
  }

  /// Where place() will say that the owner's message lies.
  Message next(LocalRank owner, std::uint32_t lines) const noexcept {
    return message_at(owner, seat_.peek_place(owner, lines));
  }

  /// Writes bytes into successive lines of a message.
  void write(const Message& message, Line* first, const std::byte* data, Bytes bytes) noexcept {
    for_each_line(first, bytes, [&](Line& at, Bytes offset, Bytes part) {
      copy_tiny(at.payload, data + offset, part);
      publish(message, at);
    });
  }
  void publish(const Message& message, Line& line) noexcept {
    line.call.store(word_of(message).value(), std::memory_order_release);
  }

  /// The same back; waits for each line as it needs it. False: what was written is another message, as `found()` says;
  /// likely nothing has been copied then.
  bool read(const Message& message, const Line* first, std::byte* into, Bytes bytes) {
    bool is_expected = true;
    for_each_line(first, bytes, [&](const Line& line, Bytes offset, Bytes part) {
      is_expected = is_expected && wait_for(message, line, offset + part < bytes);
      if (is_expected) copy_tiny(into + offset, line.payload, part);
    });
    return is_expected;
  }
  /// `has_next`: the message goes on in the next line. Who waits keeps a copy of that, too: so both are fetched anew at
  /// a time when they have been written, and not one after the other.
  bool wait_for(const Message& message, const Line& line, bool has_next) {
    if (line.call.load(std::memory_order_acquire) == word_of(message).value()) return true;
    return wait_longer_for(message, line, has_next);
  }

  /// The message that was found, from one of its lines on.
  void read_found(const Message& message, const Line* first, std::byte* into, Bytes bytes) noexcept {
    const LineWord expected = std::exchange(word_, LineWord(seat_.call(), 0, found_.bytes()));
    read(message, first, into, bytes);
    word_ = expected;
  }

  /// What wait_for() or read() has found: that the owner runs a program of blocks of that size, or else a message.
  std::optional<Bytes> stated() const noexcept { return stated_; }
  LineWord found() const noexcept { return found_; }
  std::uint32_t lines_of_ring() const noexcept { return ring_lines(seat_.board().ring_block()); }

  /// The owner's message as it was found; its next one follows there.
  Message follow(LocalRank owner) noexcept {
    seat_.follow(owner, found_.begin());
    return {owner, found_.begin(), seat_.board().ring(owner) + found_.begin()};
  }

  /// After a line that `owner` wrote in this call was read.
  void saw_line(LocalRank owner) noexcept { seat_.saw_line(owner); }

  /// Waits until this rank may write its window: nobody reads any more what the call before last put there.
  std::byte* open_window() {
    wait_until([this] { return seat_.all_reached(plan::Flag::done, 1, plan::window_banks); },
               [this] { return seat_.missed_bell(); });
    wait_until([this] { return seat_.open_window(); }, [] { return nullptr; });
    return window_of(me());
  }
  std::byte* window_of(LocalRank owner) const noexcept { return seat_.board().window(owner, seat_.call()); }
  Bytes window_bytes() const noexcept { return seat_.board().shape().window_bytes; }

  /// Says that this rank reads no more of its neighbours' memory in this call.
  void finish() noexcept {
    seat_.post(plan::Flag::done, 1);
    is_finished_ = true;
  }
  bool has_left(LocalRank owner) const noexcept { return seat_.has_left(owner); }
  /// Never says so: who waits for it must not take what has not come.
  void break_off() noexcept { is_finished_ = true; }
  /// Waits until `owner` has said that it is done.
  void wait_for_finish(LocalRank owner) { wait_for_flag(owner, plan::Flag::done, 1); }

  /// Any other flag of this call.
  void post(plan::Flag flag, std::uint64_t tick) noexcept { seat_.post(flag, tick); }
  void wait_for_flag(LocalRank owner, plan::Flag flag, std::uint64_t tick) {
    wait_until([this, owner, flag, tick] { return seat_.reached(owner, flag, tick, 0); },
               [this, owner] { return seat_.bell_of(owner); });
  }

  void prefetch_next(std::uint32_t lines) noexcept { seat_.prefetch_next(lines); }
  void prefetch_next(std::uint32_t lines, std::uint32_t first, std::uint32_t count) noexcept {
    seat_.prefetch_next(lines, first, count);
  }

 protected:
  /// Whether the owner does something else in this call than to write the message that is waited for.
  bool find_other(const Message& message) noexcept {
    const Bytes expected = word_.bytes();
    stated_ = expected == LineWord::of_blocks ? std::nullopt : seat_.stated(message.owner);
    if (stated_ == expected) stated_ = std::nullopt;
    const Line* const line = seat_.find_line(message.owner, word_of(message).value());
    if (line != nullptr) found_ = LineWord(line->call.load(std::memory_order_relaxed));
    return stated_ || line != nullptr;
  }

 private:
  Message message_at(LocalRank owner, const RingPlace& place) const noexcept {
    return {owner, place.begin, seat_.message_at(owner, place)};
  }

  LineWord word_of(const Message& message) const noexcept { return word_.at(message.begin); }

  /// False: `found_` is what the owner wrote in this call. Looked for now and then only: to look takes the writer's
  /// lines away.
  [[gnu::noinline]] bool wait_longer_for(const Message& message, const Line& line, bool has_next) {
    const auto is_there = [&] {
      if (line.call.load(std::memory_order_acquire) == word_of(message).value()) return true;
      if (has_next) __builtin_prefetch(&line + 1);
      return false;
    };
    return wait_long(
        is_there, [&] { return seat_.bell_of(message.owner); }, [&] { return find_other(message); });
  }

  /// Calls `part(line, offset, bytes)` for each line of a message.
  template <class AnyLine, class Part>
  static void for_each_line(AnyLine* line, Bytes bytes, Part part) {
    Bytes offset = 0;
    for (; bytes - offset > Line::payload_bytes; offset += Line::payload_bytes)
      part(*line++, offset, Line::payload_bytes);
    part(*line, offset, bytes - offset);
  }

  /// `bell()` says after a look who was missing. What this rank has written is rung for when it first has to wait, or
  /// else by the end of the call: the shortest way through a call rings once. Throws GivenUp, as all that waits here.
  template <class Ready, class WhoseBell>
  void wait_until(Ready is_ready, WhoseBell bell) {
    if (!is_ready()) wait_long(is_ready, bell, [] { return false; });
  }

  /// False: `is_over()` before it was ready.
  template <class Ready, class WhoseBell, class Over>
  [[gnu::noinline]] bool wait_long(Ready is_ready, WhoseBell bell, Over is_over) {
    seat_.ring();
    std::uint32_t attempts = 0;
    bool is_found = false;
    while (!is_found && !is_ready()) {
      is_found = Waiter::is_question_due(attempts) && is_over();
      if (!is_found && !waiter_.wait(attempts, bell())) give_up();
    }
    waiter_.end(attempts);
    return !is_found;
  }

  [[noreturn, gnu::cold, gnu::noinline]] void give_up() {
    break_off();
    throw GivenUp{};
  }

  Seat& seat_;
  Waiter& waiter_;
  LineWord word_;  ///< of a message that begins at 0
  LineWord found_;
  std::optional<Bytes> stated_;
  bool is_finished_ = false;
};

}  // namespace espalier::execute
