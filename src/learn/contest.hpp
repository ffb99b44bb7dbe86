#pragma once
// Who does the calls of one kind best, found out by the program's own calls. What is done in which call follows from
// how many there were: ranks agree without a message, and exchange what they measured only when a stage is over.
//
//   usual ×4 │ each twice │ usual or best … │ rounds: each twice, the second counts │ … │ the best, for good
//            ▲            ▲                 (until the purse has the price)          ▲
//            └────────────┴── all ranks exchange their samples; who is far behind goes ──┘

#include <cstdint>
#include <span>
#include <vector>

#include "learn/purse.hpp"
#include "learn/samples.hpp"

namespace espalier::learn {

/// What one call is to be.
struct Turn {
  int contender = 0;
  bool is_timed = false;
};

/// What a contest has found about one contender.
struct Finding {
  double us = 0;        ///< the median of rounds, of looks the least; 0: not measured
  double error_us = 0;  ///< its standard error, by how the times scatter; of looks, by how far the next one is
  int calls = 0;        ///< that were timed
  bool is_out = false;
};

/// Successive elimination: after each stage those go that the best one is surely faster than. One communicator's; all
/// its ranks make the same calls of it in the same order, hence hold the same.
class Contest {
 public:
  /// More contenders would take too long to tell apart.
  static constexpr int most_contenders = 6;
  /// Samples of one stage at most: what is exchanged for them.
  static constexpr int most_samples = 64;

  /// Contender 0 does the calls as long as nothing is known of others.
  Contest() : contenders_(1) { plan_usual(); }

  /// Whether it is time to say who takes part: most kinds of calls are made too seldom for anybody to ask.
  bool wants_contenders() const { return is_due() && stage_ == Stage::usual && contenders() == 1 && expected_us_ == 0; }
  /// At the beginning: an earlier job has found that the usual one takes so long. As long as that is not far too much,
  /// there is nothing to find out; else the machine was busy with other things when that was found.
  void expect(double us) { expected_us_ = us; }
  /// So many do, the usual one counted. With one there is nothing to find out.
  void admit(int contenders);

  bool is_settled() const { return is_settled_; }
  /// The stage is over: agree() comes before the next call.
  bool is_due() const { return !is_settled_ && at_ == turns_.size() && gap_ == 0; }
  /// What the next call is; not when it is due, or settled. `is_timed`: note() comes after the call.
  Turn next();
  /// Of the last turn; this rank's. Calls that came to no end are not noted, and count as if they took no time.
  void note(const Sample& sample) { samples_.back() = sample; }

  /// This rank's samples of the stage, one for each turn that is timed: as many on all ranks.
  std::span<const Sample> samples() const { return samples_; }
  /// What each of these calls took on the slowest rank (derive_times()), equal on all ranks. Decides who stays, and
  /// what is tried next, as soon as `purse` has the price.
  void agree(std::span<const double> times, Purse& purse);
  /// Nothing more can be learned: what is best now stays.
  void settle() { is_settled_ = true; }
  /// Of a settled one, after many calls: whether the best still takes as long as it did. If not, the machine is another
  /// one by now, and all begin anew.
  void check_again();

  /// The best one so far.
  int best() const { return best_; }
  int contenders() const { return static_cast<int>(contenders_.size()); }
  Finding finding(int contender) const;
  /// Calls so far, tried ones and others.
  std::uint64_t calls() const { return calls_; }

 private:
  struct Contender {
    std::vector<double> times;
    bool was_in_rounds = false;
    bool is_out = false;
  };
  enum class Stage : std::uint8_t { usual, looks, rounds };

  Contender& at(int contender) { return contenders_[static_cast<std::size_t>(contender)]; }
  const Contender& at(int contender) const { return contenders_[static_cast<std::size_t>(contender)]; }
  double time_of(int contender) const;
  void plan_usual();
  bool has_jumped(std::span<const double> times) const;
  void begin_anew();
  void take(std::span<const double> times, Purse& purse);
  void pay(Purse& purse);
  void find_best();
  void eliminate();
  bool is_over() const;
  int count_left() const;
  void plan_next(const Purse& purse);
  int count_looks() const;
  bool wants_more_looks() const;
  void plan_looks();
  void plan_rounds();
  double price(double unknown) const;

  std::vector<Contender> contenders_;
  int usual_ = 0;
  int best_ = 0;
  bool is_check_ = false;   ///< of a best one that was found before
  double expected_us_ = 0;  ///< of the usual one, until it is known whether that holds
  Stage stage_ = Stage::usual;
  int looks_ = 0;  ///< at each, in the stage of looks
  int rounds_done_ = 0;
  std::vector<Turn> turns_;  ///< of the stage
  std::size_t at_ = 0;       ///< in turns_
  std::uint64_t gap_ = 0;    ///< calls by the best one until the stage begins
  double gap_us_ = 0;        ///< what these were expected to take
  std::uint64_t calls_ = 0;
  bool is_settled_ = false;
  std::vector<Sample> samples_;
};

}  // namespace espalier::learn
