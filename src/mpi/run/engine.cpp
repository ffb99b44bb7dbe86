#include "mpi/run/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "mpi/run/dissent.hpp"
#include "mpi/run/hearing.hpp"

namespace espalier::mpi {
namespace {

constexpr const char* memory_is_short =
    "shared memory is short: raise ESPALIER_SHM_LIMIT, or the memory limit of the node's jobs";

/// What others see while ranks get together what a call needs.
class Getting {
 public:
  Getting(Watch* watch, const plan::Call& call) : watch_(watch) {
    if (watch_ != nullptr) watch_->begin_left(execute::LeftToMpi::Doing::preparation, call);
  }
  ~Getting() {
    if (watch_ != nullptr) watch_->end_left();
  }
  Getting(const Getting&) = delete;
  Getting& operator=(const Getting&) = delete;

 private:
  Watch* watch_;
};

}  // namespace

Engine::Engine(Means means, const Policy& policy, CacheBudget& budget, Statistics& statistics)
    : budget_(budget),
      means_(std::move(means)),
      decider_({means_.topology, means_.table, means_.transport, means_.me}, policy),
      statistics_(statistics),
      supplied_(means_.supplies == nullptr ? all_needs : no_needs),
      seat_(means_.board, LocalRank(means_.topology.local_rank(means_.me)), means_.rings, means_.windows),
      cache_(budget, statistics),
      until_look_(policy.learning.check_after),
      looks_after_(until_look_) {
  if (means_.watch != nullptr) means_.watch->follow(*this);
  if (policy.learning.means == Learning::on && means_.meter == nullptr && means_.topology.ranks() > 1)
    learner_ = std::make_unique<Learner>(policy.learning.budget, means_.topology.nodes() == 1);
  if (learner_ != nullptr) looks_after_ = until_look_ = std::min(until_look_, learner_->until_look());
}

Engine::~Engine() {
  for (std::uint32_t attempt = 0; !seat_.leave_windows(is_broken_);)
    is_broken_ = !means_.waiter->wait(attempt, nullptr);
}

bool Engine::supply_slowly(Entry& entry) {
  const plan::Problem& problem = entry.problem;
  const Getting shown(means_.watch.get(), ToldAs::told(problem));
  if (entry.fits_short_rings) {
    if ((denied_ & long_rings) != 0) entry.needs = no_needs;
    if (seat_.call() + 1 >= means_.calls_in_use) get(long_rings, false);
    return true;
  }
  // What was denied before is not asked for, so nobody is heard either: only asking makes sure that all have heard what
  // was said. Else who is slow would hear what is said in the next call.
  if ((entry.needs & denied_) == 0) {
    if (differs_from_senders(entry.problem)) return true;
    if (get(entry.needs, true)) return true;
    end_hearing(seat_);
  }
  entry.kind = Entry::Kind::native;
  entry.label = memory_is_short;
  entry.stop_showing();
  return false;
}

// Supplies are asked for by all ranks together, hence only by ranks that are sure to do the same: all hear first what
// those send who name the size. Who only has room will do as they do; where they differ themselves, the call ends.
bool Engine::differs_from_senders(const plan::Problem& problem) {
  if (means_.topology.nodes() > 1) return false;
  const bool is_root = means_.me == problem.root;
  const std::optional<Bytes> theirs = hear_senders(seat_, *means_.waiter, problem, is_root, true);
  if (!theirs) return false;
  const bool sends = !is_one_sided(problem) || is_root == is_dealt(problem.operation);
  other_bytes_ = sends ? execute::Statement::has_left : *theirs;
  return true;
}

bool Engine::supply_uneven_slowly(plan::Operation operation, int root) {
  const Getting shown(means_.watch.get(), ToldAs::told_uneven(operation, root));
  if (get(all_needs, true)) return true;
  decider_.give_up_uneven();
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
  if (!has_all && is_needed) decider_.tell("some calls stay native: " + std::string(memory_is_short));
  return has_all;
}

plan::Call Engine::call_at_hand() const noexcept {
  const Entry* const entry = cache_.latest();
  if (uneven_kind_ != nullptr) return ToldAs::told_uneven(uneven_kind_->operation, uneven_call_->root.value);
  return entry == nullptr ? plan::Call() : ToldAs::told(entry->problem);
}

std::string Engine::describe(const plan::Problem& problem, bool may_wait) {
  std::optional<Entry> foreseen;
  if (!problem.counts.empty() && may_wait) foreseen = decider_.foresee_uneven(problem);
  const Entry& entry = foreseen ? *foreseen : may_wait ? find(problem) : prepare_run(problem);
  const std::string said = entry.lesson != nullptr                    ? "is being learned"
                           : entry.is_learned && entry.origin.empty() ? "learned by this job"
                                                                      : entry.origin;
  return (entry.kind == Entry::Kind::native ? "native: " : "") + entry.label + (said.empty() ? "" : " (" + said + ")");
}

Entry& Engine::prepare_run(const plan::Problem& problem) {
  if (runs_ == nullptr) runs_ = std::make_unique<ProgramCache>(budget_, statistics_, runs_form_);
  Entry* const known = runs_->find(problem);
  return known != nullptr ? *known : decide(problem, *runs_, false);
}

std::optional<bool> Engine::supply_runs() {
  if ((supplied_ & windows) != 0) return true;
  if ((denied_ & windows) != 0) return false;
  if (!asks_for_windows_) {
    using Doing = execute::LeftToMpi::Doing;
    if (means_.watch != nullptr) means_.watch->begin_left(Doing::run_preparation);
    means_.supplies->ask_for_windows();
  }
  const std::optional<bool> answer = means_.supplies->find_windows();
  if (answer && means_.watch != nullptr) means_.watch->end_left();
  asks_for_windows_ = !answer;
  if (answer) (*answer ? supplied_ : denied_) |= windows;
  if (answer == false) decider_.tell("nonblocking calls stay native: " + std::string(memory_is_short));
  return answer;
}

Entry& Engine::decide(const plan::Problem& problem, ProgramCache& cache, bool may_wait) {
  Entry entry;
  entry.problem = problem;
  try {
    decider_.choose(entry, may_wait);
  } catch (const Error& error) {  // building is pure, so this happens to all ranks alike
    entry.kind = Entry::Kind::native;
    entry.label = error.what();
    entry.is_doubted = false;
    decider_.tell(std::string(plan::name(problem.operation)) + " of " + format_bytes(problem.bytes) +
                  " stays native: " + entry.label);
  }
  Entry& added = cache.add(std::move(entry));
  if (&cache != &cache_) return added;
  if (learner_ != nullptr) begin_lesson(added);
  open(added);
  return added;
}

// Rows are about a mean, so that calls with equal sums are alike; a sum that does not fit is none.
void Engine::pass_on(Entry& entry) {
  ++entry.calls;
  if (!entry.is_passed_on) return;
  Deal deal{0, !entry.problem.counts.empty()};
  bool fits = !__builtin_mul_overflow(entry.problem.bytes, static_cast<Bytes>(means_.topology.ranks()), &deal.total);
  if (deal.is_uneven) deal.total = 0;
  for (const Bytes count : entry.problem.counts) fits = fits && !__builtin_add_overflow(deal.total, count, &deal.total);
  if (passed_ == nullptr) passed_ = std::make_unique<PassedOperations>();
  (*passed_)[static_cast<std::size_t>(entry.problem.operation)].deal = fits ? std::optional(deal) : std::nullopt;
}
void Engine::select(plan::Operation operation, std::optional<Selection> selection) {
  decider_.select(operation, std::move(selection));
  if (passed_ != nullptr) (*passed_)[static_cast<std::size_t>(operation)].deal.reset();
  cache_.forget(operation);
  if (runs_) runs_->forget(operation);
}
void Engine::report() {
  cache_.report();
  if (runs_) runs_->report();
  if (learner_) statistics_.add_learned(learner_->take_summary());
  for (std::size_t i = 0; i < uneven_calls_.size(); ++i)
    statistics_.add_handled(Decider::uneven_operations[i], "tiny", std::exchange(uneven_calls_[i], 0));
  for (std::size_t i = 0; passed_ != nullptr && i < passed_->size(); ++i)
    statistics_.add_native(static_cast<plan::Operation>(i), native_selected, std::exchange((*passed_)[i].calls, 0));
}
}  // namespace espalier::mpi
