#include "mpi/decide/decider.hpp"

#include <algorithm>
#include <cstdio>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "choice/choose.hpp"
#include "execute/lines/tiny.hpp"
#include "mpi/decide/contenders.hpp"
#include "verify/verify.hpp"

namespace espalier::mpi {
namespace {

// Blocks of a scatterv, gatherv or alltoallv that lines have no room for go through their sender's window up to here:
// two copies, but without a call of the system, which takes longer than both (scatterv among 2 ranks that share a
// cache, 6K to the other: 0.57 us by single copy, 0.30 so; between far cores 0.8 and 0.9). Where ranks share cores
// longer ones do, too: their sender need not wait for a change of processes.
constexpr Bytes longest_in_window(bool is_oversubscribed) { return is_oversubscribed ? 32 << 10 : 8 << 10; }

// Longer ones do, as far as was measured with two ranks, where their sender finds that both are close: a block of 24K
// in 0.70 us and not 1.22 (gatherv, cores that share a cache), but in 2.15 and not 1.57 us between far ones.
constexpr Bytes longest_if_close(int ranks) { return ranks == 2 ? 32 << 10 : 0; }
bool is_tiny(const topology::Topology& topology, const plan::Problem& problem) {
  return topology.nodes() == 1 && plan::is_tiny(problem, topology.ranks());
}

bool fits_short_rings(const plan::Problem& problem, int ranks) {
  return execute::longest_message(problem, ranks) <= execute::short_ring_block;
}

// "row 3 of the tuned table: 5.1 us against 7.2 us of native at 64K"; there may be nothing measured behind native.
std::string name_row(const tune::Row& row) {
  const bool is_of_this_job = row.is_learned && row.number == 0;
  const char* const table = row.is_learned ? "what was learned" : "the tuned table";
  if (row.measured.calls == 0) return "row " + std::to_string(row.number) + " of " + table + ": not measured";
  char text[128];
  const std::string place =
      is_of_this_job ? "learned by this job" : "row " + std::to_string(row.number) + " of " + table;
  std::snprintf(text, sizeof text, ": %.3g us against %.3g us of native at ", row.measured.chosen_us,
                row.measured.native_us);
  return place + text + format_bytes(row.measured.bytes);
}

bool is_nothing(const plan::Problem& problem) {
  // Of edges nobody knows all: each rank takes part.
  const bool may_be_empty = problem.operation == plan::Operation::barrier || has_edges(problem.operation);
  return !may_be_empty && problem.bytes == 0;
}
}  // namespace

const Decider::Unknown Decider::nothing_said_{};

Decider::Decider(const Facts& facts, const Policy& policy) : facts_(facts), policy_(policy) {}

void Decider::select(plan::Operation operation, std::optional<Selection> selection) {
  if (selected_ == nullptr) selected_ = std::make_unique<Selections>();
  (*selected_)[static_cast<std::size_t>(operation)] = std::move(selection);
  if (unknown_ != nullptr && place_of(operation) != of_others)
    (*unknown_)[place_of(operation)] = derive_unknown(operation);
}

std::array<Decider::Unknown, Decider::places>& Decider::derive_unknown() const {
  unknown_ = std::make_unique<std::array<Unknown, places>>();
  for (const auto operation : {plan::Operation::scatter, plan::Operation::gather, plan::Operation::alltoall})
    (*unknown_)[place_of(operation)] = derive_unknown(operation);
  return *unknown_;
}

Decider::Unknown Decider::derive_unknown(plan::Operation operation) const {
  const bool may_choose = !selected(operation) && facts_.table != nullptr;
  const auto ways = may_choose ? derive_uneven_ways(*facts_.table, facts_.topology, operation) : UnevenWays();
  Unknown unknown;
  if (!ways.empty()) {
    select_ways(unknown, operation, ways);
    return unknown;
  }
  unknown.native_from = derive_native_from(operation);
  unknown.dedicated = derive_dedicated(operation);
  unknown.kind = make_uneven_kind(operation, unknown.dedicated);
  unknown.kind.longest = derive_longest_block(operation);
  if (unknown.native_from && *unknown.native_from != execute::any_size)
    unknown.kind.longest = std::min(unknown.kind.longest, std::max<Bytes>(*unknown.native_from, 1) - 1);
  return unknown;
}

// Where all ways are one, no call is asked for its size.
void Decider::select_ways(Unknown& unknown, plan::Operation operation, const UnevenWays& ways) const {
  const std::optional<tune::Dedicated>& first = ways.front().dedicated;
  const bool is_one =
      std::all_of(ways.begin(), ways.end(), [&](const UnevenWay& way) { return way.dedicated == first; });
  unknown.native_from = std::nullopt;
  if (is_one) unknown.native_from = first ? execute::any_size : 0;
  unknown.dedicated = first.value_or(tune::Dedicated{});
  unknown.kind = make_uneven_kind(operation, unknown.dedicated);
  if (is_one && !first) unknown.kind.longest = 0;
  if (is_one) return;
  for (const UnevenWay& way : ways)
    unknown.ways.push_back({way, make_uneven_kind(operation, way.dedicated.value_or(tune::Dedicated{}))});
}

execute::UnevenKind Decider::make_uneven_kind(plan::Operation operation, const tune::Dedicated& dedicated) const {
  const bool share_cores = facts_.topology.capabilities().oversubscribed;
  return {.operation = operation,
          .longest = execute::any_size,
          .longest_in_window = dedicated.window.value_or(longest_in_window(share_cores)),
          .longest_if_close = dedicated.window ? 0 : longest_if_close(facts_.topology.ranks()),
          .root_copies = !share_cores};
}

const std::optional<Selection>& Decider::selected(plan::Operation operation) const {
  const auto index = static_cast<std::size_t>(operation);
  return selected_ != nullptr && (*selected_)[index] ? (*selected_)[index] : policy_.forced[index];
}

Bytes Decider::derive_longest_block(plan::Operation operation) const {
  const std::optional<Selection>& said = selected(operation);
  const bool is_otherwise = said && said->kind != Selection::Kind::tiny;
  if (is_otherwise || !tune::hides_sizes(operation) || facts_.topology.nodes() > 1) return 0;
  const Bytes in_lines = execute::longest_in_lines(operation, facts_.topology.ranks());
  const bool takes_all = in_lines > 0 && facts_.topology.capabilities().single_copy && !decides_by_size(operation);
  return takes_all ? execute::any_size : in_lines;
}

// What a table says of some sizes only can be done when sizes are known.
bool Decider::decides_by_size(plan::Operation operation) const {
  return !selected(operation) && facts_.table != nullptr &&
         facts_.table->has_uneven(facts_.topology, operation, facts_.transport) && !derive_native_from(operation);
}

// Who selects the dedicated path wants what it does not take to stay native, which needs no sizes.
std::optional<Bytes> Decider::derive_native_from(plan::Operation operation) const {
  const std::optional<Selection>& said = selected(operation);
  if (!said && facts_.table == nullptr) return std::nullopt;
  if (!said) return facts_.table->uneven_native_from(facts_.topology, operation, facts_.transport);
  if (said->kind == Selection::Kind::native) return 0;
  const Bytes longest = derive_longest_block(operation);
  if (longest == 0) return std::nullopt;
  return longest == execute::any_size ? longest : longest + 1;
}

tune::Dedicated Decider::derive_dedicated(plan::Operation operation) const {
  if (const std::optional<Selection>& said = selected(operation)) return said->dedicated;
  if (facts_.table == nullptr) return {};
  return {facts_.table->uneven_window(facts_.topology, operation, facts_.transport)};
}

tune::Natives Decider::natives_of(plan::Operation operation, bool has_counts) const {
  using enum tune::Natives;
  if (has_counts && tune::hides_sizes(operation)) {
    const Unknown unknown = derive_unknown(operation);
    const auto& ways = unknown.ways;
    if (unknown.native_from == Bytes{0}) return all;
    return std::any_of(ways.begin(), ways.end(), [](const auto& way) { return !way.said.dedicated; }) ? some : none;
  }
  if (const std::optional<Selection>& said = selected(operation))
    return said->kind == Selection::Kind::native ? all : none;
  if (facts_.table == nullptr) return none;
  return facts_.table->natives_of(facts_.topology, operation, !has_counts, facts_.transport);
}

const Decider::Unknown::Way& Decider::way_of(plan::Operation operation, Bytes moved) const {
  const auto& ways = unknown_of(operation).ways;
  return *std::find_if(ways.begin(), ways.end(), [&](const auto& way) { return moved <= way.said.last; });
}

const execute::UnevenKind* Decider::find_uneven_way(plan::Operation operation, Bytes moved) const {
  const Unknown::Way& way = way_of(operation, moved);
  return way.said.dedicated ? &way.kind : nullptr;
}

std::optional<Entry> Decider::foresee_uneven(const plan::Problem& problem) const {
  const Unknown& unknown = unknown_of(problem.operation);
  Entry entry;
  if (!unknown.ways.empty()) {
    const auto& [said, kind] = way_of(problem.operation, moved_bytes(problem));
    entry.kind = said.dedicated ? Entry::Kind::tiny : Entry::Kind::native;
    entry.label = said.dedicated ? to_string(*said.dedicated) : native_selected;
    if (said.row != nullptr) entry.origin = name_row(*said.row);
    return entry;
  }
  const Bytes largest = *std::max_element(problem.counts.begin(), problem.counts.end());
  const bool goes_in_one = unknown.kind.longest > 0 && largest <= unknown.kind.longest;
  if (!goes_in_one && !unknown.native_from) return std::nullopt;
  entry.problem = problem;
  entry.kind = goes_in_one ? Entry::Kind::tiny : Entry::Kind::native;
  entry.label = goes_in_one ? to_string(unknown.dedicated) : native_selected;
  if (unknown.native_from) find_selection(entry);  // says who did
  return entry;
}

void Decider::give_up_uneven() {
  for (Unknown& unknown : unknown_ != nullptr ? *unknown_ : derive_unknown()) unknown.kind.longest = 0;
}

void Decider::tell(const std::string& line) const {
  if (facts_.me == Rank(0) && policy_.tell) policy_.tell(line);
}

void Decider::choose(Entry& entry, bool may_wait) const {
  if (is_nothing(entry.problem)) {
    entry.label = "no bytes";
    return;
  }
  const std::optional<Selection> selection = find_selection(entry);
  const bool is_tiny = selection && selection->kind == Selection::Kind::tiny;
  if (!selection || (is_tiny && !may_go_in_lines(entry.problem, may_wait))) return take_built_in(entry, may_wait);
  if (const std::string why = why_not(entry.problem, *selection); !why.empty() && !is_selected(entry.problem)) {
    tell(std::string(plan::name(entry.problem.operation)) + ": the built-in choice instead of what " + entry.origin +
         " says: " + why);
    entry.origin.clear();
    entry.is_doubted = false;
    return take_built_in(entry, may_wait);
  }
  take(*selection, entry);
}

void Decider::take(const Selection& selection, Entry& entry) const {
  switch (selection.kind) {
    case Selection::Kind::native:
      entry.kind = Entry::Kind::native;
      entry.label = native_selected;
      entry.is_passed_on = true;
      return;
    case Selection::Kind::tiny: return take_tiny(entry);
    case Selection::Kind::plan: return take_plan(entry, selection.choice);
  }
}

void Decider::choose_by(const Selection& selection, Entry& entry) const {
  if (!why_not(entry.problem, selection).empty()) return take_built_in(entry, true);
  take(selection, entry);
  if (selection.kind == Selection::Kind::native) entry.is_passed_on = false;
}

bool Decider::may_learn(const Entry& entry) const {
  const plan::Problem& problem = entry.problem;
  const bool is_found = entry.is_doubted || find_finding(problem) != nullptr;
  const bool is_told = !is_found && (!entry.origin.empty() || entry.kind == Entry::Kind::native);
  const bool may_change = policy_.learning.includes_sums || may_change_hands(facts_.topology, problem);
  const bool hides_sizes = has_edges(problem.operation)
                               ? problem.bytes == 0 || !problem.reaches_all
                               : !problem.counts.empty() && tune::hides_sizes(problem.operation);
  return !is_told && may_change && !is_nothing(problem) && !hides_sizes;
}

std::vector<Selection> Decider::derive_contenders(const Entry& entry) const {
  const plan::Problem& problem = entry.problem;
  std::vector<Selection> all = mpi::derive_contenders(
      facts_.topology, problem, facts_.table == nullptr ? cost::Parameters{} : facts_.table->parameters());
  if (!entry.is_doubted && find_finding(problem) == nullptr) return all;
  const Selection usual = selection_of(*find_row(problem), problem);
  std::erase(all, usual);
  all.insert(all.begin(), usual);
  return all;
}

// The program's word counts most, then the user's, then what was measured.
std::optional<Selection> Decider::find_selection(Entry& entry) const {
  const plan::Problem& problem = entry.problem;
  const auto operation = static_cast<std::size_t>(problem.operation);
  if (is_selected(problem)) {
    entry.origin = "Espalier_Choose";
    return (*selected_)[operation];
  }
  if (policy_.forced[operation]) {
    entry.origin = "ESPALIER_CHOICE";
    return policy_.forced[operation];
  }
  const tune::Row* row = find_followed(problem);
  if (row == nullptr) return std::nullopt;
  entry.origin = name_row(*row);
  entry.is_learned = row->is_learned;
  entry.is_doubted = !row->is_sure();
  return selection_of(*row, problem);
}

const tune::Row* Decider::find_followed(const plan::Problem& problem) const {
  if (is_selected(problem) || policy_.forced[static_cast<std::size_t>(problem.operation)]) return nullptr;
  const tune::Row* row = find_row(problem);
  if (row == nullptr || !row->is_learned) return row;
  // From one run to the next, too, sums stay what they are.
  const bool may_change = policy_.learning.includes_sums || may_change_hands(facts_.topology, problem);
  return may_change ? row : nullptr;
}

const tune::Row* Decider::find_finding(const plan::Problem& problem) const {
  const tune::Row* const row = find_followed(problem);
  const bool is_earlier_jobs = row != nullptr && row->is_learned && row->number != 0;
  return is_earlier_jobs && row->is_sure() && row->measured.chosen_us > 0 ? row : nullptr;
}

Selection Decider::selection_of(const tune::Row& row, const plan::Problem& problem) const {
  Selection selection = parse_selection(problem.operation, row.selection);
  if (selection.kind == Selection::Kind::plan) selection.choice = with_leaders(problem, selection.choice);
  return selection;
}

const tune::Row* Decider::find_row(const plan::Problem& problem) const {
  const tune::Row* found = nullptr;
  if (facts_.table != nullptr) found = facts_.table->find(facts_.topology, problem, facts_.transport);
  if (found != nullptr && found->is_sure()) return found;
  for (const tune::Row& row : inherited_)
    if (row.matches(facts_.topology, problem, facts_.transport)) return &row;
  return found;
}

// Other leaders may need more room than there is: then what fits stays.
plan::Choice Decider::with_leaders(const plan::Problem& problem, plan::Choice choice) const {
  plan::Choice wanted = choice;
  wanted.leaders = policy_.leaders.value_or(choice.leaders);
  if (wanted == choice) return choice;
  return algorithms::why_invalid(facts_.topology, problem, wanted).empty() ? wanted : choice;
}

// A program that selects by itself compares, and must not get one thing under the name of another: its calls stay
// native.
bool Decider::is_selected(const plan::Problem& problem) const {
  return selected_ != nullptr && (*selected_)[static_cast<std::size_t>(problem.operation)].has_value();
}

std::string Decider::why_not(const plan::Problem& problem, const Selection& selection) const {
  if (selection.kind == Selection::Kind::plan)
    return algorithms::why_invalid(facts_.topology, problem, selection.choice);
  const bool is_refused = selection.kind == Selection::Kind::tiny && !is_tiny(facts_.topology, problem);
  return is_refused ? "the dedicated path takes short messages on one node only" : "";
}

// Of a call with counts no rank's part is done in steps.
bool Decider::may_go_in_lines(const plan::Problem& problem, bool may_wait) const {
  const bool is_in_steps = problem.counts.empty() && fits_short_rings(problem, facts_.topology.ranks());
  return may_wait || is_in_steps;
}

void Decider::take_built_in(Entry& entry, bool may_wait) const {
  const bool is_short = choice::prefers_tiny(facts_.topology, entry.problem);
  if (is_short && may_go_in_lines(entry.problem, may_wait)) return take_tiny(entry);
  const cost::Parameters parameters = facts_.table == nullptr ? cost::Parameters{} : facts_.table->parameters();
  take_plan(entry, with_leaders(entry.problem, choice::choose(facts_.topology, entry.problem, parameters)));
}

void Decider::take_tiny(Entry& entry) const {
  if (const std::string why = why_not(entry.problem, {Selection::Kind::tiny}); !why.empty()) throw Error(why);
  entry.kind = Entry::Kind::tiny;
  entry.label = "tiny";
  entry.needs = long_rings;
  entry.fits_short_rings = fits_short_rings(entry.problem, facts_.topology.ranks());
}

void Decider::take_plan(Entry& entry, const plan::Choice& choice) const {
  const plan::Problem& problem = entry.problem;
  check_size(problem);
  if (const std::string why = algorithms::why_invalid(facts_.topology, problem, choice); !why.empty()) throw Error(why);
  if (policy_.verify) prove(problem, choice);
  entry.program =
      std::make_shared<const plan::Program>(algorithms::build_program(facts_.topology, problem, choice, facts_.me));
  entry.kind = Entry::Kind::program;
  entry.label = plan::to_string(choice);
  entry.needs = windows;  // of this rank's or of a neighbour's program: all have to agree
}

void Decider::check_size(const plan::Problem& problem) const {
  if (has_edges(problem.operation)) return;  // others may have less
  const int ranks = facts_.topology.ranks();
  const int different = problem.counts.empty() ? 1 : ranks;  // of equal blocks the root has most
  for (int i = 0; i < different; ++i) {
    const Rank rank((problem.root.value + i) % ranks);
    if (std::max(plan::input_bytes(problem, ranks, rank), plan::output_bytes(problem, ranks, rank)) >
        choice::largest_result)
      throw Error("the result is larger than " + format_bytes(choice::largest_result));
  }
}

// The whole plan, all ranks' programs, is proved by every rank: pure, so all come to the same end. Of edges no rank
// knows all.
void Decider::prove(const plan::Problem& problem, const plan::Choice& choice) const {
  if (has_edges(problem.operation)) return;
  const auto violations = verify::verify(algorithms::build_plan(facts_.topology, problem, choice));
  if (violations.empty()) return;
  const std::string what = std::string("ESPALIER_VERIFY found a fault in ") + plan::name(problem.operation) + " by " +
                           plan::to_string(choice);
  tell(what + ": " + verify::to_string(violations.front()));
  throw Error(what);
}
}  // namespace espalier::mpi
