#pragma once
// The way to one peer of a communicator: writes into its memory, and what both directions of a connection share.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.hpp"
#include "transports/ucx/link.hpp"
#include "transports/ucx/mailbox.hpp"
#include "transports/ucx/memory.hpp"
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

/// A link, our mailbox at the peer and its mailbox here. Operations neither block nor throw; one that fails breaks the
/// endpoint for good, as does a link that breaks.
class Endpoint {
 public:
  /// `mailbox` is what the peer writes to. Throws Error. Not movable: UCX points to it.
  Endpoint(Worker& worker, const PeerAddress& peer, Rank me, const Mailbox& mailbox, const UcxOptions& options);
  ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Where something is written to, and from which registered memory.
  struct Way {
    std::uint64_t to;
    const Key& key;
    const Memory* memory = nullptr;  ///< the registration of the source, where there is one
  };

  /// Starts to write.
  void put(const void* from, Bytes bytes, const Way& way, Pending& pending) noexcept;
  /// The same, stored at the peer after everything that was put before: at once where the link keeps order, else when
  /// the earlier writes have been flushed. `pending` counts it from now on. Only if has_room().
  void put_last(const void* from, Bytes bytes, const Way& way, Pending& pending) noexcept;
  bool has_room() const { return newest_ - oldest_ < lasts_.size(); }
  /// Goes on with what put_last() has begun. To be called between progress of the worker.
  void advance() noexcept;
  /// Nothing is left for advance().
  bool is_idle() const { return newest_ == oldest_; }

  /// For links over shared memory: breaks when the peer's process has ended. A system call.
  void look_after_peer() noexcept { link_.look_after_peer(); }
  /// Pending until all writes have reached the peer's memory.
  void flush(Pending& pending) noexcept;

  /// Into our mailbox at the peer, at `offset`.
  Way way_to_mailbox(Bytes offset, const Memory* memory) const {
    return {mailbox_there_ + offset, mailbox_key_, memory};
  }
  /// Copies the note to its place at the peer; `note` stays as it is until it has been acted upon. Only if has_room().
  void put_note(const Note& note, std::uint64_t number, Pending& pending, const Memory* memory) noexcept;

  ucp_ep_h handle() const { return link_.handle(); }
  Context& context() const { return worker_.context(); }
  const Mailbox& mailbox() const { return mailbox_; }
  bool in_order() const { return in_order_; }
  bool is_broken() const { return is_broken_ || link_.is_broken(); }
  void break_off() noexcept { is_broken_ = true; }

  std::uint32_t consumed = 0;  ///< lines of the peer's records that we have consumed; written by Incoming
  std::uint32_t told = 0;      ///< the latest `consumed` that the peer was told
  std::uint32_t credited = 0;  ///< the latest count that the peer told us

 private:
  static void on_completion(void* request, ucs_status_t status, void* pending);
  void note_result(ucs_status_ptr_t result, Pending& pending) noexcept;

  // A write that waits for the flush of all earlier ones.
  struct Last {
    const void* from = nullptr;
    Bytes bytes = 0;
    std::uint64_t to = 0;
    const Key* key = nullptr;
    const Memory* memory = nullptr;
    Pending* pending = nullptr;
    Pending earlier;
  };

  const Api& api_ = api();
  Worker& worker_;
  Link& link_;
  const Mailbox& mailbox_;
  std::uint64_t mailbox_there_;
  Key mailbox_key_;
  bool in_order_;
  bool is_broken_ = false;
  std::array<Last, 64> lasts_;  ///< those from oldest_ up to newest_, modulo its size
  std::uint32_t oldest_ = 0;
  std::uint32_t newest_ = 0;
};

}  // namespace espalier::transports::ucx
