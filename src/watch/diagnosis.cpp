#include "watch/diagnosis.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "watch/culprit.hpp"

namespace espalier::watch {
namespace {

using Doing = execute::LeftToMpi::Doing;

bool is_in_set_up(const Sighting& seen) { return seen.left.doing == Doing::set_up; }

/// Where a process is, if that is in what is left to the MPI, or in another communicator, the longest.
std::optional<Sighting> find_elsewhere(std::span<const Sighting> seen, const Process& process,
                                       std::uint32_t community) {
  std::optional<Sighting> found;
  for (const Sighting& it : seen) {
    if (process_of(it) != process) continue;
    if (it.is_in_mpi() && !it.may_be_anywhere()) return it;
    const bool is_another = it.community != community;
    if (is_another && it.waits() && (!found || it.seconds > found->seconds)) found = it;
  }
  return found;
}

RankStand stand_of(const Sighting& rank, std::span<const Sighting> all, const Front& front) {
  RankStand stand{rank.rank, rank.world_rank, rank.pid, Stand::not_come, Life::running, false, rank, std::nullopt};
  if (front.is_reached_by(rank)) {
    stand.stand = Stand::waits;
  } else if (front.is_passed_by(rank)) {
    stand.stand = Stand::has_finished;
  } else if ((stand.other = find_elsewhere(all, process_of(rank), rank.community))) {
    stand.stand = Stand::elsewhere;
  }
  return stand;
}

/// A communicator has desks, and this rank hears last where: until then it is seen in set-up, in a group of the same
/// ranks. None: it is not.
std::optional<RankStand> find_on_its_way(int rank, std::span<const Sighting> members, std::span<const Sighting> all) {
  const auto is_in_the_group = [&](const Sighting& it) {
    if (it.members.empty())
      return std::ranges::any_of(
          members, [&](const Sighting& member) { return member.rank == rank && process_of(member) == process_of(it); });
    return std::ranges::all_of(members, [&](const Sighting& member) {
      return execute::world_rank_of(it.members, member.rank) == member.world_rank;
    });
  };
  for (const Sighting& it : all)
    if (is_in_set_up(it) && it.rank == rank && it.ranks == members.front().ranks && is_in_the_group(it))
      return RankStand{rank, it.world_rank, it.pid, Stand::waits, Life::running, false, it, std::nullopt};
  return std::nullopt;
}

/// Of a rank that is not seen among a group's members, but is seen among all of the job.
std::optional<RankStand> find_outside(int rank, const Sighting& member, std::span<const Sighting> all) {
  const int world_rank = execute::world_rank_of(member.members, rank);
  for (const Sighting& it : all) {
    if (it.community != member.job || it.world_rank != world_rank) continue;
    auto other = find_elsewhere(all, process_of(it), member.community);
    const Stand stand = other ? Stand::elsewhere : Stand::not_come;
    return RankStand{rank, world_rank, it.pid, stand, Life::running, false, it, std::move(other)};
  }
  return std::nullopt;
}

/// One rank's, or one for each of its threads in calls of one group.
std::vector<RankStand> stands_of(int rank, std::span<const Sighting> members, std::span<const Sighting> all,
                                 const Front& front) {
  std::vector<RankStand> found;
  const Sighting* idle = nullptr;  // of those places of a group where no call is, the last used
  for (const Sighting& it : members) {
    if (it.rank != rank) continue;
    if (it.is_unserved() && !it.is_in_mpi()) {
      if (idle == nullptr || it.left.calls > idle->left.calls) idle = &it;
    } else {
      found.push_back(stand_of(it, all, front));
    }
  }
  if (found.empty() && idle != nullptr) found.push_back(stand_of(*idle, all, front));
  const bool is_unserved = members.front().is_unserved();
  std::optional<RankStand> other;
  if (found.empty() && is_unserved) other = find_outside(rank, members.front(), all);
  if (!is_unserved && (found.empty() || found.front().seen.is_new())) other = find_on_its_way(rank, members, all);
  if (other) found = {std::move(*other)};
  if (found.empty()) found.emplace_back().rank = rank;
  return found;
}

/// Whether those who have come are in what does not block.
bool is_of_calls_that_do_not_block(const Standstill& standstill) {
  return standstill.front.maker == Maker::espalier && standstill.number > 0 &&
         std::ranges::any_of(standstill.ranks, [](const RankStand& it) {
           return it.stand == Stand::waits && it.seen.what.form != plan::CallForm::blocking;
         });
}

/// All ranks of one communicator, those of other hosts included.
Standstill look_at(std::span<const Sighting> members, std::span<const Sighting> all, const Lives& lives,
                   const Front& front) {
  const Sighting& one = members.front();
  Standstill found{one.community, one.ranks, one.is_unserved(), one.members, front, 0, 0, {}, {}};
  const auto usual = front.usual_gist(members);
  for (int r = 0; r < found.size; ++r)
    for (RankStand& stand : stands_of(r, members, all, front)) {
      const auto life = lives.find(process_of(stand.seen));
      if (life != lives.end()) stand.life = life->second;
      if (stand.seen.community == one.community && front.is_reached_by(stand.seen)) {
        if (found.number == 0) found.number = stand.seen.what.number;
        found.seconds = std::max(found.seconds, front.seconds_of(stand.seen));
        if (front.gist_of(stand.seen) != usual) stand.stand = Stand::differs;
      }
      found.ranks.push_back(std::move(stand));
    }
  const bool may_be_begun = is_of_calls_that_do_not_block(found);
  for (RankStand& it : found.ranks)
    it.has_begun = may_be_begun && it.stand == Stand::not_come && it.seen.what.number >= found.number;
  found.culprit = tell_culprit(found);
  return found;
}

/// Whether all that is seen of it is ranks on their way to a communicator that stands still, which says more of them.
bool is_told_by_others(const Standstill& standstill, std::span<const Standstill> all) {
  const auto is_told = [&](const RankStand& rank) {
    return std::ranges::any_of(all, [&](const Standstill& other) {
      return !other.is_unserved && std::ranges::any_of(other.ranks, [&](const RankStand& it) {
        return it.stand == Stand::waits && is_in_set_up(it.seen) && process_of(it.seen) == process_of(rank.seen);
      });
    });
  };
  return standstill.is_unserved && std::ranges::all_of(standstill.ranks, [&](const RankStand& it) {
           return it.stand != Stand::waits || is_told(it);
         });
}

/// Of a job that is being ended.
bool is_over(const Standstill& standstill) {
  return std::ranges::all_of(standstill.ranks, [](const RankStand& it) { return it.life == Life::dead; });
}

}  // namespace

std::vector<Standstill> find_standstills(std::span<const Sighting> seen, const Lives& lives, double least) {
  std::map<std::uint32_t, std::vector<Sighting>> communities;
  for (const Sighting& it : seen) communities[it.community].push_back(it);
  std::vector<Standstill> found;
  for (const auto& [community, members] : communities) {
    const std::optional<Front> front = find_front(members);
    if (!front) continue;
    Standstill standstill = look_at(members, seen, lives, *front);
    if (standstill.seconds >= least && !is_over(standstill)) found.push_back(std::move(standstill));
  }
  std::vector<Standstill> told;
  std::ranges::copy_if(found, std::back_inserter(told), [&](const auto& it) { return !is_told_by_others(it, found); });
  std::stable_sort(told.begin(), told.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return told;
}

}  // namespace espalier::watch
