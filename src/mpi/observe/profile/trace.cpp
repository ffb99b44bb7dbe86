#include "mpi/observe/profile/trace.hpp"

#include <algorithm>
#include <cstdio>

namespace espalier::mpi {
namespace {

/// Microseconds.
std::string us(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%03llu", static_cast<unsigned long long>(ns / 1000),
                static_cast<unsigned long long>(ns % 1000));
  return text;
}

std::string to_json(const TraceEvent& event, const std::string& place) {
  std::string name = plan::name_of(event.call);
  if (event.is_completion) name += ": completion";
  std::string arguments = event.is_native ? "\"by\": \"native\"" : "\"by\": \"Espalier\"";
  if (event.call.bytes) arguments += ", \"bytes\": " + std::to_string(*event.call.bytes);
  if (event.waiting_ns > 0) arguments += ", \"waiting_us\": " + us(event.waiting_ns);
  return "{\"name\": \"" + name + "\", \"ph\": \"X\", \"ts\": " + us(event.begin_ns) +
         ", \"dur\": " + us(event.took_ns) + place + ", \"args\": {" + arguments + "}},\n";
}

}  // namespace

std::string Trace::to_json(int node, int rank) const {
  constexpr int most_ranks = 1 << 24;
  const auto place_of = [&](int thread) {
    return ", \"pid\": " + std::to_string(node) +
           ", \"tid\": " + std::to_string(std::int64_t{thread} * most_ranks + rank);
  };
  int threads = 1;
  for (const TraceEvent& event : events_) threads = std::max(threads, event.thread + 1);
  std::string out;
  for (int thread = 0; thread < threads; ++thread) {
    const std::string name = thread == 0 ? "" : ", thread " + std::to_string(thread + 1);
    out += "{\"name\": \"thread_name\", \"ph\": \"M\"" + place_of(thread) + ", \"args\": {\"name\": \"rank " +
           std::to_string(rank) + name + "\"}},\n";
    if (threads > 1)  // its lanes one below the other
      out += "{\"name\": \"thread_sort_index\", \"ph\": \"M\"" + place_of(thread) +
             ", \"args\": {\"sort_index\": " + std::to_string(rank) + "}},\n";
  }
  for (const TraceEvent& event : events_) out += espalier::mpi::to_json(event, place_of(event.thread));
  return out;
}

}  // namespace espalier::mpi
