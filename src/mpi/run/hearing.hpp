#pragma once
// Who only has room listens, on one node, to what is sent before it decides what the call is (docs/adr/0019, 0032). It
// does so ahead of the call: a call's number is taken by who knows what it will be, so that nothing that was said of a
// number can be taken for another call's.

#include <optional>

#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "plan/problem.hpp"

namespace espalier::mpi {

/// What senders say of the next call of a communicator whose ranks all share the seat's node, where that is not what
/// this rank expects: their blocks' bytes, or Statement::has_left where they disagree or somebody is gone. A sender
/// says so itself, and hears the others only if `do_all_hear`. `is_root`: this rank is the problem's root.
std::optional<Bytes> hear_senders(execute::Seat& seat, execute::Waiter& waiter, const plan::Problem& problem,
                                  bool is_root, bool do_all_hear);

/// All that was said ahead is over: it was a call of its own, and takes a number.
void end_hearing(execute::Seat& seat) noexcept;

}  // namespace espalier::mpi
