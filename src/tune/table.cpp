#include "tune/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "tune/dedicated.hpp"
#include "tune/reader.hpp"

namespace espalier::tune {
namespace {

// Beyond any buffer: the rows' way to say "all".
constexpr Bytes largest = Bytes{1} << 40;

}  // namespace

bool Row::matches(const topology::Topology& topology, const plan::Problem& problem, Transport carried_by) const {
  return operation == problem.operation && (!uneven || !problem.counts.empty()) && bytes.holds(problem.bytes) &&
         is_about(topology, carried_by);
}

bool Row::is_about(const topology::Topology& topology, Transport carried_by) const {
  return nodes.holds(topology.nodes()) && ppn.holds(topology.largest_node()) &&
         (topology.nodes() == 1 || transport == carried_by);
}

Table Table::parse(std::string_view text, std::string_view name) {
  Contents contents = read_contents(text, name);
  Table table;
  table.signature_ = std::move(contents.signature);
  table.rows_ = std::move(contents.rows);
  for (Row& row : table.rows_) row.is_learned = contents.is_learned;
  table.parameters_ = contents.parameters;
  table.transport_ = contents.transport;
  table.has_parameters_ = contents.has_model;
  table.is_learned_ = contents.is_learned;
  table.hash_ = hash_text(text);
  return table;
}

void Table::append(const Table& other) {
  if (!has_parameters_) parameters_ = other.parameters_;
  if (rows_.empty()) transport_ = other.transport_;
  has_parameters_ = has_parameters_ || other.has_parameters_;
  rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
  hash_ = hash_ * 31 + other.hash_;
}

Table Table::load(const std::string& path) { return parse(read_file(path, most_bytes), path); }

Table Table::load(const std::string& path, const Signature& here) {
  Table table = load(path);
  if (const std::string reason = why_foreign(table.signature(), here); !reason.empty())
    throw Error(path + ": " + reason);
  return table;
}

const Row* Table::find(const topology::Topology& topology, const plan::Problem& problem, Transport carried_by) const {
  for (const Row& row : rows_)
    if (row.matches(topology, problem, carried_by)) return &row;
  return nullptr;
}

bool Table::has_uneven(const topology::Topology& topology, plan::Operation operation, Transport carried_by) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.uneven && row.operation == operation && row.is_about(topology, carried_by);
  });
}

std::optional<Bytes> Table::uneven_native_from(const topology::Topology& topology, plan::Operation operation,
                                               Transport carried_by) const {
  Bytes from = 0;
  for (const Row& row : rows_) {
    if (!row.uneven || row.operation != operation || !row.is_about(topology, carried_by)) continue;
    if (row.bytes.first > from) return std::nullopt;  // the sizes between are the built-in choice's
    if (row.selection == "native" && row.bytes.last >= largest) return from;
    if (!parse_dedicated(operation, row.selection)) return std::nullopt;
    from = std::max(from, row.bytes.last + 1);
  }
  return from > largest ? std::optional(~Bytes{0}) : std::nullopt;
}

std::vector<Span> Table::uneven_spans(const topology::Topology& topology, plan::Operation operation,
                                      Transport carried_by) const {
  std::vector<const Row*> about;
  std::vector<Bytes> ends{~Bytes{0}};
  for (const Row& row : rows_) {
    if (!row.uneven || row.operation != operation || !row.is_about(topology, carried_by)) continue;
    about.push_back(&row);
    if (row.bytes.first > 0) ends.push_back(row.bytes.first - 1);
    if (row.bytes.last < largest) ends.push_back(row.bytes.last);
  }
  if (about.empty()) return {};
  std::sort(ends.begin(), ends.end());
  std::vector<Span> spans;
  for (const Bytes end : ends) {
    const auto found = std::find_if(about.begin(), about.end(),
                                    [&](const Row* row) { return row->bytes.holds(std::min(end, largest)); });
    const Row* const row = found == about.end() ? nullptr : *found;
    if (!spans.empty() && spans.back().row == row)
      spans.back().last = end;
    else
      spans.push_back({end, row});
  }
  return spans;
}

Natives Table::natives_of(const topology::Topology& topology, plan::Operation operation, bool are_equal,
                          Transport carried_by) const {
  bool is_any = false, are_all = true;
  Bytes from = 0;
  for (const Row& row : rows_) {
    if (row.operation != operation || (row.uneven && are_equal) || !row.is_about(topology, carried_by)) continue;
    const bool is_native = row.selection == "native";
    is_any = is_any || is_native;
    are_all = are_all && is_native;
    // Rows about uneven blocks alone say nothing of equal ones, which any call may have.
    if (!row.uneven && row.bytes.first <= from) from = std::max(from, row.bytes.last + 1);
  }
  if (!is_any) return Natives::none;
  return are_all && from > largest ? Natives::all : Natives::some;
}

std::optional<Bytes> Table::uneven_window(const topology::Topology& topology, plan::Operation operation,
                                          Transport carried_by) const {
  for (const Row& row : rows_)
    if (row.uneven && row.operation == operation && row.is_about(topology, carried_by))
      if (const auto dedicated = parse_dedicated(operation, row.selection)) return dedicated->window;
  return std::nullopt;
}

}  // namespace espalier::tune
