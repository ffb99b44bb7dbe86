#pragma once
// What one communicator learns: a contest for each kind of its calls, and their common purse.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "learn/contest.hpp"
#include "mpi/decide/selection.hpp"
#include "mpi/process/statistics.hpp"
#include "plan/problem.hpp"
#include "topology/topology.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

/// Sizes from one power of two, exclusive, to the next: 3 and 4 bytes, 5 to 8. `last` of barriers: 0.
struct SizeClass {
  Bytes first = 0;
  Bytes last = 0;
};
SizeClass sizes_like(Bytes bytes);

/// Calls that are learned about together.
struct Study {
  plan::Operation operation = plan::Operation::barrier;
  SizeClass sizes;
  bool is_uneven = false;  ///< a count for each rank; `sizes` are about their mean
  std::vector<Selection> contenders;
  learn::Contest contest;
  bool is_told = false;  ///< to others of the process
};

/// Calls that are as earlier jobs have found.
struct Followed {
  const plan::Problem* problem;
  std::uint64_t calls;
  bool is_doubted;  ///< too few jobs; else it is just to be seen whether it holds
};

/// Ranks that make the same calls hold the same.
class Learner {
 public:
  /// `budget`: as learn::Purse. `share_clock`: all ranks do, so that one's arrival can be held against another's end.
  Learner(double budget, bool share_clock);

  /// Whether ranks may still take the size of `operation` to be different ones: some only have room for what others
  /// send (dissent.hpp). That goes wrong in many a native library, so nothing is tried before it is known.
  bool doubts(plan::Operation operation) const { return (doubtful_ >> static_cast<int>(operation) & 1) != 0; }
  /// A call of such an operation (of no other), as this rank sees it. A number once so many calls are over, for all
  /// ranks to compare: what came of that is told by settle_doubts().
  std::optional<std::uint64_t> witness(plan::Operation operation, Bytes bytes);
  /// Ranks are alike: what they do is learned about from now on; or never.
  void settle_doubts(plan::Operation operation, bool are_alike);
  bool may_learn(plan::Operation operation) const {
    return !doubts(operation) && (refused_ >> static_cast<int>(operation) & 1) == 0;
  }

  /// The study of a problem, null where none was begun.
  const Study* find(const plan::Problem& problem) const;
  Study* find(const plan::Problem& problem) { return const_cast<Study*>(std::as_const(*this).find(problem)); }
  /// Begins one, in which calls are made as usual for now; or gives the one that there is: lessons refer to it.
  Study& begin(const plan::Problem& problem);
  /// Its contenders, of which the first is the usual one.
  static void admit(Study& study, std::vector<Selection> contenders);

  /// Whether anything may be spent on that.
  bool may_check() const { return budget_ > 0; }
  /// So many calls come before somebody looks again whether what earlier jobs have found has earned a contest, or a
  /// check: few at first, as those cost little.
  std::uint64_t until_look();
  /// A problem of each kind that was followed so often that this costs no more than the budget; by kind.
  std::vector<plan::Problem> find_earners(std::span<const Followed> followed) const;

  /// What was found may hold no more.
  void check_again() {
    for (auto& [key, study] : studies_) study->contest.check_again(), study->is_told = false;
  }

  learn::Purse& purse() { return purse_; }
  /// Whether this is the first time that somebody asks: then ranks have not met yet (Engine::meet()).
  bool meets() { return !std::exchange(has_met_, true); }
  /// What was not handed out yet.
  LearnedAbout take_summary();
  /// `each(study)`.
  template <class Each>
  void for_each(Each each) const {
    for (const auto& [key, study] : studies_) each(*study);
  }

  // ---- the call at hand ----

  /// It is timed from now on.
  void start(Study& study, std::int64_t now) { timed_ = &study, came_ = now; }
  bool is_timing() const { return timed_ != nullptr; }
  /// It is over.
  void stop(std::int64_t now) noexcept;

 private:
  struct Key {
    plan::Operation operation;
    Bytes last;
    bool is_uneven;
    bool depends_on_order;

    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const plan::Problem& problem);

  double budget_;
  learn::Purse purse_;
  bool share_clock_;
  std::uint64_t until_look_;
  bool has_met_ = false;
  LearnedAbout told_;
  std::map<Key, std::unique_ptr<Study>> studies_;
  /// Those whose sizes not every rank need know.
  static constexpr std::array doubtful_operations = {plan::Operation::broadcast, plan::Operation::scatter,
                                                     plan::Operation::gather};
  struct Witnessed {
    int calls = 0;
    std::uint64_t hash = 0;
  };
  std::array<Witnessed, doubtful_operations.size()> witnessed_{};
  std::uint32_t doubtful_ = 0;  ///< a bit for each operation
  std::uint32_t refused_ = 0;

  Study* timed_ = nullptr;
  std::int64_t came_ = 0;
};

/// Whether what it finds holds for others, too: rows know nothing of graphs.
inline bool is_for_others(const Study& study) { return !plan::has_edges(study.operation); }

/// Of a study that is settled, or far enough for the next job to begin with what was found. Pure.
std::optional<tune::Row> derive_row(const Study& study, const topology::Topology& topology, Transport transport);

}  // namespace espalier::mpi
