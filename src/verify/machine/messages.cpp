#include "verify/machine/messages.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace espalier::verify {
namespace {

using plan::Op;
using plan::Step;

/// The steps of both ends of a connection, in program order.
struct Connection {
  std::vector<int> sends;
  std::vector<int> recvs;
};
/// Ordered, so that reports do not depend on hashing.
using Connections = std::map<std::pair<Rank, Rank>, Connection>;

const Step& step_of(const plan::Plan& plan, Rank rank, int step) {
  return plan.programs[static_cast<std::size_t>(rank.value)].steps[static_cast<std::size_t>(step)];
}

Connections collect(const plan::Plan& plan) {
  Connections connections;
  for (int r = 0; r < plan.topology.ranks(); ++r) {
    int at = 0;
    for (const Step& step : plan.programs[static_cast<std::size_t>(r)].steps) {
      if (step.op() == Op::send) connections[{Rank(r), step.peer()}].sends.push_back(at);
      if (step.op() == Op::recv) connections[{step.peer(), Rank(r)}].recvs.push_back(at);
      ++at;
    }
  }
  return connections;
}

void add(const plan::Plan& plan, Rank rank, int step, std::string text, Report& report) {
  const Step& s = step_of(plan, rank, step);
  report.add({Kind::message, rank, step, 1, s.buffer(), s.offset(), s.offset() + s.bytes(),
              plan::to_string(s) + " " + std::move(text)});
}

void pair_up(const plan::Plan& plan, Rank sender, Rank receiver, const Connection& connection, Wiring& wiring,
             Report& report) {
  const auto& [sends, recvs] = connection;
  const std::size_t both = std::min(sends.size(), recvs.size());
  for (std::size_t i = 0; i < both; ++i) {
    const Bytes sent = step_of(plan, sender, sends[i]).bytes();
    if (step_of(plan, receiver, recvs[i]).bytes() != sent)
      add(plan, receiver, recvs[i],
          "meets " + std::to_string(sent) + " bytes of step " + std::to_string(sends[i]) + " there", report);
    const auto number = static_cast<std::uint32_t>(wiring.messages.size());
    wiring.message_of[static_cast<std::size_t>(sender.value)][static_cast<std::size_t>(sends[i])] = number;
    wiring.message_of[static_cast<std::size_t>(receiver.value)][static_cast<std::size_t>(recvs[i])] = number;
    wiring.messages.push_back({sender, sends[i], receiver, recvs[i]});
  }
  for (std::size_t i = both; i < sends.size(); ++i) add(plan, sender, sends[i], "is never received", report);
  for (std::size_t i = both; i < recvs.size(); ++i) add(plan, receiver, recvs[i], "is never sent", report);
}

void wire_finishes(const plan::Program& program, std::vector<std::uint32_t>& message_of) {
  std::unordered_map<std::uint32_t, std::uint32_t> in_slot;
  std::size_t at = 0;
  for (const Step& step : program.steps) {
    if (step.op() == Op::send || step.op() == Op::recv) in_slot[step.slot()] = message_of[at];
    if (step.op() == Op::finish) message_of[at] = in_slot[step.slot()];
    ++at;
  }
}

}  // namespace

Wiring wire_messages(const plan::Plan& plan, Report& report) {
  Wiring wiring;
  for (const plan::Program& program : plan.programs) wiring.message_of.emplace_back(program.steps.size(), 0);
  for (const auto& [ends, connection] : collect(plan))
    pair_up(plan, ends.first, ends.second, connection, wiring, report);
  std::size_t rank = 0;
  for (const plan::Program& program : plan.programs) wire_finishes(program, wiring.message_of[rank++]);
  return wiring;
}

}  // namespace espalier::verify
