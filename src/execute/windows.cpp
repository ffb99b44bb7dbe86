#include "execute/windows.hpp"

#include "execute/seat.hpp"

namespace espalier::execute {

bool WindowUse::is_over() const noexcept {
  for (int r = 0; r < board.shape().ranks; ++r)
    if (LocalRank(r) != me &&
        board.flag(LocalRank(r), plan::Flag::done).load(std::memory_order_acquire) < stamp(call, 1))
      return false;
  return true;
}

bool WindowUse::is_lost() const noexcept {
  for (int r = 0; r < board.shape().ranks; ++r)
    if (board.notice(LocalRank(r)).has_left.load(std::memory_order_acquire)) return !is_over();
  return false;
}

WindowPool::~WindowPool() {
  for (const Window& window : windows_) memory_.give_back(window.place());
}

int WindowPool::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(windows_.size());
}

bool WindowPool::reserve(int windows) noexcept {
  const std::lock_guard lock(mutex_);
  while (static_cast<int>(windows_.size()) < windows)
    if (grow() == nullptr) return false;
  return true;
}

Window* WindowPool::find(const void* holder) noexcept {
  const std::lock_guard lock(mutex_);
  Window* window = find_left();
  if (window == nullptr && may_grow()) window = grow();
  if (window == nullptr) return nullptr;
  window->holder_.store(holder, std::memory_order_relaxed);
  window->turn_ = ++turn_;
  window->state_.store(Window::State::busy, std::memory_order_relaxed);
  return window;
}

/// A free window, or else one that nobody reads any more, of those the one that was lent longest ago; busy then, so
/// that its holder cannot borrow it again meanwhile.
Window* WindowPool::find_left() noexcept {
  for (std::uint64_t tried = 0;;) {
    Window* next = nullptr;
    for (Window& window : windows_) {
      const Window::State state = window.state_.load(std::memory_order_acquire);
      if (state == Window::State::free) return &window;
      const bool is_next = window.turn_ > tried && (next == nullptr || window.turn_ < next->turn_);
      if (state == Window::State::kept && is_next) next = &window;
    }
    if (next == nullptr) return nullptr;
    tried = next->turn_;
    auto kept = Window::State::kept;
    if (!next->state_.compare_exchange_strong(kept, Window::State::busy, std::memory_order_acquire)) continue;
    if (next->use_.is_over()) return next;
    if (next->use_.is_lost()) continue;  // and busy for good: then there may be another in its place
    next->state_.store(Window::State::kept, std::memory_order_release);
  }
}

/// More than usual only where threads run more collectives at a time: each of them has to get on.
bool WindowPool::may_grow() const noexcept {
  if (static_cast<int>(windows_.size()) < usual_) return true;
  for (const Window& window : windows_)
    if (window.state_.load(std::memory_order_relaxed) != Window::State::busy) return false;
  return true;
}

Window* WindowPool::grow() noexcept {
  const std::optional<Bytes> place = memory_.take();
  if (!place) return nullptr;
  try {
    return &windows_.emplace_back(*place);
  } catch (...) {  // out of memory for a list entry
    memory_.give_back(*place);
    return nullptr;
  }
}

bool WindowPool::release(Window& window, const void* holder) noexcept {
  const std::lock_guard lock(mutex_);
  if (window.holder_.load(std::memory_order_relaxed) != holder) return true;
  const bool is_lost = window.use_.is_lost();
  if (!is_lost && !window.use_.is_over()) return false;
  window.holder_.store(nullptr, std::memory_order_relaxed);
  window.state_.store(is_lost ? Window::State::busy : Window::State::free, std::memory_order_release);
  return true;
}

void WindowPool::abandon(Window& window, const void* holder) noexcept {
  const std::lock_guard lock(mutex_);
  if (window.holder_.load(std::memory_order_relaxed) == holder)
    window.state_.store(Window::State::busy, std::memory_order_relaxed);
}

}  // namespace espalier::execute
