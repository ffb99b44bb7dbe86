#include "watch/culprit.hpp"

#include <algorithm>

#include "watch/wording.hpp"

namespace espalier::watch {
namespace {

using Doing = execute::LeftToMpi::Doing;

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

bool has_ended_mpi(const RankStand& rank) { return rank.seen.left.doing == Doing::finalization; }

bool is_preparing(const RankStand& rank) {
  const bool is_alive = rank.life != Life::dead && rank.life != Life::stopped;
  return rank.stand == Stand::not_come && !rank.has_begun && is_alive && rank.seen.may_be_anywhere();
}

bool is_awaited(const RankStand& rank) {
  return rank.stand == Stand::not_come || rank.stand == Stand::elsewhere || rank.stand == Stand::waits ||
         rank.stand == Stand::differs;
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
    if (!text_.empty() || gone.empty() || waits.front()->seen.may_be_anywhere()) return;
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
      return it.stand == Stand::waits && it.seen.may_be_anywhere() && it.life == Life::asleep;
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

}  // namespace

std::string tell_culprit(const Standstill& standstill) { return Culprit(standstill).text(); }

}  // namespace espalier::watch
