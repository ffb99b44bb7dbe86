#include "mpi/run/hearing.hpp"

#include "execute/lines/tiny_counts.hpp"
#include "mpi/run/dissent.hpp"

namespace espalier::mpi {

using execute::Statement;

namespace {

constexpr std::uint64_t next_call = 1;

Bytes await_bytes(const execute::Seat& seat, execute::Waiter& waiter, LocalRank neighbour) {
  for (std::uint32_t attempt = 0;;) {
    if (const std::optional<Bytes> theirs = find_bytes(seat, neighbour, next_call)) return *theirs;
    if (seat.has_left(neighbour) || !waiter.wait(attempt, nullptr)) return Statement::has_left;
  }
}

}  // namespace

std::optional<Bytes> hear_senders(execute::Seat& seat, execute::Waiter& waiter, const plan::Problem& problem,
                                  bool is_root, bool do_all_hear) {
  const bool is_sided = is_one_sided(problem), deals = is_dealt(problem.operation);
  const auto sends = [&](bool root) { return !is_sided || root == deals; };
  for (std::uint32_t attempt = 0; !seat.may_state(next_call);)
    if (seat.has_leaver() || !waiter.wait(attempt, seat.missed_bell())) return Statement::has_left;
  const Bytes mine = execute::stated_bytes(problem);
  if (sends(is_root)) seat.state(mine, next_call);
  if (sends(is_root) && !do_all_hear) return std::nullopt;
  std::optional<Bytes> said;
  for (LocalRank r(0); r.value < seat.ranks(); ++r.value) {
    if (r == seat.me() || !sends(r.value == problem.root.value)) continue;
    const Bytes theirs = await_bytes(seat, waiter, r);
    said = theirs == said.value_or(theirs) ? theirs : Statement::has_left;
  }
  return said == mine ? std::nullopt : said;
}

void end_hearing(execute::Seat& seat) noexcept {
  seat.begin_call();
  seat.close_window();  // of a program that was begun before it turned out what the call is
  seat.post(plan::Flag::done, 1);
}

}  // namespace espalier::mpi
