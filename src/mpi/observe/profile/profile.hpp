#pragma once
// What a rank's collectives took, by kind and size: sums only. Pure; the observer feeds it. What the file's fields mean
// is said where they are read (python/espalier/profile/reading.py).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/calls.hpp"
#include "tune/table.hpp"

namespace espalier::mpi {

/// Times of some calls, in nanoseconds, of which each may stand for several that were not timed: by so many it counts.
struct Moments {
  std::uint64_t calls = 0;  ///< that were timed
  double weight = 0;        ///< what they stand for
  double weights_squared = 0;
  double sum = 0;
  double squares = 0;

  void add(double value, double by = 1) {
    ++calls;
    weight += by;
    weights_squared += by * by;
    sum += by * value;
    squares += by * value * value;
  }
};

/// 0: no bytes; k: from 2^(k-1) to below 2^k bytes; -1: not known.
int size_class_of(std::optional<Bytes> bytes);
/// What is summed up apart of a communicator's calls.
struct CallKind {
  plan::Operation operation = plan::Operation::barrier;
  plan::BlockSizes blocks = plan::BlockSizes::equal;
  int size_class = -1;
  plan::CallForm form = plan::CallForm::blocking;
  const void* site = nullptr;  ///< the instruction after the program's call; null: not asked for

  auto operator<=>(const CallKind&) const = default;
};
/// Calls that are reported together.
struct ProfileKey {
  std::string shape;    ///< of the communicator: "8 ranks on 2 nodes"
  std::string members;  ///< its ranks (describe_members())
  CallKind kind;

  auto operator<=>(const ProfileKey&) const = default;
};

/// A rank's place in the communicator's process topology, which its neighbourhood collectives follow: ranks of the
/// communicator in MPI's order, those that are nobody left out.
struct Neighborhood {
  std::vector<int> from, to;

  bool operator==(const Neighborhood&) const = default;
};

/// Calls, bytes and native are counted, and long waits known; where not all calls were timed, all else is estimated
/// from those that were.
struct ProfileRow {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t native = 0;          ///< of the calls; those of the sample included
  Moments timed;                     ///< from entry to exit, of blocking calls, less long waits
  double seconds_ns = 0;             ///< in MPI: from entry to exit; of what does not block, in start and completion
  double waiting_ns = 0;             ///< of that, until the last rank of the host had come
  std::uint64_t split = 0;           ///< calls of which that is known
  double start_ns = 0;               ///< of seconds_ns, in the call that starts
  double between_ns = 0;             ///< from start to completion, outside of both
  double gap_ns = 0;                 ///< of the program's own before the calls, since the rank's collective before
  double first_ns = 0, last_ns = 0;  ///< when the first and the last began, since MPI_Init's end
  Moments own,
      sample;  ///< what was no waiting, of calls that Espalier made, and of those that native made for the sake of it
  std::uint64_t ask_choice_after = 0;       ///< calls: it may be another by then
  std::string choice;                       ///< how a late one was done
  std::optional<tune::Measured> measured;   ///< against native, by who has compared them: the learner, or a table
  std::vector<double> caused;               ///< waiting, by the world's rank that came last; empty: none
  std::vector<std::uint64_t> roots;         ///< calls by root, where there is one
  std::vector<Neighborhood> neighborhoods;  ///< of its communicators, each once; none: no neighbourhood collectives
};

/// Calls that were counted and not timed.
struct PassedCalls {
  std::uint64_t calls = 0, bytes = 0, native = 0;
};

/// A wait that lasted for longer than most do: all of them are known, whether their calls were timed or not.
struct LongWait {
  static constexpr int unknown = -1;

  double ns = 0;
  double waiting_ns = 0;  ///< of that, until the last rank had come
  int whose = unknown;    ///< that rank, in the world
};

/// One call as it was seen when it ended, or, of what does not block, when it had been started.
struct Observed {
  std::uint64_t weight = 1;         ///< it stands for so many calls, of which the others were not timed
  std::optional<Bytes> bytes = {};  ///< none: not known
  double seconds_ns = 0;
  double waiting_ns = 0;
  bool is_split = false;
  int last = -1;  ///< who came last, in the world
  bool is_native = false;
  bool is_sample = false;
  int root = -1;  ///< -1: the operation has none
  double begin_ns = 0;
  bool is_started = false;  ///< it goes on, and add_completion() follows
  /// Of both times: what add(row, LongWait) was told of.
  double known_ns = 0, known_waiting_ns = 0;
};

class Profile {
 public:
  /// What a place in the program is called, for the file.
  using NameSite = std::function<std::string(const void*)>;

  /// It stays where it is.
  ProfileRow& row(const ProfileKey& key) { return rows_[key]; }
  static void add(ProfileRow& row, const Observed& call);
  static void add(ProfileRow& row, const PassedCalls& passed);
  static void add(ProfileRow& row, const LongWait& wait);
  /// The program was at its own work before a call of the row, and before `weight` of its kind.
  static void add_gap(ProfileRow& row, double gap_ns, std::uint64_t weight) {
    row.gap_ns += static_cast<double>(weight) * gap_ns;
  }
  /// A communicator's first calls of the row follow that.
  static void add_neighborhood(ProfileRow& row, Neighborhood neighborhood);
  /// A started call is over: it was in MPI for so long since, and outside for so long before.
  static void add_completion(ProfileRow& row, double in_mpi_ns, double between_ns);

  /// One rank's part of the file: {"rank": 3, "seconds": …, "threads": 1, "rows": [ … ]}, with the threads that made
  /// calls.
  std::string to_json(int rank, double run_seconds, int threads, const NameSite& name_site) const;

 private:
  std::map<ProfileKey, ProfileRow> rows_;
};

}  // namespace espalier::mpi
