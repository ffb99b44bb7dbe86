#pragma once
// What all leaders have in a stretch of `output`, combined for all of them, round by round.

#include <functional>
#include <memory>

#include "algorithms/parts/leader_sum.hpp"
#include "plan/builder.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

/// Who speaks for a node.
using LeaderOf = std::function<Rank(int node)>;

/// A stretch of `output` where the result is to lie.
struct LeaderStretch {
  Bytes offset;
  Bytes bytes;
  LeaderSum::Place sum;  ///< where this leader's part is: there, or in scratch
  Bytes spare;           ///< where exchange_spare() bytes of scratch begin
};

/// One leader's part. A round is started (its messages set out) and finished (what has come is combined) by two calls:
/// between them the rank may do something else, and exchanges of different stretches run side by side. Every leader
/// ends with the same bits.
class LeaderExchange {
 public:
  virtual ~LeaderExchange() = default;

  /// In this order: start(0), finish(0), start(1), …, up to exchange_rounds() on all leaders.
  virtual void start(int round) = 0;
  virtual void finish(int round) = 0;
};

/// How many rounds all leaders go through, those included that have nothing to do in some:
///
///     ring                 2 (N - 1): every share goes round and collects, then goes round as the result
///     recursive_doubling   log2 N: whole stretches at distances 1, 2, 4, …
///     rabenseifner         2 log_radix N: the stretch divided among radix leaders at those distances, and back
///
/// and for the last two one more before and one behind unless N is a power of two (groups/doubling.hpp).
int exchange_rounds(const plan::Choice& choice, int nodes);

/// What an exchange of so many bytes needs for what arrives.
Bytes exchange_spare(const smp::Grain& grain, const plan::Choice& choice, Bytes bytes, int nodes);

/// Of `choice` count `between`, one of the three, rabenseifner's radix (2 unless operands may change places) and the
/// ring's order. The ring changes the order of operands, the
/// others keep that of nodes. What is passed must outlive the exchange.
std::unique_ptr<LeaderExchange> make_exchange(plan::Builder& builder, const plan::Problem& problem,
                                              const plan::Choice& choice, const LeaderOf& leader_of,
                                              const LeaderStretch& stretch);

/// All rounds of it, one after the other.
void combine_leaders(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice,
                     const LeaderOf& leader_of, const LeaderStretch& stretch);

}  // namespace espalier::algorithms
