#include "mpi/observe/profile.hpp"

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

std::string to_json(const Moments& moments) {
  return "{\"calls\": " + std::to_string(moments.calls) + ", \"seconds\": " + number(moments.sum * 1e-9) +
         ", \"squares\": " + number(moments.squares * 1e-18) + "}";
}

std::string caused_by(const std::vector<double>& caused) {
  std::string out;
  for (std::size_t r = 0; r < caused.size(); ++r)
    if (caused[r] > 0) out += (out.empty() ? "\"" : ", \"") + std::to_string(r) + "\": " + number(caused[r] * 1e-9);
  return "{" + out + "}";
}

std::string to_json(const ProfileKey& key, const ProfileRow& row) {
  return "{\"communicator\": " + json_string(printable(key.shape)) + ", \"operation\": \"" +
         plan::mpi_name(key.operation) + "\", \"counts\": " + (key.has_counts ? "true" : "false") +
         ", \"size_class\": " + std::to_string(key.size_class) + ", \"calls\": " + std::to_string(row.calls) +
         ", \"bytes\": " + std::to_string(row.bytes) + ", \"native\": " + std::to_string(row.native) +
         ", \"seconds\": " + number(row.seconds_ns * 1e-9) + ", \"waiting\": " + number(row.waiting_ns * 1e-9) +
         ", \"split\": " + std::to_string(row.split) + ", \"own\": " + to_json(row.own) +
         ", \"sample\": " + to_json(row.sample) + ", \"choice\": " + json_string(printable(row.choice)) +
         ", \"waited_for\": " + caused_by(row.caused) + "}";
}

}  // namespace

int size_class_of(std::int64_t bytes) { return bytes < 0 ? -1 : std::bit_width(static_cast<std::uint64_t>(bytes)); }

void Profile::add(ProfileRow& row, const Observed& call) {
  ++row.calls;
  row.bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(call.bytes, 0));
  row.native += call.is_native;
  row.seconds_ns += call.seconds_ns;
  row.waiting_ns += call.waiting_ns;
  row.split += call.is_split;
  if (call.is_sample) row.sample.add(call.seconds_ns - call.waiting_ns);
  if (!call.is_native) row.own.add(call.seconds_ns - call.waiting_ns);
  if (call.last < 0 || call.waiting_ns <= 0) return;
  const auto last = static_cast<std::size_t>(call.last);
  if (row.caused.size() <= last) row.caused.resize(last + 1);
  row.caused[last] += call.waiting_ns;
}

std::string Profile::to_json(int rank, double run_seconds) const {
  std::string out = "{\"rank\": " + std::to_string(rank) + ", \"seconds\": " + number(run_seconds) + ", \"rows\": [";
  bool is_first = true;
  for (const auto& [key, row] : rows_)
    out += (std::exchange(is_first, false) ? "\n    " : ",\n    ") + espalier::mpi::to_json(key, row);
  return out + "]}";
}

}  // namespace espalier::mpi
