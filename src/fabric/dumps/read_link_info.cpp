// iblinkinfo, plain and -l. Plain, the other end is known by LID and port only; -l gives its GUID:
//
//   CA: node013 HCA-1:
//         0x0002c903000100e1     21    1[  ] ==( 4X           5.0 Gbps Active/  LinkUp)==>       8    2[  ] "leaf04"
//         (…)
//   Switch: 0x0002c90200400040 leaf04:
//              8    1[  ] ==( 4X           2.5 Gbps Active/  LinkUp)==>      20    1[  ] "node012 HCA-1" (…)
//   0x0002c90200400040 "     leaf04"   8  7[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//
// As with ibnetdiscover -p, adapters show their ports' GUIDs only.

#include <cmath>
#include <map>
#include <unordered_map>
#include <vector>

#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

class LinkInfoBase : public Reader {
 public:
  using Reader::Reader;

 protected:
  struct Port {
    Lid lid;
    PortNumber number;
    bool is_up;
    Rate rate;
  };

  // "21    1[  ] ==( 4X  5.0 Gbps Active/ LinkUp)==>"; leaves `at` behind the arrow.
  Port read_near(Cursor& at, std::string_view line) const {
    Port port{};
    at.skip_blanks();
    port.lid = read_lid(at);
    at.skip_blanks();
    port.number = read_port(at);
    if (!at.find("==(")) fail_record(line);
    const auto state = at.until(")==>");
    if (!state) fail_record(line);
    port.is_up = state->find("LinkUp") != std::string_view::npos && state->find("Active") != std::string_view::npos;
    if (port.is_up) port.rate = read_rate(*state);
    return port;
  }

  static Rate read_rate(std::string_view state) {
    Cursor at(state);
    const auto lanes = at.skip_blanks().number();
    if (!lanes || *lanes > 255) return {};
    at.word();  // the X
    const auto speed = at.skip_blanks().decimal();
    if (!speed || !std::isfinite(*speed) || *speed <= 0) return {};
    if (at.find("(FDR10)")) return rate_of(static_cast<int>(*lanes), "FDR10");
    return rate_of(static_cast<int>(*lanes), *speed);
  }
};

class LinkInfoReader final : public LinkInfoBase {
 public:
  using LinkInfoBase::LinkInfoBase;

 protected:
  void read(std::string_view line) override {
    Cursor at(line);
    if (at.take("CA: ")) {
      name_ = clean_name(at.rest().substr(0, at.rest().rfind(':')));
      switch_ = kNoNode;
      in_block_ = true;
    } else if (at.take("Switch: ")) {
      const auto guid = read_guid(at);
      const auto name = at.rest().substr(0, at.rest().rfind(':'));
      const auto node = draft_.describe(guid, NodeKind::switch_, name, place_);
      switch_ = node;
      in_block_ = node != kNoNode;
    } else if (in_block_ && line.find("==(") != std::string_view::npos) {
      read_port_line(line);
    }
  }

  // Only now is every LID's owner known.
  void end() override {
    for (auto& [link, peer] : links_) {
      if (const auto owner = owners_.find(peer); owner != owners_.end()) link.peer = owner->second;
      draft_.add_link(link);
    }
  }

 private:
  void read_port_line(std::string_view line) {
    Cursor at(line);
    at.skip_blanks();
    auto node = switch_;
    Guid guid{};
    if (node == kNoNode) {
      guid = read_guid(at);
      node = draft_.describe(guid, NodeKind::adapter, name_, place_);
      if (node == kNoNode) return;
    }
    const auto near = read_near(at, line);
    owners_.try_emplace(near.lid, draft_.at(node).guid);
    draft_.address(node, near.number, near.lid, guid);
    if (!near.is_up) return;
    at.skip_blanks();
    const auto peer = read_lid(at);
    at.skip_blanks();
    links_.push_back({{node, near.number, Guid{}, read_port(at), near.rate}, peer});
  }

  struct Pending {
    Draft::Link link;
    Lid peer;
  };
  std::vector<Pending> links_;
  std::unordered_map<Lid, Guid> owners_;  // LIDs mean something within this file's subnet only
  std::string name_;
  NodeIndex switch_ = kNoNode;
  bool in_block_ = false;
};

// With -l a line does not say what kind of node it is about: a GUID with several ports is a switch's, for an adapter's
// port has a GUID of its own.
class LinkInfoLinesReader final : public LinkInfoBase {
 public:
  using LinkInfoBase::LinkInfoBase;

 protected:
  void read(std::string_view line) override {
    Cursor at(line);
    if (!at.rest().starts_with("0x") || line.find("==(") == std::string_view::npos) return;
    const auto guid = read_guid(at);
    const auto arrow = at.rest().find("==(");
    const auto before = at.rest().substr(0, arrow);
    const auto first = before.find('"'), last = before.rfind('"');
    if (first == std::string_view::npos || first == last) fail_record(line);
    const auto node = draft_.node(guid, NodeKind::adapter);
    if (draft_.at(node).name.empty())
      draft_.describe(guid, NodeKind::adapter, before.substr(first + 1, last - first - 1), place_);
    Cursor behind(at.rest().substr(last + 1));
    const auto near = read_near(behind, line);
    auto& port = draft_.port(node, near.number);
    port.lid = near.lid;
    port.guid = guid;
    ++ports_seen_[node];
    if (!near.is_up) return;
    behind.skip_blanks();
    Draft::Link link{node, near.number, read_guid(behind), 0, near.rate};
    behind.skip_blanks();
    read_lid(behind);  // checked; the peer says its own
    behind.skip_blanks();
    link.peer_port = read_port(behind);
    draft_.add_link(link);
  }

  void end() override {
    for (const auto& [node, count] : ports_seen_) {
      if (count < 2) continue;
      auto& it = draft_.at(node);
      it.kind = NodeKind::switch_;
      for (auto& port : it.ports) {
        if (port.lid != 0) it.lid = port.lid;
        port.lid = 0;
        port.guid = Guid{};
      }
    }
  }

 private:
  std::map<NodeIndex, int> ports_seen_;
};

}  // namespace

std::unique_ptr<Reader> make_link_info_reader(Draft& draft, const std::string& file) {
  return std::make_unique<LinkInfoReader>(draft, file);
}

std::unique_ptr<Reader> make_link_info_lines_reader(Draft& draft, const std::string& file) {
  return std::make_unique<LinkInfoLinesReader>(draft, file);
}

}  // namespace espalier::fabric
