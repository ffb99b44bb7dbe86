#pragma once
// Which send meets which recv. MPI keeps messages between two ranks in order, so this is known before anything runs.

#include <cstdint>
#include <vector>

#include "plan/program.hpp"
#include "verify/violation.hpp"

namespace espalier::verify {

struct Message {
  Rank sender{};
  int send_step = 0;
  Rank receiver{};
  int recv_step = 0;
};

/// All messages of one call.
struct Wiring {
  std::vector<Message> messages;
  /// By rank and step: the message that a send or recv starts, or that a finish completes.
  std::vector<std::vector<std::uint32_t>> message_of;

  std::uint32_t at(Rank rank, int step) const {
    return message_of[static_cast<std::size_t>(rank.value)][static_cast<std::size_t>(step)];
  }
};

/// Pairs the n-th send from one rank to another with the n-th recv there. Adds what has no partner or another size.
/// The plan must have passed check_rules().
Wiring wire_messages(const plan::Plan& plan, Report& report);

}  // namespace espalier::verify
