#pragma once
// The tables of several machines, MPIs and owners beside each other, and what jobs add to them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tune/table.hpp"

namespace espalier::tune {

/// A file as it was read.
struct TableText {
  std::string path;
  std::string text;
};

/// All of the files that can be read; `remarks` says what is wrong with others. At most Table::most_bytes of them
/// together.
std::vector<TableText> read_tables(std::span<const std::string> paths, std::vector<std::string>& remarks);

/// What holds somewhere, and what is to be said of it.
struct Selected {
  /// Rows of all tables that hold: those that fit exactly first, then those that nearly do, each in the files' order.
  std::optional<Table> table;
  std::vector<std::string> remarks;
};
/// Pure. `named`: what somebody asked for by name, so that a foreign one is worth a remark. `day`: today, since what
/// was learned long ago is doubted (Row::is_sure()), as is what was learned with another release or other memory.
Selected select_tables(std::span<const TableText> texts, const Signature& here, std::string_view named, int day = 0);

// ---- what jobs have learned ----

/// The name of the file for one signature: "learned-mpich-version-5-0123456789abcdef.json".
std::string learned_name(const Signature& signature);
/// The same for a table that `espalier tune` makes: "tuned-…".
std::string tuned_name(const Signature& signature);

/// The file's text: as any table, and "learned": true.
std::string format_learned(const Signature& signature, std::span<const Row> rows);

/// `known` with `fresh` rows in the place of those about the same calls.
std::vector<Row> merge_rows(std::vector<Row> known, std::span<const Row> fresh);

/// Adds rows, found out on `day`, to the file in `folder`, which is made where there is none: complete or not at all,
/// and beside other jobs that do the same, who wait for each other. Returns what went wrong, or nothing; a file that is
/// corrupt stays as it is.
std::string keep_learned(const std::string& folder, const Signature& signature, std::span<const Row> rows, int day);

}  // namespace espalier::tune
