#include "plan/accounting.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace espalier::plan {
namespace {

/// Peers with messages under way in one direction, as a program goes on.
class ActiveConnections {
 public:
  void start(std::uint32_t slot, Rank peer) {
    peer_of_[slot] = peer;
    ++messages_[peer];
    most_ = std::max(most_, static_cast<int>(messages_.size()));
  }
  void finish(std::uint32_t slot) {
    const auto place = peer_of_.find(slot);
    if (place == peer_of_.end()) return;
    if (--messages_[place->second] == 0) messages_.erase(place->second);
    peer_of_.erase(place);
  }
  int most() const { return most_; }

 private:
  std::map<std::uint32_t, Rank> peer_of_;
  std::map<Rank, int> messages_;
  int most_ = 0;
};

/// Bytes by rank, folded into shares: equal amounts together, the largest first.
std::vector<Share> fold(const std::map<Rank, Bytes>& bytes_of) {
  std::map<Bytes, int, std::greater<>> counts;
  for (const auto& [rank, bytes] : bytes_of) ++counts[bytes];
  std::vector<Share> shares;
  for (const auto& [bytes, count] : counts) shares.push_back({count, bytes});
  return shares;
}

class Accountant {
 public:
  void add(const Program& program, Rank me) {
    learn_names(program);
    ActiveConnections in, out;
    auto phase = program.phases.begin();
    std::string name;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      for (; phase != program.phases.end() && phase->first_step <= i; ++phase) name = phase->name;
      add(program.steps[i], me, name, in, out);
    }
    accounting_.connections_in += in.most();
    accounting_.connections_out += out.most();
  }

  Accounting take() && {
    std::map<std::pair<Bytes, int>, int> streams;  // message size and number, and how many connections have it
    for (const auto& [connection, sizes] : messages_)
      for (const auto& [bytes, count] : sizes) ++streams[{bytes, count}];
    for (const auto& [stream, connections] : streams)
      accounting_.network.push_back({stream.first, connections, stream.second});
    for (const std::string& name : names_)
      if (writes_.contains(name) || reads_.contains(name))
        accounting_.phases.push_back({name, fold(writes_[name]), fold(reads_[name])});
    return std::move(accounting_);
  }

 private:
  /// A rank may lack phases that later ones have: those go before what follows them in the later one's program.
  void learn_names(const Program& program) {
    auto next = names_.size();
    for (auto phase = program.phases.rbegin(); phase != program.phases.rend(); ++phase) {
      const auto known = std::find(names_.begin(), names_.end(), phase->name);
      if (known != names_.end())
        next = static_cast<std::size_t>(known - names_.begin());
      else
        names_.insert(names_.begin() + static_cast<std::ptrdiff_t>(next), phase->name);
    }
  }

  void add(const Step& step, Rank me, const std::string& phase, ActiveConnections& in, ActiveConnections& out) {
    switch (step.op()) {
      case Op::send:
        out.start(step.slot(), step.peer());
        ++messages_[{me, step.peer()}][step.bytes()];
        break;
      case Op::recv: in.start(step.slot(), step.peer()); break;
      case Op::finish: in.finish(step.slot()), out.finish(step.slot()); break;
      case Op::put:
      case Op::push: note(writes_, phase, me, step.bytes()); break;
      case Op::get:
      case Op::pull: note(reads_, phase, me, step.bytes()); break;
      case Op::post:
      case Op::await:
      case Op::await_all:
      case Op::copy:
      case Op::reduce: break;
    }
  }

  using Amounts = std::map<std::string, std::map<Rank, Bytes>>;
  void note(Amounts& amounts, const std::string& phase, Rank me, Bytes bytes) {
    if (std::find(names_.begin(), names_.end(), phase) == names_.end()) names_.insert(names_.begin(), phase);
    amounts[phase][me] += bytes;
  }

  Accounting accounting_;
  std::vector<std::string> names_;  ///< in the order in which the programs pass through them
  Amounts writes_, reads_;
  std::map<std::pair<Rank, Rank>, std::map<Bytes, int>> messages_;  ///< by connection: message sizes and their number
};

}  // namespace

Accounting account_for(const Plan& plan, NodeId node) {
  if (node.value < 0 || node.value >= plan.topology.nodes())
    throw Error("there is no node " + std::to_string(node.value) + ": nodes are 0 to " +
                std::to_string(plan.topology.nodes() - 1));
  Accountant accountant;
  for (const Rank rank : plan.topology.ranks_on(node))
    accountant.add(plan.programs[static_cast<std::size_t>(rank.value)], rank);
  return std::move(accountant).take();
}

}  // namespace espalier::plan
