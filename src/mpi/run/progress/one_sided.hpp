#pragma once
// Whether the program has made windows of MPI's: others may access one while its rank waits for something else, and
// where the MPI has no hardware for that, the access is late by as long as the rank sleeps.

#include <atomic>

namespace espalier::mpi {

class OneSided {
 public:
  static void note_window() noexcept { is_possible_.store(true, std::memory_order_relaxed); }
  static bool is_possible() noexcept { return is_possible_.load(std::memory_order_relaxed); }

 private:
  inline static std::atomic<bool> is_possible_ = false;
};

}  // namespace espalier::mpi
