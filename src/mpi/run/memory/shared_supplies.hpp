#pragma once
// A communicator's supplies (mpi/run/memory/supplies.hpp) out of its node's arena.

#include <memory>

#include "execute/board.hpp"
#include "execute/windows.hpp"
#include "mpi/native/native.hpp"
#include "mpi/run/memory/board_memory.hpp"
#include "mpi/run/memory/supplies.hpp"

namespace espalier::mpi {

class SharedSupplies final : public Supplies {
 public:
  /// `comm` is the communicator supplied; `windows` lends this rank's and outlives it.
  SharedSupplies(MPI_Comm comm, std::shared_ptr<transports::Arena> arena, const execute::Board& board, LocalRank me,
                 execute::WindowPool& windows)
      : comm_(comm), arena_(std::move(arena)), board_(board), me_(me), windows_(windows) {}

  std::byte* get_long_rings(bool is_needed) override;
  void ask_for_windows() override { ask(windows_.reserve(plan::window_banks)); }
  std::optional<bool> find_windows() override { return find_answer(); }
  bool get_windows() override { return agree(windows_.reserve(plan::window_banks)); }

 private:
  Bytes offer_rings(bool is_needed) const;
  Bytes wait_for_offer() const;
  bool populate_own(Bytes rings) const;
  bool agree(bool mine);
  void ask(bool mine);
  std::optional<bool> find_answer();

  MPI_Comm comm_;
  std::shared_ptr<transports::Arena> arena_;
  execute::Board board_;
  LocalRank me_;
  execute::WindowPool& windows_;
  BoardMemory rings_;
  int own_ = 0, all_ = 0;  ///< of the question under way
  MPI_Request request_{};
};

}  // namespace espalier::mpi
