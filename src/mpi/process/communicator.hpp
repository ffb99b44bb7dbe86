#pragma once
// What we keep for one MPI communicator, as an attribute of it: made at its first collective, gone when it is freed.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mpi/decide/passed.hpp"
#include "mpi/native/native.hpp"
#include "mpi/run/engine.hpp"
#include "mpi/run/memory/board_memory.hpp"
#include "mpi/run/shown/unserved_calls.hpp"

namespace espalier::mpi {

class GradualSetUp;
class Neighbors;

class Communicator {
 public:
  /// What find() gives, where the call before this one was on the same communicator.
  static std::optional<Communicator*> find_last(MPI_Comm comm) {
    const LastUsed last = last_used_;
    const bool is_same = last.comm == comm && last.generation == generation_.load(std::memory_order_acquire);
    return is_same ? std::optional(last.communicator) : std::nullopt;
  }
  /// The state of a communicator, set up now if this is its first collective: then a collective operation over it. Null
  /// when the call must go to the native library without being looked at (MPI not running, null communicator, or an
  /// error that native will report), as where the call `is_refused()` by native on this rank alone: then nobody is
  /// asked to take part in set-up. Asked only before that, as is what others are `told()` of it.
  template <class Call>
  static Communicator* find(MPI_Comm comm, const Call& call) {
    const auto ask = [](const void* it) { return static_cast<const Call*>(it)->is_refused(); };
    const auto tell = [](const void* it) { return static_cast<const Call*>(it)->told(); };
    return find_slowly(comm, {&call, ask, tell});
  }

  /// The same, set up in any case: some begin with calls that are left to native, since set-up takes as long as many
  /// calls save. A collective operation.
  static Communicator* find_set_up(MPI_Comm comm);
  /// The state of a communicator if there is one, else null. Local.
  static Communicator* find_existing(MPI_Comm comm) {
    const LastUsed last = last_seen_;
    if (last.comm == comm && last.generation == members_.load(std::memory_order_acquire)) return last.communicator;
    return find_existing_slowly(comm);
  }

  /// Every thread looks its communicator up again: calls on it may be pending by now.
  static void forget_last_used() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  /// The same where one is gone or changed, and its handle may come back for another, or all are going.
  static void forget() {
    members_.fetch_add(1, std::memory_order_acq_rel);
    forget_last_used();
  }

  /// While native frees a communicator it calls the program's attribute functions, in an order that may differ between
  /// ranks, and those may use it: for this thread its state stays, under its handle, as long as this lives. Then it
  /// goes, unless native failed to free. Other threads may meanwhile get the handle again, for a new communicator.
  class Leaving {
   public:
    explicit Leaving(MPI_Comm comm);
    ~Leaving();
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

   private:
    friend class Communicator;
    /// This thread's, of this communicator; or null.
    static const Leaving* find(MPI_Comm comm);

    MPI_Comm comm_;
    Communicator* communicator_;
    const Leaving* outer_;
    ESPALIER_FAST_THREAD_LOCAL static thread_local constinit const Leaving* innermost_;
  };

  /// A communicator on its way to calls that must not wait, set up and with what those need.
  class Readiness {
   public:
    /// Of one call: that counts among those that come before set-up.
    explicit Readiness(MPI_Comm comm);
    ~Readiness();
    /// Nothing: not yet, ask again. Else its state, if it has any; calls are native where that has no may_start(). All
    /// ranks ask in the same of the communicator's calls. Waits for nobody.
    std::optional<Communicator*> find();

   private:
    void begin();

    MPI_Comm comm_;
    bool has_begun_ = false;
    std::unique_ptr<GradualSetUp> set_up_;
  };

  /// A communicator that stays native for good, for a reason that all its ranks know.
  explicit Communicator(std::string refusal);
  /// One that stays native for so many calls, and is set up then.
  static std::unique_ptr<Communicator> make_new(int native_calls);
  /// One that Espalier serves.
  Communicator(BoardMemory memory, Means means);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Whether it is among the first of its calls, which are native.
  bool awaits_set_up() const { return native_calls_ > 0; }
  /// Begins one of those on native, which may refuse it on this rank alone: then it was none of them. `pass_on()` gives
  /// MPI's code.
  template <class PassOn>
  int pass_on_early(const PassOn& pass_on) {
    const std::uint64_t members = members_.load(std::memory_order_acquire);
    const int code = pass_on();
    // An error's handler may have freed it.
    if (code != MPI_SUCCESS && members == members_.load(std::memory_order_acquire)) take_back(code);
    return code;
  }

  /// The program makes a call on it: the number of that, for whoever reads of it (hang). Those that start what is
  /// persistent count by request.
  std::uint64_t count_call() noexcept { return ++calls_; }
  /// The same of one that does not block, which others see to have been begun.
  std::uint64_t count_start() noexcept {
    count_call();
    if (line_ != nullptr) line_->show_number(calls_);
    return calls_;
  }

  /// What others see while this rank is in something that is left to the MPI.
  class Mark {
   public:
    /// It is over, with MPI's code. A call that native has refused on this rank alone is none of those that come before
    /// set-up, nor of those that all ranks make.
    void end(int code) const noexcept {
      if (code != MPI_SUCCESS) [[unlikely]]
        return end_with_error(code);
      if (word_ != nullptr) word_->store(execute::LeftToMpi::end(at_), std::memory_order_release);
    }

   private:
    friend class Communicator;
    void end_with_error(int code) const noexcept;

    Communicator* communicator_ = nullptr;
    execute::LeftToMpi::Doing doing_ = execute::LeftToMpi::Doing::nothing;
    std::atomic<std::uint64_t>* word_ = nullptr;  ///< null: there is none that others see
    execute::UnservedCall* unserved_ = nullptr;   ///< that has the word, where the communicator has no line
    std::uint64_t at_ = 0, members_ = 0;
  };
  /// From now on they see that it is in such a call, which comes next.
  Mark begin_left(plan::Call call) { return begin(Doing::call, call, calls_); }
  /// The same of what comes before one, on all ranks (ESPALIER_CHECK).
  Mark begin_comparison(plan::Call call) { return begin(Doing::comparison, call, calls_ + 1); }
  /// MPI_Finalize is called. For good.
  static void show_finalization() noexcept;

  /// Whether calls that must not wait may be ours: they are completed by functions of ours, on all ranks.
  bool may_start() const { return engine_ != nullptr && engine_->may_start(); }
  /// And whether there is nothing to wait for (Readiness).
  bool is_ready() const { return may_start() && engine_->has_supplied_runs(); }

  /// Null when it stays native: then it passes on every call.
  Engine* engine() const { return engine_.get(); }
  /// Of the call at hand: as the engine's.
  bool is_timing() const { return engine_ != nullptr && engine_->is_timing(); }
  bool is_shown() const { return engine_ != nullptr && engine_->is_shown(); }
  const std::string& refusal() const { return refusal_; }
  int ranks() const { return engine_->topology().ranks(); }
  int rank() const { return engine_->me().value; }
  /// The same as far as it is known where there is no engine; else -1, and nobody is shown anything.
  int place() const { return engine_ != nullptr ? me_ : group_ != nullptr ? group_->rank : -1; }

  /// Whether native does this call, as is known before anything of it is looked at; then it has been counted.
  template <class Call>
  bool passes_on(const Call& call) {
    return passed_.takes(call, me_);
  }
  /// Notes that the call at hand goes to native since that was selected.
  void note_selected() { is_selected_ = true; }
  /// After a call that went to native: another like it is passed on right away, if that was selected.
  template <class Call>
  void remember(const Call& call) {
    if (std::exchange(is_selected_, false)) passed_.remember(call, me_);
  }
  /// From the next call on. As Engine::select().
  void select(plan::Operation operation, std::optional<Selection> selection);

  void count_native(const plan::Call& kind) { passed_.count(kind); }
  /// Hands the counts so far to the statistics.
  void report();

  /// Packed data of calls whose buffers are not plain bytes.
  Scratch& packed() { return packed_; }

  /// The ranks that its neighbourhood collectives go to and come from; null before the first (setup/neighbors.hpp).
  const std::shared_ptr<Neighbors>& neighbors() const { return neighbors_; }
  void learn_neighbors(std::shared_ptr<Neighbors> neighbors) { neighbors_ = std::move(neighbors); }

  /// A transport broke: data may have moved, so neither we nor native can go on. Every later call returns the error
  /// too.
  bool is_broken = false;

 private:
  using Doing = execute::LeftToMpi::Doing;

  void take_back(int code) {
    if (native_calls_ > 0 && is_refusal(code)) ++native_calls_;
  }
  Mark begin(Doing doing, plan::Call call, std::uint64_t number) {
    call.number = number;
    Mark mark;
    mark.communicator_ = this;
    mark.doing_ = doing;
    mark.members_ = members_.load(std::memory_order_acquire);
    if (line_ != nullptr) {
      mark.word_ = &line_->left;
      mark.at_ = line_->begin_left(doing, call);
    } else if (group_ != nullptr) {
      begin_unserved(mark, doing, call);
    }
    return mark;
  }
  void begin_unserved(Mark& mark, Doing doing, const plan::Call& call) const noexcept;

  struct LastUsed {
    MPI_Comm comm;
    Communicator* communicator;
    std::uint64_t generation;
  };
  /// What is known of a communicator.
  struct Known {
    bool is_valid = false;    ///< MPI could answer at all
    bool is_leaving = false;  ///< it is being freed: no state is made for it any more
    Communicator* communicator = nullptr;
  };
  static Known look_up(MPI_Comm comm);
  /// Whether a call will be refused; null: it sets the communicator up in any case.
  struct Question {
    const void* call = nullptr;
    bool (*ask)(const void* call) = nullptr;
    plan::Call (*tell)(const void* call) = nullptr;

    bool is_refused() const { return ask != nullptr && ask(call); }
  };
  static Communicator* find_slowly(MPI_Comm comm, const Question& question);
  static bool is_refusal(int code);
  static int on_free(MPI_Comm, int, void* communicator, void*);
  static int keyval();
  static Communicator* set_up_and_keep(MPI_Comm comm, const Question& question);
  static Communicator* keep(MPI_Comm comm, std::unique_ptr<Communicator> state);

  static Communicator* find_existing_slowly(MPI_Comm comm);

  // Generation 0 never is: a zeroed entry matches nothing. What was looked up is good as long as no communicator goes;
  // what was used, until calls are pending.
  ESPALIER_FAST_THREAD_LOCAL static thread_local constinit LastUsed last_used_, last_seen_;
  static std::atomic<std::uint64_t> generation_, members_;

  void learn_natives();

  execute::WatchLine* line_ = nullptr;  ///< null: it has none
  std::unique_ptr<const Group> group_;  ///< then; null: nobody else to see it, or they cannot be told
  std::uint64_t calls_ = 0;             ///< that the program has made
  std::string refusal_;
  int native_calls_ = 0;  ///< to come before it is set up, the one that sets it up counted
  std::atomic<bool> is_leaving_ = false;
  std::atomic<bool> is_freed_ = false;  ///< native has freed it, and this is still in use
  int me_ = 0;
  bool is_selected_ = false;
  PassedKinds passed_;
  BoardMemory memory_;
  Scratch packed_;
  std::shared_ptr<Neighbors> neighbors_;
  std::unique_ptr<Engine> engine_;  ///< last, so that it goes first: it works in memory_
};

}  // namespace espalier::mpi
