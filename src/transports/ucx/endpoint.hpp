#pragma once
// The way to one peer: writes into its memory, and what both directions of a connection share.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.hpp"
#include "transports/ucx/mailbox.hpp"
#include "transports/ucx/memory.hpp"
#include "transports/ucx/process_watch.hpp"
#include "transports/ucx/ucx.hpp"
#include "transports/ucx/worker.hpp"

namespace espalier::transports::ucx {

/// Writes that UCX has not completed. Stays where it is until they are: UCX points to it.
struct Pending {
  std::uint32_t writes = 0;
  bool has_failed = false;
};

/// What one rank tells the others, taken apart.
struct PeerAddress {
  std::span<const std::byte> worker;
  std::span<const std::byte> key;  ///< of its mailboxes
  std::uint64_t mailboxes = 0;     ///< where they lie in its memory
  pid_t process = 0;
};

/// An endpoint, our mailbox at the peer and its mailbox here. Operations neither block nor throw; one that fails breaks
/// the endpoint for good, as does UCX when it finds the peer gone.
class Endpoint {
 public:
  /// `mailbox` is what the peer writes to. Throws Error. Not movable: UCX points to it.
  Endpoint(Worker& worker, const PeerAddress& peer, Rank me, const Mailbox& mailbox, const UcxOptions& options);
  /// Closed, or never to be used again by UCX.
  ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Starts to write. `memory` is the registration of `from` where there is one.
  void put(const std::byte* from, Bytes bytes, std::uint64_t to, const Key& key, Pending& pending,
           const Memory* memory = nullptr) noexcept;
  /// For endpoints over shared memory: breaks when the peer's process has ended. A system call.
  void look_after_peer() noexcept;
  /// Orders all earlier writes before all later ones, at the peer.
  void fence() noexcept;
  /// Pending until all writes have reached the peer's memory.
  void flush(Pending& pending) noexcept;

  /// Writes into our mailbox at the peer, at `offset`.
  void put_mailbox(const void* from, Bytes bytes, Bytes offset, Pending& pending, const Memory* memory) noexcept;
  /// Copies the note to its place at the peer; `note` stays as it is until it has been acted upon.
  void put_note(const Note& note, std::uint64_t number, Pending& pending, const Memory* memory) noexcept;

  /// Cancels what is under way, without a word to the peer; memory and keys in use must live until it is_closed().
  void start_close() noexcept;
  /// The worker must progress in between.
  bool is_closed() noexcept;

  ucp_ep_h handle() const { return handle_; }
  Context& context() const { return *worker_.context(); }
  const Mailbox& mailbox() const { return mailbox_; }
  bool in_order() const { return in_order_; }
  bool is_broken() const { return is_broken_; }
  void break_off() noexcept { is_broken_ = true; }

  std::uint32_t consumed = 0;  ///< lines of the peer's records that we have consumed; written by Incoming
  std::uint32_t told = 0;      ///< the latest `consumed` that the peer was told
  std::uint32_t credited = 0;  ///< the latest count that the peer told us

 private:
  static void on_failure(void* endpoint, ucp_ep_h, ucs_status_t);
  static void on_completion(void* request, ucs_status_t status, void* pending);
  void note_result(ucs_status_ptr_t result, Pending& pending) noexcept;

  const Api& api_ = api();
  Worker& worker_;
  const Mailbox& mailbox_;
  std::uint64_t mailbox_there_;
  Key mailbox_key_;
  ucp_ep_h handle_ = nullptr;
  void* closing_ = nullptr;
  bool in_order_;
  bool reports_death_;  ///< UCX does
  ProcessWatch peer_;   ///< for where it does not
  bool is_broken_ = false;
};

}  // namespace espalier::transports::ucx
