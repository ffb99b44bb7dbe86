#include "execute/lines/tiny.hpp"

#include "execute/lines/tiny_call.hpp"
#include "execute/lines/tiny_counts.hpp"

namespace espalier::execute {

std::uint32_t longest_message(const plan::Problem& problem, int ranks) {
  if (!problem.counts.empty()) return longest_message_of_counts(problem);
  const std::uint32_t messages = has_single_readers(problem.operation) ? static_cast<std::uint32_t>(ranks) : 1;
  return count_lines(problem.bytes) * messages;
}

Ending run_tiny(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
                const Reducer* reducer, Waiter& waiter) noexcept try {
  if (!problem.counts.empty()) return run_tiny_counts(seat, problem, input, output, reducer, waiter);
  TinyCall call(seat, problem, reducer, problem.bytes, waiter);
  Message own{};
  perform<Half::both>(call, problem, input, output, own);
  return call.ending();
} catch (const GivenUp&) {
  return {Ending::broken};
}

Ending run_tiny_with_room(Seat& seat, const plan::Problem& problem, const std::byte* input, std::byte* output,
                          Waiter& waiter, Bytes room) noexcept try {
  TinyCall call(seat, problem, nullptr, room, waiter);
  if (problem.operation == plan::Operation::gather)
    gather<Half::both>(call, LocalRank(problem.root.value), input, output);
  else if (problem.operation == plan::Operation::allgather)
    allgather<Half::both>(call, input, output);
  else
    alltoall<Half::both>(call, input, output);
  return call.ending();
} catch (const GivenUp&) {
  return {Ending::broken};
}

}  // namespace espalier::execute
