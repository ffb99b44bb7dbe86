#pragma once
// The way to one process: UCX's endpoint, shared by all communicators that both belong to.

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "transports/ucx/process_watch.hpp"
#include "transports/ucx/worker.hpp"

namespace espalier::transports::ucx {

/// Stays open to the end of the process. Whoever closes an endpoint cuts off what its peer has not read yet, and UCX
/// 1.13 even aborts a peer that has to acknowledge such a write; an end of the process does neither, as long as all
/// ranks have come to MPI_Finalize.
class Link {
 public:
  /// Throws Error. Not movable: UCX points to it.
  Link(Worker& worker, std::span<const std::byte> address, pid_t process, bool shared_memory);
  ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  ucp_ep_h handle() const { return handle_; }
  /// The peer stores the bytes of one write, and of writes one after the other, in the order of their addresses and of
  /// their start.
  bool stores_in_order() const { return stores_in_order_; }
  /// UCX has found the peer gone, or we have.
  bool is_broken() const { return is_broken_; }
  void break_off() noexcept { is_broken_ = true; }
  /// Over shared memory: breaks when the peer's process has ended. A system call.
  void look_after_peer() noexcept {
    if (!is_broken_ && peer_.has_ended()) is_broken_ = true;
  }

 private:
  static void on_failure(void* link, ucp_ep_h, ucs_status_t);

  ucp_ep_h handle_ = nullptr;
  ProcessWatch peer_;
  bool stores_in_order_ = false;
  bool is_broken_ = false;
};

}  // namespace espalier::transports::ucx
