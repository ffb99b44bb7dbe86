#pragma once
// What a rank's collectives were, one by one, in Chrome's trace format. Pure; the observer feeds it.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/calls.hpp"

namespace espalier::mpi {

/// Times in nanoseconds, since MPI_Init's end.
struct TraceEvent {
  plan::Call call{};
  bool is_completion = false;  ///< of a call that does not block, in place of its start
  bool is_native = false;
  int thread = 0;  ///< of the rank's, which are numbered as they come
  std::uint64_t begin_ns = 0;
  std::uint64_t took_ns = 0;
  std::uint64_t waiting_ns = 0;  ///< of that, until the last rank of the host had come
};

/// The first events, in memory that is taken once; of those that come later it is known how many they were.
class Trace {
 public:
  /// 0 events: nothing is kept.
  explicit Trace(std::size_t most = 0) : most_(most) { events_.reserve(most); }

  bool is_on() const { return most_ > 0; }
  void add(const TraceEvent& event) noexcept {
    if (events_.size() < most_)
      events_.push_back(event);
    else
      ++dropped_;
  }
  std::uint64_t dropped() const { return dropped_; }

  /// Elements of "traceEvents", each with a comma and a line end behind it: a process is a node, a thread
  /// a rank's: its first has the rank's number.
  std::string to_json(int node, int rank) const;

 private:
  std::size_t most_;
  std::vector<TraceEvent> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace espalier::mpi
