// "fat_tree:leaves=4,down=16": a network in one line.

#include <charconv>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "fabric/dumps/readers.hpp"
#include "simulate/network.hpp"

namespace espalier::simulate {
namespace {

double parse_number(const std::string& key, std::string_view text) {
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size() || !std::isfinite(number) || number < 0)
    throw Error(key + "=" + std::string(text) + ": write a number that is not negative");
  return number;
}

/// Values by name; each may be taken once, and none may be left over.
class Values {
 public:
  explicit Values(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      const std::string_view item = text.substr(0, end);
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos) throw Error("'" + std::string(item) + "': write name=value");
      values_.emplace(item.substr(0, equals), item.substr(equals + 1));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  double number(const std::string& key, double otherwise) {
    const auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    const double value = parse_number(key, found->second);
    values_.erase(found);
    return value;
  }

  int count(const std::string& key, int otherwise) {
    const double value = number(key, otherwise);
    if (value > most_of_anything || value != static_cast<int>(value))
      throw Error(key + ": write a whole number up to " + std::to_string(most_of_anything));
    return static_cast<int>(value);
  }

  std::vector<double> numbers(const std::string& key, std::vector<double> otherwise) {
    const auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    std::vector<double> numbers;
    for (std::string_view rest = found->second; !rest.empty();) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      numbers.push_back(parse_number(key, rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (numbers.empty()) throw Error(key + ": write one number per level, as in " + key + "=0.8/0.2");
    values_.erase(found);
    return numbers;
  }

  void expect_no_more(std::string_view kind) const {
    if (!values_.empty())
      throw Error("'" + values_.begin()->first + "' is not something a " + std::string(kind) + " has");
  }

 private:
  static constexpr int most_of_anything = 1 << 20;
  std::map<std::string, std::string, std::less<>> values_;
};

Wiring parse_wiring(Values& values) {
  Wiring wiring;
  wiring.rate = values.number("rate", wiring.rate);
  wiring.latency = values.numbers("latency", wiring.latency);
  wiring.slow_hosts = values.count("slow_hosts", 0);
  wiring.slow_rate = values.number("slow_rate", wiring.rate / 2);
  if (wiring.rate <= 0 || wiring.slow_rate <= 0)
    throw Error("rate and slow_rate are above 0, in bytes per microsecond");
  return wiring;
}

std::unique_ptr<Network> make(std::string_view kind, Values& values, const Wiring& wiring) {
  if (kind == "star") return make_star(values.count("hosts", 16), wiring);
  if (kind == "fat_tree") {
    const int leaves = values.count("leaves", 4), down = values.count("down", 16);
    const int spines = values.count("spines", down);
    return make_fat_tree(leaves, down, spines, values.number("oversubscription", 1), wiring);
  }
  if (kind == "three_level") {
    const int pods = values.count("pods", 4), leaves = values.count("leaves", 4), down = values.count("down", 8);
    const int spines = values.count("spines", down);
    return make_three_level_tree(pods, leaves, down, spines, values.number("oversubscription", 1), wiring);
  }
  if (kind == "dragonfly") {
    const int groups = values.count("groups", 9), routers = values.count("routers", 4), down = values.count("down", 4);
    return make_dragonfly(groups, routers, down, values.number("global_rate", wiring.rate), wiring);
  }
  throw Error("unknown kind of network '" + std::string(kind) +
              "': one of star, fat_tree, three_level, dragonfly, fabric");
}

}  // namespace

std::unique_ptr<Network> parse_network(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  if (kind == "fabric") return make_fabric(fabric::load_folder(std::string(rest)), {});
  Values values(rest);
  const Wiring wiring = parse_wiring(values);
  auto network = make(kind, values, wiring);
  values.expect_no_more(kind);
  return network;
}

}  // namespace espalier::simulate
