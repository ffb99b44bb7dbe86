#pragma once
// One communicator's collectives, in bytes: decides what each call will be, remembers it, runs it. Knows nothing of
// MPI.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "execute/interpreter.hpp"
#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "mpi/program_cache.hpp"
#include "mpi/scratch.hpp"
#include "plan/choice.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

/// What the settings say about every call; equal on all ranks.
struct Policy {
  /// Choices forced by ESPALIER_CHOICE_*, by operation.
  std::array<std::optional<plan::Choice>, plan::operation_count> forced;
  /// Prove each plan before its first run.
  bool verify = false;
  /// Told by rank 0 of a communicator which calls stay native and what ESPALIER_VERIFY found; may be empty.
  std::function<void(const std::string&)> tell;
};

/// The communicator's own means. The board lies in memory that outlives the engine.
struct Means {
  topology::Topology topology;
  Rank me;
  execute::Board board;
  std::unique_ptr<execute::Network> network;  ///< null on one node
  std::unique_ptr<execute::SingleCopy> single_copy;
  std::unique_ptr<execute::Waiter> waiter;
};

/// Like the communicator it serves, used by one thread at a time. `policy`, `budget` and `statistics` outlive it.
class Engine {
 public:
  Engine(Means means, const Policy& policy, CacheBudget& budget, Statistics& statistics);

  const topology::Topology& topology() const { return means_.topology; }
  Rank me() const { return means_.me; }

  /// What this call will be: a function of agreed facts and of the calls before it, hence equal on all ranks. Builds
  /// and verifies a program when the problem is new. The entry is good until the next prepare(). Throws std::bad_alloc.
  Entry& prepare(const plan::Problem& problem) {
    Entry* known = cache_.find(problem);
    return known != nullptr ? *known : decide(problem);
  }

  /// Runs what was prepared (anything but `native`); all ranks of the communicator do. `output` is the whole result;
  /// `input` this rank's contribution, which may lie in `output` at its own place; for a broadcast both are the
  /// message. False: a transport broke and the communicator can not be used any more. Throws std::bad_alloc before data
  /// move.
  bool run(Entry& entry, std::byte* input, std::byte* output);

  void report() { cache_.report(); }

 private:
  Entry& decide(const plan::Problem& problem);
  void choose(Entry& entry) const;
  void prove(const plan::Problem& problem, const plan::Choice& choice) const;
  void tell(const std::string& line) const;
  void run_tiny(const plan::Problem& problem, std::byte* input, std::byte* output) noexcept;
  bool run_program(const plan::Program& program, std::byte* input, std::byte* output);

  Means means_;
  const Policy& policy_;
  execute::Seat seat_;
  ProgramCache cache_;
  Scratch scratch_;
};

}  // namespace espalier::mpi
