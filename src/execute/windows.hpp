#pragma once
// The windows of one process on one node. They belong to the process, not to its communicators: those borrow them while
// they run a program that puts something there, and keep what they had last until another one wants it. So their number
// is bounded by what a process does at a time, however many communicators it has.

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "execute/board.hpp"

namespace espalier::execute {

/// Where windows come from. Thread safe.
class WindowMemory {
 public:
  virtual ~WindowMemory() = default;
  /// Another window's place, counted from Board::origin(), its pages there; nothing if there is no memory to be had.
  virtual std::optional<Bytes> take() noexcept = 0;
  virtual void give_back(Bytes place) noexcept = 0;
};

/// One communicator's use of a process's window, for one of its banks.
struct WindowUse {
  Board board;
  LocalRank me{};
  std::uint64_t call = 0;  ///< the last one that wrote it

  /// Whether all neighbours have left that call: nobody reads any more what it left in the window.
  bool is_over() const noexcept;
  /// Whether that will never be: a neighbour has broken off a call before.
  bool is_lost() const noexcept;
};

/// A window: lent to one of a seat's banks, or free.
class Window {
 public:
  explicit Window(Bytes place) : place_(place) {}
  Bytes place() const noexcept { return place_; }

 private:
  friend class WindowPool;
  enum class State : std::uint8_t { free, kept, busy };

  Bytes place_;
  std::atomic<State> state_{State::free};
  std::atomic<const void*> holder_{nullptr};  ///< whose bank has it
  std::uint64_t turn_ = 0;                    ///< of its last borrower, for taking the one that waited longest
  WindowUse use_;
};

/// Thread safe. A window goes from one communicator to another only when the first one's neighbours have left the call
/// that wrote it: they raise `done` on its board (docs/adr/0023 says why waiting for that cannot deadlock).
class WindowPool {
 public:
  /// `memory` outlives it. Beyond `usual` windows another is taken only while all others are in use.
  WindowPool(WindowMemory& memory, int usual) : memory_(memory), usual_(usual) {}
  ~WindowPool();
  WindowPool(const WindowPool&) = delete;
  WindowPool& operator=(const WindowPool&) = delete;

  /// Makes sure that there are at least so many. Allocates. False: there is no memory for them.
  bool reserve(int windows) noexcept;

  /// A window for the bank `holder` of a seat, to write in; null while none can be had: ask again. What the bank had
  /// last, if nobody else has taken it since (`last`, may be null): one compare and exchange then.
  Window* borrow(const void* holder, Window* last) noexcept {
    return last != nullptr && keeps(*last, holder) ? last : find(holder);
  }
  /// After the call. The holder may borrow it again at once.
  void give_back(Window& window, const WindowUse& use) noexcept {
    window.use_ = use;
    window.state_.store(Window::State::kept, std::memory_order_release);
  }
  /// The holder goes: its window is free for others. False while neighbours may still read it: ask again.
  bool release(Window& window, const void* holder) noexcept;
  /// The holder goes, and its neighbours may read it for ever (some of them died): nobody gets it any more.
  void abandon(Window& window, const void* holder) noexcept;

  int size() const;

 private:
  static bool keeps(Window& window, const void* holder) noexcept {
    auto kept = Window::State::kept;
    if (window.holder_.load(std::memory_order_relaxed) != holder ||
        !window.state_.compare_exchange_strong(kept, Window::State::busy, std::memory_order_acquire))
      return false;
    if (window.holder_.load(std::memory_order_relaxed) == holder) return true;
    window.state_.store(Window::State::kept, std::memory_order_release);  // it went to another one in between
    return false;
  }
  Window* find(const void* holder) noexcept;
  Window* find_left() noexcept;
  bool may_grow() const noexcept;
  Window* grow() noexcept;

  WindowMemory& memory_;
  int usual_;
  mutable std::mutex mutex_;  ///< guards who holds what; never held while waiting
  std::deque<Window> windows_;
  std::uint64_t turn_ = 0;
};

}  // namespace espalier::execute
