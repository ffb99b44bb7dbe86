#include "learn/contest.hpp"

#include <algorithm>
#include <utility>

namespace espalier::learn {
namespace {

// The first calls come with set-up, cold caches and connections that are not there yet.
constexpr int usual_calls = 4;
// Whose calls are long is looked at twice, others more often: a short call that was disturbed says nothing, and
// libraries warm up (Intel MPI's broadcast of 256K between two ranks: nine calls of 200 us, then 11 each).
constexpr int looks = 2, looks_at_short = 12, looks_at_others = 4;
constexpr double short_call_us = 20;

// How far behind the best a contender may be after its first looks, of which the best counts.
constexpr double hopeless = 2;
// Later it has to be behind by so much, and by so many standard deviations of the rank sum.
constexpr double worse = 1.03, certainly = 2.5;
// Who is behind by this much after a stage of rounds goes, however the times scatter.
constexpr double much_worse = 1.3;

// Stages of rounds before the rest counts as equal.
constexpr int most_stages = 4;
constexpr int first_rounds = 8, later_rounds = 16;

// After a change of hands caches hold the other's memory. Where calls take long that does not matter, and a call that
// does not count would be wasted.
constexpr double long_call_us = 200;

// What nothing is known of is supposed to take twice as long as the best.
constexpr double unknown_price = 1;

// Scatter apart, a neighbour who came or went, a link that is shared now.
constexpr double jump = 1.5;

}  // namespace

void Contest::admit(int contenders) {
  contenders_.resize(static_cast<std::size_t>(std::clamp(contenders, 1, most_contenders)));
  if (contenders < 2) settle();
}

Turn Contest::next() {
  ++calls_;
  if (gap_ > 0) {
    --gap_;
    return {best_, false};
  }
  const Turn turn = turns_[at_++];
  if (turn.is_timed) samples_.push_back({});
  return turn;
}

Finding Contest::finding(int contender) const {
  const Contender& it = at(contender);
  const double error = it.was_in_rounds ? derive_error(it.times) : derive_gap(it.times);
  return {time_of(contender), error, static_cast<int>(it.times.size()), it.is_out};
}

// Of looks the best, of rounds the median.
double Contest::time_of(int contender) const {
  const std::vector<double>& times = at(contender).times;
  if (times.empty()) return 0;
  return at(contender).was_in_rounds ? median(times) : *std::min_element(times.begin(), times.end());
}

void Contest::check_again() {
  if (!is_settled_ || contenders() < 2 || time_of(best_) == 0) return;
  is_settled_ = false;
  is_check_ = true;
  usual_ = best_;
  plan_usual();
}

bool Contest::has_jumped(std::span<const double> times) const {
  const double now = median({times.begin(), times.end()}), before = time_of(best_);
  return now > before * jump || now * jump < before;
}

void Contest::begin_anew() {
  for (Contender& it : contenders_) it = {};
  rounds_done_ = 0;
}

void Contest::agree(std::span<const double> times, Purse& purse) {
  if (const double expected = std::exchange(expected_us_, 0); expected > 0) {
    if (median({times.begin(), times.end()}) * jump >= expected) return settle();
    return plan_usual();
  }
  if (std::exchange(is_check_, false)) {
    if (!has_jumped(times)) return settle();
    begin_anew();
  }
  take(times, purse);
  find_best();
  pay(purse);
  if (!wants_more_looks()) eliminate();
  if (is_over()) return settle();
  plan_next(purse);
}

void Contest::take(std::span<const double> times, Purse& purse) {
  // What each stage measures another way is not mixed; rounds add up.
  if (rounds_done_ == 0)
    for (Contender& it : contenders_)
      if (!it.is_out) it.times.clear();
  std::size_t i = 0;
  for (const Turn& turn : turns_) {
    if (!turn.is_timed || i == times.size()) continue;
    at(turn.contender).times.push_back(times[i]);
    at(turn.contender).was_in_rounds = stage_ == Stage::rounds;
    purse.earn(times[i++]);
  }
  purse.earn(gap_us_);
  if (stage_ == Stage::rounds) ++rounds_done_;
  samples_.clear();
}

// The usual one stays as long as nobody is better by more than times scatter: what is changed without need may be
// worse in other calls.
void Contest::find_best() {
  int fastest = best_;
  for (int c = 0; c < contenders(); ++c)
    if (!at(c).is_out && time_of(c) > 0 && time_of(c) < time_of(fastest)) fastest = c;
  if (!at(usual_).is_out && time_of(usual_) <= worse * time_of(fastest)) fastest = usual_;
  best_ = fastest;
}

void Contest::pay(Purse& purse) {
  const double best = time_of(best_);
  for (const Turn& turn : turns_) purse.spend(std::max(0.0, time_of(turn.contender) - best));
}

void Contest::eliminate() {
  if (stage_ == Stage::usual) return;
  const double best = time_of(best_);
  for (int c = 0; c < contenders(); ++c) {
    if (c == best_ || at(c).is_out) continue;
    const double ratio = time_of(c) / best;
    if (stage_ == Stage::looks)
      at(c).is_out = ratio > hopeless;
    else
      at(c).is_out =
          ratio > much_worse || (ratio > worse && derive_certainty(at(best_).times, at(c).times) > certainly);
  }
}

int Contest::count_left() const {
  return static_cast<int>(
      std::count_if(contenders_.begin(), contenders_.end(), [](const Contender& it) { return !it.is_out; }));
}

bool Contest::is_over() const { return count_left() == 1 || rounds_done_ == most_stages; }

void Contest::plan_next(const Purse& purse) {
  const double best = time_of(best_);
  if (stage_ == Stage::usual || wants_more_looks())
    plan_looks();
  else
    plan_rounds();
  at_ = 0;
  constexpr double most_gap = 1e9;
  const double gap = std::min(most_gap, purse.calls_until(price(best * unknown_price), best));
  gap_ = static_cast<std::uint64_t>(gap);
  gap_us_ = gap * best;
}

void Contest::plan_usual() {
  stage_ = Stage::usual;
  turns_.clear();
  for (int call = 0; call < usual_calls; ++call) turns_.push_back({usual_, call > 0});
  at_ = 0;
  samples_.clear();
}

int Contest::count_looks() const {
  const double best = time_of(best_);
  if (best < short_call_us) return std::min(looks_at_short, most_samples / contenders());
  return best < long_call_us ? looks_at_others : looks;
}

// The usual one's first calls, by which looks were counted, may have been slow for being the first.
bool Contest::wants_more_looks() const { return stage_ == Stage::looks && count_looks() > looks_; }

void Contest::plan_looks() {
  looks_ = count_looks();
  stage_ = Stage::looks;
  turns_.clear();
  for (int c = 0; c < contenders(); ++c)
    for (int look = 0; look < looks_; ++look) turns_.push_back({c, true});
}

// Each round begins with another contender, so that none comes always after the same one.
void Contest::plan_rounds() {
  stage_ = Stage::rounds;
  turns_.clear();
  std::vector<int> left;
  for (int c = 0; c < contenders(); ++c)
    if (!at(c).is_out) left.push_back(c);
  const bool warms_up = time_of(best_) < long_call_us;
  const int wanted = rounds_done_ == 0 ? first_rounds : later_rounds;
  const int rounds = std::min(wanted, most_samples / static_cast<int>(left.size()));
  for (int round = 0; round < rounds; ++round) {
    for (const int c : left) {
      if (warms_up) turns_.push_back({c, false});
      turns_.push_back({c, true});
    }
    std::rotate(left.begin(), left.begin() + 1, left.end());
  }
}

// What the planned stage will lose against the best.
double Contest::price(double unknown) const {
  double sum = 0;
  for (const Turn& turn : turns_) {
    const double time = time_of(turn.contender);
    sum += time > 0 ? std::max(0.0, time - time_of(best_)) : unknown;
  }
  return sum;
}

}  // namespace espalier::learn
