#pragma once
// What becomes of a call in which ranks have sizes that do not fit together (docs/adr/0019).

#include <optional>

#include "execute/run.hpp"
#include "execute/seat.hpp"
#include "topology/topology.hpp"

namespace espalier::mpi {

/// Whether a root's data go to all: then its size holds.
bool is_dealt(plan::Operation operation);

/// Whether some ranks only have room, and others' sizes hold: a root's, or those of the ranks that send to one.
bool is_one_sided(const plan::Problem& problem);

/// Of a neighbour's blocks in this call, or so many ahead of it, on the only node, if it has said so. In lines it does
/// beside each of them.
std::optional<Bytes> find_bytes(const execute::Seat& seat, LocalRank other, std::uint64_t ahead = 0);

/// Judges one rank's run. Who only has room follows who sends, or who has followed before; others wait for that, unless
/// somebody has given up.
class Dissent final : public execute::Arbiter {
 public:
  /// The rank `me` runs a program of `problem`; `network` may be null. `may_follow`: it is its own size, not another's
  /// that it follows already.
  Dissent(execute::Seat& seat, execute::Network* network, const topology::Topology& topology, Rank me,
          const plan::Problem& problem, bool may_follow);

  std::optional<execute::Ending> judge(std::optional<LocalRank> other) noexcept override;

 private:
  bool only_has_room() const noexcept { return is_one_sided(problem_) && is_root_ != is_dealt(problem_.operation); }
  bool has_somebody_left() const noexcept;
  std::optional<Bytes> find_senders_bytes() noexcept;
  std::optional<Bytes> find_certain_bytes(LocalRank neighbour) noexcept;
  std::optional<Bytes> find_strange_bytes(std::optional<LocalRank> other) noexcept;

  execute::Seat& seat_;
  execute::Network* network_;
  const topology::Topology& topology_;
  const plan::Problem& problem_;
  std::optional<LocalRank> root_;  ///< if it is on this node
  bool is_root_;
  bool may_follow_;
};

}  // namespace espalier::mpi
