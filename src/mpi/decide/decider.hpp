#pragma once
// What a communicator's calls will be: a pure function of what its ranks have agreed on, so that each decides alone and
// all the same.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/learning.hpp"
#include "execute/lines/uneven_blocks.hpp"
#include "mpi/decide/program_cache.hpp"
#include "mpi/decide/selection.hpp"
#include "mpi/decide/uneven_ways.hpp"
#include "topology/topology.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

using Selections = std::array<std::optional<Selection>, plan::operation_count>;

/// How a job learns from its calls.
struct LearningPolicy {
  Learning means = Learning::off;
  double budget = 0.01;        ///< as learn::Purse
  bool includes_sums = false;  ///< whose bits depend on who does them
  /// Calls of a communicator, of operations whose sizes all ranks know, after which it looks whether what it has found
  /// still holds. Then all are decided again, which short ones notice if it is done more often.
  std::uint64_t check_after = 1 << 20;
};

/// What the settings say about every call; equal on all ranks.
struct Policy {
  /// Selections forced by ESPALIER_CHOICE_*, by operation.
  Selections forced;
  /// Reductions whose bits depend on the order stay native.
  bool strict = false;
  /// ESPALIER_LEADERS: goes before what table and built-in choice say; empty: follow them.
  std::optional<plan::Leaders> leaders;
  /// Prove each plan before its first run.
  bool verify = false;
  LearningPolicy learning;
  /// Told by rank 0 of a communicator which calls stay native and what ESPALIER_VERIFY found; may be empty.
  std::function<void(const std::string&)> tell;
};

/// What statistics and descriptions say of a call that native was selected for.
inline constexpr const char* native_selected = "native was selected";

/// Of one communicator.
class Decider {
 public:
  /// What decisions look at. Topology and table outlive the decider; without a table nothing was measured here.
  struct Facts {
    const topology::Topology& topology;
    const tune::Table* table;
    Transport transport;
    Rank me;
  };
  /// `policy` outlives it, too.
  Decider(const Facts& facts, const Policy& policy);

  /// Fills in what the entry's problem will be. The first that has an opinion decides: the program (select()), the
  /// settings, the table, the built-in choice. Throws Error, on all ranks alike, where that cannot be: then the call is
  /// native for that reason. A call that may not wait takes the dedicated path only where its messages fit
  /// short rings: those that are supplied later are supplied to calls that wait.
  void choose(Entry& entry, bool may_wait = true) const;

  /// Fills in what the entry's problem is by the built-in choice, whatever settings and tables say. Throws Error.
  void choose_built_in(Entry& entry) const { take_built_in(entry, true); }
  /// The same by `selection`, which may not fit the problem: then by the built-in choice.
  void choose_by(const Selection& selection, Entry& entry) const;
  /// Whether there is anything to find out about a call that choose() has decided: nobody has said how it is done, no
  /// table knows for sure, and it may change hands.
  bool may_learn(const Entry& entry) const;
  /// Who may do it, the first of them for now: what few jobs have found, or the built-in choice. One or none where
  /// nobody else is worth a try.
  std::vector<Selection> derive_contenders(const Entry& entry) const;
  /// The row of a table, or of what others of the job have learned, that such a problem follows; null: none.
  const tune::Row* find_followed(const plan::Problem& problem) const;
  /// That row, if it is what enough jobs' own calls have taught; else null.
  const tune::Row* find_finding(const plan::Problem& problem) const;
  /// What others of the job have learned, for what no table knows for sure.
  void inherit(std::vector<tune::Row> rows) { inherited_ = std::move(rows); }

  /// From now on `operation` follows this selection; empty: settings, table and built-in choice again.
  void select(plan::Operation operation, std::optional<Selection> selection);

  /// How many calls of `operation` are native since that was selected; of those with a count for each rank, or of the
  /// others.
  tune::Natives natives_of(plan::Operation operation, bool has_counts) const;

  // ---- calls with blocks of different sizes, before any rank knows all sizes ----

  /// Whether they are native whatever their size: ranks need not agree on that then.
  bool leaves_uneven(plan::Operation operation) const { return unknown_of(operation).native_from == Bytes{0}; }
  /// The same of calls whose blocks turned out to be too long: native without an exchange of sizes.
  bool leaves_long_blocks(plan::Operation operation) const { return unknown_of(operation).native_from.has_value(); }
  /// How they go without an exchange of sizes. `longest` is 0 where they do not, as on several nodes, or where they
  /// were selected to be done otherwise.
  const execute::UnevenKind& uneven_kind(plan::Operation operation) const { return unknown_of(operation).kind; }
  /// The three operations whose sizes no rank knows have places of their own; of others there is nothing to say.
  enum Place : std::size_t { of_scatter, of_gather, of_alltoall, places, of_others = places };
  static constexpr std::array uneven_operations = {plan::Operation::scatter, plan::Operation::gather,
                                                   plan::Operation::alltoall};  ///< by place
  static Place place_of(plan::Operation operation) {
    return operation == plan::Operation::scatter    ? of_scatter
           : operation == plan::Operation::gather   ? of_gather
           : operation == plan::Operation::alltoall ? of_alltoall
                                                    : of_others;
  }
  /// Whether moved_bytes() chooses how such calls are done (uneven_ways.hpp).
  bool has_uneven_ways(plan::Operation operation) const { return !unknown_of(operation).ways.empty(); }
  /// How one is done that moves so many; null: native does it.
  const execute::UnevenKind* find_uneven_way(plan::Operation operation, Bytes moved) const;
  /// None of them goes so any more: what that takes is not to be had.
  void give_up_uneven();
  /// What such a problem, with counts, will be, as a label and who asked for it; none where its sizes decide.
  std::optional<Entry> foresee_uneven(const plan::Problem& problem) const;

  const Policy& policy() const { return policy_; }

  /// Says something to the user, once for all ranks.
  void tell(const std::string& line) const;

 private:
  struct Unknown {
    execute::UnevenKind kind{};        ///< what goes without an exchange of sizes
    tune::Dedicated dedicated{};       ///< as it was selected
    std::optional<Bytes> native_from;  ///< from this largest block on, native; none: sizes decide
    struct Way {
      UnevenWay said;
      execute::UnevenKind kind;  ///< unless it is native
    };
    std::vector<Way> ways = {};  ///< two or more, where sizes choose: then `kind` takes any
  };
  const Unknown& unknown_of(plan::Operation operation) const {
    const Place place = place_of(operation);
    return place == of_others ? nothing_said_ : (unknown_ != nullptr ? *unknown_ : derive_unknown())[place];
  }
  std::array<Unknown, places>& derive_unknown() const;
  Unknown derive_unknown(plan::Operation operation) const;
  void select_ways(Unknown& unknown, plan::Operation operation, const UnevenWays& ways) const;
  const Unknown::Way& way_of(plan::Operation operation, Bytes moved) const;
  execute::UnevenKind make_uneven_kind(plan::Operation operation, const tune::Dedicated& dedicated) const;
  Bytes derive_longest_block(plan::Operation operation) const;
  bool decides_by_size(plan::Operation operation) const;
  std::optional<Bytes> derive_native_from(plan::Operation operation) const;
  tune::Dedicated derive_dedicated(plan::Operation operation) const;

  std::optional<Selection> find_selection(Entry& entry) const;
  Selection selection_of(const tune::Row& row, const plan::Problem& problem) const;
  const tune::Row* find_row(const plan::Problem& problem) const;
  bool is_selected(const plan::Problem& problem) const;
  const std::optional<Selection>& selected(plan::Operation operation) const;
  std::string why_not(const plan::Problem& problem, const Selection& selection) const;
  void take(const Selection& selection, Entry& entry) const;
  bool may_go_in_lines(const plan::Problem& problem, bool may_wait) const;
  void take_built_in(Entry& entry, bool may_wait) const;
  plan::Choice with_leaders(const plan::Problem& problem, plan::Choice choice) const;
  void take_tiny(Entry& entry) const;
  void take_plan(Entry& entry, const plan::Choice& choice) const;
  void check_size(const plan::Problem& problem) const;
  void prove(const plan::Problem& problem, const plan::Choice& choice) const;

  Facts facts_;
  const Policy& policy_;
  std::unique_ptr<Selections> selected_;  ///< by select(), which hardly any communicator sees
  static const Unknown nothing_said_;
  /// Derived at the first such call: hardly any communicator makes one.
  mutable std::unique_ptr<std::array<Unknown, places>> unknown_;
  std::vector<tune::Row> inherited_;
};

}  // namespace espalier::mpi
