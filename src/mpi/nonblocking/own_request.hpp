#pragma once
// The MPI_Requests of our nonblocking and persistent calls.

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "mpi/nonblocking/generalized_request.hpp"
#include "mpi/nonblocking/progress_queue.hpp"

namespace espalier::mpi {

class PersistentCall;

/// What a handle of ours stands for. The handle is one of native's, of a persistent request that sends nothing to
/// nobody and is never started: no function of MPI refuses it, and none that waits is given it: what completes requests
/// (entry_completion.cpp) looks here first. All under the queue's lock, but is_complete().
class OwnRequest {
 public:
  explicit OwnRequest(MPI_Request handle) : handle_(handle) {}

  MPI_Request handle() const { return handle_; }
  /// It stands for a call that has begun and has not been completed by the program.
  bool is_active() const { return is_active_; }
  /// Also while it is not active.
  bool is_complete() const { return is_complete_.load(std::memory_order_acquire); }
  /// MPI's, of a complete one.
  int code() const { return code_; }
  /// The call it starts; null: that of a nonblocking one, which has begun.
  PersistentCall* persistent() const { return persistent_; }

  /// Its call begins.
  void activate() noexcept;
  /// For an array of requests that native is to look at: in the place of this active one.
  int generalize(MPI_Request* request);
  bool is_generalized() const { return generalized_ != nullptr; }
  /// Native has completed that one.
  void forget_generalized() noexcept { generalized_.reset(); }
  /// The program has completed it, and has its code: a nonblocking one is gone, and so is its handle.
  void end() noexcept;
  /// MPI_Request_free: it goes now, or when its call is over. What is left of a persistent call may wait for other
  /// ranks when it is destroyed, which is to happen without the lock.
  std::unique_ptr<Pending> free() noexcept;

  // ---- of its call ----
  /// The call is over, which stays until it has left its queue and the request has ended.
  void complete(int code) noexcept;
  void leave() noexcept;

 private:
  friend class Requests;
  void deactivate() noexcept;

  MPI_Request handle_;
  std::unique_ptr<Pending> call_;
  PersistentCall* persistent_ = nullptr;
  bool is_taken_ = false;  ///< it stands for something
  bool is_active_ = false;
  bool has_left_ = true;   ///< the queue does not have its call
  bool is_freed_ = false;  ///< it goes when its call leaves
  std::atomic<bool> is_complete_ = true;
  int code_ = MPI_SUCCESS;
  std::unique_ptr<GeneralizedRequest> generalized_;
};

/// All of this process.
class Requests {
 public:
  static Requests& get();

  /// Whether any handle stands for anything. All that a program without such calls ever asks.
  static bool are_used() noexcept { return used_.load(std::memory_order_relaxed) != 0; }
  static bool has_persistent() noexcept { return persistent_.load(std::memory_order_relaxed) != 0; }

  // ---- under the queue's lock ----

  /// One that is free; null with native's code if it gives no handle.
  OwnRequest* take(int* code);
  /// It stands for a nonblocking call that begins, or for a persistent one.
  void begin(OwnRequest& request, std::unique_ptr<Pending> call);
  /// The same for one that is over.
  void begin_over(OwnRequest& request) noexcept;
  void keep(OwnRequest& request, std::unique_ptr<PersistentCall> call);
  /// Null: native's.
  OwnRequest* find(MPI_Request handle) noexcept {
    if (latest_ != nullptr && latest_->handle_ == handle) return latest_;
    return look_up(handle);
  }
  /// It stands for nothing any more. What it stood for.
  std::unique_ptr<Pending> give_back(OwnRequest& request) noexcept;

  /// Before MPI_Finalize: handles go, but those of calls that are pending.
  void clear() noexcept;

 private:
  friend class OwnRequest;
  OwnRequest* look_up(MPI_Request handle) noexcept;
  void use(OwnRequest& request) noexcept;

  static inline std::atomic<std::uint32_t> used_ = 0, persistent_ = 0;
  std::unordered_map<MPI_Request, std::unique_ptr<OwnRequest>> all_;
  std::vector<OwnRequest*> free_;
  OwnRequest* latest_ = nullptr;  ///< that began
};

/// An array of requests as native can look at it: with generalized requests in the place of active ones of ours, and
/// null in that of others (to Intel MPI an inactive one that sends to nobody is complete, and not empty).
class Generalized {
 public:
  Generalized(int count, MPI_Request* requests);
  /// The same array where none is ours.
  MPI_Request* requests() { return copy_.empty() ? callers_ : copy_.data(); }
  /// After native's look: the caller's array is as if native had known ours.
  void hand_back() noexcept;

 private:
  int count_;
  MPI_Request* callers_;
  std::vector<MPI_Request> copy_;
  std::vector<OwnRequest*> own_;
};

}  // namespace espalier::mpi
