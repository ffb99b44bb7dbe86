#include "tune/dedicated.hpp"

#include "base/error.hpp"

namespace espalier::tune {
namespace {

constexpr std::string_view path = "tiny", knob = "window=";
constexpr Bytes largest_window = Bytes{64} << 20;  // ESPALIER_SHM_WINDOW's largest

}  // namespace

bool hides_sizes(plan::Operation operation) {
  using plan::Operation;
  return operation == Operation::scatter || operation == Operation::gather || operation == Operation::alltoall;
}

std::optional<Dedicated> parse_dedicated(plan::Operation operation, std::string_view text) {
  if (text == path) return Dedicated{};
  if (!text.starts_with(path) || text[path.size()] != ',') return std::nullopt;
  text.remove_prefix(path.size() + 1);
  if (!hides_sizes(operation) || !text.starts_with(knob))
    throw Error("'" + std::string(text) + "': tiny has one knob, window=SIZE, for scatter, gather and alltoall");
  const Bytes window = parse_bytes(text.substr(knob.size()));
  if (window > largest_window) throw Error(std::string(text) + ": write a size up to " + format_bytes(largest_window));
  return Dedicated{window};
}

std::string to_string(const Dedicated& selection) {
  std::string text(path);
  if (selection.window) text.append(",").append(knob).append(format_bytes(*selection.window));
  return text;
}

}  // namespace espalier::tune
