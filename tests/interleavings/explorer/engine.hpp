#pragma once
// One exploration: ranks as fibers, and the choices between what they may read next.
//
// Which writes are read (and, of locations that several ranks write, in which order they do) is all that tells two
// executions apart, so that is all that is chosen; who runs when is not. A rank runs until its next access could see
// something that is not there yet. Then either it sees one of the writes that are there, or it is put off until there
// is another, and must see that or a later one. So each execution comes up in exactly one way:
//
//     read x ──┬── the last write of x
//              ├── … any write before, down to what the rank knows to be past
//              └── put off: others go on until x is written again; if it never is, there is no such execution
//
// Stores need no choice where no other rank writes: nobody has to see them. That this enumerates all is due to the
// model's having no cycles of program order and reads-from: in any execution that is not complete yet, some rank's next
// access reads a write that is there. Stateless search by replay: Godefroid, VeriSoft, POPL 1997; by reads-from instead
// of schedules: CDSChecker (Norris, Demsky, OOPSLA 2013), RCMC and GenMC (Kokologiannakis et al., POPL 2018, PLDI
// 2019), whose treatment of loops that only wait is the one here.

#include <ucontext.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "explorer/explorer.hpp"
#include "explorer/memory.hpp"

namespace espalier::interleavings {

/// Depth-first over numbered options: the same answers again, but for the last that has another one left.
class Choices {
 public:
  std::size_t choose(std::size_t options);
  /// Whether another sequence is left, which is then begun.
  bool next();
  void restart() { taken_.clear(), at_ = 0; }
  /// The same sequence once more.
  void replay() { at_ = 0; }

 private:
  struct Choice {
    std::size_t taken, options;
  };
  std::vector<Choice> taken_;
  std::size_t at_ = 0;
};

class Engine final : public Arena {
 public:
  Engine(const Scenario& scenario, const Options& options);
  ~Engine() override = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Report explore();

  /// The exploration under way, while code of a scenario runs; null otherwise.
  static Engine* active() { return active_; }
  /// While the engine itself is at work on behalf of a scenario: what it does is not looked at.
  class Pause {
   public:
    Pause() : engine_(std::exchange(active_, nullptr)) {}
    ~Pause() { active_ = engine_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Engine* engine_;
  };
  /// Whether memory is of the kind that scenarios have. There is one piece for all explorations, one after the other.
  static bool owns(const void* address) {
    return static_cast<const std::byte*>(address) >= memory_ && static_cast<const std::byte*>(address) < end_;
  }

  // What hooks ask for, in a Pause. All by the rank whose fiber runs.
  bool has_rank() const { return running_ >= 0; }
  std::uint64_t load(std::byte* address, unsigned bytes, int order);
  void store(std::byte* address, unsigned bytes, std::uint64_t value, int order);
  template <class Change>
  std::uint64_t change(std::byte* address, unsigned bytes, int order, Change change);
  /// Whether it was exchanged; else `expected` is what was found.
  bool exchange_if(std::byte* address, unsigned bytes, std::uint64_t& expected, std::uint64_t value, int order,
                   int order_of_failure);
  void touch(const void* address, std::size_t bytes, bool is_write);
  void lock(std::byte* mutex);
  void unlock(std::byte* mutex);
  void pause();
  /// futex(2): sleeps while the word is still `value`, until woken.
  void sleep(std::byte* word, std::uint32_t value);
  void wake(std::byte* word);
  void require(bool holds, const char* what);
  void* allocate(std::size_t bytes, std::size_t alignment);

  std::byte* take(std::size_t bytes, std::size_t alignment) override;
  void name(const void* begin, std::size_t bytes, std::string name) override;

 private:
  enum class State {
    ready,
    put_off,   ///< until a location grows, because the choice was so
    blocked,   ///< the same, but because there is no other way to go on: it holds a mutex, or looks in vain
    sleeping,  ///< until woken
    over,
  };
  static constexpr std::size_t no_location = ~std::size_t{0};
  struct Look {
    std::size_t location;
    Index read;
  };
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack;
    State state = State::ready;
    std::vector<Look> awaited;     ///< put_off, blocked: grows beyond one of these
    std::vector<Index> last_read;  ///< by location, plus 1; 0: never
    std::vector<Look> looked;      ///< while it looks again
    bool looks_again = false;
    std::size_t last_access = no_location;  ///< to what is atomic, if nothing that others see was written since
    int looks = 0;                          ///< in vain, so far
    std::uint64_t reads = 0;                ///< all that it has read, as one number
    int patience = 0;
    std::size_t sleeps_on = 0;
    std::byte *heap = nullptr, *heap_end = nullptr;
  };
  void count();
  enum class End { running, complete, abandoned, violated };

  void execute();
  void prepare();
  bool run_some();
  void run(int rank);
  static void enter(unsigned high, unsigned low, unsigned rank);
  void switch_to_search();
  [[noreturn]] void leave(End end);
  [[noreturn]] void violate(const std::string& what);
  void judge_standstill();
  bool grant_patience();

  Location& location_of(std::byte* address, unsigned bytes);
  Location& begin_access(std::byte* address, unsigned bytes);
  bool may_be_written_by_others(const Location& location) const;
  void put_off(Location& location);
  void await(std::vector<Look> looks, State state);
  void note_growth(Location& location);
  template <class Wanted>
  Index choose_write(Location& location, Wanted is_wanted);
  Index choose_time(Location& location);
  void note_read(Location& location, Index index);
  void append(Location& location, unsigned bytes, std::uint64_t value, Order order, std::optional<Index> read);
  void trace(const std::string& what);
  Fiber& fiber() { return fibers_[static_cast<std::size_t>(running_)]; }

  const Scenario& scenario_;
  const Options& options_;
  Memory history_;
  Choices choices_;
  Report report_;
  std::vector<Fiber> fibers_;
  ucontext_t search_{};
  std::byte* next_;
  static inline std::byte* prepared_ = nullptr;  ///< what lies before it, an execution has prepared
  int running_ = -1;
  int last_ = 0;
  End end_of_execution_ = End::running;
  bool is_last_resort_ = false;
  bool is_traced_ = false;
  std::string trace_, what_;
  std::unordered_set<std::uint64_t> seen_;  ///< executions, by what was read
  static Engine* active_;
  static std::byte *memory_, *end_;
};

template <class Change>
std::uint64_t Engine::change(std::byte* address, unsigned bytes, int order, Change change) {
  Location& location = begin_access(address, bytes);
  const Index read = choose_time(location);
  note_read(location, read);
  const std::uint64_t actual = location.write(read).value;
  const std::uint64_t seen = history_.read(running_, location, read, order_of(order, true, true));
  append(location, bytes, change(actual), order_of(order, true, true), read);
  return seen;
}

}  // namespace espalier::interleavings
