#include "mpi/engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "collectives/build.hpp"
#include "collectives/choose.hpp"
#include "collectives/registry.hpp"
#include "execute/tiny.hpp"
#include "mpi/dissent.hpp"
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

constexpr const char* native_selected = "native was selected";
constexpr const char* memory_is_short =
    "shared memory is short: raise ESPALIER_SHM_LIMIT, or the memory limit of the node's jobs";

/// Calls after which a communicator counts as one that is used: then short ones get long rings, where there is memory.
/// A root then runs ahead of slow readers by 148 calls and not by 12.
constexpr std::uint64_t calls_in_use = 64;

bool is_tiny(const topology::Topology& topology, const plan::Problem& problem) {
  return topology.nodes() == 1 && plan::is_tiny(problem, topology.ranks());
}

// "row 3 of the tuned table: 5.1 us against 7.2 us of native at 64K"; there may be nothing measured behind native.
std::string name_row(const tune::Row& row, std::ptrdiff_t index) {
  if (row.measured.calls == 0) return "row " + std::to_string(index + 1) + " of the tuned table: not measured";
  char text[128];
  std::snprintf(text, sizeof text, "row %td of the tuned table: %.3g us against %.3g us of native at ", index + 1,
                row.measured.chosen_us, row.measured.native_us);
  return text + format_bytes(row.measured.bytes);
}

bool is_nothing(const plan::Problem& problem) {
  return problem.operation != plan::Operation::barrier && problem.bytes == 0;
}

}  // namespace

Engine::Engine(Means means, const Policy& policy, CacheBudget& budget, Statistics& statistics)
    : means_(std::move(means)),
      policy_(policy),
      statistics_(statistics),
      supplied_(means_.supplies == nullptr ? all_needs : no_needs),
      seat_(means_.board, LocalRank(means_.topology.local_rank(means_.me)), means_.rings, means_.windows),
      cache_(budget, statistics) {
  for (int i = 0; i < plan::operation_count; ++i) select_unknown(static_cast<plan::Operation>(i));
}

Engine::~Engine() {
  for (std::uint32_t attempt = 0; !seat_.leave_windows(is_broken_); ++attempt)
    is_broken_ = !means_.waiter->wait(attempt, nullptr);
}

bool Engine::supply_slowly(Entry& entry) {
  if (entry.fits_short_rings) {
    if ((denied_ & long_rings) != 0) entry.needs = no_needs;
    if (seat_.call() + 1 >= calls_in_use) get(long_rings, false);
    return true;
  }
  if (differs_from_senders(entry.problem)) return true;
  if (get(entry.needs, true)) return true;
  entry.kind = Entry::Kind::native;
  entry.label = memory_is_short;
  return false;
}

// Supplies are asked for by all ranks together, hence only by ranks that are sure to do the same: all hear first what
// those send who name the size. Who only has room will do as they do; where they differ themselves, the call ends.
bool Engine::differs_from_senders(const plan::Problem& problem) {
  if (means_.topology.nodes() > 1) return false;
  const bool is_sided = is_one_sided(problem), is_root = means_.me == problem.root, deals = is_dealt(problem.operation);
  const auto sends = [&](bool root) { return !is_sided || root == deals; };
  seat_.begin_call();
  if (sends(is_root)) seat_.state(problem.bytes);
  std::optional<Bytes> said;
  for (LocalRank r(0); r.value < seat_.ranks(); ++r.value) {
    if (r == seat_.me() || !sends(r.value == problem.root.value)) continue;
    const Bytes theirs = await_bytes(r);
    said = theirs == said.value_or(theirs) ? theirs : execute::Statement::has_left;
  }
  seat_.repeat_call();
  if (!said || *said == problem.bytes) return false;
  other_bytes_ = sends(is_root) ? execute::Statement::has_left : *said;
  return true;
}

Bytes Engine::await_bytes(LocalRank neighbour) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    if (const std::optional<Bytes> theirs = find_bytes(seat_, neighbour)) return *theirs;
    if (seat_.has_left(neighbour) || !means_.waiter->wait(attempt, nullptr)) return execute::Statement::has_left;
  }
}

bool Engine::supply_uneven_slowly() {
  if (get(all_needs, true)) return true;
  for (Unknown& unknown : unknown_) unknown.kind.longest = 0;
  return false;
}

// Whether all of it is there. Nothing is asked for twice.
bool Engine::get(Needs needs, bool is_needed) {
  const Needs asked = needs & ~supplied_ & ~denied_;
  if ((asked & long_rings) != 0) {
    std::byte* const rings = means_.supplies->get_long_rings(is_needed);
    if (rings != nullptr) seat_.use_long_rings(rings);
    (rings != nullptr ? supplied_ : denied_) |= long_rings;
  }
  if ((asked & windows) != 0) (means_.supplies->get_windows() ? supplied_ : denied_) |= windows;
  const bool has_all = (needs & ~supplied_) == 0;
  if (!has_all && is_needed) tell("some calls stay native: " + std::string(memory_is_short));
  return has_all;
}

void Engine::select_unknown(plan::Operation operation) {
  const bool may_choose = !selected(operation) && means_.table != nullptr;
  const auto ways = may_choose ? derive_uneven_ways(*means_.table, means_.topology, operation) : UnevenWays();
  Unknown& unknown = unknown_[static_cast<std::size_t>(operation)];
  unknown.ways.clear();
  if (!ways.empty()) return select_ways(unknown, operation, ways);
  unknown.native_from = derive_native_from(operation);
  unknown.dedicated = derive_dedicated(operation);
  unknown.kind = make_uneven_kind(operation, unknown.dedicated);
  unknown.kind.longest = derive_longest_block(operation);
  if (unknown.native_from && *unknown.native_from != execute::any_size)
    unknown.kind.longest = std::min(unknown.kind.longest, std::max<Bytes>(*unknown.native_from, 1) - 1);
}

// Where all ways are one, no call is asked for its size.
void Engine::select_ways(Unknown& unknown, plan::Operation operation, const UnevenWays& ways) const {
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

execute::UnevenKind Engine::make_uneven_kind(plan::Operation operation, const tune::Dedicated& dedicated) const {
  const bool share_cores = means_.topology.capabilities().oversubscribed;
  return {.operation = operation,
          .longest = execute::any_size,
          .longest_in_window = dedicated.window.value_or(longest_in_window(share_cores)),
          .longest_if_close = dedicated.window ? 0 : longest_if_close(means_.topology.ranks()),
          .root_copies = !share_cores};
}

const std::optional<Selection>& Engine::selected(plan::Operation operation) const {
  const auto index = static_cast<std::size_t>(operation);
  return selected_ != nullptr && (*selected_)[index] ? (*selected_)[index] : policy_.forced[index];
}

Bytes Engine::derive_longest_block(plan::Operation operation) const {
  const std::optional<Selection>& said = selected(operation);
  const bool is_otherwise = said && said->kind != Selection::Kind::tiny;
  if (is_otherwise || !tune::hides_sizes(operation) || means_.topology.nodes() > 1) return 0;
  const Bytes in_lines = execute::longest_in_lines(operation, means_.topology.ranks());
  const bool takes_all = in_lines > 0 && means_.topology.capabilities().single_copy && !decides_by_size(operation);
  return takes_all ? execute::any_size : in_lines;
}

// What a table says of some sizes only can be done when sizes are known.
bool Engine::decides_by_size(plan::Operation operation) const {
  return !selected(operation) && means_.table != nullptr &&
         means_.table->has_uneven(means_.topology, operation, means_.transport) && !derive_native_from(operation);
}

// Who selects the dedicated path wants what it does not take to stay native, which needs no sizes.
std::optional<Bytes> Engine::derive_native_from(plan::Operation operation) const {
  const std::optional<Selection>& said = selected(operation);
  if (!said && means_.table == nullptr) return std::nullopt;
  if (!said) return means_.table->uneven_native_from(means_.topology, operation, means_.transport);
  if (said->kind == Selection::Kind::native) return 0;
  const Bytes longest = derive_longest_block(operation);
  if (longest == 0) return std::nullopt;
  return longest == execute::any_size ? longest : longest + 1;
}

tune::Dedicated Engine::derive_dedicated(plan::Operation operation) const {
  if (const std::optional<Selection>& said = selected(operation)) return said->dedicated;
  if (means_.table == nullptr) return {};
  return {means_.table->uneven_window(means_.topology, operation, means_.transport)};
}

tune::Natives Engine::natives_of(plan::Operation operation, bool has_counts) const {
  using enum tune::Natives;
  if (has_counts && tune::hides_sizes(operation)) {
    const auto& ways = unknown_of(operation).ways;
    if (leaves_uneven(operation)) return all;
    return std::any_of(ways.begin(), ways.end(), [](const auto& way) { return !way.said.dedicated; }) ? some : none;
  }
  if (const std::optional<Selection>& said = selected(operation))
    return said->kind == Selection::Kind::native ? all : none;
  if (means_.table == nullptr) return none;
  return means_.table->natives_of(means_.topology, operation, !has_counts, means_.transport);
}

const Engine::Unknown::Way& Engine::way_of(plan::Operation operation, Bytes moved) const {
  const auto& ways = unknown_of(operation).ways;
  return *std::find_if(ways.begin(), ways.end(), [&](const auto& way) { return moved <= way.said.last; });
}

const execute::UnevenKind* Engine::find_uneven_way(plan::Operation operation, Bytes moved) const {
  const Unknown::Way& way = way_of(operation, moved);
  return way.said.dedicated ? &way.kind : nullptr;
}

std::string Engine::describe(const plan::Problem& problem) {
  const auto with_origin = [](const char* prefix, const Entry& entry) {
    return prefix + entry.label + (entry.origin.empty() ? "" : " (" + entry.origin + ")");
  };
  const Unknown& unknown = unknown_of(problem.operation);
  if (!problem.counts.empty() && !unknown.ways.empty()) {
    const auto& [said, kind] = way_of(problem.operation, moved_bytes(problem));
    Entry entry;
    entry.label = said.dedicated ? to_string(*said.dedicated) : native_selected;
    if (said.row != nullptr) entry.origin = name_row(*said.row, said.row - means_.table->rows().data());
    return with_origin(said.dedicated ? "" : "native: ", entry);
  }
  const Bytes largest = problem.counts.empty() ? 0 : *std::max_element(problem.counts.begin(), problem.counts.end());
  const bool goes_in_one = unknown.kind.longest > 0 && largest <= unknown.kind.longest;
  if (problem.counts.empty() || !(goes_in_one || unknown.native_from)) {
    const Entry& entry = prepare(problem);
    return with_origin(entry.kind == Entry::Kind::native ? "native: " : "", entry);
  }
  Entry entry;
  entry.problem = problem;
  entry.label = goes_in_one ? to_string(unknown.dedicated) : native_selected;
  if (unknown.native_from) find_selection(entry);  // says who did
  return with_origin(goes_in_one ? "" : "native: ", entry);
}

Entry& Engine::decide(const plan::Problem& problem) {
  Entry entry;
  entry.problem = problem;
  try {
    choose(entry);
  } catch (const Error& error) {  // building is pure, so this happens to all ranks alike
    entry.kind = Entry::Kind::native;
    entry.label = error.what();
    tell(std::string(plan::name(problem.operation)) + " of " + format_bytes(problem.bytes) +
         " stays native: " + entry.label);
  }
  return cache_.add(std::move(entry));
}

void Engine::choose(Entry& entry) const {
  if (is_nothing(entry.problem)) {
    entry.label = "no bytes";
    return;
  }
  const std::optional<Selection> selection = find_selection(entry);
  if (!selection) return take_built_in(entry);
  if (const std::string why = why_not(entry.problem, *selection); !why.empty() && !is_selected(entry.problem)) {
    tell(std::string(plan::name(entry.problem.operation)) + ": the built-in choice instead of what " + entry.origin +
         " says: " + why);
    entry.origin.clear();
    return take_built_in(entry);
  }
  switch (selection->kind) {
    case Selection::Kind::native:
      entry.kind = Entry::Kind::native;
      entry.label = native_selected;
      entry.is_passed_on = true;
      return;
    case Selection::Kind::tiny: return take_tiny(entry);
    case Selection::Kind::plan: return take_plan(entry, selection->choice);
  }
}

// The program's word counts most, then the user's, then what was measured.
std::optional<Selection> Engine::find_selection(Entry& entry) const {
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
  if (means_.table == nullptr) return std::nullopt;
  const tune::Row* row = means_.table->find(means_.topology, problem, means_.transport);
  if (row == nullptr) return std::nullopt;
  entry.origin = name_row(*row, row - means_.table->rows().data());
  Selection measured = parse_selection(problem.operation, row->selection);
  if (measured.kind == Selection::Kind::plan) measured.choice = with_leaders(problem, measured.choice);
  return measured;
}

// Other leaders may need more room than there is: then what fits stays.
plan::Choice Engine::with_leaders(const plan::Problem& problem, plan::Choice choice) const {
  plan::Choice wanted = choice;
  wanted.leaders = policy_.leaders.value_or(choice.leaders);
  if (wanted == choice) return choice;
  return collectives::why_invalid(means_.topology, problem, wanted).empty() ? wanted : choice;
}

// A program that selects by itself compares, and must not get one thing under the name of another: its calls stay
// native.
bool Engine::is_selected(const plan::Problem& problem) const {
  return selected_ != nullptr && (*selected_)[static_cast<std::size_t>(problem.operation)].has_value();
}

std::string Engine::why_not(const plan::Problem& problem, const Selection& selection) const {
  if (selection.kind == Selection::Kind::plan)
    return collectives::why_invalid(means_.topology, problem, selection.choice);
  const bool is_refused = selection.kind == Selection::Kind::tiny && !is_tiny(means_.topology, problem);
  return is_refused ? "the dedicated path takes short messages on one node only" : "";
}

void Engine::take_built_in(Entry& entry) const {
  if (is_tiny(means_.topology, entry.problem)) return take_tiny(entry);
  const cost::Parameters parameters = means_.table == nullptr ? cost::Parameters{} : means_.table->parameters();
  take_plan(entry, with_leaders(entry.problem, collectives::choose(means_.topology, entry.problem, parameters)));
}

void Engine::take_tiny(Entry& entry) const {
  if (const std::string why = why_not(entry.problem, {Selection::Kind::tiny}); !why.empty()) throw Error(why);
  entry.kind = Entry::Kind::tiny;
  entry.label = "tiny";
  entry.needs = long_rings;
  entry.fits_short_rings =
      execute::longest_message(entry.problem, means_.topology.ranks()) <= execute::short_ring_block;
}

void Engine::take_plan(Entry& entry, const plan::Choice& choice) const {
  const plan::Problem& problem = entry.problem;
  check_size(problem);
  if (const std::string why = collectives::why_invalid(means_.topology, problem, choice); !why.empty())
    throw Error(why);
  if (policy_.verify) prove(problem, choice);
  entry.program = collectives::build_program(means_.topology, problem, choice, means_.me);
  entry.kind = Entry::Kind::program;
  entry.label = plan::to_string(choice);
  entry.needs = windows;  // of this rank's or of a neighbour's program: all have to agree
}

void Engine::check_size(const plan::Problem& problem) const {
  const int ranks = means_.topology.ranks();
  const int different = problem.counts.empty() ? 1 : ranks;  // of equal blocks the root has most
  for (int i = 0; i < different; ++i) {
    const Rank rank((problem.root.value + i) % ranks);
    if (std::max(plan::input_bytes(problem, ranks, rank), plan::output_bytes(problem, ranks, rank)) >
        collectives::largest_result)
      throw Error("the result is larger than " + format_bytes(collectives::largest_result));
  }
}

// The whole plan, all ranks' programs, is proved by every rank: pure, so all come to the same end.
void Engine::prove(const plan::Problem& problem, const plan::Choice& choice) const {
  const auto violations = verify::verify(collectives::build_plan(means_.topology, problem, choice));
  if (violations.empty()) return;
  const std::string what = std::string("ESPALIER_VERIFY found a fault in ") + plan::name(problem.operation) + " by " +
                           plan::to_string(choice);
  tell(what + ": " + verify::to_string(violations.front()));
  throw Error(what);
}

void Engine::tell(const std::string& line) const {
  if (means_.me == Rank(0) && policy_.tell) policy_.tell(line);
}

// Rows are about a mean, so that calls with equal sums are alike; a sum that does not fit is none.
void Engine::pass_on(Entry& entry) {
  ++entry.calls;
  if (!entry.is_passed_on) return;
  Deal deal{0, !entry.problem.counts.empty()};
  bool fits = !__builtin_mul_overflow(entry.problem.bytes, static_cast<Bytes>(means_.topology.ranks()), &deal.total);
  if (deal.is_uneven) deal.total = 0;
  for (const Bytes count : entry.problem.counts) fits = fits && !__builtin_add_overflow(deal.total, count, &deal.total);
  passed_[static_cast<std::size_t>(entry.problem.operation)].deal = fits ? std::optional(deal) : std::nullopt;
}

[[gnu::always_inline]] inline execute::Ending Engine::perform(const Entry& entry, std::byte* input, std::byte* output,
                                                              const execute::Reducer* reducer) {
  switch (entry.kind) {
    case Entry::Kind::tiny: return execute::run_tiny(seat_, entry.problem, input, output, reducer, *means_.waiter);
    case Entry::Kind::program: return run_program(entry, {input, output}, reducer, true);
    case Entry::Kind::nothing: return {};
    case Entry::Kind::native: break;  // counted; the caller passes it on
  }
  return {};
}

execute::Ending Engine::attempt(Entry& entry, std::byte* input, std::byte* output, const execute::Reducer* reducer) {
  ++entry.calls;
  if (other_bytes_) [[unlikely]]
    return begin_other();
  return perform(entry, input, output, reducer);
}

execute::Ending Engine::begin_other() {
  seat_.begin_call();
  return {execute::Ending::other, *std::exchange(other_bytes_, std::nullopt)};
}

execute::Ending Engine::settle(const Entry& entry, std::byte* input, std::byte* output, Bytes room,
                               execute::Ending ending) {
  if (ending.kind == execute::Ending::other) ending = follow(entry.problem, ending.bytes, {input, output}, room);
  if (ending.kind == execute::Ending::broken) leave();
  return ending;
}

execute::Ending Engine::run_with_room(Entry& entry, std::byte* input, std::byte* output, Bytes room) {
  ++entry.calls;
  const execute::Ending ending =
      other_bytes_ ? begin_other()
                   : execute::run_tiny_with_room(seat_, entry.problem, input, output, *means_.waiter, room);
  return settle(entry, input, output, room, ending);
}

Engine::Outcome Engine::exchange(const plan::Problem& problem, std::byte* input, std::byte* output) {
  Entry& entry = prepare(problem);
  if (entry.kind == Entry::Kind::native || !supply(entry)) return Outcome::native;
  if (!std::exchange(other_bytes_, std::nullopt) && perform(entry, input, output, nullptr)) return Outcome::done;
  leave();
  return Outcome::broken;
}

void Engine::select(plan::Operation operation, std::optional<Selection> selection) {
  if (selected_ == nullptr) selected_ = std::make_unique<Selections>();
  (*selected_)[static_cast<std::size_t>(operation)] = std::move(selection);
  select_unknown(operation);
  passed_[static_cast<std::size_t>(operation)].deal.reset();
  cache_.forget(operation);
}

execute::UnevenOutcome Engine::run_uneven_blocks(const execute::UnevenKind& kind, const execute::UnevenCall& call) {
  const auto outcome = execute::run_uneven_blocks(seat_, kind, call, means_.single_copy.get(), *means_.waiter);
  if (outcome == execute::UnevenOutcome::broken) leave();
  if (outcome != execute::UnevenOutcome::too_long) ++unknown_[static_cast<std::size_t>(kind.operation)].calls;
  return outcome;
}

void Engine::report() {
  cache_.report();
  for (int i = 0; i < plan::operation_count; ++i) {
    const auto operation = static_cast<plan::Operation>(i);
    const auto at = static_cast<std::size_t>(i);
    statistics_.add_handled(operation, "tiny", std::exchange(unknown_[at].calls, 0));
    statistics_.add_native(operation, native_selected, std::exchange(passed_[at].calls, 0));
  }
}

void Engine::begin_messages(const plan::Problem& problem) {
  std::optional<execute::Statement> statement;
  if (is_one_sided(problem)) statement.emplace(seat_.call(), problem.bytes);
  means_.network->begin(statement);
}

execute::Ending Engine::run_program(const Entry& entry, const execute::Buffers& buffers,
                                    const execute::Reducer* reducer, bool may_follow) {
  const plan::Program& program = entry.program;
  const execute::Buffers all{buffers.input, buffers.output, scratch_.take(program.scratch_bytes)};
  if (means_.network) means_.network->reserve(program.slots);
  seat_.begin_call();
  for (std::uint32_t attempt = 0; !seat_.may_state(); ++attempt)
    if (seat_.has_leaver() || !means_.waiter->wait(attempt, seat_.missed_bell())) return {execute::Ending::broken};
  if (means_.network) begin_messages(entry.problem);
  execute::Environment environment{&seat_, means_.network.get(), means_.single_copy.get(), reducer, means_.meter.get()};
  environment.stated = entry.problem.bytes;
  if (!may_follow) seat_.vouch(entry.problem.bytes);
  if (means_.meter) means_.meter->begin(entry.problem);
  Dissent dissent(seat_, means_.network.get(), means_.topology, means_.me, entry.problem, may_follow);
  execute::Ending ending = execute::run_program(program, all, environment, *means_.waiter, &dissent);
  scratch_.trim();
  if (ending.kind == execute::Ending::truncated) ending = leave_call();
  return ending;
}

void Engine::leave() noexcept {
  if (std::exchange(is_broken_, true)) return;
  seat_.leave();
  seat_.leave_windows(true);
  if (means_.network) means_.network->abandon();
}

// Whoever waits for this rank is not to, and who asks whether it is still in the call is told that it is not. Messages
// that are under way for this call have nowhere to go: with several nodes this was the communicator's last one.
execute::Ending Engine::leave_call() {
  seat_.state(execute::Statement::has_left);
  if (seat_.board()) seat_.post(plan::Flag::done, 1);
  if (means_.network != nullptr) leave();
  return {execute::Ending::truncated};
}

// The call again, as who sends does it.
execute::Ending Engine::follow(const plan::Problem& problem, Bytes bytes, const execute::Buffers& buffers, Bytes room) {
  using execute::Ending;
  seat_.repeat_call();
  const bool gathers = problem.operation == plan::Operation::gather;
  const bool is_free = means_.network == nullptr || means_.network->withdraw();
  if (!(is_dealt(problem.operation) || gathers) || bytes > collectives::largest_result || !is_free) {
    seat_.begin_call();
    return leave_call();
  }
  plan::Problem other = problem;
  other.bytes = bytes;
  const auto blocks = gathers ? static_cast<Bytes>(means_.topology.ranks()) : 1;
  std::vector<std::byte> staged(blocks * bytes), own(gathers ? bytes : 0);
  const Bytes taken = std::min(bytes, room);
  if (gathers && problem.bytes > 0) std::memcpy(own.data(), buffers.input, std::min(bytes, problem.bytes));
  const Ending ending = perform_other(other, {own.data(), staged.data()});
  if (!ending) return ending;
  for (Bytes b = 0; b < blocks; ++b) std::memcpy(buffers.output + b * room, staged.data() + b * bytes, taken);
  return bytes > room ? Ending{Ending::truncated} : Ending{Ending::shorter, taken};
}

execute::Ending Engine::perform_other(const plan::Problem& problem, const execute::Buffers& buffers) {
  Entry entry;
  entry.problem = problem;
  try {
    choose(entry);
  } catch (const Error&) {  // then who sends has chosen something else, and not said so
    entry.kind = Entry::Kind::native;
  }
  if (entry.kind == Entry::Kind::native || !supply(entry)) {
    seat_.begin_call();
    return leave_call();
  }
  if (entry.kind == Entry::Kind::program) return run_program(entry, buffers, nullptr, false);
  const execute::Ending ending = perform(entry, buffers.input, buffers.output, nullptr);
  if (ending.kind != execute::Ending::other) return ending;
  return leave_call();
}

}  // namespace espalier::mpi
