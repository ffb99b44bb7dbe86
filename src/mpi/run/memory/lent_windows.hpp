#pragma once
// The windows that this process lends to its communicators (execute/windows.hpp), as blocks of an arena.

#include <memory>

#include "execute/windows.hpp"
#include "transports/arena.hpp"

namespace espalier::mpi {

class ArenaWindows final : public execute::WindowMemory {
 public:
  ArenaWindows(std::shared_ptr<transports::Arena> arena, Bytes bytes) : arena_(std::move(arena)), bytes_(bytes) {}
  std::optional<Bytes> take() noexcept override;
  void give_back(Bytes place) noexcept override { arena_->release(place); }

 private:
  std::shared_ptr<transports::Arena> arena_;
  Bytes bytes_;
};

/// Those that lie in one arena: nearly always there is only one.
class LentWindows {
 public:
  LentWindows(const std::shared_ptr<transports::Arena>& arena, Bytes bytes)
      : memory_(arena, bytes), pool_(memory_, usual) {}
  execute::WindowPool& pool() { return pool_; }

 private:
  /// Two communicators in turn keep both their banks.
  static constexpr int usual = 4;

  ArenaWindows memory_;
  execute::WindowPool pool_;
};

}  // namespace espalier::mpi
