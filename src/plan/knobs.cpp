#include "plan/knobs.hpp"

#include <algorithm>
#include <array>

#include "base/bytes.hpp"
#include "base/enumerators.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace espalier::plan {
namespace {

constexpr Bytes kibibyte = 1 << 10, mebibyte = 1 << 20, gibibyte = 1 << 30;

/// A knob's name as part of its type, so that what reads it can say it.
template <std::size_t size>
struct Text {
  char characters[size];
  consteval Text(const char (&text)[size]) { std::copy_n(text, size, characters); }
};

[[noreturn]] void refuse(const char* name, std::string_view value, const char* kind, const std::string& least,
                         const std::string& most) {
  throw Error(std::string(name) + "=" + std::string(value) + ": write " + kind + " from " + least + " to " + most);
}

/// A whole number.
template <Text name, auto member, int least, int most>
consteval Knob count() {
  return {name.characters,
          [] { return std::to_string(least) + (most == least + 1 ? "|" : "..") + std::to_string(most); },
          [](Choice& choice, std::string_view value) {
            const std::optional<int> number = parse_number<int>(value);
            if (!number || *number < least || *number > most)
              refuse(name.characters, value, "a whole number", std::to_string(least), std::to_string(most));
            choice.*member = *number;
          }};
}

template <Text name, auto member, Bytes least, Bytes most>
consteval Knob size() {
  return {name.characters, [] { return format_bytes(least) + ".." + format_bytes(most); },
          [](Choice& choice, std::string_view value) {
            const Bytes bytes = parse_bytes(value);
            if (bytes < least || bytes > most)
              refuse(name.characters, value, "a size", format_bytes(least), format_bytes(most));
            choice.*member = bytes;
          }};
}

/// A size, or 0 for none.
template <Text name, auto member, Bytes least, Bytes most>
consteval Knob size_or_none() {
  constexpr Knob sized = size<name, member, least, most>();
  return {name.characters, [] { return "0|" + size<name, member, least, most>().values(); },
          [](Choice& choice, std::string_view value) {
            if (value == "0")
              choice.*member = 0;
            else
              sized.set(choice, value);
          }};
}

template <Text name, auto member>
consteval Knob one_of() {
  using Enumeration = std::remove_cvref_t<decltype(Choice{}.*member)>;
  return {name.characters, [] { return list_enumerators<Enumeration>("|"); },
          [](Choice& choice, std::string_view value) {
            choice.*member = parse_enumerator<Enumeration>(name.characters, value);
          }};
}

constexpr Knob table[] = {
    count<"radix", &Choice::radix, 2, 64>(),   size_or_none<"segment", &Choice::segment, kibibyte, gibibyte>(),
    one_of<"within", &Choice::within>(),       size<"cell", &Choice::cell, 64, 64 * mebibyte>(),
    count<"cells", &Choice::cells, 1, 1024>(), count<"groups", &Choice::groups, 1, 64>(),
    one_of<"exchange", &Choice::exchange>(),   count<"connections", &Choice::connections, 0, 1024>(),
    one_of<"staging", &Choice::staging>(),     one_of<"leaders", &Choice::leaders>(),
    one_of<"order", &Choice::order>(),         one_of<"stores", &Choice::stores>(),
    count<"levels", &Choice::levels, 1, 3>(),
};

}  // namespace

std::span<const Knob> knobs() { return table; }

const Knob& find_knob(std::string_view name) {
  const Knob* const found = std::find_if(std::begin(table), std::end(table), [&](auto& it) { return it.name == name; });
  if (found != std::end(table)) return *found;
  std::string known;
  for (const Knob& knob : table) known += (known.empty() ? "" : ", ") + std::string(knob.name);
  throw Error("unknown knob '" + std::string(name) + "': one of " + known);
}

}  // namespace espalier::plan
