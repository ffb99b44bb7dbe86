// Asks the topology service's engine: whatever the line, the reply is whole, printable lines, as many as it announces.
// Then the same lines are a reply, to a job that has asked for the classes of two hosts: it reads them or refuses them.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fabric/classes.hpp"
#include "fabric/queries/engine.hpp"
#include "unit/fabric/texts.hpp"

namespace {

using namespace espalier::fabric;

Engine& engine() {
  static Engine it;
  [[maybe_unused]] static const bool is_ready = [] {
    it.publish(load_texts({kSquare, kSquareTables}), {});
    return true;
  }();
  return it;
}

void require(bool holds) {
  if (!holds) __builtin_trap();
}

bool is_counted(std::string_view head) {
  return head.starts_with("matrix ") || head.starts_with("classes ") || head.starts_with("hosts ") ||
         head.starts_with("stats ") || head.starts_with("help ");
}

void check(std::string_view reply) {
  if (reply.empty()) return;
  require(reply.back() == '\n');
  require(std::all_of(reply.begin(), reply.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  const auto head = reply.substr(0, reply.find('\n'));
  std::size_t following = 0;
  if (is_counted(head)) {
    const auto digits = head.substr(head.find(' ') + 1);
    require(std::from_chars(digits.data(), digits.data() + digits.size(), following).ec == std::errc{});
  }
  require(static_cast<std::size_t>(std::count(reply.begin(), reply.end(), '\n')) == following + 1);
}

void read_as_classes(std::string_view reply) {
  ClassReader reader(2);
  try {
    for (bool goes_on = true; goes_on;) {
      const auto line = reply.substr(0, reply.find('\n'));
      reply.remove_prefix(std::min(reply.size(), line.size() + 1));
      goes_on = reader.take_line(line);
    }
  } catch (const espalier::Error&) {
    return;
  }
  const auto delays = reader.take();
  require(delays.class_of.size() == 2 && delays.between.size() == delays.classes * delays.classes);
  for (std::size_t from = 0; from < delays.classes; ++from)
    for (std::size_t to = 0; to < delays.classes; ++to) require(delays.way(from, to).latency >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(bytes), size);
  read_as_classes(input);
  std::string reply;
  while (!input.empty()) {
    const auto line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    reply.clear();
    engine().weigh(line);
    engine().answer(line, reply);
    check(reply);
  }
  return 0;
}
