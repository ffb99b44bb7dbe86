#pragma once
// A rank's share of memory that a communicator's ranks on a node have in common.

#include <memory>
#include <utility>

#include "transports/arena.hpp"

namespace espalier::mpi {

/// This rank's share of a block in an arena, given back at the end.
class BoardMemory {
 public:
  BoardMemory() = default;
  BoardMemory(std::shared_ptr<transports::Arena> arena, Bytes offset) : arena_(std::move(arena)), offset_(offset) {}
  BoardMemory(BoardMemory&& other) noexcept = default;
  BoardMemory& operator=(BoardMemory&& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(offset_, other.offset_);
    return *this;
  }
  ~BoardMemory() {
    if (arena_) arena_->release(offset_);
  }

  std::byte* base() const { return arena_->at(offset_); }

 private:
  std::shared_ptr<transports::Arena> arena_;
  Bytes offset_ = 0;
};

}  // namespace espalier::mpi
