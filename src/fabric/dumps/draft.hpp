#pragma once
// A fabric under construction: what readers put in, in any order, and how it becomes a whole.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabric/graph.hpp"

namespace espalier::fabric {

/// Where a record stands, for messages.
struct Place {
  std::string file;
  std::uint64_t line = 0;
};

/// The number of nodes at which dumps are taken to be nonsense; the largest fabrics have some 50 000 ends.
constexpr std::size_t kMostNodes = 1'000'000;
/// Node descriptions have 64 bytes in InfiniBand; what is longer is cut.
constexpr std::size_t kLongestName = 64;

class Draft {
 public:
  /// One direction of a cable, as one end describes it.
  struct Link {
    NodeIndex from = kNoNode;
    PortNumber port = 0;
    Guid peer{};  ///< 0: nobody knows
    PortNumber peer_port = 0;
    Rate rate;
  };

  /// The node of this GUID; adds it if it is new.
  NodeIndex node(Guid guid, NodeKind kind);
  NodeIndex find(Guid guid) const;
  Node& at(NodeIndex index) { return fabric_.nodes[static_cast<std::size_t>(index)]; }

  /// Adds a node that describes itself here. kNoNode when the GUID has been described before: its record is to be
  /// skipped. That is a finding if it comes from the same file or says something else.
  NodeIndex describe(Guid guid, NodeKind kind, std::string_view name, const Place& place);
  /// The port, created if need be. Numbers are checked by the reader.
  Port& port(NodeIndex node, PortNumber number);
  /// How the network calls a node, as one of its ports tells: a switch has one LID, an adapter one for each port, with
  /// a GUID of its own.
  void address(NodeIndex node, PortNumber number, Lid lid, Guid port_guid);
  void add_link(const Link& link) { links_.push_back(link); }
  /// A node that is known from its neighbour only.
  void mention(Guid guid, NodeKind kind, std::string_view name) {
    mentioned_.try_emplace(guid, Mention{kind, std::string(name)});
  }

  /// Begins the table of a switch. The entries go into `table().out`.
  ForwardingTable& begin_table(Guid guid, int source);
  /// Ends it. `promised` entries were announced (-1: no announcement, the block has no last line).
  void end_table(std::int64_t promised, std::int64_t read, const Place& place);
  int add_table_source();
  std::vector<Guid>& lid_owners(int source) { return fabric_.lid_owners[static_cast<std::size_t>(source)]; }

  void note(FindingKind kind, std::string text);

  /// Resolves peers, finds hosts and parts, compares wiring with tables. Throws FabricError when the dumps are
  /// incomplete.
  Fabric settle(Basis without_tables) &&;

 private:
  struct Mention {
    NodeKind kind;
    std::string name;
  };

  void add_undescribed();
  void connect();
  void report_asymmetry();
  void adopt_tables();
  void check_lids();
  void number_parts();
  void name_hosts();
  void name_without_domain();
  void report_ambiguous(const std::map<std::pair<std::string, PortNumber>, std::vector<Guid>>& same);

  Fabric fabric_;
  std::vector<Link> links_;
  std::map<Guid, Mention> mentioned_;  // ordered, so that equal dumps give equal fabrics
  std::unordered_map<Guid, std::string> described_in_;
  std::unordered_map<Guid, ForwardingTable> tables_;
  Guid table_of_{};
  ForwardingTable current_;
  std::unordered_map<int, std::size_t> findings_of_;
};

/// What of a description is kept: printable ASCII, at most kLongestName bytes, without blanks at either end.
std::string clean_name(std::string_view text);

}  // namespace espalier::fabric
