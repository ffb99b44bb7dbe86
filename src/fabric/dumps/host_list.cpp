#include "fabric/dumps/host_list.hpp"

#include <algorithm>

#include "fabric/dumps/cursor.hpp"
#include "fabric/dumps/fault.hpp"

namespace espalier::fabric {
namespace {

// Rack, chassis, node… more dimensions than that are an attack on the stack.
constexpr int kMostBrackets = 8;

class Expansion {
 public:
  Expansion(std::size_t most, std::vector<std::string>& names) : most_(most), names_(names) {}

  // All names of `rest` behind `prefix`: the first bracket is opened, the others by recursion.
  void expand(const std::string& prefix, std::string_view rest, int depth = 0) {
    if (depth > kMostBrackets) fail("too many brackets", rest);
    const auto open = rest.find('[');
    if (open == std::string_view::npos) return add(prefix + std::string(rest));
    const auto close = rest.find(']', open);
    if (close == std::string_view::npos) fail("a bracket is not closed", rest);
    const auto head = prefix + std::string(rest.substr(0, open));
    auto ranges = rest.substr(open + 1, close - open - 1);
    while (!ranges.empty()) {
      const auto comma = std::min(ranges.find(','), ranges.size());
      expand_range(head, ranges.substr(0, comma), rest.substr(close + 1), depth);
      ranges.remove_prefix(std::min(comma + 1, ranges.size()));
    }
  }

 private:
  void expand_range(const std::string& head, std::string_view range, std::string_view tail, int depth) {
    Cursor at(range);
    const auto before = at.rest().size();
    const auto first = at.number();
    const auto width = before - at.rest().size();
    if (!first) fail("a range begins with a number", range);
    auto last = first;
    if (at.take("-")) last = at.number();
    if (!last || !at.done() || *last < *first) fail("a range is NUMBER-NUMBER, ascending", range);
    if (*last - *first >= most_) fail_large();
    for (auto number = *first; number <= *last; ++number) {
      auto digits = std::to_string(number);
      if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
      expand(head + digits, tail, depth + 1);
    }
  }

  void add(std::string name) {
    if (name.empty()) return;
    if (names_.size() >= most_) fail_large();
    names_.push_back(std::move(name));
  }

  [[noreturn]] static void fail(const char* why, std::string_view text) {
    throw FabricError(Fault::bad_record,
                      std::string("in the host list '") + std::string(text.substr(0, 80)) + "': " + why);
  }
  [[noreturn]] void fail_large() const {
    throw FabricError(Fault::too_large, "a host list of more than " + std::to_string(most_) + " names");
  }

  std::size_t most_;
  std::vector<std::string>& names_;
};

struct Numbered {
  std::string stem;
  std::string digits;
};

Numbered split_number(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789");
  const auto begin = end == std::string::npos ? 0 : end + 1;
  // More digits than fit into 64 bits are part of the name.
  if (name.size() - begin > 18) return {name, ""};
  return {name.substr(0, begin), name.substr(begin)};
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  Expansion expansion(most, names);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    expansion.expand("", text.substr(begin, i - begin));
    begin = i + 1;
  }
  return names;
}

std::string compress_host_list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    const auto first = split_number(names[i]);
    std::string ranges;
    std::size_t taken = 0;
    while (i + taken < names.size()) {
      auto begin = split_number(names[i + taken]);
      if (begin.digits.empty() || begin.stem != first.stem || begin.digits.size() != first.digits.size()) break;
      auto last = begin;
      std::size_t run = 1;
      for (; i + taken + run < names.size(); ++run) {
        const auto next = split_number(names[i + taken + run]);
        if (next.stem != first.stem || next.digits.size() != first.digits.size()) break;
        if (std::stoull(next.digits) != std::stoull(last.digits) + 1) break;
        last = next;
      }
      ranges += (ranges.empty() ? "" : ",") + begin.digits + (run > 1 ? "-" + last.digits : "");
      taken += run;
    }
    if (!text.empty()) text += ",";
    if (taken < 2) {
      text += names[i];
      taken = 1;
    } else {
      text += first.stem + "[" + ranges + "]";
    }
    i += taken;
  }
  return text;
}

}  // namespace espalier::fabric
