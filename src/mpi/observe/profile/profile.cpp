#include "mpi/observe/profile/profile.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "base/text.hpp"

namespace espalier::mpi {
namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}
std::string number(std::uint64_t value) { return std::to_string(value); }
std::string seconds(double ns) { return number(ns * 1e-9); }

std::string to_json(const Moments& moments) {
  const bool is_all = moments.weight == static_cast<double>(moments.calls);
  return "{\"calls\": " + number(moments.calls) +
         (is_all ? ""
                 : ", \"weight\": " + number(moments.weight) +
                       ", \"weights_squared\": " + number(moments.weights_squared)) +
         ", \"seconds\": " + seconds(moments.sum) + ", \"squares\": " + number(moments.squares * 1e-18) + "}";
}

/// What is not zero, by its place.
template <class Value, class Write>
std::string by_place(const std::vector<Value>& values, const Write& write) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > 0) out += (out.empty() ? "\"" : ", \"") + std::to_string(i) + "\": " + write(values[i]);
  return "{" + out + "}";
}

std::string key_to_json(const ProfileKey& key, const std::string& site) {
  const CallKind& kind = key.kind;
  return "\"communicator\": " + json_string(printable(key.shape)) + ", \"members\": \"" + key.members +
         "\", \"operation\": \"" + plan::mpi_name(kind.operation) + "\", \"form\": \"" + plan::name(kind.form) +
         "\", \"counts\": " + (kind.blocks != plan::BlockSizes::equal ? "true" : "false") +
         (kind.blocks == plan::BlockSizes::types ? ", \"types\": true" : "") +
         ", \"size_class\": " + std::to_string(kind.size_class) +
         (site.empty() ? "" : ", \"site\": " + json_string(printable(site)));
}

std::string list(const std::vector<int>& numbers) {
  std::string out;
  for (const int it : numbers) out += (out.empty() ? "" : ", ") + std::to_string(it);
  return "[" + out + "]";
}

/// Nothing where there is none, or several: sums do not tell them apart.
std::string to_json(const std::vector<Neighborhood>& neighborhoods) {
  if (neighborhoods.size() != 1) return "";
  return ", \"from\": " + list(neighborhoods[0].from) + ", \"to\": " + list(neighborhoods[0].to);
}

/// The uncertainty is that of the difference, as far as a ratio's range tells.
std::string to_json(const tune::Measured& it) {
  const double uncertainty = (it.highest_ratio - it.lowest_ratio) / 2 * it.chosen_us;
  return ", \"measured\": {\"native\": " + seconds(1e3 * it.native_us) + ", \"own\": " + seconds(1e3 * it.chosen_us) +
         ", \"uncertainty\": " + seconds(1e3 * uncertainty) + "}";
}

std::string row_to_json(const ProfileRow& row) {
  const bool is_sampled = row.timed.weight != static_cast<double>(row.timed.calls);
  return "\"calls\": " + number(row.calls) + ", \"bytes\": " + number(row.bytes) +
         ", \"native\": " + number(row.native) + (is_sampled ? ", \"timed\": " + to_json(row.timed) : "") +
         ", \"seconds\": " + seconds(row.seconds_ns) +
         ", \"waiting\": " + seconds(std::clamp(row.waiting_ns, 0.0, row.seconds_ns)) +
         ", \"split\": " + number(row.split) + ", \"start\": " + seconds(row.start_ns) +
         ", \"between\": " + seconds(row.between_ns) + ", \"gap\": " + seconds(row.gap_ns) +
         ", \"first\": " + seconds(row.first_ns) + ", \"last\": " + seconds(row.last_ns) +
         ", \"own\": " + to_json(row.own) + ", \"sample\": " + to_json(row.sample) +
         ", \"choice\": " + json_string(printable(row.choice)) + ", \"waited_for\": " + by_place(row.caused, seconds) +
         ", \"roots\": " + by_place(row.roots, [](std::uint64_t calls) { return number(calls); }) +
         (row.measured ? to_json(*row.measured) : "") + to_json(row.neighborhoods);
}

template <class Value>
void add_at(std::vector<Value>& values, int place, Value value) {
  const auto at = static_cast<std::size_t>(place);
  if (values.size() <= at) values.resize(at + 1);
  values[at] += value;
}

}  // namespace

int size_class_of(std::optional<Bytes> bytes) { return bytes ? std::bit_width(*bytes) : -1; }

void Profile::add(ProfileRow& row, const Observed& call) {
  const auto weight = static_cast<double>(call.weight);
  if (row.calls++ == 0) row.first_ns = call.begin_ns;
  row.last_ns = call.begin_ns;
  row.bytes += call.bytes.value_or(0);
  row.native += call.is_native;
  const double seconds = call.seconds_ns - call.known_ns, waiting = call.waiting_ns - call.known_waiting_ns;
  row.seconds_ns += weight * seconds;
  row.waiting_ns += weight * waiting;
  row.split += call.is_split ? call.weight : 0;
  if (call.root >= 0) add_at<std::uint64_t>(row.roots, call.root, call.weight);
  if (call.is_started) {
    row.start_ns += call.seconds_ns;
    return;
  }
  row.timed.add(seconds, weight);
  const double moving = call.seconds_ns - call.waiting_ns;
  if (call.is_sample) row.sample.add(moving, weight);
  if (!call.is_native) row.own.add(moving, weight);
  if (call.last >= 0 && waiting > 0) add_at(row.caused, call.last, weight * waiting);
}

void Profile::add(ProfileRow& row, const PassedCalls& passed) {
  row.calls += passed.calls;
  row.bytes += passed.bytes;
  row.native += passed.native;
}

void Profile::add(ProfileRow& row, const LongWait& wait) {
  row.seconds_ns += wait.ns;
  row.waiting_ns += wait.waiting_ns;
  if (wait.whose != LongWait::unknown) add_at(row.caused, wait.whose, wait.waiting_ns);
}

void Profile::add_neighborhood(ProfileRow& row, Neighborhood neighborhood) {
  auto& known = row.neighborhoods;
  if (std::find(known.begin(), known.end(), neighborhood) == known.end()) known.push_back(std::move(neighborhood));
}

void Profile::add_completion(ProfileRow& row, double in_mpi_ns, double between_ns) {
  row.seconds_ns += in_mpi_ns;
  row.between_ns += between_ns;
}

std::string Profile::to_json(int rank, double run_seconds, int threads, const NameSite& name_site) const {
  std::string out = "{\"rank\": " + std::to_string(rank) + ", \"seconds\": " + number(run_seconds) +
                    ", \"threads\": " + std::to_string(threads) + ", \"rows\": [";
  bool is_first = true;
  for (const auto& [key, row] : rows_)
    out += (std::exchange(is_first, false) ? "\n    {" : ",\n    {") +
           key_to_json(key, key.kind.site == nullptr ? "" : name_site(key.kind.site)) + ", " + row_to_json(row) + "}";
  return out + "]}";
}

}  // namespace espalier::mpi
