#pragma once
// What was measured to be best, and on which machine: an immutable value, read from a file that `espalier tune` writes.
// The file's format is docs/reference/table-schema.json.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/transport.hpp"
#include "cost/parameters.hpp"
#include "plan/problem.hpp"
#include "topology/topology.hpp"
#include "tune/signature.hpp"

namespace espalier::tune {

/// A closed range.
template <class Number>
struct Range {
  Number first{};
  Number last{};

  constexpr bool holds(Number value) const { return first <= value && value <= last; }
  bool operator==(const Range&) const = default;
};

/// What one size was measured to take. Medians over the rounds of the duel that decided; microseconds.
struct Measured {
  /// As Problem::bytes.
  Bytes bytes = 0;
  double native_us = 0;
  /// Of the selection; native's own when native was selected.
  double chosen_us = 0;
  /// Native ÷ selection, smallest and largest of all rounds.
  double lowest_ratio = 1;
  double highest_ratio = 1;
  /// Timed calls of each of the two.
  std::int64_t calls = 0;
};

/// One line of a table: where it applies, what it says, what was measured.
struct Row {
  plan::Operation operation = plan::Operation::barrier;
  /// Of the communicator: its nodes, and the ranks on its largest node.
  Range<int> nodes;
  Range<int> ppn;
  /// As Problem::bytes.
  Range<Bytes> bytes;
  /// For blocks of different sizes only (the v-forms, reduce_scatter); otherwise for all.
  bool uneven = false;
  /// Of messages between nodes when it was measured. On one node it does not matter.
  Transport transport = Transport::mpi;
  /// "native", the dedicated path (tune/dedicated.hpp), or a choice as choice::parse_choice reads it; nothing else
  /// passes read_table.
  std::string selection;
  Measured measured;
  /// Which of its file's rows it is, from 1 on; and whether a job's own calls have taught it (tune/store.hpp).
  int number = 0;
  bool is_learned = false;
  /// When that was, in days since 1970 (UTC), and how many jobs in a row have found the same; 0: not said.
  int day = 0;
  int jobs = 0;

  /// Jobs in a row whose finding is no chance any more: one that was disturbed says anything.
  static constexpr int sure_jobs = 3;
  /// Whether its word is taken: somebody has measured it, this job has found it, or enough others have.
  bool is_sure() const { return !is_learned || number == 0 || jobs >= sure_jobs; }

  bool matches(const topology::Topology& topology, const plan::Problem& problem, Transport carried_by) const;
  /// Whether it speaks of communicators like this one.
  bool is_about(const topology::Topology& topology, Transport carried_by) const;
};

/// A part of all sizes, as Problem::bytes: up to `last`, from the end of the part before on.
struct Span {
  Bytes last = 0;
  /// The row that holds there; null: none does.
  const Row* row = nullptr;
};

/// How many of some calls a table leaves to native.
enum class Natives : std::uint8_t { none, some, all };

class Table {
 public:
  /// The newest format this build reads; also the one it writes.
  static constexpr int current_version = 1;
  /// More than any tuning of all operations on all sizes and placements writes (some hundred rows of half a KB), and
  /// little enough that every rank reads it in a blink.
  static constexpr Bytes most_bytes = Bytes{8} << 20;
  static constexpr std::size_t most_rows = 16384;

  /// Reads the file at `path` and checks that it was made for `here`. Throws Error with the reason, fit for a person:
  /// not readable, no regular file, too large, truncated or corrupt, a newer version, another machine, another MPI.
  static Table load(const std::string& path, const Signature& here);
  /// The same for whatever machine.
  static Table load(const std::string& path);
  /// Parses a file's text. Pure. Throws Error whose text begins with `name`.
  static Table parse(std::string_view text, std::string_view name);

  const Signature& signature() const { return signature_; }
  const std::vector<Row>& rows() const { return rows_; }
  /// What things cost on the table's machine, as far as it was measured: for the built-in choice where no row matches.
  const cost::Parameters& parameters() const { return parameters_; }
  /// What carries messages between nodes where nothing else was asked for: the faster one, if both were measured.
  Transport transport() const { return transport_; }
  /// Puts another table's rows behind these. What things cost, and what carries messages, stays as it was said first.
  void append(const Table& other);
  /// Rows of which `is_doubtful(row)` are no more than where learning begins (Row::is_sure()).
  template <class IsDoubtful>
  void doubt(const IsDoubtful& is_doubtful) {
    for (Row& row : rows_)
      if (is_doubtful(row)) row.jobs = 0;
  }
  /// Its rows are what jobs' own calls have taught.
  bool is_learned() const { return is_learned_; }

  /// Of the file's text, byte by byte (64-bit FNV-1a): equal hashes on all ranks mean equal tables.
  std::uint64_t hash() const { return hash_; }

  /// The first row that matches; null when none does, which leaves the problem to the built-in choice. Valid as long as
  /// the table. Equal on all ranks that hold equal tables. `carried_by`: what the communicator's messages go by.
  const Row* find(const topology::Topology& topology, const plan::Problem& problem,
                  Transport carried_by = Transport::mpi) const;
  /// Whether any row is about uneven blocks of `operation` alone.
  bool has_uneven(const topology::Topology& topology, plan::Operation operation,
                  Transport carried_by = Transport::mpi) const;
  /// From which largest block on the rows leave uneven blocks of `operation` to native, the dedicated path taking all
  /// smaller ones: 0 when all are native, the largest number when none is; none when rows say anything else, or
  /// nothing. Scatterv, gatherv and alltoallv must know before their ranks have told each other any size.
  std::optional<Bytes> uneven_native_from(const topology::Topology& topology, plan::Operation operation,
                                          Transport carried_by = Transport::mpi) const;
  /// What rows about uneven blocks of `operation` alone say by size, the smallest first, the last part without an end;
  /// empty where there is no such row. The rows live as long as the table.
  std::vector<Span> uneven_spans(const topology::Topology& topology, plan::Operation operation,
                                 Transport carried_by = Transport::mpi) const;
  /// Of all blocks of `operation`, equal ones or any: `all` only where rows without gaps say so, `none` only where none
  /// does.
  Natives natives_of(const topology::Topology& topology, plan::Operation operation, bool are_equal,
                     Transport carried_by = Transport::mpi) const;
  /// The window= of the first row that selects the dedicated path for uneven blocks of `operation`; none: the usual
  /// one.
  std::optional<Bytes> uneven_window(const topology::Topology& topology, plan::Operation operation,
                                     Transport carried_by = Transport::mpi) const;

 private:
  Signature signature_;
  std::vector<Row> rows_;
  cost::Parameters parameters_;
  Transport transport_ = Transport::mpi;
  bool has_parameters_ = false;
  bool is_learned_ = false;
  std::uint64_t hash_ = 0;
};

}  // namespace espalier::tune
