#include "mpi/observe/check/record.hpp"

#include <cstring>

#include "base/bytes.hpp"

namespace espalier::mpi {
namespace {

std::string text_of(const char* text, std::size_t room) { return {text, strnlen(text, room)}; }

bool fit(Misfit::Kind kind, const CallRecord& one, const CallRecord& other) {
  switch (kind) {
    case Misfit::operation:
      return one.call.operation == other.call.operation && one.call.blocks == other.call.blocks &&
             one.call.form == other.call.form;
    case Misfit::root: return one.call.root == other.call.root;
    case Misfit::bytes: return one.call.bytes == other.call.bytes || !one.call.bytes || !other.call.bytes;
    case Misfit::op: return std::strncmp(one.op, other.op, sizeof one.op) == 0;
    case Misfit::type:
      return one.type[0] == 0 || other.type[0] == 0 || std::strncmp(one.type, other.type, sizeof one.type) == 0;
  }
  return true;
}

/// Towards the first rank that knows it: ranks that do not know it fit to all.
std::optional<Misfit> find_misfit(Misfit::Kind kind, std::span<const CallRecord> records) {
  const auto knows = [&](const CallRecord& it) {
    return kind == Misfit::bytes ? it.call.bytes.has_value() : kind == Misfit::type ? it.type[0] != 0 : true;
  };
  std::size_t first = 0;
  while (first < records.size() && !knows(records[first])) ++first;
  for (std::size_t r = first + 1; r < records.size(); ++r)
    if (!fit(kind, records[first], records[r])) return Misfit{kind, static_cast<int>(first), static_cast<int>(r)};
  return std::nullopt;
}

std::string describe(const CallRecord& record) {
  std::string data;
  if (record.type[0] != 0) data += " of type " + text_of(record.type, sizeof record.type);
  if (record.op[0] != 0) data += " by " + text_of(record.op, sizeof record.op);
  return plan::describe(record.call, data);
}

}  // namespace

std::optional<Misfit> find_misfit(std::span<const CallRecord> records) {
  for (const auto kind : {Misfit::operation, Misfit::root, Misfit::bytes, Misfit::type, Misfit::op})
    if (const auto misfit = find_misfit(kind, records)) return misfit;
  return std::nullopt;
}

ShareMisfit find_misfit(const Shares& mine, std::span<const std::int64_t> sent) {
  for (std::size_t r = 0; r < sent.size() && r < mine.expects.size(); ++r) {
    const std::int64_t expected = mine.expects[r];
    if (expected != Shares::unknown && sent[r] != Shares::unknown && expected != sent[r])
      return {static_cast<int>(r), 0, sent[r], expected};
  }
  return {};
}

std::string describe(const ShareMisfit& misfit, int receiver, const CallRecord& record) {
  const auto size = [](std::int64_t bytes) { return format_bytes(static_cast<Bytes>(bytes)); };
  const std::string from = "rank " + std::to_string(misfit.sender), to = "rank " + std::to_string(receiver);
  const std::string graph = ", in " + plan::name_of(record.call) + ": their graphs do not fit";
  if (misfit.expected == Shares::no_edge) return from + " has an edge to " + to + ", which has none from it" + graph;
  if (misfit.sent == Shares::no_edge) return to + " has an edge from " + from + ", which has none to it" + graph;
  return from + " sends " + size(misfit.sent) + " bytes to " + to + ", which expects " + size(misfit.expected) +
         ", in " + plan::name_of(record.call);
}

std::string describe(const Misfit& misfit, std::span<const CallRecord> records) {
  const auto of = [&](int rank) { return describe(records[static_cast<std::size_t>(rank)]); };
  return "rank " + std::to_string(misfit.one) + " calls " + of(misfit.one) + ", and rank " +
         std::to_string(misfit.other) + " " + of(misfit.other);
}

}  // namespace espalier::mpi
