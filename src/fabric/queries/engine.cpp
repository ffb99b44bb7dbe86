#include "fabric/queries/engine.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "fabric/classes.hpp"
#include "fabric/queries/replies.hpp"

namespace espalier::fabric {
namespace {

using Clock = std::chrono::system_clock;

// What a delay takes while a matrix is made: its text, and its share of the columns that it is read from.
constexpr Bytes kBytesPerDelay = 10;
constexpr Bytes kBytesPerHost = 64;
// Hosts of one switch are one class, or few.
constexpr Bytes kClassesPerSwitch = 4;

constexpr std::string_view kHelp =
    "help 11\n"
    "query A:B           the switches between two hosts: names, host/PORT, host/DEVICE or 0xGUID\n"
    "route A:B           the same with ports and speeds\n"
    "hops A:B            the number of links\n"
    "matrix METRIC HOST... delays between all of these; METRIC: hops latency speed adapter combined:BYTES\n"
    "classes HOST...     latency and speed between all of these, by hosts that are equally far from all others\n"
    "hosts               all hosts\n"
    "version             of protocol and program\n"
    "stats               age of the data, counters, what is wrong\n"
    "help                this\n"
    "quit                closes the connection\n"
    "Blanks may stand for the colon. Replies of several lines begin with their number, errors with 'error CODE'.\n";

std::int64_t seconds_since(Snapshot::Time time) {
  return std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - time).count());
}

void append_error(std::string_view code, std::string_view text, std::string& reply) {
  reply.append("error ").append(code).append(" ").append(text).append("\n");
}

const Fabric& fabric_of(const std::shared_ptr<const Snapshot>& snapshot) {
  if (snapshot == nullptr) throw ProtocolError("no-data", "no good set of dumps has been read yet");
  return snapshot->fabric;
}

// `hosts` of them, and all delays between them or between their classes. Without tables each destination's switch costs
// a walk over all of the wiring.
Weight weigh_delays(const Snapshot& snapshot, Bytes hosts, bool are_classes) {
  const Bytes sides = are_classes ? std::min(hosts, kClassesPerSwitch * snapshot.switches) : hosts;
  const Bytes first_switches = std::min<Bytes>(hosts, snapshot.switches);
  const Bytes searched = snapshot.fabric.basis == Basis::tables ? 0 : snapshot.fabric.nodes.size();
  return {sides * sides * kBytesPerDelay + hosts * 2 * kBytesPerHost,
          hosts * (first_switches + 1) + first_switches * searched + sides * sides};
}

Delays derive_delays(const Fabric& fabric, std::span<const std::string_view> hosts) {
  if (hosts.size() > kMostMatrixHosts)
    throw ProtocolError("too-many-hosts", "there may be at most " + std::to_string(kMostMatrixHosts) + " hosts");
  std::vector<Endpoint> ends;
  for (const auto host : hosts) ends.push_back(fabric.find_endpoint(host));
  return Delays::derive(fabric, ends);
}

}  // namespace

void Engine::publish(Fabric fabric, Snapshot::Time written) {
  auto next = std::make_shared<Snapshot>();
  next->fabric = std::move(fabric);
  next->written = written;
  next->loaded = Clock::now();
  next->switches = static_cast<std::size_t>(std::count_if(next->fabric.nodes.begin(), next->fabric.nodes.end(),
                                                          [](const Node& node) { return node.is_switch(); }));
  next->number = ++counters_.reloads;
  std::shared_ptr<const Snapshot> last = next;  // what it replaces is taken apart outside the lock
  const std::lock_guard lock(mutex_);
  snapshot_.swap(last);
  trouble_.clear();
}

void Engine::reject(const std::string& why) {
  ++counters_.rejects;
  const std::lock_guard lock(mutex_);
  trouble_ = why;
  for (auto& c : trouble_)
    if (c < ' ' || c > '~') c = '?';
}

std::shared_ptr<const Snapshot> Engine::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

void Engine::answer(std::string_view line, std::string& reply) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find_first_not_of(" \t") == std::string_view::npos) return;
  const auto before = reply.size();
  try {
    answer_known(parse_request(line), reply);
    return;
  } catch (const ProtocolError& error) {
    reply.resize(before);
    append_error(error.code(), error.what(), reply);
  } catch (const FabricError& error) {
    reply.resize(before);
    append_error(name_of(error.fault()), error.reason().substr(0, 300), reply);
  }
  ++counters_.errors;
}

void Engine::answer_known(const Request& request, std::string& reply) {
  ++counters_.requests[static_cast<std::size_t>(request.command)];
  const auto current = snapshot();
  switch (request.command) {
    case Command::query: return append_query(fabric_of(current), request.arguments, reply);
    case Command::route: return append_route(fabric_of(current), request.arguments, reply);
    case Command::hops: return append_hops(fabric_of(current), request.arguments, reply);
    case Command::matrix: return append_matrix(fabric_of(current), request.arguments, reply);
    case Command::classes: return append_classes(fabric_of(current), request.arguments, reply);
    case Command::hosts: return append_hosts(fabric_of(current), reply);
    case Command::version: reply += "version " + std::to_string(kProtocolVersion) + " " ESPALIER_VERSION "\n"; return;
    case Command::stats: return append_stats(reply);
    case Command::help: reply += kHelp; return;
    case Command::quit: return;
  }
}

void Engine::append_matrix(const Fabric& fabric, std::string_view arguments, std::string& reply) const {
  const auto words = split_words(arguments);
  if (words.size() < 2) throw ProtocolError("bad-request", "write matrix METRIC HOST...");
  auto question = parse_metric_word(words[0]);
  question.latency = latency_;
  const auto delays = derive_delays(fabric, std::span(words).subspan(1));
  reply.append("matrix ").append(std::to_string(delays.hosts())).append(" ").append(format_metric(question)) += "\n";
  append_rows(delays, question, reply);
}

void Engine::append_classes(const Fabric& fabric, std::string_view arguments, std::string& reply) const {
  const auto words = split_words(arguments);
  if (words.empty()) throw ProtocolError("bad-request", "write classes HOST...");
  fabric::append_classes(derive_class_delays(derive_delays(fabric, words), latency_), reply);
}

void Engine::append_stats(std::string& reply) const {
  std::string lines;
  std::size_t count = 0;
  const auto add = [&](std::string_view name, const std::string& value) {
    lines.append(name).append(" ").append(value) += "\n";
    ++count;
  };
  const auto current = snapshot();
  add("snapshot", std::to_string(current == nullptr ? 0 : current->number));
  if (current != nullptr) {
    add("data_age_seconds", std::to_string(seconds_since(current->written)));
    add("loaded_age_seconds", std::to_string(seconds_since(current->loaded)));
    add("hosts", std::to_string(current->fabric.hosts.size()));
    add("switches", std::to_string(current->switches));
    add("basis", std::string(name_of(current->fabric.basis)));
    add("findings", std::to_string(current->fabric.findings.size()));
  }
  add("reloads", std::to_string(counters_.reloads));
  add("rejects", std::to_string(counters_.rejects));
  {
    const std::lock_guard lock(mutex_);
    add("trouble", trouble_.empty() ? "-" : trouble_);
  }
  add("requests",
      std::to_string(std::accumulate(counters_.requests.begin(), counters_.requests.end(), std::uint64_t{0})));
  add("errors", std::to_string(counters_.errors));
  add("connections", std::to_string(counters_.connections));
  add("refused", std::to_string(counters_.refused));
  add("too_slow", std::to_string(counters_.too_slow));
  reply += "stats " + std::to_string(count) + "\n" + lines;
}

std::optional<Weight> Engine::weigh(std::string_view line) const noexcept {
  try {
    const auto request = parse_request(line);
    if (request.command > Command::hosts) return std::nullopt;
    const auto current = snapshot();
    if (current == nullptr) return std::nullopt;
    const auto& known = current->fabric;
    if (request.command == Command::hosts) return Weight{known.hosts.size() * kBytesPerHost, known.hosts.size()};
    if (request.command == Command::matrix || request.command == Command::classes) {
      const auto hosts = std::min<Bytes>(split_words(request.arguments).size(), kMostMatrixHosts);
      return weigh_delays(*current, hosts, request.command == Command::classes);
    }
    // Without tables every route is a search through the wiring.
    if (known.basis == Basis::tables) return std::nullopt;
    return Weight{kBytesPerHost, known.nodes.size()};
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace espalier::fabric
