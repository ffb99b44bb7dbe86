#include "mpi/run/learning/learner.hpp"

#include "mpi/decide/contenders.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace espalier::mpi {
namespace {

// What a contest loses in all, in calls of the best: a dozen looks at each of five that are twice as slow, and rounds
// of who is nearly as good.
constexpr double contest_calls = 80;
// What it costs to see whether a finding holds: an exchange, and calls that are looked up each time.
constexpr double check_calls = 10;

/// Calls of which `calls` are no more than the budget.
std::uint64_t calls_for(double calls, double budget) {
  constexpr std::uint64_t never = std::uint64_t{1} << 62;
  return budget <= 0 ? never : static_cast<std::uint64_t>(std::ceil(calls / budget));
}

learn::Finding find_native(const Study& study) {
  for (std::size_t c = 0; c < study.contenders.size(); ++c)
    if (study.contenders[c].kind == Selection::Kind::native) return study.contest.finding(static_cast<int>(c));
  return {};
}

/// The ratio's range is that in which 95 of 100 such ratios lie, as far as the times tell.
tune::Measured compare(Bytes bytes, const learn::Finding& native, const learn::Finding& best) {
  constexpr double standard_errors = 2;
  const double ratio = native.us / best.us;
  const double error = standard_errors * std::hypot(native.error_us / native.us, best.error_us / best.us);
  return {bytes, native.us, best.us, ratio / (1 + error), ratio * (1 + error), best.calls};
}

}  // namespace

SizeClass sizes_like(Bytes bytes) {
  if (bytes <= 1) return {bytes, bytes};
  const Bytes last = std::bit_ceil(bytes);
  return {last / 2 + 1, last};
}

Learner::Learner(double budget, bool share_clock)
    : budget_(budget), purse_(budget), share_clock_(share_clock), until_look_(calls_for(2 * check_calls, budget)) {
  for (const plan::Operation operation : doubtful_operations) doubtful_ |= 1U << static_cast<int>(operation);
}

std::optional<std::uint64_t> Learner::witness(plan::Operation operation, Bytes bytes) {
  constexpr int enough_calls = 32;
  constexpr std::uint64_t spread = 0x9e37'79b9'7f4a'7c15;
  const auto place = std::find(doubtful_operations.begin(), doubtful_operations.end(), operation);
  Witnessed& it = witnessed_[static_cast<std::size_t>(place - doubtful_operations.begin())];
  it.hash = (it.hash ^ (bytes + 1)) * spread;
  return ++it.calls == enough_calls ? std::optional(it.hash) : std::nullopt;
}

void Learner::settle_doubts(plan::Operation operation, bool are_alike) {
  const std::uint32_t bit = 1U << static_cast<int>(operation);
  doubtful_ &= ~bit;
  if (!are_alike) refused_ |= bit;
}

Learner::Key Learner::key_of(const plan::Problem& problem) {
  return {problem.operation, sizes_like(problem.bytes).last, !problem.counts.empty(), problem.depends_on_order};
}

const Study* Learner::find(const plan::Problem& problem) const {
  const auto place = studies_.find(key_of(problem));
  return place == studies_.end() ? nullptr : place->second.get();
}

Study& Learner::begin(const plan::Problem& problem) {
  auto& place = studies_[key_of(problem)];
  if (place != nullptr) return *place;
  place = std::make_unique<Study>(Study{problem.operation, sizes_like(problem.bytes), !problem.counts.empty(), {}, {}});
  return *place;
}

std::uint64_t Learner::until_look() {
  const std::uint64_t most = calls_for(2 * contest_calls, budget_);
  return std::exchange(until_look_, std::min(2 * until_look_, most));
}

std::vector<plan::Problem> Learner::find_earners(std::span<const Followed> followed) const {
  std::map<Key, Followed> kinds;
  for (const auto& [problem, calls, is_doubted] : followed)
    kinds.try_emplace(key_of(*problem), problem, 0, is_doubted).first->second.calls += calls;
  std::vector<plan::Problem> found;
  for (const auto& [key, it] : kinds)
    if (static_cast<double>(it.calls) * budget_ >= (it.is_doubted ? contest_calls : check_calls))
      found.push_back(*it.problem);
  return found;
}

void Learner::admit(Study& study, std::vector<Selection> contenders) {
  if (contenders.size() > learn::Contest::most_contenders)
    contenders.erase(contenders.begin() + learn::Contest::most_contenders - 1, contenders.end() - 1);
  study.contest.admit(static_cast<int>(contenders.size()));
  study.contenders = std::move(contenders);
}

LearnedAbout Learner::take_summary() {
  LearnedAbout now{0, 0, purse_.spent()};
  for_each([&](const Study& study) {
    now.kinds += study.contenders.size() > 1;
    now.settled += study.contenders.size() > 1 && study.contest.is_settled();
  });
  const LearnedAbout before = std::exchange(told_, now);
  return {now.kinds - before.kinds, now.settled - before.settled, now.spent_us - before.spent_us};
}

std::optional<tune::Row> derive_row(const Study& study, const topology::Topology& topology, Transport transport) {
  constexpr int least_calls = 6;  // what two looks say is not worth keeping
  const learn::Contest& contest = study.contest;
  const learn::Finding best = contest.finding(contest.best());
  const learn::Finding native = find_native(study);
  if (study.contenders.empty() || best.calls < 2 || native.calls == 0) return std::nullopt;
  if (!contest.is_settled() && best.calls < least_calls) return std::nullopt;
  tune::Row row;
  row.operation = study.operation;
  row.nodes = {topology.nodes(), topology.nodes()};
  row.ppn = {topology.largest_node(), topology.largest_node()};
  row.bytes = {study.sizes.first, study.sizes.last};
  row.uneven = study.is_uneven;
  row.transport = topology.nodes() == 1 ? Transport::mpi : transport;
  row.selection = to_string(study.contenders[static_cast<std::size_t>(contest.best())]);
  row.measured = compare(study.sizes.last, native, best);
  row.is_learned = true;
  return row;
}

void Learner::stop(std::int64_t now) noexcept {
  const std::int64_t origin = share_clock_ ? 0 : came_;
  std::exchange(timed_, nullptr)->contest.note({came_ - origin, now - origin});
}

}  // namespace espalier::mpi
