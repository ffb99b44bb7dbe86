#pragma once
// What a rank's collectives took, by kind and size: sums only. Pure; the observer feeds it.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "plan/calls.hpp"

namespace espalier::mpi {

/// Times of some calls, in nanoseconds.
struct Moments {
  std::uint64_t calls = 0;
  double sum = 0;
  double squares = 0;

  void add(double value) {
    ++calls;
    sum += value;
    squares += value * value;
  }
};

/// Calls that are reported together.
struct ProfileKey {
  std::string shape;  ///< of the communicator: "8 ranks on 2 nodes"
  plan::Operation operation = plan::Operation::barrier;
  bool has_counts = false;
  int size_class = -1;  ///< 0: no bytes; k: from 2^(k-1) to below 2^k bytes; -1: not known

  auto operator<=>(const ProfileKey&) const = default;
};
int size_class_of(std::int64_t bytes);

struct ProfileRow {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t native = 0;  ///< of the calls; those of the sample included
  double seconds_ns = 0;     ///< from entry to exit
  double waiting_ns = 0;     ///< of that, until the last rank of the host had come
  std::uint64_t split = 0;   ///< calls of which that is known
  Moments own,
      sample;  ///< what was no waiting, of calls that Espalier made, and of those that native made for the sake of it
  bool is_choice_known = false;
  std::string choice;          ///< how the first was done
  std::vector<double> caused;  ///< waiting, by the world's rank that came last; empty: none
};

/// One call as it was seen.
struct Observed {
  std::int64_t bytes = -1;
  double seconds_ns = 0;
  double waiting_ns = 0;
  bool is_split = false;
  int last = -1;  ///< who came last, in the world
  bool is_native = false;
  bool is_sample = false;
};

class Profile {
 public:
  /// It stays where it is.
  ProfileRow& row(const ProfileKey& key) { return rows_[key]; }
  static void add(ProfileRow& row, const Observed& call);

  /// One rank's part of the file: {"rank": 3, "seconds": …, "rows": [ … ]}.
  std::string to_json(int rank, double run_seconds) const;

 private:
  std::map<ProfileKey, ProfileRow> rows_;
};

}  // namespace espalier::mpi
