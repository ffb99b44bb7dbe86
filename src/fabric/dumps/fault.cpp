#include "fabric/dumps/fault.hpp"

#include <array>

#include "base/text.hpp"

namespace espalier::fabric {
namespace {

constexpr std::array<std::string_view, 8> kFaultNames = {"unreadable", "empty",     "truncated", "bad-number",
                                                         "bad-record", "too-large", "no-wiring", "unknown-host"};

constexpr std::array<std::string_view, 13> kFindingNames = {
    "duplicate-guid",  "duplicate-lid", "ambiguous-name",    "asymmetric-link", "missing-table",
    "truncated-table", "stale-table",   "conflicting-table", "unknown-speed",   "undescribed-node",
    "inactive-link",   "empty-file",    "separate-parts"};

std::string place(const std::string& file, std::uint64_t line) {
  if (file.empty()) return {};
  return line == 0 ? file + ": " : file + ":" + std::to_string(line) + ": ";
}

std::string ascii(std::string text) {
  for (auto& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

}  // namespace

std::string_view name_of(Fault fault) { return kFaultNames.at(static_cast<std::size_t>(fault)); }
std::string_view name_of(FindingKind kind) { return kFindingNames.at(static_cast<std::size_t>(kind)); }

FabricError::FabricError(Fault fault, const std::string& what, const std::string& file, std::uint64_t line)
    : Error(place(printable(file), line) + std::string(name_of(fault)) + ": " + ascii(what)),
      fault_(fault),
      reason_(ascii(what)) {}

}  // namespace espalier::fabric
