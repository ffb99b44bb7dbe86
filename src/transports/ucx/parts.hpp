#pragma once
// What UCX may point to on behalf of one network, and how it goes.

#include <deque>
#include <memory>
#include <vector>

#include "transports/ucx/connection.hpp"
#include "transports/ucx/worker.hpp"

namespace espalier::transports::ucx {

/// In the order in which it is made. To be used with the worker's mutex held, except where it says so.
struct Parts {
  /// Throws Error.
  Parts(Worker& worker, std::size_t ranks)
      : worker(worker), mailboxes(Memory::allocate(worker.context(), ranks * sizeof(Mailbox))), connections(ranks) {}

  /// Whether peers want nothing any more, so that all this may be destroyed. The first call says farewell to them. One
  /// that broke never comes to that: UCX may hold on to what it has not completed.
  bool has_parted() noexcept;
  /// Whether waiting for that is of use.
  bool is_lost() const noexcept;

  Worker& worker;
  Memory mailboxes;
  std::deque<Operation> slots;                           ///< never moved
  std::vector<std::unique_ptr<Connection>> connections;  ///< by rank; null: no message yet
};

/// Destroys `parts` as soon as peers want nothing any more. Waits for them for at most that many seconds; later calls
/// of tidy() see to what is left. Takes the mutex itself.
void part(std::unique_ptr<Parts> parts, double seconds);

/// Destroys what part() had to leave and nobody wants any more. Takes the mutex itself.
void tidy();

}  // namespace espalier::transports::ucx
