#include "simulate/nodes/flag_lines.hpp"

#include <algorithm>

namespace espalier::simulate {
namespace {

/// Between one look and the next: of a loop over all flags (a load, a comparison, a branch, on a core of 3 GHz), or by
/// way of the interpreter's next step or the next line of a short message.
constexpr double in_loop = 0.002, in_steps = 0.01;

std::uint64_t key(int reader, int owner, plan::Flag flag) {
  return (static_cast<std::uint64_t>(reader) << 32 | static_cast<std::uint64_t>(owner) << 2) |
         static_cast<std::uint64_t>(flag);
}

std::uint64_t stamp(int call, std::uint64_t tick) { return static_cast<std::uint64_t>(call) << plan::tick_bits | tick; }

}  // namespace

void FlagLines::begin_call(int call) {
  call_ = call;
  lines_.clear();
}

void FlagLines::raise(int owner, const plan::Step& step, double when) {
  lines_[{owner, static_cast<int>(step.flag())}].raised.push_back({when, step.tick()});
}

double FlagLines::see(const Seat& reader, const Seat& owner, const plan::Step& step, double raised, double when,
                      Ahead& ahead) {
  const int of_call = call_ - static_cast<int>(step.calls_back());
  if (of_call < 0) return when;
  std::uint64_t& seen = seen_[key(reader.rank, owner.rank, step.flag())];
  if (seen >= stamp(of_call, step.tick())) return when;
  const bool is_loop = step.op() == plan::Op::await_all;
  const int instructions = is_loop ? Ahead::per_look : are_single_ ? Ahead::per_line : Ahead::per_step;
  const double asked =
      ahead.ask(when, is_loop ? in_loop : in_steps, instructions, static_cast<std::size_t>(platform_.lines));
  const double start = std::max(asked, raised);
  Line& line = lines_[{owner.rank, static_cast<int>(step.flag())}];
  const bool is_old = step.calls_back() > 0;
  const std::uint64_t tick = is_old ? 0 : version(line, step.tick(), start);
  const double done = fetch(line, reader, owner, tick, start);
  seen = is_old ? stamp(call_ - 1, step.tick()) : stamp(call_, tick);
  ahead.note(asked, done, instructions, start > asked);
  return std::max(when, done);
}

double FlagLines::fetch(Line& line, const Seat& reader, const Seat& owner, std::uint64_t tick, double start) const {
  const auto mine = static_cast<std::size_t>(reader.cache);
  const auto copy = std::ranges::find(line.copies, reader.cache, &Copy::cache);
  if (copy != line.copies.end() && copy->tick >= tick && reader.cache != owner.cache) {
    const double served = std::max({start, copy->since, copy->free});
    copy->free = served + platform_.service;
    return served + platform_.handover[mine][mine];
  }
  const double served = std::max(start, line.free);
  line.free = served + platform_.service;
  const double done = served + platform_.handover[static_cast<std::size_t>(owner.cache)][mine];
  const Copy now{reader.cache, tick, done, done};
  if (copy != line.copies.end())
    *copy = now;
  else
    line.copies.push_back(now);
  return done;
}

/// What stands in a line at a time: whoever fetches it for one tick sees later ones, too.
std::uint64_t FlagLines::version(const Line& line, std::uint64_t tick, double when) const {
  if (are_single_) return tick;
  const auto after = std::ranges::upper_bound(line.raised, when, {}, &std::pair<double, std::uint64_t>::first);
  return after == line.raised.begin() ? tick : std::max(tick, std::prev(after)->second);
}

}  // namespace espalier::simulate
