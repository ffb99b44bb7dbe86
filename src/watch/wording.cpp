#include "watch/wording.hpp"

#include <cstdio>
#include <span>

namespace espalier::watch {
namespace {

using Doing = execute::LeftToMpi::Doing;

constexpr std::size_t most_told = 4;

/// Of a process; nothing where all is about this host.
std::string place_of(const RankStand& rank) { return rank.seen.host.empty() ? "" : " on " + rank.seen.host; }

std::string processes_of(const Ranks& ranks) {
  std::string text = ranks.size() == 1 ? "process " : "processes ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most_told); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]->pid) + place_of(*ranks[i]);
  return text + (ranks.size() > most_told ? ", …" : "");
}

/// What a program's author knows them by, where that is another number.
std::string world_ranks_of(const Ranks& ranks) {
  if (std::ranges::all_of(ranks, [](const RankStand* it) { return it->world_rank < 0 || it->world_rank == it->rank; }))
    return "";
  std::string text = "in MPI_COMM_WORLD ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most_told); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]->world_rank);
  return text + (ranks.size() > most_told ? ", …" : "");
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

/// "0 to 5", "1, 3" or "0, 4, …, 28".
std::string describe(const execute::RankSpan& span) {
  const std::string first = std::to_string(span.first), last = std::to_string(span.at(span.count - 1));
  if (span.count == 1) return first;
  if (span.count == 2) return first + ", " + last;
  if (span.stride == 1) return first + " to " + last;
  return first + ", " + std::to_string(span.at(1)) + (span.count > 3 ? ", …, " : ", ") + last;
}

std::string describe(std::span<const execute::RankSpan> members) {
  std::string text;
  for (const execute::RankSpan& span : members.first(std::min(members.size(), most_told)))
    text += (text.empty() ? "" : ", ") + describe(span);
  return text + (members.size() > most_told ? ", …" : "");
}

std::string describe_community(std::uint32_t community, int size, std::span<const execute::RankSpan> members) {
  const std::string ranks = " (" + std::to_string(size) + " ranks)";
  if ((community & 1) != 0) return "MPI_COMM_WORLD" + ranks;
  if (!members.empty()) return "a communicator of ranks " + describe(members) + " of MPI_COMM_WORLD";
  char text[16];
  std::snprintf(text, sizeof text, "%x", community >> 1);
  return std::string("communicator ") + text + ranks;
}

std::string describe_numbered(const plan::Call& call) {
  return plan::describe(call) + (call.number == 0 ? "" : ", call " + std::to_string(call.number));
}

std::string describe_left(const Sighting& seen) {
  const std::string call = describe_numbered(seen.left_call());
  switch (seen.left.doing) {
    case Doing::nothing: break;
    case Doing::call: return call + ", which is left to the MPI";
    case Doing::comparison: return call + ", whose arguments ESPALIER_CHECK compares";
    case Doing::finalization: return "MPI_Finalize";
    case Doing::set_up:
    case Doing::preparation: return call + ", for which the ranks get memory first";
    case Doing::run_preparation: return "a call that does not block, for which the ranks get memory first";
  }
  return "a call";
}

/// Whether some are in the call, and not in what comes before it.
bool is_left(const Standstill& standstill) {
  return std::ranges::any_of(standstill.ranks, [](const RankStand& it) {
    return (it.stand == Stand::waits || it.stand == Stand::differs) && it.seen.left.doing == Doing::call;
  });
}

std::string headline_of(const Standstill& standstill) {
  const std::string community = describe_community(standstill);
  const std::string seconds = seconds_text(standstill.seconds);
  switch (standstill.front.maker) {
    case Maker::espalier: break;
    case Maker::mpi:
      return community + " has stood still for " + seconds + " or longer" +
             (standstill.number == 0 ? " in a call" : " at call " + std::to_string(standstill.number)) +
             (!is_left(standstill)     ? ""
              : standstill.number == 0 ? " left to the MPI"
                                       : ", left to the MPI");
    case Maker::end: return community + " has stood still for " + seconds + " or longer in MPI_Finalize";
  }
  return community + " has stood still for " + seconds + " at call " + std::to_string(standstill.number);
}

/// What a rank's line says of it; ranks of which it says the same share one.
std::string line_of(const RankStand& rank) {
  const bool is_lifeless = rank.life == Life::stopped || rank.life == Life::dead;
  switch (rank.stand) {
    case Stand::waits:
    case Stand::differs:
      return "in " + describe_call(rank.seen) + (is_lifeless ? std::string(", ") + doing(rank.life) : "");
    case Stand::has_finished:
      return "through with it" + (rank.seen.waits() || rank.seen.is_in_mpi() ? "; in " + describe_call(rank.seen) : "");
    case Stand::elsewhere: return "not come; in " + elsewhere(rank);
    case Stand::not_come: return std::string(rank.has_begun ? "has begun it; " : "not come; ") + doing(rank.life);
    case Stand::unseen: return "not seen here";
  }
  return "";
}

}  // namespace

std::string listed(const Ranks& ranks) {
  std::vector<int> numbers;  // each once: threads of a rank follow each other
  for (const RankStand* it : ranks)
    if (numbers.empty() || numbers.back() != it->rank) numbers.push_back(it->rank);
  std::string text = numbers.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string identities_of(const Ranks& ranks) {
  const std::string world = world_ranks_of(ranks);
  return " (" + processes_of(ranks) + (world.empty() ? "" : "; " + world) + ")";
}

std::string elsewhere(const RankStand& rank) {
  const Sighting& other = *rank.other;
  const bool is_of_that = other.waits() || is_in_left_call(other);
  return describe_call(other) +
         (is_of_that ? ", of " + describe_community(other.community, other.ranks, other.members) : "");
}

const char* doing(Life life) {
  switch (life) {
    case Life::running: return "running: in code of the program's own, or in another call of MPI";
    case Life::asleep: return "asleep in the system: in code of the program's own, or in another call of MPI";
    case Life::in_kernel: return "stuck in the kernel (a disk, or a file system of the network?)";
    case Life::stopped: return "stopped";
    case Life::dead: return "dead";
  }
  return "";
}

std::string describe_call(const Sighting& seen) {
  return !seen.waits() && seen.is_in_mpi() ? describe_left(seen) : describe_numbered(seen.what);
}

std::string describe_community(const Standstill& standstill) {
  return describe_community(standstill.community, standstill.size, standstill.members);
}

std::string to_text(const Standstill& standstill) {
  std::string text = headline_of(standstill) + "\n";
  for (const auto& [line, ranks] : group(select(standstill, [](const RankStand&) { return true; }), line_of))
    text += "  " + listed(ranks) + ": " + line + "\n";
  return text + "  " + standstill.culprit + "\n";
}

}  // namespace espalier::watch
