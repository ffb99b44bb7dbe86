#pragma once
// The calls that a communicator has made before, and what was decided for each: a program, a short cut, or a refusal.

#include <atomic>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mpi/process/statistics.hpp"
#include "mpi/run/memory/supplies.hpp"
#include "mpi/run/shown/onlooker.hpp"
#include "plan/program.hpp"

namespace espalier::mpi {

struct Lesson;

/// What a call on a communicator will be. Equal on all its ranks.
struct Entry {
  enum class Kind : std::uint8_t {
    nothing,  ///< no bytes: there is nothing to do
    tiny,     ///< the dedicated path of short messages
    program,  ///< run the program
    native,   ///< leave it to the MPI underneath
  };

  Kind kind = Kind::nothing;
  plan::Problem problem;
  /// Of kind `program`; whoever runs it may hold it beyond the entry.
  std::shared_ptr<const plan::Program> program = nullptr;
  /// The choice, as statistics show it; for `native` the reason.
  std::string label;
  /// Who asked for it, where that is not the built-in choice: "Espalier_Choose", "row 3 of the tuned table: …".
  std::string origin = {};
  /// `native` because that was selected, for whatever blocks have this mean.
  bool is_passed_on = false;
  /// Some job's calls have taught it, this one's or others', and not somebody who has measured it.
  bool is_learned = false;
  /// Too few jobs have found so.
  bool is_doubted = false;
  /// That is followed all the same until its calls have earned a contest (Engine::wake_followed()).
  bool is_followed = false;
  /// What has to be there before the first such call runs.
  Needs needs = no_needs;
  /// Of what it needs, the long rings make it faster only.
  bool fits_short_rings = false;
  /// Counted here, so that a call costs one plain increment; handed to the statistics when the entry goes.
  std::uint64_t calls = 0;
  /// Who does the call is still being found out: one of these, in turn. Null: the entry itself does it.
  std::unique_ptr<Lesson> lesson = nullptr;
  /// What the next such call is depends on calls before it, or on others' sizes.
  bool is_open = false;
  /// Who only has room hears first what others send, and what the call is by that.
  bool hears_first = false;
  static constexpr std::uint64_t never = std::uint64_t{1} << 62;
  /// Calls until it has to be more than found: the next one where it is open, or one that somebody looks at
  /// (Engine::prepare()).
  std::uint64_t until_open = never;
  /// Of whoever looks; null: nobody.
  std::unique_ptr<Looks> looks = nullptr;

  Entry() = default;
  explicit Entry(plan::Problem what) : problem(std::move(what)) {}
  Entry(Entry&&) noexcept;
  Entry& operator=(Entry&&) noexcept;
  ~Entry();

  /// Nobody looks any more, and who did is told of calls that came since.
  void stop_showing() noexcept;
};

struct Study;

/// A call that is learned about.
struct Lesson {
  Study& study;
  /// What it is by each of the contenders; null before it first is, and of the first, which is the entry itself.
  std::vector<std::unique_ptr<Entry>> variants = {};
};

/// Memory that all communicators of a process together may spend on entries.
struct CacheBudget {
  Bytes limit = 0;
  std::atomic<Bytes> used = 0;
};

/// Least recently used entries go first. One communicator's, hence not thread safe, but several share budget and
/// statistics, which outlive it.
class ProgramCache {
 public:
  /// Of calls of one form.
  ProgramCache(CacheBudget& budget, Statistics& statistics, CallForm form = CallForm::blocking)
      : budget_(budget), statistics_(statistics), form_(form) {}
  ~ProgramCache();
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  /// The entry of this problem, or null. It stays where it is until the next add().
  Entry* find(const plan::Problem& problem) {
    if (!entries_.empty() && entries_.front().problem == problem) return &entries_.front();
    return find_older(problem);
  }

  /// What was found or added last; null before.
  const Entry* latest() const { return entries_.empty() ? nullptr : &entries_.front(); }
  Entry* latest() { return entries_.empty() ? nullptr : &entries_.front(); }

  /// Keeps a new entry and makes room for it. One that alone exceeds the budget is kept until the next add().
  Entry& add(Entry entry);

  /// Nothing more is learned about the call: it is what that variant is, or what it was.
  void take_over(Entry& entry, std::size_t variant);

  /// Drops the entries of an operation: its calls are to be decided anew.
  void forget(plan::Operation operation);
  void forget_all() {
    while (!entries_.empty()) drop_oldest();
  }
  template <class Is>
  void forget_if(Is is) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto next = std::next(entry);
      if (is(*entry)) drop(entry);
      entry = next;
    }
  }

  /// `each(entry)`.
  template <class Each>
  void for_each(Each each) const {
    for (const Entry& entry : entries_) each(entry);
  }
  void stop_showing() noexcept {
    for (Entry& entry : entries_) entry.stop_showing();
  }

  /// Hands the counts so far to the statistics.
  void report();

 private:
  using Entries = std::list<Entry>;
  /// An entry is known by its problem.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const plan::Problem& problem) const;
    std::size_t operator()(Entries::iterator entry) const { return (*this)(entry->problem); }
  };
  struct Equal {
    using is_transparent = void;
    static const plan::Problem& problem_of(const plan::Problem& problem) { return problem; }
    static const plan::Problem& problem_of(Entries::iterator entry) { return entry->problem; }
    template <class One, class Other>
    bool operator()(const One& one, const Other& other) const {
      return problem_of(one) == problem_of(other);
    }
  };

  using Index = std::unordered_set<Entries::iterator, Hash, Equal>;
  /// Up to so many are looked through: most communicators of a job with many have no more, and an index takes as much
  /// memory as an entry.
  static constexpr std::size_t few = 8;

  static Bytes footprint(const Entry& entry);
  Entry* find_older(const plan::Problem& problem);
  Entries::iterator look_for(const plan::Problem& problem);
  void index_latest();
  void report(Entry& entry);
  void report_variants(Lesson& lesson);
  void drop(Entries::iterator entry);
  void drop_oldest() { drop(std::prev(entries_.end())); }

  CacheBudget& budget_;
  Statistics& statistics_;
  CallForm form_;
  Entries entries_;               ///< most recently used first
  std::unique_ptr<Index> index_;  ///< null until there are more than a few
};

}  // namespace espalier::mpi
