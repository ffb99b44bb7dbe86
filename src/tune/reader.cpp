#include "tune/reader.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/catalogue.hpp"
#include "base/error.hpp"
#include "choice/parse.hpp"
#include "tune/day.hpp"
#include "tune/dedicated.hpp"

namespace espalier::tune {
namespace {

using Json = nlohmann::json;

/// The member `key` of `object`. Throws Error when there is none.
const Json& member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw Error(std::string("\"") + key + "\" is missing");
  return *found;
}

std::string text_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw Error(std::string("\"") + key + "\" must be a text");
  return value.get<std::string>();
}

/// A whole number of `Number`'s range and at least `least`.
template <class Number>
bool is_whole(const Json& value, Number least) {
  if (!value.is_number_unsigned()) return false;
  const auto number = value.get<std::uint64_t>();
  return number >= static_cast<std::uint64_t>(least) &&
         number <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
}

template <class Number>
Number whole_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!is_whole<Number>(value, 0)) throw Error(std::string("\"") + key + "\" must be a whole number");
  return value.get<Number>();
}

double time_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_number() || !(value.get<double>() >= 0)) throw Error(std::string("\"") + key + "\" must be a number");
  return value.get<double>();
}

template <class Number>
Range<Number> range_of(const Json& row, const char* key, Number least) {
  const Json& value = member(row, key);
  const bool is_pair = value.is_array() && value.size() == 2;
  if (!is_pair || !is_whole(value[0], least) || !is_whole(value[1], least) || value[0] > value[1])
    throw Error(std::string("\"") + key + "\" must be [first, last], whole numbers from " + std::to_string(least) +
                ", the first no larger than the last");
  return {value[0].get<Number>(), value[1].get<Number>()};
}

std::string selection_of(const Json& row, plan::Operation operation) {
  const std::string text = text_of(row, "selection");
  if (text != "native" && !parse_dedicated(operation, text)) choice::parse_choice(operation, text);
  return text;
}

Measured measured_of(const Json& value) {
  Measured measured;
  measured.bytes = whole_of<Bytes>(value, "bytes");
  measured.native_us = time_of(value, "native_us");
  measured.chosen_us = time_of(value, "chosen_us");
  measured.lowest_ratio = time_of(value, "lowest_ratio");
  measured.highest_ratio = time_of(value, "highest_ratio");
  measured.calls = whole_of<std::int64_t>(value, "calls");
  return measured;
}

bool is_uneven(const Json& row) {
  if (!row.contains("form")) return false;
  if (text_of(row, "form") != "uneven") throw Error("\"form\" is \"uneven\" where it is given");
  return true;
}

Transport transport_of(const Json& object) {
  if (!object.contains("transport")) return Transport::mpi;
  const std::string text = text_of(object, "transport");
  if (text != "mpi" && text != "ucx") throw Error("\"transport\" is \"mpi\" or \"ucx\" where it is given");
  return parse_transport(text);
}

Row row_of(const Json& value) {
  Row row;
  row.operation = plan::parse_operation(text_of(value, "operation"));
  row.nodes = range_of<int>(value, "nodes", 1);
  row.ppn = range_of<int>(value, "ppn", 1);
  row.bytes = range_of<Bytes>(value, "bytes", 0);
  row.uneven = is_uneven(value);
  row.transport = transport_of(value);
  row.selection = selection_of(value, row.operation);
  row.measured = measured_of(member(value, "measured"));
  if (!value.contains("learned")) return row;
  row.day = parse_day(text_of(value["learned"], "on"));
  row.jobs = whole_of<int>(value["learned"], "jobs");
  return row;
}

/// A number greater than nothing.
double positive(const Json& value, const char* key) {
  if (!value.is_number() || !(value.get<double>() > 0)) throw Error(std::string("\"") + key + "\" must be positive");
  return value.get<double>();
}

/// What was measured replaces what is assumed. A table without a model assumes everything.
cost::Parameters parameters_of(const Json& file) {
  using cost::Parameters;
  constexpr std::pair<const char*, double Parameters::*> times[] = {
      {"flag", &Parameters::flag},          {"yield", &Parameters::yield}, {"latency", &Parameters::latency},
      {"overhead", &Parameters::overhead},  {"gap", &Parameters::gap},     {"link_rate", &Parameters::link_rate},
      {"flow_rate", &Parameters::flow_rate}};
  constexpr std::pair<const char*, cost::Line Parameters::*> lines[] = {
      {"put", &Parameters::put}, {"get", &Parameters::get}, {"single_copy", &Parameters::single_copy}};
  Parameters is;
  if (!file.contains("model")) return is;
  const Json& model = file["model"];
  if (!model.is_object()) throw Error("\"model\" must be an object");
  for (const auto& [key, time] : times)
    if (model.contains(key)) is.*time = positive(model[key], key);
  for (const auto& [key, line] : lines) {
    if (!model.contains(key)) continue;
    const Json& pair = model[key];
    if (!pair.is_array() || pair.size() != 2) throw Error(std::string("\"") + key + "\" must be [fixed, rate]");
    is.*line = {positive(pair[0], key), positive(pair[1], key)};
  }
  return is;
}

void check_version(const Json& file) {
  const int version = whole_of<int>(file, "espalier_table");
  if (version > Table::current_version)
    throw Error("version " + std::to_string(version) + " of the format is newer than this Espalier reads (" +
                std::to_string(Table::current_version) + ")");
  if (version < 1) throw Error("\"espalier_table\" must be the format's version, a whole number from 1");
}

Json parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string size = std::to_string(text.size());
    if (error.byte > text.size()) throw Error("truncated: its JSON breaks off at its end, after " + size + " bytes");
    throw Error("corrupt: no JSON from byte " + std::to_string(error.byte) + " of " + size + " on");
  }
}

std::vector<Row> rows_of(const Json& list) {
  if (!list.is_array()) throw Error("\"rows\" must be a list");
  if (list.size() > Table::most_rows)
    throw Error("it has " + std::to_string(list.size()) + " rows; at most " + std::to_string(Table::most_rows) +
                " are read");
  std::vector<Row> rows;
  for (const Json& value : list) try {
      rows.push_back(row_of(value));
      rows.back().number = static_cast<int>(rows.size());
    } catch (const Error& error) {
      throw Error("row " + std::to_string(rows.size() + 1) + ": " + error.what());
    }
  return rows;
}

}  // namespace

Contents read_contents(std::string_view text, std::string_view name) try {
  const Json file = parse_json(text);
  if (!file.is_object() || !file.contains("espalier_table")) throw Error("not a table of Espalier");
  check_version(file);
  const Signature signature{text_of(file, "machine"), text_of(file, "mpi")};
  const bool is_learned = file.contains("learned") && file["learned"] == true;
  return {signature,          rows_of(member(file, "rows")), parameters_of(file),
          transport_of(file), file.contains("model"),        is_learned};
} catch (const Error& error) {
  throw Error(std::string(name) + ": " + error.what());
}

}  // namespace espalier::tune
