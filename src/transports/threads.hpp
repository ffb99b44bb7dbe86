#pragma once
// Ranks as threads of one process: the same programs, boards and interpreter with real bytes, for tests and sanitizers.

#include <functional>
#include <memory>
#include <vector>

#include "base/waiting.hpp"
#include "execute/interpreter.hpp"
#include "plan/program.hpp"

namespace espalier::transports {

/// One communicator whose ranks are threads. Nodes are those of the topology: messages cross nodes through queues,
/// neighbours share a board and, for pull and push, the process's memory.
class ThreadWorld {
 public:
  ThreadWorld(const topology::Topology& topology, Bytes window_bytes, Waiting waiting = Waiting::yield);
  ~ThreadWorld();
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;

  const topology::Topology& topology() const;
  execute::Seat& seat(Rank rank);

  /// Runs `program` as rank's next call, on the calling thread. False when a transport broke.
  /// Reductions need a `reducer`.
  bool run(Rank rank, const plan::Program& program, std::byte* input, std::byte* output,
           const execute::Reducer* reducer = nullptr);

  /// Makes every send wait for its receiver, as MPI may: a program that needs buffering hangs.
  void set_synchronous(bool is_synchronous);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Calls `body(rank)` on one thread per rank and joins them.
void for_each_rank(int ranks, const std::function<void(Rank)>& body);

}  // namespace espalier::transports
