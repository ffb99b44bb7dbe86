#include "watch/diagnosis.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

namespace espalier::watch {
namespace {

using Doing = execute::LeftToMpi::Doing;
using Ranks = std::vector<const RankStand*>;

bool is_in_set_up(const Sighting& seen) { return seen.left.doing == Doing::set_up; }

/// Ranks get memory for calls that do not block while they are anywhere.
bool may_be_anywhere(const Sighting& seen) { return seen.left.doing == Doing::run_preparation; }

/// Where a process is, if that is in what is left to the MPI, or in another communicator, the longest.
std::optional<Sighting> find_elsewhere(std::span<const Sighting> seen, const Process& process,
                                       std::uint32_t community) {
  std::optional<Sighting> found;
  for (const Sighting& it : seen) {
    if (process_of(it) != process) continue;
    if (it.is_in_mpi() && !may_be_anywhere(it)) return it;
    const bool is_another = it.community != community;
    if (is_another && it.waits() && (!found || it.seconds > found->seconds)) found = it;
  }
  return found;
}

/// "ranks 0 to 2, 5".
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

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// Of a process; nothing where all is about this host.
std::string place_of(const RankStand& rank) { return rank.seen.host.empty() ? "" : " on " + rank.seen.host; }

constexpr std::size_t most_told = 4;

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

/// " (process 812; in MPI_COMM_WORLD 3)".
std::string identities_of(const Ranks& ranks) {
  const std::string world = world_ranks_of(ranks);
  return " (" + processes_of(ranks) + (world.empty() ? "" : "; " + world) + ")";
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

template <class Is>
Ranks select(const Standstill& standstill, Is is) {
  Ranks found;
  for (const RankStand& rank : standstill.ranks)
    if (is(rank)) found.push_back(&rank);
  return found;
}

/// Ranks of which `text_of` says the same, in the order of their lowest.
template <class TextOf>
std::vector<std::pair<std::string, Ranks>> group(const Ranks& ranks, TextOf text_of) {
  std::vector<std::pair<std::string, Ranks>> groups;
  for (const RankStand* rank : ranks) {
    const std::string text = text_of(*rank);
    auto own = std::find_if(groups.begin(), groups.end(), [&](const auto& it) { return it.first == text; });
    if (own == groups.end()) own = groups.insert(own, {text, {}});
    own->second.push_back(rank);
  }
  return groups;
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

std::string elsewhere(const RankStand& rank) {
  const Sighting& other = *rank.other;
  const bool is_of_that = other.waits() || is_in_left_call(other);
  return describe_call(other) +
         (is_of_that ? ", of " + describe_community(other.community, other.ranks, other.members) : "");
}

bool has_ended_mpi(const RankStand& rank) { return rank.seen.left.doing == Doing::finalization; }

std::string numbered(std::uint32_t number) { return number == 0 ? "" : ", call " + std::to_string(number); }

std::string describe_left(const Sighting& seen) {
  const execute::LeftToMpi& left = seen.left;
  const std::string name =
      plan::describe_call(left.operation, left.blocks, plan::CallForm::blocking, seen.bytes, seen.root);
  switch (left.doing) {
    case Doing::nothing: break;
    case Doing::call: return name + numbered(seen.number) + ", which is left to the MPI";
    case Doing::comparison: return name + numbered(seen.number) + ", whose arguments ESPALIER_CHECK compares";
    case Doing::finalization: return "MPI_Finalize";
    case Doing::set_up:
    case Doing::preparation: return name + numbered(seen.number) + ", for which the ranks get memory first";
    case Doing::run_preparation: return "a call that does not block, for which the ranks get memory first";
  }
  return "a call";
}

bool is_preparing(const RankStand& rank) {
  const bool is_alive = rank.life != Life::dead && rank.life != Life::stopped;
  return rank.stand == Stand::not_come && !rank.has_begun && is_alive && may_be_anywhere(rank.seen);
}

bool is_awaited(const RankStand& rank) {
  return rank.stand == Stand::not_come || rank.stand == Stand::elsewhere || rank.stand == Stand::waits ||
         rank.stand == Stand::differs;
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

/// Sentences about groups of ranks, one for each way not to take part; empty where there is none.
class Culprit {
 public:
  explicit Culprit(const Standstill& standstill) : standstill_(standstill) {
    add_lifeless(Life::dead, "dead");
    add_lifeless(Life::stopped, "stopped: a debugger or a signal (SIGSTOP) holds it; kill -CONT lets it go on");
    if (has_threads()) {
      say("threads are in calls of several communicators of these ranks, and who waits for whom is not known: "
          "ESPALIER_SETUP_CALLS=0 tells those communicators apart.");
      return;
    }
    add_differing();
    add_elsewhere();
    for (const Life life : {Life::running, Life::asleep, Life::in_kernel}) add_missing(life);
    add_preparing();
    add_begun();
    add_unseen();
    add_left_behind();
    add_sizes();
    add_asleep();
    if (text_.empty()) say(why_all_wait());
  }
  std::string text() const { return text_; }

 private:
  const char* why_all_wait() const {
    switch (standstill_.front.maker) {
      case Maker::espalier: return "All ranks have come, and wait for each other's data: please report this.";
      case Maker::mpi: return "All ranks have come: the MPI is at it.";
      case Maker::end: break;
    }
    return "All ranks are in such calls.";
  }
  void say(const std::string& sentence) { text_ += (text_.empty() ? "" : " ") + capital(sentence); }
  Ranks in(Stand stand) const {
    return select(standstill_, [&](const RankStand& it) { return it.stand == stand; });
  }
  static std::string is_or_are(const Ranks& ranks) { return ranks.size() == 1 ? " is " : " are "; }
  static std::string has_or_have(const Ranks& ranks) { return ranks.size() == 1 ? " has " : " have "; }

  void add_lifeless(Life life, const char* what) {
    const Ranks ranks = select(standstill_, [&](const RankStand& it) {
      return is_awaited(it) && it.life == life && (life != Life::dead || !has_ended_mpi(it));
    });
    if (!ranks.empty()) say(listed(ranks) + identities_of(ranks) + is_or_are(ranks) + what + ".");
  }
  void add_differing() {
    const Ranks waits = in(Stand::waits), differs = in(Stand::differs);
    for (const auto& [call, ranks] : group(differs, [](const RankStand& it) { return describe_call(it.seen); }))
      say(listed(ranks) + identities_of(ranks) + " came with " + call + ", where " + listed(waits) + " came with " +
          describe_call(waits.front()->seen) + ".");
  }
  void add_elsewhere() {
    for (const auto& [where, ranks] : group(in(Stand::elsewhere), elsewhere)) {
      const bool is_one = ranks.size() == 1;
      const std::string does = has_ended_mpi(*ranks.front()) ? (is_one ? "it has called " : "they have called ")
                                                             : (is_one ? "it waits in " : "they wait in ");
      say(listed(ranks) + identities_of(ranks) + has_or_have(ranks) + "not come: " + does + where + ".");
    }
  }
  /// Whoever waits for ranks that have gone on did not make the call that they made.
  void add_left_behind() {
    const Ranks waits = in(Stand::waits), gone = in(Stand::has_finished);
    if (!text_.empty() || gone.empty() || may_be_anywhere(waits.front()->seen)) return;
    say(listed(waits) + identities_of(waits) + (waits.size() == 1 ? " waits" : " wait") + " in " +
        describe_call(waits.front()->seen) +
        ", which all others have left, so theirs was another one; ESPALIER_CHECK=1 says which.");
  }
  /// Where all have come. Each may know a size of its own where there are counts, so this is no more than a suspicion.
  void add_sizes() {
    const auto sizes = group(in(Stand::waits), [](const RankStand& it) { return describe_call(it.seen); });
    if (!text_.empty() || sizes.size() < 2 || standstill_.is_unserved) return;
    std::string sentence = "all have come, with sizes that may not fit: ";
    for (const auto& [call, ranks] : sizes)
      sentence += (&ranks == &sizes.front().second ? "" : ", ") + listed(ranks) + " with " + call;
    say(sentence + "; ESPALIER_CHECK=1 says whether they do.");
  }
  /// Where all have begun what goes on only while they are in MPI, which a rank that sleeps is not.
  void add_asleep() {
    const Ranks asleep = select(standstill_, [&](const RankStand& it) {
      return it.stand == Stand::waits && may_be_anywhere(it.seen) && it.life == Life::asleep;
    });
    if (!text_.empty() || asleep.empty()) return;
    say("all ranks have begun it, and it goes on while they are in MPI; " + listed(asleep) + identities_of(asleep) +
        is_or_are(asleep) + doing(Life::asleep) + ".");
  }
  /// Where some have begun what does not block, and are elsewhere: whoever sleeps there is not in MPI.
  void add_begun() {
    const auto begun = [&](bool is_asleep) {
      return select(standstill_, [&](const RankStand& it) {
        return it.stand == Stand::not_come && it.has_begun && (it.life == Life::asleep) == is_asleep;
      });
    };
    const Ranks ranks = !begun(true).empty() ? begun(true) : begun(false);
    if (ranks.empty() || !text_.empty()) return;
    say(listed(ranks) + identities_of(ranks) + has_or_have(ranks) + "begun it, and it goes on while " +
        (ranks.size() == 1 ? "it is" : "they are") + " in MPI; " + (ranks.size() == 1 ? "it is " : "they are ") +
        doing(ranks.front()->life) + ".");
  }
  /// Who has begun what the others may not have, as a call of another form.
  void add_preparing() {
    const Ranks ranks = select(standstill_, is_preparing);
    if (ranks.empty()) return;
    const bool is_one = ranks.size() == 1;
    say(listed(ranks) + identities_of(ranks) + has_or_have(ranks) + "not come: " + (is_one ? "it has" : "they have") +
        " begun a call that does not block, for which the ranks get memory first, and " + (is_one ? "is " : "are ") +
        doing(ranks.front()->life) + ".");
  }
  void add_missing(Life life) {
    const Ranks ranks = select(standstill_, [&](const RankStand& it) {
      return it.stand == Stand::not_come && !it.has_begun && !is_preparing(it) && it.life == life;
    });
    if (ranks.empty()) return;
    say(listed(ranks) + identities_of(ranks) + has_or_have(ranks) + "not come; " +
        (ranks.size() == 1 ? "it is " : "they are ") + doing(life) + ".");
  }
  void add_unseen() {
    const Ranks ranks = in(Stand::unseen);
    if (ranks.empty()) return;
    const bool are_known = !standstill_.is_unserved || !standstill_.members.empty();
    say(listed(ranks) + is_or_are(ranks) +
        (are_known
             ? "not seen here: on other hosts, where to ask, too, or through with the communicator."
             : "not seen in it, and who they are is not known: this communicator's members are no regular part of "
               "MPI_COMM_WORLD."));
  }
  /// Ranks of which there is more than one: then no two calls are known to be of one communicator.
  bool has_threads() const {
    const auto& ranks = standstill_.ranks;
    const auto is_one = [](const RankStand& a, const RankStand& b) { return a.rank == b.rank; };
    return std::adjacent_find(ranks.begin(), ranks.end(), is_one) != ranks.end();
  }

  const Standstill& standstill_;
  std::string text_;
};

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
           return it.stand == Stand::waits && it.seen.form != plan::CallForm::blocking;
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
        if (found.number == 0) found.number = stand.seen.number;
        found.seconds = std::max(found.seconds, front.seconds_of(stand.seen));
        if (front.gist_of(stand.seen) != usual) stand.stand = Stand::differs;
      }
      found.ranks.push_back(std::move(stand));
    }
  const bool may_be_begun = is_of_calls_that_do_not_block(found);
  for (RankStand& it : found.ranks)
    it.has_begun = may_be_begun && it.stand == Stand::not_come && it.seen.number >= found.number;
  found.culprit = Culprit(found).text();
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

/// Whether some are in the call, and not in what comes before it.
bool is_left(const Standstill& standstill) {
  return std::ranges::any_of(standstill.ranks, [](const RankStand& it) {
    return (it.stand == Stand::waits || it.stand == Stand::differs) && it.seen.left.doing == Doing::call;
  });
}

/// Of a job that is being ended.
bool is_over(const Standstill& standstill) {
  return std::ranges::all_of(standstill.ranks, [](const RankStand& it) { return it.life == Life::dead; });
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

std::string describe_call(const Sighting& seen) {
  if (!seen.waits() && seen.is_in_mpi()) return describe_left(seen);
  return plan::describe_call(seen.operation, seen.blocks, seen.form, seen.bytes, seen.root) + numbered(seen.number);
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
