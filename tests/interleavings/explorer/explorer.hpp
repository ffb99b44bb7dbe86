#pragma once
// Explores what ranks that share memory can do to each other, under C++'s memory order and not only this processor's:
// the code that production runs is run again and again, until every execution that the standard allows has been seen.
//
//     scenario ──► ranks as fibers ──► each atomic access is a choice: which write does it see? ──► report
//     (real code)      ▲                                                │
//                      └──────── run again with the next choice ◄───────┘
//
// The code is not changed for it. It is compiled with -fsanitize=thread, so that the compiler calls out at every access
// to memory, atomic ones with their memory order, and linked with answers of our own (hooks.cpp) in place of
// ThreadSanitizer's. README.md says what is explored, by which rules, and whose ideas these are.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::interleavings {

inline constexpr int most_ranks = 6;

/// Memory that ranks share, zeroed before each execution. Only what lies here, and what ranks allocate, is looked at.
class Arena {
 public:
  virtual ~Arena() = default;
  /// Aligned to `alignment`, the same address in each execution.
  virtual std::byte* take(std::size_t bytes, std::size_t alignment = 64) = 0;
  /// What reports call this memory, and faults are planted by.
  virtual void name(const void* begin, std::size_t bytes, std::string name) = 0;
};

/// A fault to plant: where memory of that name is accessed, something is missing.
struct Fault {
  enum Kind {
    none,
    relaxed_store,  ///< stores and read-modify-writes release nothing
    relaxed_load,   ///< loads and read-modify-writes acquire nothing
    lie,            ///< loads and read-modify-writes say `value`, whatever is there
    any_bool,       ///< loads say yes or no, both are explored: for what is advice only
  };
  Kind kind = none;
  std::string where = {};  ///< names that begin so
  std::uint64_t value = 0;
};

struct Scenario {
  int ranks = 2;
  /// Before each execution: takes memory and names it. What it writes there happens before all that ranks do.
  std::function<void(Arena&)> prepare = [](Arena&) {};
  /// One rank, as a fiber. Deterministic but for what it reads; keeps nothing outside of the arena and its own stack.
  std::function<void(int rank)> run;
  /// After each complete execution, and no part of it: may look at what is left there, and keep it.
  std::function<void()> finish = [] {};
};

struct Options {
  /// What a rank does that has looked in vain (sched_yield): nothing more than to look again, so that executions in
  /// which it looks often are like those in which it looks once. False: it has effects, as where a pool of windows is
  /// asked; then at most `most_looks` in vain are explored for each rank.
  bool waits_are_pure = true;
  int most_looks = 3;
  /// The same of looks that follow each other directly, with nothing in between that others see: the second sees what
  /// the first did. Not where two reads of one location in a row mean anything.
  bool looks_are_pure = true;
  /// Looks that a rank has left when nobody gets on any more, before that is called a deadlock.
  int patience = 0;
  std::vector<Fault> faults = {};
  std::uint64_t most_executions = 100'000;
};

struct Report {
  std::uint64_t executions = 0;               ///< complete ones, each another: in some access another write is seen
  std::uint64_t repeated = 0;                 ///< complete ones that had come up before: there should be none
  std::uint64_t abandoned = 0;                ///< that turned out to be, or to lead to, what others are
  std::uint64_t accesses = 0;                 ///< to atomics
  bool is_complete = false;                   ///< nothing is left to explore
  std::optional<std::string> violation = {};  ///< of the first bad execution, and what led there
};

Report explore(const Scenario& scenario, const Options& options = {});

/// In a rank: what must hold. Elsewhere, and during replay, as cheap as a comparison.
void require(bool holds, const char* what);

}  // namespace espalier::interleavings
