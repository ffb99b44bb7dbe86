#include "mpi/run/dissent.hpp"

#include "execute/lines/tiny_counts.hpp"

namespace espalier::mpi {

using execute::Ending;
using execute::Statement;

bool is_dealt(plan::Operation operation) {
  return operation == plan::Operation::broadcast || operation == plan::Operation::scatter;
}

bool is_one_sided(const plan::Problem& problem) {
  return (is_dealt(problem.operation) || problem.operation == plan::Operation::gather) && problem.counts.empty();
}

std::optional<Bytes> find_bytes(const execute::Seat& seat, LocalRank other, std::uint64_t ahead) {
  if (const std::optional<Bytes> stated = seat.stated(other, ahead)) return stated;
  const execute::Line* const line = seat.find_line(other, 0, ahead);
  if (line == nullptr) return std::nullopt;
  return execute::LineWord(line->call.load(std::memory_order_relaxed)).bytes();
}

Dissent::Dissent(execute::Seat& seat, execute::Network* network, const topology::Topology& topology, Rank me,
                 const plan::Problem& problem, bool may_follow)
    : seat_(seat),
      network_(network),
      topology_(topology),
      problem_(problem),
      is_root_(me == problem.root),
      may_follow_(may_follow) {
  if (topology.node_of(me) == topology.node_of(problem.root)) root_ = LocalRank(topology.local_rank(problem.root));
}

std::optional<Ending> Dissent::judge(std::optional<LocalRank> other) noexcept {
  if (other && seat_.has_left(*other)) return Ending{Ending::broken};
  if (has_somebody_left()) return Ending{Ending::truncated};
  std::optional<Bytes> theirs = only_has_room() ? find_senders_bytes() : find_strange_bytes(other);
  if (!theirs && network_ != nullptr) theirs = network_->find_other();
  if (!theirs) return std::nullopt;
  const bool follows = only_has_room() && may_follow_ && *theirs != Statement::has_left;
  return Ending{follows ? Ending::other : Ending::truncated, *theirs};
}

bool Dissent::has_somebody_left() const noexcept {
  for (int r = 0; r < seat_.ranks(); ++r)
    if (seat_.stated(LocalRank(r)) == Statement::has_left) return true;
  return false;
}

/// If those are this rank's own, it says so: a neighbour may know less.
std::optional<Bytes> Dissent::find_senders_bytes() noexcept {
  bool is_told = network_ != nullptr && network_->has_agreed();
  for (LocalRank r(0); r.value < seat_.ranks(); ++r.value) {
    const std::optional<Bytes> theirs = r == seat_.me() ? std::nullopt : find_certain_bytes(r);
    if (theirs && *theirs != problem_.bytes) return theirs;
    is_told = is_told || theirs;
  }
  if (is_told) seat_.vouch(problem_.bytes);
  return std::nullopt;
}

/// Of a neighbour that sends, or has come through with what it was sent.
std::optional<Bytes> Dissent::find_certain_bytes(LocalRank neighbour) noexcept {
  const bool sends = !is_dealt(problem_.operation) || neighbour == root_;
  if (!sends) return seat_.vouched(neighbour);
  return topology_.nodes() == 1 ? find_bytes(seat_, neighbour) : seat_.stated(neighbour);
}

/// Of the neighbour that this rank waits for. A root that deals, and who sends to one, waits until that has followed.
std::optional<Bytes> Dissent::find_strange_bytes(std::optional<LocalRank> other) noexcept {
  const bool will_follow = is_one_sided(problem_) && (is_root_ || other == root_);
  const std::optional<Bytes> theirs = other && !will_follow ? seat_.stated(*other) : std::nullopt;
  return theirs == execute::stated_bytes(problem_) ? std::nullopt : theirs;
}

}  // namespace espalier::mpi
