#include "watch/lookout.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

namespace espalier::watch {
namespace {

std::vector<Sighting> find_all(std::span<const std::shared_ptr<const transports::Arena>> arenas) {
  std::vector<Sighting> seen;
  for (const auto& arena : arenas) std::ranges::move(find_ranks(*arena), std::back_inserter(seen));
  return seen;
}

}  // namespace

std::vector<Sighting> Lookout::look(std::vector<Sighting> seen, std::uint64_t now) {
  decltype(known_) known;
  for (Sighting& it : seen) {
    const Sight sight(it.community, it.rank, it.place, it.pid, it.left.to_word());
    const auto before = known_.find(sight);
    const std::uint64_t since = before != known_.end() ? before->second : now;
    if (it.is_in_mpi()) it.left_seconds = static_cast<double>(now - since) * 1e-9;
    known.emplace(sight, since);
  }
  known_ = std::move(known);
  return seen;
}

std::vector<Sighting> find_ranks(std::span<const std::shared_ptr<const transports::Arena>> arenas, double apart) {
  Lookout lookout;
  std::vector<Sighting> seen = lookout.look(find_all(arenas), read_coarse_clock());
  if (apart <= 0 || std::ranges::none_of(seen, &Sighting::is_in_mpi)) return seen;
  // Ticks of the clock may be longer than what was asked for by.
  std::this_thread::sleep_for(std::chrono::duration<double>(apart) + std::chrono::milliseconds(20));
  return lookout.look(find_all(arenas), read_coarse_clock());
}

}  // namespace espalier::watch
