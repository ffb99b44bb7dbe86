#include "mpi/run/learner.hpp"

#include <bit>
#include <utility>

namespace espalier::mpi {

SizeClass sizes_like(Bytes bytes) {
  if (bytes <= 1) return {bytes, bytes};
  const Bytes last = std::bit_ceil(bytes);
  return {last / 2 + 1, last};
}

Learner::Key Learner::key_of(const plan::Problem& problem) {
  return {problem.operation, sizes_like(problem.bytes).last, problem.depends_on_order};
}

Study* Learner::find(const plan::Problem& problem) {
  const auto place = studies_.find(key_of(problem));
  return place == studies_.end() ? nullptr : place->second.get();
}

Study& Learner::begin(const plan::Problem& problem, std::vector<Selection> contenders) {
  if (contenders.size() > learn::Contest::most_contenders)
    contenders.erase(contenders.begin() + learn::Contest::most_contenders - 1, contenders.end() - 1);
  learn::Contest contest(static_cast<int>(contenders.size()), 0);
  auto& place = studies_[key_of(problem)];
  place.reset(new Study{problem.operation, sizes_like(problem.bytes), std::move(contenders), std::move(contest)});
  return *place;
}

void Learner::stop(std::int64_t now) noexcept {
  const std::int64_t origin = timed_->origin;
  std::exchange(timed_, nullptr)->contest.note({came_ - origin, now - origin});
}

}  // namespace espalier::mpi
