#include "flows/fluid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace espalier::flows {

namespace {

/// A level that changes by less is not worth looking at others again. An all-to-all of 1024 ranks takes a third of the
/// time that it takes with SimGrid's 1e-5; of 129 kept plans the worst is off by 1e-4 (tests/simulation/golden.py).
constexpr double precision = 1e-3;
/// Sums of the same shares in another order.
constexpr double rounding = 1e-12;
/// Events as close as this happen at once, as in SimGrid.
constexpr double instant = 1e-9;

}  // namespace

Fluid::Fluid(std::span<const Link> links, double connection_rate)
    : connection_rate_(connection_rate), level_(links.size() + 1, never), nowhere_(static_cast<int>(links.size())) {
  for (const Link& link : links) {
    latency_.push_back(link.latency);
    is_shared_.push_back(link.is_shared);
    bound_.push_back(link.rate);
    links_.push_back({.rate = link.rate, .ends = {}, .flows = {}, .others = {}});
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

void Fluid::start(std::size_t name, std::span<const int> route, double bytes, double now, double most) {
  const int number = take_flow();
  Flow& it = flow(number);
  double latency = 0;
  if (connection_rate_ > 0) most = std::min(most, connection_rate_);
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
  it.is_moving = false;
  if (it.places.size() > width_ + 1) widen(it.places.size() - 1);
  flows_due_.set(number, now + latency);
}

void Fluid::widen(std::size_t width) {
  for (Shared& link : links_) {
    std::vector<int> wider(link.flows.size() * width, nowhere_);
    for (std::size_t index = 0; index < link.flows.size(); ++index)
      std::ranges::copy(others(link, index), wider.begin() + static_cast<std::ptrdiff_t>(index * width));
    link.others = std::move(wider);
  }
  width_ = width;
}

void Fluid::advance(std::vector<std::size_t>& ended) {
  now_ = next();
  while (flows_due_.first_time() <= now_ + instant) {
    const int number = flows_due_.first();
    if (flow(number).is_moving)
      end(number, ended);
    else
      enter(number);
  }
  while (links_due_.first_time() <= now_ + instant) {
    const int link = links_due_.first();
    end(shared(link).ends.top().flow, ended);
    expect_end(link);
  }
}

void Fluid::end(int number, std::vector<std::size_t>& ended) {
  ended.push_back(flow(number).name);
  leave(number);
}

void Fluid::enter(int number) {
  Flow& it = flow(number);
  flows_due_.remove(number);
  it.is_moving = true;
  for (std::uint32_t place = 0; place < it.places.size(); ++place) {
    Shared& link = at(it.places[place]);
    it.places[place].index = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({number, place, it.weight, it.most});
    for (const Place& other : it.places)
      if (other.link != it.places[place].link) link.others.push_back(other.link);
    link.others.resize(link.flows.size() * width_, nowhere_);
  }
  const Lowest lowest = find_lowest(it);
  hold(number, lowest.level < never ? lowest.link : nobody);
  for (const Place& place : it.places)
    if (level_at(place.link) < never || lowest.level == never)
      look_at(place.link);
    else
      load(place.link, it.weight * lowest.level);
}

void Fluid::leave(int number) {
  Flow& it = flow(number);
  const double level = find_lowest(it).level;
  hold(number, nobody);
  it.is_moving = false;
  free_.push_back(number);
  for (const Place& place : it.places) {
    Shared& link = at(place);
    if (level_at(place.link) == never) link.load -= it.weight * level;
    remove(link, place.index);
    if (link.flows.empty()) link.load = 0, level_[static_cast<std::size_t>(place.link)] = never;
    if (level_at(place.link) < never) look_at(place.link);
  }
}

/// The last takes the place of who leaves.
void Fluid::remove(Shared& link, std::uint32_t index) {
  const std::size_t end = link.flows.size() - 1;
  if (index < end) {
    const Member& last = link.flows[index] = link.flows[end];
    flow(last.flow).places[last.place].index = index;
    std::ranges::copy(others(link, end), link.others.begin() + static_cast<std::ptrdiff_t>(index * width_));
  }
  link.flows.pop_back();
  link.others.resize(link.flows.size() * width_);
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
  for (const int link : changed_) expect_end(link);
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
  for (std::size_t index = 0; index < link.flows.size(); ++index) {
    const double weight = link.flows[index].weight;
    limits_.push_back({find_limit(link, index), weight});
    weights += weight;
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
  link.load = link.rate - left;
  return never;
}

void Fluid::publish(int link, double level) {
  Shared& it = shared(link);
  it.moved = moved(link), it.since = now_;
  const double before = std::exchange(level_[static_cast<std::size_t>(link)], level);
  for (std::size_t index = 0; index < it.flows.size(); ++index) {
    const Lowest elsewhere = find_lowest(it, index);
    if (elsewhere.level < std::min(before, level)) continue;  // held there before and after
    const Member& member = it.flows[index];
    const double then = std::min(before, elsewhere.level), now = std::min(level, elsewhere.level);
    for (const int other : others(it, index)) {
      tell(other, member.weight, before, level, elsewhere);
      if (other < nowhere_ && level_at(other) == never)
        load(other, member.weight * ((now < never ? now : 0) - (then < never ? then : 0)));
    }
    if (elsewhere.level > std::max(before, level)) continue;  // held here before and after
    hold(member.flow, now == never ? nobody : level == now ? link : elsewhere.link);
    if (now == never)
      for (const int other : others(it, index))
        if (other < nowhere_) look_at(other);
  }
  note_change(link);
}

/// A link's new level changes what one of its flows may do: another link of that flow has so much more or less for its
/// others, unless the flow is bound there itself. It is looked at when that adds up to something. (One that has enough
/// for all hears of it in `load`, when that ends.)
void Fluid::tell(int other, double weight, double before, double after, const Lowest& elsewhere) {
  const double level = level_at(other);
  if (level == never) return;
  const double third = std::min(other == elsewhere.link ? elsewhere.second : elsewhere.level, level);
  Shared& link = links_[static_cast<std::size_t>(other)];
  link.unseen += weight * std::abs(std::min(after, third) - std::min(before, third));
  if (link.unseen > precision * link.rate) look_at(other);
}

/// The highest level that a link's flow may have elsewhere.
double Fluid::find_limit(const Shared& link, std::size_t index) const {
  double limit = link.flows[index].most;
  for (const int other : others(link, index)) limit = std::min(limit, level_at(other));
  return limit;
}

/// The same, and what holds it there.
Fluid::Lowest Fluid::find_lowest(const Shared& link, std::size_t index) const {
  Lowest lowest{link.flows[index].most, never, nowhere_};
  for (const int other : others(link, index)) {
    const double level = level_at(other);
    if (level < lowest.level)
      lowest = {level, lowest.level, other};
    else
      lowest.second = std::min(lowest.second, level);
  }
  return lowest;
}

/// All its links.
Fluid::Lowest Fluid::find_lowest(const Flow& flow) const {
  Lowest lowest{flow.most, never, nowhere_};
  for (const Place& place : flow.places)
    if (level_at(place.link) < lowest.level) lowest = {level_at(place.link), lowest.level, place.link};
  return lowest;
}

/// A link that has enough for all moves more, or less.
void Fluid::load(int link, double more) {
  Shared& it = shared(link);
  it.load += more;
  if (it.load > it.rate * (1 + precision)) look_at(link);
}

/// How far a link has moved what it holds.
double Fluid::moved(int link) const {
  const Shared& it = links_[static_cast<std::size_t>(link)];
  return level_at(link) < never ? it.moved + level_at(link) * (now_ - it.since) : it.moved;
}

double Fluid::left(const Flow& flow) const {
  if (flow.holder == nobody) return flow.left;
  const double left = flow.holder == nowhere_ ? flow.most * (flow.due - now_) : flow.due - moved(flow.holder);
  return flow.weight * std::max(0.0, left);
}

/// From now on a flow moves at the level of this link, or at its own bound (`nowhere_`), or not (`nobody`).
void Fluid::hold(int number, int holder) {
  Flow& it = flow(number);
  if (it.holder == holder) return;
  it.left = left(it);
  if (it.holder == nowhere_) flows_due_.remove(number);
  if (it.holder != nowhere_ && it.holder != nobody) note_change(it.holder);
  it.holder = holder;
  ++it.turn;
  if (holder == nobody) return;
  if (holder == nowhere_) {
    it.due = now_ + it.left / (it.weight * it.most);
    flows_due_.set(number, it.due);
  } else {
    it.due = moved(holder) + it.left / it.weight;
    shared(holder).ends.push({it.due, number, it.turn});
    note_change(holder);
  }
}

void Fluid::note_change(int link) {
  if (!std::exchange(shared(link).is_changed, true)) changed_.push_back(link);
}

void Fluid::expect_end(int link) {
  Shared& it = shared(link);
  it.is_changed = false;
  const auto is_over = [&](const End& end) { return flow(end.flow).turn != end.turn; };
  while (!it.ends.empty() && is_over(it.ends.top())) it.ends.pop();
  const bool is_idle = it.ends.empty() || level_at(link) == never;
  links_due_.set(link, is_idle ? never : now_ + std::max(0.0, it.ends.top().due - moved(link)) / level_at(link));
}

}  // namespace espalier::flows
