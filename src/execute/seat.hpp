#pragma once
// One rank's place at its node's board: its number, its neighbours' progress as last seen, and the call it is in.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "execute/board.hpp"
#include "execute/closeness.hpp"
#include "execute/lines/line_word.hpp"
#include "execute/statement.hpp"
#include "execute/windows.hpp"

namespace espalier::execute {

/// Value of a flag: which call, which tick within it. Monotonic over the life of a communicator.
inline constexpr std::uint64_t stamp(std::uint64_t call, std::uint64_t tick) {
  return (call << plan::tick_bits) | tick;
}

/// Asks for a cache line of our own. The compiler would ask for a shared copy unless it may assume a newer processor;
/// the instruction does nothing on those that lack it.
inline void prefetch_for_writing(const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Belongs to one communicator and one rank. Not thread safe: MPI allows one collective at a time on a communicator.
class Seat {
 public:
  Seat() = default;
  /// `rings`: some rank of the communicator may sleep while it waits. Equal on all ranks. `windows` lends this rank its
  /// windows, and outlives the seat; null on boards that have their own.
  Seat(Board board, LocalRank me, bool rings = false, WindowPool* windows = nullptr)
      : board_(board),
        me_(me),
        rings_(rings),
        windows_(windows),
        seen_(static_cast<std::size_t>(board.shape().ranks) * plan::flag_count, 0),
        cursors_(static_cast<std::size_t>(board.shape().ranks)) {}

  const Board& board() const { return board_; }
  LocalRank me() const { return me_; }
  int ranks() const { return board_.shape().ranks; }
  /// Of this rank to the others.
  Closeness& closeness() { return closeness_; }
  /// How the next cell goes to its one reader; who learns it from whatever flag says that the cell is written.
  Way next_way() noexcept {
    const Way way = closeness_.next(ranks() == 2);  // with others about, memory is what all wait for
    std::atomic<bool>& told = board_.notice(me_).is_taken;
    if (told.load(std::memory_order_relaxed) != way.is_taken) told.store(way.is_taken, std::memory_order_relaxed);
    return way;
  }
  /// Whether this rank, if it alone reads them, is to take over the lines that it reads in `owner`'s window.
  bool takes_over_from(LocalRank owner) const noexcept {
    return owner != me_ && board_.notice(owner).is_taken.load(std::memory_order_relaxed);
  }

  /// After a call that was broken off: the memory that this rank has exposed is the caller's again.
  void leave() noexcept { board_.notice(me_).has_left.store(true, std::memory_order_seq_cst); }
  /// Asked before `owner`'s exposed memory is written and after it was read: what was read is good only if the owner
  /// had not left by then.
  bool has_left(LocalRank owner) const noexcept {
    return board_.notice(owner).has_left.load(std::memory_order_acquire);
  }

  /// Begins the next call; calls are numbered from 1, in the same order on every rank.
  std::uint64_t begin_call() { return ++call_; }
  std::uint64_t call() const { return call_; }
  /// The call that has just begun is done again, as others do it: the next begin_call() gives its number. Never another
  /// call's: what neighbours read of a number is of one call.
  void repeat_call() { --call_; }

  // What is said in a call, or `ahead` of it: 1 of the one that has not begun yet. Ranks that listen before they know
  // what that will be take no number for it.

  /// Whether all neighbours have left the last call whose statement the next one takes the place of. Where blocks come
  /// from other nodes, nothing else keeps a rank from running ahead of its neighbours.
  bool may_state(std::uint64_t ahead = 0) noexcept {
    return all_reached(plan::Flag::done, 1, Exposure::statements - ahead);
  }
  /// Whether a neighbour has broken off a call, for good.
  bool has_leaver() const noexcept {
    for (int r = 0; r < ranks(); ++r)
      if (has_left(LocalRank(r))) return true;
    return false;
  }
  /// Before the first flag of a program of this call: what its blocks are, or that this rank has left it.
  void state(Bytes bytes, std::uint64_t ahead = 0) noexcept {
    if (!board_) return;
    const std::uint64_t call = call_ + ahead;
    statement_ = Statement(call, bytes);
    board_.exposure(me_).statement[call % Exposure::statements].store(statement_.word(), std::memory_order_release);
  }
  /// Beside state(), where the bytes are those of whoever sends.
  void vouch(Bytes bytes) noexcept {
    if (board_) board_.exposure(me_).vouched.store(Statement(call_, bytes).word(), std::memory_order_release);
  }
  /// What holds in this call, if `owner` knows: it vouches for it, or has come through.
  std::optional<Bytes> vouched(LocalRank owner) noexcept {
    const Statement theirs(board_.exposure(owner).vouched.load(std::memory_order_acquire));
    if (theirs.is_of_call_of(Statement(call_, 0))) return theirs.bytes();
    return reached(owner, plan::Flag::done, 1, 0) ? stated(owner) : std::nullopt;
  }
  /// What `owner` said of this call, if it did: neighbours without a program never do.
  std::optional<Bytes> stated(LocalRank owner, std::uint64_t ahead = 0) const noexcept {
    const Statement theirs = statement_of(owner, ahead);
    return theirs.is_of_call_of(Statement(call_ + ahead, 0)) ? std::optional(theirs.bytes()) : std::nullopt;
  }
  /// Whether a flag that `owner` has raised is not meant for this rank's program: it said something else, or nothing
  /// and has gone on to a later call. Whoever has said much since then has said the same.
  bool differs(LocalRank owner) const noexcept {
    const Statement theirs = statement_of(owner);
    return theirs != statement_ && !theirs.is_of_later_call_than(statement_);
  }
  /// A line that `owner` wrote in this call, if any.
  const Line* find_line(LocalRank owner, std::uint64_t expected, std::uint64_t ahead = 0) const noexcept {
    const Line* const ring = board_.ring(owner);
    for (const Line* line = ring; line != ring + ring_lines(board_.ring_block()); ++line) {
      const LineWord word(line->call.load(std::memory_order_acquire));
      if (word.is_of(call_ + ahead) && word.value() != expected) return line;
    }
    return nullptr;
  }

  /// Gets this rank's window of the current call, to write in; false: none can be had yet, ask again. Before the first
  /// flag of the call that neighbours look in the window after. Again in the same call it does nothing.
  bool open_window() noexcept {
    if (windows_ == nullptr) return true;
    Bank& bank = bank_of(call_);
    if (bank.is_open) return true;
    Window* const window = windows_->borrow(&bank, bank.window);
    if (window == nullptr) return false;
    bank = {window, true};
    std::atomic<Bytes>& told = board_.notice(me_).place[call_ % plan::window_banks];
    // Where it moves, nobody looks at the notice any more: the window went to another when this one was left.
    if (told.load(std::memory_order_relaxed) != window->place()) told.store(window->place(), std::memory_order_relaxed);
    return true;
  }
  /// Ends the use of a window that this call has opened, if it has. After the last flag of the call.
  void close_window() noexcept {
    if (windows_ == nullptr) return;
    Bank& bank = bank_of(call_);
    if (std::exchange(bank.is_open, false)) windows_->give_back(*bank.window, {board_, me_, call_});
  }
  /// Before the seat goes: gives up what it keeps. False while a neighbour may read there still, ask again; with
  /// `for_good` nobody gets that any more.
  bool leave_windows(bool for_good = false) noexcept {
    for (Bank& bank : banks_) {
      if (bank.window == nullptr) continue;
      if (for_good || bank.is_open)
        windows_->abandon(*bank.window, &bank);
      else if (!windows_->release(*bank.window, &bank))
        return false;
      bank = {};
    }
    return true;
  }

  /// The board has got long rings. Between two calls, the same on all ranks of the node.
  void use_long_rings(std::byte* memory) noexcept {
    board_.use_long_rings(memory);
    std::fill(cursors_.begin(), cursors_.end(), RingCursor());
    std::fill(std::begin(block_calls_), std::end(block_calls_), 0);
  }

  void post(plan::Flag flag, std::uint64_t tick) noexcept {
    board_.flag(me_, flag).store(stamp(call_, tick), std::memory_order_release);
    ring();
  }

  /// At the end of a call: as if its program had said last that this rank is done, where it has not.
  void finish_silently() noexcept {
    std::atomic<std::uint64_t>& done = board_.flag(me_, plan::Flag::done);
    const std::uint64_t mine = stamp(call_, 1);
    if (done.load(std::memory_order_relaxed) < mine) done.store(mine, std::memory_order_release);
  }

  /// After raising what neighbours may wait for: wakes those that sleep, where any may.
  void ring() noexcept {
    if (rings_) board_.bell(me_).ring();
  }
  /// What `owner` rings, or null where nobody sleeps.
  Bell* bell_of(LocalRank owner) const noexcept { return rings_ ? &board_.bell(owner) : nullptr; }
  /// The same for the rank whose flag the last look missed.
  Bell* missed_bell() const noexcept { return bell_of(missed_); }
  LocalRank missed() const noexcept { return missed_; }

  /// Whether `owner`'s flag has reached `tick` of the call `calls_back` before the current one. Looks at shared memory
  /// only when what was seen last does not suffice already: flags never go back.
  bool reached(LocalRank owner, plan::Flag flag, std::uint64_t tick, std::uint64_t calls_back) noexcept {
    if (call_ <= calls_back) return true;
    const std::uint64_t wanted = stamp(call_ - calls_back, tick);
    std::uint64_t& seen = seen_of(owner, flag);
    if (seen >= wanted) return true;
    seen = board_.flag(owner, flag).load(std::memory_order_acquire);
    missed_ = owner;
    return seen >= wanted;
  }

  bool all_reached(plan::Flag flag, std::uint64_t tick, std::uint64_t calls_back) noexcept {
    for (int r = 0; r < ranks(); ++r)
      if (LocalRank(r) != me_ && !reached(LocalRank(r), flag, tick, calls_back)) return false;
    return true;
  }

  /// After a line that `owner` wrote in this call was read: it is done with all calls before. Saves a look at its flag.
  void saw_line(LocalRank owner) noexcept {
    std::uint64_t& seen = seen_of(owner, plan::Flag::done);
    seen = std::max(seen, stamp(call_ - 1, 1));
  }

  /// Where `owner`'s short message of this call lies. Called once per message by its writer and by all its readers.
  RingPlace next_place(LocalRank owner, std::uint32_t lines) noexcept {
    return cursors_[static_cast<std::size_t>(owner.value)].place(lines, board_.ring_block());
  }
  /// What that will say, without placing anything.
  RingPlace peek_place(LocalRank owner, std::uint32_t lines) const noexcept {
    return RingCursor(cursors_[static_cast<std::size_t>(owner.value)]).place(lines, board_.ring_block());
  }
  /// Whether this rank may write its next message of so many lines.
  bool may_place(std::uint32_t lines) noexcept { return is_block_free(peek_place(me_, lines)); }
  /// That message begins elsewhere, as its lines say.
  void follow(LocalRank owner, std::uint32_t begin) noexcept {
    cursors_[static_cast<std::size_t>(owner.value)].follow(begin, board_.ring_block());
  }
  Line* message_at(LocalRank owner, const RingPlace& place) const noexcept { return board_.ring(owner) + place.begin; }

  /// Fetches the lines of the own ring that another message like the last would take, for writing: readers had copies
  /// of them, and taking those away would otherwise be the first thing the next call waits for (two ranks, 1K: gather
  /// 0.43 us, without 0.53 us; scatter 0.58 us, 0.82 us).
  void prefetch_next(std::uint32_t lines) noexcept { prefetch_next(lines, 0, lines); }
  /// Only `count` of its lines, from `first` on.
  void prefetch_next(std::uint32_t lines, std::uint32_t first, std::uint32_t count) noexcept {
    const RingPlace place = peek_place(me_, lines);
    const Line* const part = message_at(me_, place) + first;
    for (std::uint32_t i = 0; i < count; ++i) prefetch_for_writing(part + i);
    // Where it enters a block of the ring, the next call will ask this; likely it is known by then.
    is_block_free(place);
  }

  /// Whether this rank may write the message it has just placed: true inside a block of the ring, and at a block's
  /// beginning when all neighbours have left the last call that used it.
  bool may_write(const RingPlace& place) noexcept {
    if (!is_block_free(place)) return false;
    block_calls_[place.block] = call_;
    return true;
  }

 private:
  /// This rank's part in one bank of windows.
  struct Bank {
    Window* window = nullptr;  ///< what it borrowed last
    bool is_open = false;      ///< by the current call
  };
  Bank& bank_of(std::uint64_t call) noexcept { return banks_[call % plan::window_banks]; }

  bool is_block_free(const RingPlace& place) noexcept {
    return !place.opens_block || all_reached(plan::Flag::done, 1, call_ - block_calls_[place.block]);
  }

  Statement statement_of(LocalRank owner, std::uint64_t ahead = 0) const noexcept {
    const auto& said = board_.exposure(owner).statement[(call_ + ahead) % Exposure::statements];
    return Statement(said.load(std::memory_order_acquire));
  }

  std::uint64_t& seen_of(LocalRank owner, plan::Flag flag) noexcept {
    return seen_[static_cast<std::size_t>(owner.value) * plan::flag_count + static_cast<std::size_t>(flag)];
  }

  Board board_;
  LocalRank me_{};
  bool rings_ = false;
  WindowPool* windows_ = nullptr;
  std::array<Bank, plan::window_banks> banks_{};
  LocalRank missed_{};  ///< whose flag was looked at last
  std::uint64_t call_ = 0;
  Statement statement_;
  std::vector<std::uint64_t> seen_;
  std::vector<RingCursor> cursors_;
  std::uint64_t block_calls_[ring_blocks] = {};  ///< the call that last wrote each block of the own ring
  Closeness closeness_;
};

}  // namespace espalier::execute
