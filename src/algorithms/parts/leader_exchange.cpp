#include "algorithms/parts/leader_exchange.hpp"

#include <bit>
#include <vector>

#include "algorithms/parts/halving.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/parts/node_order.hpp"
#include "algorithms/words.hpp"
#include "groups/doubling.hpp"
#include "smp/reduce/grain.hpp"

namespace espalier::algorithms {

namespace {

LeaderSum sum_of(Builder& builder, const Problem& problem, const LeaderStretch& stretch) {
  return {builder, problem, stretch.sum, {Buffer::scratch, stretch.spare}, {Buffer::output, stretch.offset}};
}

/// Slice c starts at position c of the ring and collects one operand per hop; the position that has all passes it on
/// once more.
class Ring final : public LeaderExchange {
 public:
  Ring(Builder& builder, const Problem& problem, const Choice& choice, const LeaderOf& leader_of,
       const LeaderStretch& stretch)
      : count_(builder.topology().nodes()),
        cuts_(smp::Grain(problem), stretch.bytes, count_),
        sum_(sum_of(builder, problem, stretch)),
        pending_(builder) {
    const NodeOrder order(builder.topology(), problem, choice);
    position_ = order.position_of(builder.node().value);
    right_ = leader_of(order.node_at(slice_behind(-1)));
    left_ = leader_of(order.node_at(slice_behind(1)));
  }

  void start(int hop) override {
    const int out = slice_behind(has_sum(hop) ? hop - count_ : hop), in = incoming(hop);
    pending_.add(has_sum(hop) ? sum_.recv_result(left_, cuts_.begin(in), cuts_.bytes(in))
                              : sum_.recv_operand(left_, cuts_.begin(in), cuts_.bytes(in)));
    pending_.add(sum_.send(right_, cuts_.begin(out), cuts_.bytes(out)));
  }

  void finish(int hop) override {
    pending_.finish_all();
    const int in = incoming(hop);
    if (!has_sum(hop)) sum_.add(true, cuts_.begin(in), cuts_.bytes(in));
    if (hop + 2 == count_) sum_.settle(cuts_.begin(in), cuts_.bytes(in));
  }

 private:
  int slice_behind(int steps) const { return (position_ - steps + 2 * count_) % count_; }
  bool has_sum(int hop) const { return hop >= count_ - 1; }
  int incoming(int hop) const { return slice_behind(has_sum(hop) ? hop - count_ + 1 : hop + 1); }

  int count_;
  smp::Slices cuts_;
  LeaderSum sum_;
  InFlight pending_;
  int position_ = 0;
  Rank right_{0}, left_{0};
};

bool is_power_of_two(int nodes) { return std::has_single_bit(static_cast<unsigned>(nodes)); }

int floor_to_power(int count) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(count))); }

/// Rounds of recursive doubling, or of dividing and doubling, among the greatest power of two of leaders.
int inner_rounds(const Choice& choice, int nodes) {
  const int doublings = std::bit_width(static_cast<unsigned>(nodes)) - 1;
  if (choice.between != Between::rabenseifner) return doublings;
  const int in_round = std::bit_width(static_cast<unsigned>(choice.radix)) - 1;
  return 2 * ((doublings + in_round - 1) / in_round);
}

/// Those that are too many for a power of two lend their sum to a neighbour in the first round and have the result in
/// the last.
class Doubling final : public LeaderExchange {
 public:
  Doubling(Builder& builder, const Problem& problem, const Choice& choice, const LeaderOf& leader_of,
           const LeaderStretch& stretch)
      : me_(builder.node().value),
        bytes_(stretch.bytes),
        inner_(inner_rounds(choice, builder.topology().nodes())),
        first_(is_power_of_two(builder.topology().nodes()) ? 0 : 1),
        parts_(groups::derive_doubling(me_, builder.topology().nodes())),
        sum_(sum_of(builder, problem, stretch)),
        pending_(builder) {
    for (const int partner : parts_.partners) partners_.push_back(leader_of(partner));
    if (parts_.lends_to >= 0) creditor_ = leader_of(parts_.lends_to);
    if (parts_.borrows_from >= 0) debtor_ = leader_of(parts_.borrows_from);
    if (choice.between == Between::rabenseifner)
      halving_ = std::make_unique<Halving>(builder, sum_, smp::Grain(problem), bytes_,
                                           circles(builder.topology().nodes(), choice.radix, leader_of));
  }

  void start(int round) override {
    const int inner = round - first_;
    if (inner < 0) return lend();
    if (inner == inner_) return give_back();
    if (partners_.empty()) return;
    if (halving_ == nullptr) return start_doubling(static_cast<std::size_t>(inner));
    is_halving(inner) ? halving_->start_halving(inner) : halving_->start_doubling(inner_ - 1 - inner);
  }

  void finish(int round) override {
    const int inner = round - first_;
    pending_.finish_all();
    if (inner < 0 && parts_.borrows_from >= 0) sum_.add(true, 0, bytes_);
    if (inner < 0 || inner == inner_ || partners_.empty()) return;
    if (halving_ == nullptr) return finish_doubling(static_cast<std::size_t>(inner));
    is_halving(inner) ? halving_->finish_halving(inner) : halving_->finish_doubling(inner_ - 1 - inner);
  }

 private:
  std::vector<Halving::Circle> circles(int nodes, int radix, const LeaderOf& leader_of) const {
    std::vector<Halving::Circle> all;
    for (const groups::Circle& circle : groups::derive_circles(me_, nodes, radix)) {
      all.push_back({{}, circle.position});
      for (const int node : circle.nodes) all.back().ranks.push_back(leader_of(node));
    }
    return all;
  }

  bool is_halving(int inner) const { return inner < inner_ / 2; }

  void lend() {
    if (parts_.lends_to >= 0) pending_.add(sum_.send(creditor_, 0, bytes_));
    if (parts_.borrows_from >= 0) pending_.add(sum_.recv_operand(debtor_, 0, bytes_));
  }

  void give_back() {
    if (parts_.lends_to >= 0) pending_.add(sum_.recv_result(creditor_, 0, bytes_));
    if (parts_.borrows_from >= 0) pending_.add(sum_.send(debtor_, 0, bytes_));
  }

  void start_doubling(std::size_t round) {
    pending_.add(sum_.recv_operand(partners_[round], 0, bytes_));
    pending_.add(sum_.send(partners_[round], 0, bytes_));
  }

  void finish_doubling(std::size_t round) {
    sum_.add(parts_.partners[round] < me_, 0, bytes_);
    if (round + 1 == partners_.size()) sum_.settle(0, bytes_);
  }

  int me_;
  Bytes bytes_;
  int inner_;
  int first_;  ///< of the inner rounds
  groups::Doubling parts_;
  LeaderSum sum_;
  InFlight pending_;
  std::vector<Rank> partners_;
  Rank creditor_{-1}, debtor_{-1};
  std::unique_ptr<Halving> halving_;
};

}  // namespace

int exchange_rounds(const Choice& choice, int nodes) {
  if (choice.between == Between::ring) return 2 * (nodes - 1);
  return inner_rounds(choice, nodes) + (is_power_of_two(nodes) ? 0 : 2);
}

Bytes exchange_spare(const smp::Grain& grain, const Choice& choice, Bytes bytes, int nodes) {
  if (choice.between != Between::rabenseifner) return bytes;
  return Halving::spare_bytes(grain, bytes, floor_to_power(nodes), floor_to_power(choice.radix));
}

std::unique_ptr<LeaderExchange> make_exchange(Builder& builder, const Problem& problem, const Choice& choice,
                                              const LeaderOf& leader_of, const LeaderStretch& stretch) {
  if (choice.between == Between::ring) return std::make_unique<Ring>(builder, problem, choice, leader_of, stretch);
  return std::make_unique<Doubling>(builder, problem, choice, leader_of, stretch);
}

void combine_leaders(Builder& builder, const Problem& problem, const Choice& choice, const LeaderOf& leader_of,
                     const LeaderStretch& stretch) {
  const auto exchange = make_exchange(builder, problem, choice, leader_of, stretch);
  for (int round = 0; round < exchange_rounds(choice, builder.topology().nodes()); ++round) {
    exchange->start(round);
    exchange->finish(round);
  }
}

}  // namespace espalier::algorithms
