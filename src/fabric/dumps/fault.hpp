#pragma once
// What can be wrong with the dumps of a fabric. A fault rejects all of them: half a graph must never answer. A finding
// is something the operator should know about; the graph is whole.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace espalier::fabric {

enum class Fault : std::uint8_t {
  unreadable,    ///< no such file, no permission, a damaged archive
  empty,         ///< nothing in it, or no link at all
  truncated,     ///< it ends in the middle
  bad_number,    ///< a LID, port or LMC outside what InfiniBand allows
  bad_record,    ///< a line of a known kind that does not read as one
  too_large,     ///< more nodes or names than any fabric has
  no_wiring,     ///< no file says what is cabled to what
  unknown_host,  ///< no such host, GUID or port
};

/// "truncated", "bad-number"…: stable names for scripts.
std::string_view name_of(Fault fault);

/// Why dumps were rejected, or why a question has no answer.
class FabricError : public Error {
 public:
  /// `file` and `line` (from 1) say where; empty and 0 when it is no single place. `what` may quote the dump: what is
  /// not printable ASCII becomes '?'.
  FabricError(Fault fault, const std::string& what, const std::string& file = {}, std::uint64_t line = 0);
  Fault fault() const { return fault_; }
  /// Without place and fault.
  const std::string& reason() const { return reason_; }

 private:
  Fault fault_;
  std::string reason_;
};

enum class FindingKind : std::uint8_t {
  duplicate_guid,     ///< described twice; the first description counts
  duplicate_lid,      ///< two ports of one subnet answer to one LID
  ambiguous_name,     ///< several hosts of one name; the lowest GUID answers to it
  asymmetric_link,    ///< the two ends of a cable disagree
  missing_table,      ///< a switch without forwarding table, where others have one
  truncated_table,    ///< fewer entries than its last line promises, or no last line
  stale_table,        ///< a table of a switch that is not there, or for LIDs that belong to another port now
  conflicting_table,  ///< two different tables of one switch; the first counts
  unknown_speed,      ///< a speed of no known rate; it never counts as slow
  undescribed_node,   ///< named by its neighbour only
  inactive_link,      ///< cabled, but not active: not used
  empty_file,         ///< beside others that are not
  separate_parts,     ///< not everything is connected: several rails, or a broken network
};

std::string_view name_of(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::string text;  ///< one sentence, naming GUID, port, file or line
};

}  // namespace espalier::fabric
