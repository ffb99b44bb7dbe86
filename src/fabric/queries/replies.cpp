#include "fabric/queries/replies.hpp"

#include <array>
#include <bit>
#include <charconv>

#include "fabric/queries/request.hpp"

namespace espalier::fabric {
namespace {

struct Pair {
  std::string_view from, to;
  Route route;
};

void append_number(double value, std::string& text) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

// A route that arrives, or the reason as an error.
Pair trace(const Fabric& fabric, std::string_view text) {
  const auto pairs = parse_pair(text);
  for (std::size_t index = 0;; ++index) {
    const auto [from, to] = pairs[index];
    try {
      const auto ends = fabric.find_pair(from, to);
      Pair pair{from, to, trace_route(fabric, ends.first, ends.second)};
      if (pair.route.links() < 0) throw ProtocolError(name_of(pair.route.status), explain(fabric, pair.route));
      return pair;
    } catch (const FabricError& error) {
      // Names may contain colons: perhaps the next one is where the pair is split.
      if (index + 1 == pairs.size()) throw ProtocolError(name_of(error.fault()), error.reason().substr(0, 300));
    }
  }
}

void append_port(const Fabric& fabric, const Hop& hop, std::string& reply) {
  reply += " " + format_guid(fabric.node(hop.node).guid) + "[" + std::to_string(hop.in) + ">" + std::to_string(hop.out);
  const auto* cable = fabric.cable(hop.node, hop.out);
  reply += "," + (cable == nullptr ? "?" : cable->rate.text()) + "]";
}

// The text of a delay by what it is computed from: a matrix has a million delays and a handful of different ones.
class DelayTexts {
 public:
  DelayTexts(const Delays& delays, const Question& question) : delays_(delays), question_(question) {}

  void append(std::size_t from, std::size_t to, std::string& reply) {
    // Adapters' rates are the hosts' own, not the route's.
    if (question_.metric == Metric::adapter) return append_number(delays_.delay(from, to, question_), reply);
    const Key key{delays_.links(from, to), delays_.gbps(from, to)};
    auto& entry =
        entries_[(static_cast<std::size_t>(key.links + 1) ^ std::bit_cast<std::uint64_t>(key.gbps) >> 48) % 64];
    if (entry.text.empty() || !(entry.key == key)) {
      entry.key = key;
      entry.text.clear();
      append_number(delays_.delay(from, to, question_), entry.text);
    }
    reply += entry.text;
  }

 private:
  struct Key {
    int links = 0;
    double gbps = 0;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::string text;
  };
  const Delays& delays_;
  const Question& question_;
  std::array<Entry, 64> entries_;
};

}  // namespace

void append_query(const Fabric& fabric, std::string_view pair, std::string& reply) {
  const auto [from, to, route] = trace(fabric, pair);
  reply += from;
  for (const auto& hop : route.hops) reply += " " + format_guid(fabric.node(hop.node).guid);
  reply.append(" ").append(to) += "\n";
}

void append_route(const Fabric& fabric, std::string_view pair, std::string& reply) {
  const auto [from, to, route] = trace(fabric, pair);
  const auto slowest = find_bottleneck(fabric, route);
  const auto* first = fabric.cable(route.from.node, route.from.port);
  reply.append(from).append(" ").append(to);
  reply.append(" status=").append(name_of(route.status));
  reply += " links=" + std::to_string(route.links());
  reply.append(" basis=").append(name_of(route.basis));
  reply += " slowest=" + slowest.text() + " gbps=";
  append_number(slowest.gbps(), reply);
  reply += " first=" + (first == nullptr ? "?" : first->rate.text());
  for (const auto& hop : route.hops) append_port(fabric, hop, reply);
  reply += "\n";
}

void append_hops(const Fabric& fabric, std::string_view pair, std::string& reply) {
  reply += std::to_string(trace(fabric, pair).route.links()) + "\n";
}

void append_hosts(const Fabric& fabric, std::string& reply) {
  reply += "hosts " + std::to_string(fabric.hosts.size()) + "\n";
  for (const auto& host : fabric.hosts) reply += host.name + "\n";
}

void append_rows(const Delays& delays, const Question& question, std::string& reply) {
  DelayTexts texts(delays, question);
  for (std::size_t from = 0; from < delays.hosts(); ++from) {
    for (std::size_t to = 0; to < delays.hosts(); ++to) {
      texts.append(from, to, reply);
      reply += to + 1 == delays.hosts() ? '\n' : ' ';
    }
  }
}

}  // namespace espalier::fabric
