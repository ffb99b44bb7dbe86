#include "simulate/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace espalier::simulate {

namespace {

/// A level that changes by less is not worth looking at others again. An all-to-all of 1024 ranks takes a third of the
/// time that it takes with SimGrid's 1e-5; of 129 kept plans the worst is off by 1e-4 (tests/simulation/golden.py).
constexpr double precision = 1e-3;
/// Sums of the same shares in another order.
constexpr double rounding = 1e-12;
/// Events as close as this happen at once, as in SimGrid.
constexpr double instant = 1e-9;

}  // namespace

Fluid::Fluid(const std::vector<Link>& links, double connection_rate) : connection_rate_(connection_rate) {
  for (const Link& link : links) {
    latency_.push_back(link.latency);
    is_shared_.push_back(link.is_shared);
    bound_.push_back(link.rate);
    links_.push_back({.rate = link.rate, .flows = {}});
    level_.push_back(never);
  }
}

int Fluid::take_flow() {
  if (free_.empty()) {
    flows_.emplace_back();
    return static_cast<int>(flows_.size()) - 1;
  }
  const int number = free_.back();
  free_.pop_back();
  return number;
}

void Fluid::start(std::size_t name, std::span<const int> route, double bytes, double now) {
  const int number = take_flow();
  Flow& it = flow(number);
  double latency = 0, most = connection_rate_ > 0 ? connection_rate_ : never;
  it.places.clear();
  for (const int link : route) {
    const auto index = static_cast<std::size_t>(link);
    latency += latency_[index];
    if (is_shared_[index])
      it.places.push_back({link, 0});
    else
      most = std::min(most, bound_[index]);
  }
  it.name = name;
  it.weight = latency > 0 ? 1 / latency : 1;
  it.most = most / it.weight;
  it.left = bytes;
  it.rate = it.level = 0;
  it.end = it.alarm = never;
  it.is_moving = false;
  queue(number, now + latency);
}

/// An event that comes too early does no harm: it is queued again. So only those that come earlier are queued anew.
void Fluid::queue(int number, double when) {
  Flow& it = flow(number);
  it.end = when;
  if (when >= it.alarm) return;
  it.alarm = when;
  events_.push({when, number});
}

double Fluid::next() {
  settle();
  while (!events_.empty()) {
    const auto [when, number] = events_.top();
    Flow& it = flow(number);
    if (when == it.end) return when;
    events_.pop();
    if (when != it.alarm) continue;  // an earlier one has been queued since, and has come
    it.alarm = never;
    if (it.end != never) queue(number, it.end);
  }
  return never;
}

void Fluid::advance(std::vector<std::size_t>& ended) {
  now_ = next();
  for (double when = now_; when <= now_ + instant; when = events_.empty() ? never : events_.top().first) {
    const int number = events_.top().second;
    Flow& it = flow(number);
    events_.pop();
    if (when != it.alarm) continue;
    it.alarm = never;
    if (it.end > now_ + instant) {
      if (it.end != never) queue(number, it.end);
    } else if (!it.is_moving) {
      enter(number);
    } else {
      ended.push_back(it.name);
      leave(number);
    }
  }
}

void Fluid::enter(int number) {
  Flow& it = flow(number);
  it.is_moving = true;
  it.since = now_;
  it.end = never;
  for (std::uint32_t place = 0; place < it.places.size(); ++place) {
    Shared& link = at(it.places[place]);
    it.places[place].index = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({number, place});
  }
  set_level(number, find_lowest(it, -1).level);
  for (const Place& place : it.places)
    if (level_at(place.link) < never) look_at(place.link);
}

void Fluid::leave(int number) {
  Flow& it = flow(number);
  for (const Place& place : it.places) {
    Shared& link = at(place);
    link.load -= it.weight * it.level;
    link.flows[place.index] = link.flows.back();
    const Member& moved = link.flows[place.index];
    flow(moved.flow).places[moved.place].index = place.index;
    link.flows.pop_back();
    if (link.flows.empty()) link.load = 0, level_[static_cast<std::size_t>(place.link)] = never;
    if (level_at(place.link) < never) look_at(place.link);
  }
  it.end = it.alarm = never;
  it.is_moving = false;
  free_.push_back(number);
}

void Fluid::look_at(int link) {
  Shared& it = links_[static_cast<std::size_t>(link)];
  if (it.is_waiting) return;
  it.is_waiting = true;
  waiting_.push(link);
}

/// Until no link has anything to say. The lowest level of all is right after its link's first turn, then the second
/// lowest, and so on: so this ends, whatever the order of turns.
void Fluid::settle() {
  while (!waiting_.empty()) {
    const int link = waiting_.front();
    waiting_.pop();
    links_[static_cast<std::size_t>(link)].is_waiting = false;
    share(link);
  }
  for (const int number : changed_) set_rate(number);
  changed_.clear();
}

void Fluid::share(int link) {
  const double level = fair_level(link), before = level_at(link);
  if (level == before) return;
  if (before == never || std::abs(level - before) > precision * before) publish(link, level);
}

/// Flows that cannot use an equal share leave what they don't use to the others, again and again.
double Fluid::fair_level(int number) {
  Shared& link = links_[static_cast<std::size_t>(number)];
  link.unseen = 0;
  limits_.clear();
  double weights = 0, left = link.rate;
  for (const Member& member : link.flows) {
    const Flow& it = flow(member.flow);
    limits_.push_back({find_lowest(it, number).level, it.weight});
    weights += it.weight;
  }
  while (!limits_.empty()) {
    const double level = left / weights;
    std::size_t kept = 0;
    for (const auto& [limit, weight] : limits_)
      if (limit < level * (1 - rounding))
        left -= weight * limit, weights -= weight;
      else
        limits_[kept++] = {limit, weight};
    if (kept == limits_.size()) return level;
    limits_.resize(kept);
  }
  return never;
}

void Fluid::publish(int link, double level) {
  const double before = std::exchange(level_[static_cast<std::size_t>(link)], level);
  for (const Member& member : links_[static_cast<std::size_t>(link)].flows) {
    const Flow& moving = flow(member.flow);
    const Lowest elsewhere = find_lowest(moving, link);
    if (elsewhere.level < std::min(before, level)) continue;  // bound there before and after
    for (const Place& other : moving.places)
      if (other.link != link) tell(other.link, moving.weight, before, level, elsewhere);
    set_level(member.flow, std::min(level, elsewhere.level));
  }
}

/// A link's new level changes what one of its flows may do: another link of that flow has so much more or less for its
/// others, unless the flow is bound there itself. It is looked at when that adds up to something. (One that has enough
/// for all hears of it in set_level, when that ends.)
void Fluid::tell(int other, double weight, double before, double after, const Lowest& elsewhere) {
  const double level = level_at(other);
  if (level == never) return;
  const double third = std::min(other == elsewhere.link ? elsewhere.second : elsewhere.level, level);
  Shared& link = links_[static_cast<std::size_t>(other)];
  link.unseen += weight * std::abs(std::min(after, third) - std::min(before, third));
  if (link.unseen > precision * link.rate) look_at(other);
}

Fluid::Lowest Fluid::find_lowest(const Flow& flow, int without) const {
  Lowest lowest{flow.most, never, -1};
  for (const Place& place : flow.places) {
    if (place.link == without) continue;
    const double level = level_at(place.link);
    if (level < lowest.level)
      lowest = {level, lowest.level, place.link};
    else
      lowest.second = std::min(lowest.second, level);
  }
  return lowest;
}

void Fluid::set_level(int number, double level) {
  Flow& it = flow(number);
  if (level == never) {  // nothing bounds it yet: each of its links will
    for (const Place& place : it.places) look_at(place.link);
    return;
  }
  if (level == it.level) return;
  const double more = it.weight * (level - it.level);
  it.level = level;
  for (const Place& place : it.places) {
    Shared& link = at(place);
    link.load += more;
    if (level_at(place.link) == never && link.load > link.rate * (1 + precision)) look_at(place.link);
  }
  if (!std::exchange(it.is_changed, true)) changed_.push_back(number);
}

void Fluid::set_rate(int number) {
  Flow& it = flow(number);
  it.is_changed = false;
  if (!it.is_moving) return;
  it.left = std::max(0.0, it.left - it.rate * (now_ - it.since));
  it.since = now_;
  it.rate = it.weight * it.level;
  queue(number, now_ + it.left / it.rate);
}

}  // namespace espalier::simulate
