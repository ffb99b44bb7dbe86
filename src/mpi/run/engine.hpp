#pragma once
// One communicator's collectives, in bytes: decides what each call will be, remembers it, runs it. Knows nothing of
// MPI.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "execute/lines/tiny_run.hpp"
#include "execute/lines/uneven_blocks.hpp"
#include "execute/run.hpp"
#include "execute/seams.hpp"
#include "execute/seat.hpp"
#include "mpi/buffers/scratch.hpp"
#include "mpi/decide/decider.hpp"
#include "mpi/decide/program_cache.hpp"
#include "mpi/run/learning/experience.hpp"
#include "mpi/run/learning/learner.hpp"
#include "mpi/run/memory/supplies.hpp"
#include "mpi/run/shown/onlooker.hpp"
#include "mpi/run/shown/watch.hpp"
#include "topology/topology.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

/// The blocks of an allgather or reduce_scatter, as far as a selection tells them apart.
struct Deal {
  Bytes total = 0;
  bool is_uneven = false;

  friend bool operator==(const Deal&, const Deal&) = default;
};

/// The communicator's own means. The board lies in memory that outlives the engine.
struct Means {
  topology::Topology topology;
  Rank me;
  execute::Board board;
  execute::WindowPool* windows = nullptr;  ///< of this process; outlives the engine
  /// Null: the board has all it may ever need.
  std::unique_ptr<Supplies> supplies;
  std::unique_ptr<execute::Network> network;  ///< null on one node
  Transport transport = Transport::mpi;       ///< what it goes by
  std::unique_ptr<execute::SingleCopy> single_copy;
  std::unique_ptr<Watch> watch;  ///< null: nobody looks
  std::unique_ptr<execute::Waiter> waiter;
  std::unique_ptr<execute::Meter> meter;  ///< null where time is real
  /// The waiter may sleep, here or at a neighbour (execute/seat.hpp).
  bool rings = false;
  /// Calls after which the communicator counts as one that is used: then short ones get long rings, where there is
  /// memory, and a root runs ahead of slow readers by 148 calls and not by 12. Equal on all ranks.
  std::uint64_t calls_in_use = 64;
  /// Calls that must not wait may be the engine's.
  bool may_start = false;
  /// What was measured on this machine, if all ranks have the same; outlives the engine.
  const tune::Table* table = nullptr;
  /// Of this process, which outlives the engine; null: each communicator learns for itself.
  Experience* experience = nullptr;
};

/// Like the communicator it serves, used by one thread at a time. `policy`, `budget` and `statistics` outlive it.
class Engine {
 public:
  Engine(Means means, const Policy& policy, CacheBudget& budget, Statistics& statistics);
  /// Waits until neighbours have read what this rank's windows hold for them.
  ~Engine();

  const topology::Topology& topology() const { return means_.topology; }
  Rank me() const { return means_.me; }
  /// What carries its messages between nodes; none on one node.
  std::optional<Transport> transport() const {
    return means_.network == nullptr ? std::nullopt : std::optional(means_.transport);
  }

  bool may_start() const { return means_.may_start; }
  /// Its runs need nothing but memory: any thread may advance them.
  bool is_in_memory() const { return means_.network == nullptr && means_.meter == nullptr; }

  /// What this call will be: a function of agreed facts and of the calls before it, hence equal on all ranks. Builds
  /// and verifies a program when the problem is new. The entry is good until the next prepare(). Throws std::bad_alloc.
  Entry& prepare(const plan::Problem& problem) {
    if (is_alike(problem.operation) && --until_look_ == 0) [[unlikely]]
      look_at_lessons();
    Entry& entry = find(problem);
    return --entry.until_open == 0 ? prepare_openly(entry) : entry;
  }

  /// Before an entry that is not native runs: gets what it needs. False, on all ranks alike: that cannot be had, and
  /// the entry is native from now on. Collective where the communicator is short of something; most calls need nothing.
  bool supply(Entry& entry) { return (entry.needs & ~supplied_) == 0 || supply_slowly(entry); }
  /// The same before a call whose sizes no rank knows: there is a Decider::uneven_kind() for it, and without supplies
  /// none any more. Asked when all of a rank's arguments have been looked at: who is refused never asks.
  bool supply_uneven(plan::Operation operation, int root) {
    return supplied_ == all_needs || supply_uneven_slowly(operation, root);
  }

  /// As prepare(), of a call that must not wait: nothing, a program, or native.
  Entry& prepare_run(const plan::Problem& problem);
  /// They are a persistent request's. Before the first.
  void serve_persistent() { runs_form_ = CallForm::persistent; }
  /// Whether such calls have what they need; nothing while that is being asked for: ask again. All ranks ask between
  /// the same two calls, and wait for no-one.
  std::optional<bool> supply_runs();
  bool has_supplied_runs() const { return ((supplied_ | denied_) & windows) != 0; }
  /// Whether such a call, if it begins now, is over without waiting.
  bool is_at_hand(const plan::Problem& tiny) { return execute::is_at_hand(seat_, tiny); }
  /// Of one that is: how it ends. Not counted.
  execute::Ending run_at_hand(const plan::Problem& tiny, const execute::Buffers& buffers,
                              const execute::Reducer* reducer) {
    return execute::run_tiny(seat_, tiny, buffers.input, buffers.output, reducer, *means_.waiter);
  }
  bool may_run(const Entry& entry) const { return entry.fits_short_rings || (entry.needs & ~supplied_) == 0; }

  /// Whether the call is like the last one of `operation` that native was selected for: then it is native's, too, and
  /// has been counted. Nothing has to be computed or kept for what native does again and again. `deal` says what the
  /// blocks are and is asked where there was such a call.
  template <class DealOf>
  bool passes_on(plan::Operation operation, DealOf deal) {
    if (passed_ == nullptr) return false;
    Passed& passed = (*passed_)[static_cast<std::size_t>(operation)];
    if (!passed.deal || !(*passed.deal == deal())) return false;
    ++passed.calls;
    return true;
  }
  /// Counts a call that prepare() left to native, and remembers it for passes_on().
  void pass_on(Entry& entry);

  /// What this call will be, as Espalier_Describe says it. Of a scatter, gather or alltoall with counts: when no rank
  /// knows all of them, as it is in MPI. `may_wait`: a blocking call.
  std::string describe(const plan::Problem& problem, bool may_wait = true);

  /// Runs what was prepared (anything but `native`); all ranks of the communicator do. `output` is the whole result;
  /// `input` this rank's contribution, which may lie in `output` at its own place; for a broadcast both are the
  /// message. If a transport broke, or a wait was given up, the communicator can not be used any more. Throws
  /// std::bad_alloc before data move. `reducer` is needed by reductions.
  ///
  /// Ranks whose sizes do not fit together, which MPI forbids, come to an end: who receives takes the sender's size, as
  /// far as there is room; and where that cannot be, calls end as `truncated`.
  execute::Ending run(Entry& entry, std::byte* input, std::byte* output, const execute::Reducer* reducer = nullptr) {
    return settle(entry, input, output, entry.problem.bytes, attempt(entry, input, output, reducer));
  }
  /// The same in two parts: what is not over by then settle() brings to an end. Nearly all calls are, and keep nothing
  /// for it.
  execute::Ending attempt(Entry& entry, std::byte* input, std::byte* output, const execute::Reducer* reducer);
  [[gnu::noinline, gnu::cold]] execute::Ending settle(const Entry& entry, std::byte* input, std::byte* output,
                                                      Bytes room, execute::Ending ending);
  /// The same of a tiny entry that is no reduction, with room for blocks of others as execute/lines/tiny.hpp says.
  execute::Ending run_with_room(Entry& entry, std::byte* input, std::byte* output, Bytes room);

  enum class Outcome { done, native, broken };
  /// A broadcast or allgather of the library's own, as part of a call: not counted. `native`: decided so, nothing done.
  Outcome exchange(const plan::Problem& problem, std::byte* input, std::byte* output);

  /// From the next call on, `operation` follows this selection; empty: settings, table and built-in choice again. Made
  /// by all ranks between the same two calls.
  void select(plan::Operation operation, std::optional<Selection> selection);

  /// The call that was prepared last is a trial, or is_shown(): stop_timing() comes when it is over, whoever made it.
  bool is_timing() const { return is_timing_; }
  [[gnu::cold]] void stop_timing(bool is_own) noexcept;

  /// From the next call on some that it makes are shown, but for those with counts for each rank and those along edges.
  void show_to(std::shared_ptr<Onlooker> onlooker);
  /// The onlooker is told of all calls that came since it last looked, and looks no more.
  void stop_showing() noexcept;
  /// The call at hand is: the onlooker knows of it.
  bool is_shown() const { return is_shown_; }
  /// A wait has lasted for dozens of looks, and is over: whoever looks at such calls is told.
  [[gnu::cold]] void begin_long_wait() noexcept;
  [[gnu::cold]] void end_long_wait() noexcept;
  /// The next call is such a problem, which its counts come to; those of others are shown.
  void overlook(const plan::Problem& problem) {
    if (onlooker_ != nullptr) [[unlikely]]
      overlook_slowly(problem);
  }
  /// What was learned so far, as rows of a table.
  std::vector<tune::Row> derive_learned() const;

  /// What native takes for such a blocking call and what it takes now, as this job's trials have found or as the row
  /// says that it follows. None: nobody has compared.
  std::optional<tune::Measured> find_measured(const plan::Problem& problem) const;

  /// What calls will be before anything of them has been computed.
  const Decider& decider() const { return decider_; }

  /// Such a call; all ranks make it (execute/lines/uneven_blocks.hpp).
  execute::UnevenOutcome run_uneven_blocks(const execute::UnevenKind& kind, const execute::UnevenCall& call);

  /// What others see of this rank stays when the engine is gone (Watch::stay()).
  void stay_in_view() noexcept {
    if (means_.watch != nullptr) means_.watch->stay();
  }
  /// The blocking call that is being made, which is so many-th of the ranks', with exchanges and trials of ours.
  plan::Call call_at_hand() const noexcept;
  std::uint64_t calls() const noexcept { return seat_.call(); }
  /// A call was broken off: there can be no other.
  bool is_broken() const { return is_broken_; }
  /// What the network said of it, if that was it.
  std::string why_broken() const { return means_.network == nullptr ? "" : means_.network->why_broken(); }

  /// Hands the counts so far to the statistics.
  void report();

 private:
  friend class EngineRun;

  /// Whether all ranks are sure to take such a call to be the same. Of others some know sizes that others do not.
  static constexpr bool is_alike(plan::Operation operation) {
    using enum plan::Operation;
    constexpr auto bit = [](plan::Operation it) { return std::uint64_t{1} << static_cast<int>(it); };
    constexpr std::uint64_t alike =
        bit(barrier) | bit(allgather) | bit(reduce) | bit(allreduce) | bit(reduce_scatter) | bit(scan) | bit(exscan);
    return (alike & bit(operation)) != 0;
  }

  Entry& find(const plan::Problem& problem) {
    Entry* known = cache_.find(problem);
    return known != nullptr ? *known : decide(problem);
  }
  [[gnu::noinline]] Entry& prepare_openly(Entry& entry);
  void open(Entry& entry);
  bool is_to_be_shown(const Entry& entry) const;
  void show(Entry& entry);
  void overlook_slowly(const plan::Problem& problem);
  Entry* entry_looked_at() noexcept;
  static void count_down(Entry& entry);
  Entry& prepare_trusted(Entry& entry) { return entry.hears_first ? prepare_heard(entry) : turn_of(entry); }
  Entry& prepare_heard(Entry& entry);
  Entry& find_other(const plan::Problem& other);
  Entry& carry(const plan::Problem& mine, Bytes theirs, Entry* other);
  void witness(const plan::Problem& problem);
  void begin_lesson(Entry& entry);
  [[gnu::noinline, gnu::cold]] void look_at_lessons();
  void wake_followed();
  void check_lessons();
  Entry& turn_of(Entry& entry) { return entry.lesson == nullptr ? entry : take_turn(entry); }
  Entry& take_turn(Entry& entry);
  Entry& end_lesson(Entry& entry);
  void meet();
  Entry& vary(Entry& entry, int contender);
  void agree(Study& study);
  bool gather_own(std::byte* mine, Bytes bytes, std::byte* all);
  bool perform_own(Entry& entry, std::byte* input, std::byte* output);

  bool supply_slowly(Entry& entry);
  bool differs_from_senders(const plan::Problem& problem);
  bool supply_uneven_slowly(plan::Operation operation, int root);
  bool get(Needs needs, bool is_needed);
  Entry& decide(const plan::Problem& problem) { return decide(problem, cache_, true); }
  Entry& decide(const plan::Problem& problem, ProgramCache& cache, bool may_wait);
  execute::Ending perform(const Entry& entry, std::byte* input, std::byte* output, const execute::Reducer* reducer);
  [[gnu::noinline, gnu::cold]] execute::Ending begin_other();
  execute::Ending run_program(const Entry& entry, const execute::Buffers& buffers, const execute::Reducer* reducer,
                              bool may_follow);
  execute::Ending follow(const plan::Problem& problem, Bytes bytes, const execute::Buffers& buffers, Bytes room);
  execute::Ending perform_other(Entry& entry, const execute::Buffers& buffers);
  execute::Ending leave_call();
  /// After a call that was broken off: nobody touches the caller's memory any more.
  [[gnu::cold]] void leave() noexcept;

  CacheBudget& budget_;
  Means means_;
  Decider decider_;
  std::array<std::uint64_t, Decider::places> uneven_calls_{};  ///< that went without an exchange of sizes
  struct Passed {
    std::optional<Deal> deal;  ///< of the last call that native was selected for
    std::uint64_t calls = 0;   ///< that passes_on() has counted
  };
  using PassedOperations = std::array<Passed, plan::operation_count>;
  std::unique_ptr<PassedOperations> passed_;  ///< null before the first
  Statistics& statistics_;
  Needs supplied_ = all_needs;        ///< what is there
  Needs denied_ = no_needs;           ///< what cannot be had: calls that need it are native
  std::optional<Bytes> other_bytes_;  ///< of the call at hand, as it was found before it could be supplied
  Entry* other_ = nullptr;            ///< what it is by these, if that was found, too
  std::unique_ptr<Entry> carrier_;    ///< stands for a call that will be done as `other_`; null before the first
  /// What is being made without an entry; null: nothing.
  const execute::UnevenKind* uneven_kind_ = nullptr;
  const execute::UnevenCall* uneven_call_ = nullptr;
  bool is_broken_ = false;  ///< a run came to no end: neighbours may never leave it
  execute::Seat seat_;
  std::shared_ptr<Onlooker> onlooker_;  ///< null: nobody looks. Outlives entries
  ProgramCache cache_;
  std::uint64_t until_look_;          ///< calls that is_alike() is about
  std::uint64_t looks_after_;         ///< as many there were after the last look
  std::uint64_t since_check_ = 0;     ///< such calls before the last look
  std::unique_ptr<Learner> learner_;  ///< null: nothing is learned
  bool is_timing_ = false, is_shown_ = false;
  bool overlooks_ = false;              ///< the next call, which has to be opened
  std::uint64_t waits_since_ = 0;       ///< of a long wait that an onlooker knows of; 0: there is none
  std::unique_ptr<ProgramCache> own_;   ///< of calls for that; null before the first
  std::unique_ptr<ProgramCache> runs_;  ///< of calls that must not wait; null before the first
  CallForm runs_form_ = CallForm::nonblocking;
  bool asks_for_windows_ = false;  ///< and has no answer yet
  Scratch scratch_;
};

}  // namespace espalier::mpi
