#include "verify/machine/world.hpp"

#include <algorithm>
#include <optional>

#include "verify/machine/contents.hpp"
#include "verify/rules.hpp"

namespace espalier::verify {
namespace {

using plan::Buffer;

/// input, output, scratch and the banks of the window.
constexpr int memories_per_rank = 3 + plan::window_banks;

}  // namespace

World::World(std::span<const plan::Plan* const> calls, Placement placement, const Clocks& clocks, Report& report)
    : calls_(calls),
      placement_(placement),
      clocks_(clocks),
      report_(report),
      memories_(static_cast<std::size_t>(calls.front()->topology.ranks() * memories_per_rank)),
      first_results_(calls.size()) {
  for (const plan::Plan* plan : calls) expressions_.emplace_back(plan->topology.ranks(), plan->problem.may_swap());
}

void World::begin(const Actor& by) {
  const plan::Plan& plan = plan_of(by.call);
  const plan::Alias alias = alias_of(by.call, by.rank());
  Contents input = brought_input(plan, by.rank());
  Contents output = brought_output(plan, by.rank());
  if (alias.kind == plan::Alias::input_in_output)
    output = embedded(input, alias.offset, size_of(plan, by.rank(), Buffer::output));
  if (alias.kind != plan::Alias::input_in_output) refill(by, Buffer::input, input);
  if (alias.kind != plan::Alias::output_in_input) refill(by, Buffer::output, output);
  refill(by, Buffer::scratch, nothing(size_of(plan, by.rank(), Buffer::scratch)));
}

void World::end(const Actor& by) {
  check_output(by);
  const plan::Alias alias = alias_of(by.call, by.rank());
  for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
    if (buffer == Buffer::input && alias.kind == plan::Alias::input_in_output) continue;
    if (buffer == Buffer::output && alias.kind == plan::Alias::output_in_input) continue;
    refill(by, buffer, nothing(size_of(plan_of(by.call), by.rank(), buffer)));
  }
}

void World::transfer(const Actor& by, const Place& from, const Place& to) {
  const Location source = locate(by, from);
  const Location target = locate(by, to);
  // In place, a rank's block may already lie where it is copied to: interpreters skip that copy.
  if (overlaps(by, source, target) && source.extent.first == target.extent.first) return;
  store(by, target, load(by, from));
}

void World::reduce(const Actor& by, const Place& from, const Place& to) {
  overlaps(by, locate(by, from), locate(by, to));
  const Contents left = load(by, from);
  const Contents right = load(by, to);
  store(by, locate(by, to), combine(left, right, expressions_[static_cast<std::size_t>(by.call - 1)]));
}

/// Whether a step's operands share bytes. A copy onto itself is nothing; everything else is a fault.
bool World::overlaps(const Actor& by, const Location& source, const Location& target) {
  if (source.memory != target.memory || source.extent.first >= target.extent.last ||
      target.extent.first >= source.extent.last)
    return false;
  const bool is_copy = plan_of(by.call)
                           .programs[static_cast<std::size_t>(by.rank().value)]
                           .steps[static_cast<std::size_t>(by.step)]
                           .op() != plan::Op::reduce;
  if (!is_copy || source.extent.first != target.extent.first)
    report_.add({Kind::overlap, by.rank(), by.step, by.call, target.buffer, target.extent.first, target.extent.last,
                 std::string(is_copy ? "copies" : "reduces") + " onto a part of itself, from " +
                     std::to_string(source.extent.first)});
  return true;
}

Contents World::load(const Actor& by, const Place& from) {
  const Location source = locate(by, from);
  conflicts_.clear();
  source.memory->read(source.extent, {by.event, by.call}, clocks_, conflicts_);
  report_conflicts(by, source, false);
  Contents contents;
  source.memory->peek(source.extent, by.call, contents);
  // What a race has put there is not worth a second report.
  if (conflicts_.empty()) report_undefined(by, source, contents);
  return contents;
}

void World::open(const Actor& by, const Place& to) { store(by, locate(by, to), nothing(to.bytes)); }

void World::deliver(const Actor& by, const Place& to, const Contents& contents) {
  const Location target = locate(by, to);
  target.memory->fill(target.extent, {by.event, by.call}, contents);
}

World::Location World::locate(const Actor& by, const Place& place) {
  Buffer buffer = place.buffer;
  Bytes offset = place.offset;
  const plan::Alias alias = alias_of(by.call, place.owner);
  if (buffer == Buffer::input && alias.kind == plan::Alias::input_in_output) {
    buffer = Buffer::output;
    offset += alias.offset;
  } else if (buffer == Buffer::output && alias.kind == plan::Alias::output_in_input) {
    buffer = Buffer::input;
    offset += alias.offset;
  }
  int memory = place.owner.value * memories_per_rank + static_cast<int>(buffer);
  if (buffer == Buffer::window) memory += by.call % plan::window_banks;
  return {&memories_[static_cast<std::size_t>(memory)], place.owner, buffer, {offset, offset + place.bytes}};
}

void World::store(const Actor& by, const Location& to, const Contents& contents) {
  conflicts_.clear();
  to.memory->write(to.extent, {by.event, by.call}, contents, clocks_, conflicts_);
  report_conflicts(by, to, true);
}

void World::refill(const Actor& by, Buffer buffer, const Contents& contents) {
  const Bytes bytes = size_of(plan_of(by.call), by.rank(), buffer);
  store(by, locate(by, {by.rank(), buffer, 0, bytes}), contents);
}

void World::check_output(const Actor& by) {
  const plan::Plan& plan = plan_of(by.call);
  const Location output = locate(by, {by.rank(), Buffer::output, 0, size_of(plan, by.rank(), Buffer::output)});
  Contents found;
  output.memory->peek(output.extent, by.call, found);
  if (is_reduction(plan.problem.operation)) return check_reduction(by, found);
  const Expressions& expressions = expressions_[static_cast<std::size_t>(by.call - 1)];
  for (const Difference& difference : compare(found, wanted_output(plan, by.rank())))
    report_data(by, difference.where, difference.found, to_string(difference.wanted, plan, expressions));
}

void World::check_reduction(const Actor& by, const Contents& found) {
  const plan::Plan& plan = plan_of(by.call);
  const Expressions& expressions = expressions_[static_cast<std::size_t>(by.call - 1)];
  const Wanted wanted = wanted_reduction(plan, by.rank());
  Bytes at = 0;
  for (const Piece& piece : found) {
    if (piece.value.offset != wanted.offset + at ||
        !is_wanted(expressions, piece.value.expression, wanted, plan.problem.is_commutative))
      report_data(by, {at, at + piece.bytes}, piece.value,
                  "byte " + std::to_string(wanted.offset + at) + " of ranks " + std::to_string(wanted.first) + " to " +
                      std::to_string(wanted.last) + (plan.problem.is_commutative ? "" : " in this order"));
    at += piece.bytes;
  }
  if (plan.problem.operation == plan::Operation::allreduce) check_same_bits(by, found);
}

/// Floating point is not associative: only the same tree gives the same bits everywhere, and with operands in the same
/// places unless the operation is symmetric in bits.
void World::check_same_bits(const Actor& by, const Contents& found) {
  Contents& first = first_results_[static_cast<std::size_t>(by.call - 1)];
  if (first.empty()) first = found;
  for (const Difference& difference : compare(found, first))
    report_data(by, difference.where, difference.found, "the same, combined in the same order as on other ranks");
}

void World::report_data(const Actor& by, Extent where, const Value& found, const std::string& wanted) {
  const Expressions& expressions = expressions_[static_cast<std::size_t>(by.call - 1)];
  report_.add({Kind::data, by.rank(), by.step, by.call, Buffer::output, where.first, where.last,
               "holds " + to_string(found, plan_of(by.call), expressions) + ", should hold " + wanted});
}

void World::report_undefined(const Actor& by, const Location& from, const Contents& contents) {
  Bytes at = from.extent.first;
  for (const Piece& piece : contents) {
    if (piece.value.expression == Value::undefined)
      report_.add(
          {Kind::undefined, by.rank(), by.step, by.call, from.buffer, at, at + piece.bytes,
           "reads bytes of rank " + std::to_string(from.owner.value) + " that nobody has written in this call"});
    at += piece.bytes;
  }
}

void World::report_conflicts(const Actor& by, const Location& location, bool writes) {
  for (const Conflict& conflict : conflicts_) {
    const bool is_own = conflict.other.rank == by.rank();
    const Extent where{std::max(conflict.where.first, location.extent.first),
                       std::min(conflict.where.last, location.extent.last)};
    report_.add({is_own ? Kind::busy : Kind::race, by.rank(), by.step, by.call, location.buffer, where.first,
                 where.last,
                 std::string(writes ? "writes" : "reads") + " bytes of rank " + std::to_string(location.owner.value) +
                     " that " + describe(conflict.other) + (conflict.other_writes ? " writes" : " reads") +
                     (is_own ? ", which is not finished" : "; nothing puts one before the other")});
  }
}

std::string World::describe(Event other) const {
  const auto rank = static_cast<std::size_t>(other.rank.value);
  // Each call is one event to begin with, one for each step, one at the end; moments count from 1.
  auto left = static_cast<int>(other.moment) - 1;
  int call = 1;
  for (; left >= static_cast<int>(plan_of(call).programs[rank].steps.size()) + 2; ++call)
    left -= static_cast<int>(plan_of(call).programs[rank].steps.size()) + 2;
  const auto& steps = plan_of(call).programs[rank].steps;
  const std::string who = "rank " + std::to_string(other.rank.value);
  const std::string when = " of call " + std::to_string(call);
  if (left == 0) return who + "'s caller, before the begin" + when + ",";
  if (left > static_cast<int>(steps.size())) return who + "'s caller, after the end" + when + ",";
  return who + "'s step " + std::to_string(left - 1) + when + " (" +
         plan::to_string(steps[static_cast<std::size_t>(left - 1)]) + ")";
}

}  // namespace espalier::verify
