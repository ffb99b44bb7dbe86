#include "fabric/classes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "base/error.hpp"

namespace espalier::fabric {
namespace {

constexpr std::string_view kHead = "classes ";

[[noreturn]] void refuse() { throw Error("these are no classes of ours"); }

/// Two hosts of each class: the first ones. The second is -1 in a class of one.
std::vector<std::array<int, 2>> pick_members(const std::vector<int>& class_of) {
  std::vector<std::array<int, 2>> members;
  for (std::size_t host = 0; host < class_of.size(); ++host) {
    const auto number = static_cast<std::size_t>(class_of[host]);
    if (number == members.size()) {
      members.push_back({static_cast<int>(host), -1});
    } else if (members[number][1] < 0) {
      members[number][1] = static_cast<int>(host);
    }
  }
  return members;
}

/// Numbers ways by what they are computed from: a handful of different ones, whatever the number of classes.
class Ways {
 public:
  Ways(const Delays& delays, const LatencyTable& latency)
      : delays_(delays), latency_{Metric::latency, 0, latency}, speed_{Metric::speed, 0, {}} {}

  int number_of(std::size_t from, std::size_t to) {
    const Key key{delays_.links(from, to), delays_.gbps(from, to)};
    if (last_ < keys_.size() && keys_[last_] == key) return static_cast<int>(last_);
    last_ = static_cast<std::size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
    if (last_ == keys_.size()) {
      keys_.push_back(key);
      ways_.push_back({delays_.delay(from, to, latency_), delays_.delay(from, to, speed_)});
    }
    return static_cast<int>(last_);
  }
  std::vector<ClassDelays::Way> take() { return std::move(ways_); }

 private:
  struct Key {
    int links;
    double gbps;
    bool operator==(const Key&) const = default;
  };

  const Delays& delays_;
  const Question latency_, speed_;
  std::vector<Key> keys_;
  std::vector<ClassDelays::Way> ways_;
  std::size_t last_ = 0;
};

template <class Number>
void append_number(Number value, std::string& text) {
  std::array<char, 32> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

template <class Number>
void append_row(const Number* begin, std::size_t count, std::string& text) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    append_number(begin[i], text);
  }
  text += '\n';
}

template <class Number>
Number take_number(std::string_view& line) {
  Number value{};
  const auto [end, status] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (status != std::errc{} || !(value >= 0)) refuse();
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.starts_with(' ')) line.remove_prefix(1);
  return value;
}

/// `count` numbers below `end`, and nothing else.
template <class Number>
void take_row(std::string_view line, std::size_t count, double end, std::vector<Number>& numbers) {
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(take_number<Number>(line));
    if (!(static_cast<double>(numbers.back()) < end)) refuse();
  }
  if (!line.empty()) refuse();
}

}  // namespace

ClassDelays derive_class_delays(const Delays& delays, const LatencyTable& latency) {
  ClassDelays found;
  found.class_of = delays.classes();
  const auto members = pick_members(found.class_of);
  found.classes = members.size();
  Ways ways(delays, latency);
  found.between.reserve(members.size() * members.size());
  std::map<int, int> switches;
  for (const auto& from : members) {
    const int row = delays.first_switch(static_cast<std::size_t>(from[0]));
    // A host at no switch is its own.
    const int key = row >= 0 ? row : -1 - from[0];
    found.switch_of.push_back(switches.try_emplace(key, static_cast<int>(switches.size())).first->second);
    found.trunk.push_back(us_per_byte(delays.trunk_gbps(static_cast<std::size_t>(from[0]))));
    for (const auto& to : members) {
      const bool is_inside = from[0] == to[0], is_alone = from[1] < 0;
      const int end = is_inside && !is_alone ? to[1] : to[0];
      found.between.push_back(ways.number_of(static_cast<std::size_t>(from[0]), static_cast<std::size_t>(end)));
    }
  }
  found.ways = ways.take();
  return found;
}

void append_classes(const ClassDelays& delays, std::string& reply) {
  const std::size_t classes = delays.classes, ways = delays.ways.size();
  reply += kHead;
  for (const std::size_t number : {3 + ways + classes, delays.class_of.size(), classes}) {
    append_number(number, reply);
    reply += ' ';
  }
  append_number(ways, reply);
  reply += '\n';
  append_row(delays.class_of.data(), delays.class_of.size(), reply);
  append_row(delays.switch_of.data(), classes, reply);
  append_row(delays.trunk.data(), classes, reply);
  for (const auto& way : delays.ways) {
    append_number(way.latency, reply);
    reply += ' ';
    append_number(way.per_byte, reply);
    reply += '\n';
  }
  for (std::size_t from = 0; from < classes; ++from) append_row(&delays.between[from * classes], classes, reply);
}

bool ClassReader::take_line(std::string_view line) {
  const auto classes = static_cast<double>(delays_.classes);
  switch (std::min<std::size_t>(lines_, 4)) {
    case 0: take_head(line); break;
    case 1: take_row(line, hosts_, classes, delays_.class_of); break;
    case 2: take_row(line, delays_.classes, classes, delays_.switch_of); break;
    case 3: take_row(line, delays_.classes, std::numeric_limits<double>::infinity(), delays_.trunk); break;
    default: take_way_or_row(line);
  }
  return ++lines_ < 4 + ways_ + delays_.classes;
}

void ClassReader::take_way_or_row(std::string_view line) {
  if (delays_.ways.size() == ways_) return take_row(line, delays_.classes, static_cast<double>(ways_), delays_.between);
  const auto latency = take_number<double>(line), per_byte = take_number<double>(line);
  if (!line.empty()) refuse();
  delays_.ways.push_back({latency, per_byte});
}

void ClassReader::take_head(std::string_view line) {
  if (!line.starts_with(kHead)) refuse();
  line.remove_prefix(kHead.size());
  const auto lines = take_number<std::size_t>(line), hosts = take_number<std::size_t>(line);
  const auto classes = take_number<std::size_t>(line);
  ways_ = take_number<std::size_t>(line);
  const bool is_possible = hosts == hosts_ && classes >= 1 && classes <= hosts && ways_ >= 1 &&
                           ways_ <= classes * classes && lines == 3 + ways_ + classes;
  if (!line.empty() || !is_possible) refuse();
  delays_.classes = classes;
}

}  // namespace espalier::fabric
