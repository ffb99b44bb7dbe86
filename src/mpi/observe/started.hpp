#pragma once
// Nonblocking and persistent calls while they are observed: from their start to their completion.

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/observe/call.hpp"
#include "mpi/observe/profile/profile.hpp"

namespace espalier::mpi {

/// By the program's requests.
class StartedCalls {
 public:
  /// All that programs pay where none is observed.
  static bool are_any() noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  static StartedCalls& get();

  /// A nonblocking call has been started; or a persistent one made, whose row counts its starts. `is_own`: by us.
  /// Throws std::bad_alloc.
  void keep(MPI_Request request, const ObservedCall& call, ProfileRow& row, bool is_own);
  /// MPI_Start of a request that began at `begin` is over.
  void start(MPI_Request request, std::uint64_t begin);
  /// MPI_Request_free.
  void forget(MPI_Request request);

  /// Those of a list of requests that the program is about to wait for, or to test.
  struct Looked {
    std::vector<std::pair<int, MPI_Request>> active;  ///< by place in the list
    std::uint64_t begin = 0;
  };
  Looked look(int count, const MPI_Request* requests);
  /// After that. Time is shared out among all of them; `is_done` says which are over.
  template <class IsDone>
  void look_again(const Looked& looked, const IsDone& is_done) {
    for (const auto& [place, request] : looked.active) spend(request, looked, is_done(place));
  }

 private:
  struct State {
    ObservedCall call;
    ProfileRow* row = nullptr;
    bool is_own = false;
    bool is_active = false;
    std::uint64_t left = 0;                 ///< when the program last went on
    std::uint64_t in_mpi = 0, between = 0;  ///< since the start
  };
  void spend(MPI_Request request, const Looked& looked, bool is_done);
  void update_count() noexcept { count_.store(all_.size(), std::memory_order_relaxed); }

  static inline std::atomic<std::size_t> count_ = 0;
  std::mutex mutex_;
  std::unordered_map<MPI_Request, State> all_;
};

/// Nothing, if none of them is observed.
std::optional<StartedCalls::Looked> look_at_requests(int count, const MPI_Request* requests) noexcept;

/// Lives while a function of MPI completes requests; `is_done(place)` says afterwards which of them it has completed.
template <class IsDone>
class Completion {
 public:
  Completion(int count, const MPI_Request* requests, const IsDone& is_done) noexcept : is_done_(is_done) {
    if (StartedCalls::are_any()) [[unlikely]]
      looked_ = look_at_requests(count, requests);
  }
  ~Completion() {
    if (looked_) [[unlikely]]
      StartedCalls::get().look_again(*looked_, is_done_);
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

 private:
  IsDone is_done_;
  std::optional<StartedCalls::Looked> looked_;
};

}  // namespace espalier::mpi
