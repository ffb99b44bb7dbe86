// ibnetdiscover, plain, -f and -g. Blocks, one per node; a node's ports follow its head line:
//
//   Switch  8 "S-0002c90200400040"   # "leaf04" enhanced port 0 lid 8 lmc 0
//   [1]     "H-0002c903000100d0"[1](2c903000100d1)   # "node012 HCA-1" lid 20 4xSDR
//   Ca      2 "H-0002c903000100c0"   # "n11 HCA-1"
//   [1](2c903000100c1)   "S-0002c90200400030"[8]   # lid 62 lmc 1 "leaf03" lid 18 12xQDR
//
// Behind a switch's port stands the peer's LID; behind an adapter's its own, then the peer's.

#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

class IbnetdiscoverReader final : public Reader {
 public:
  using Reader::Reader;

 protected:
  void read(std::string_view line) override {
    if (line.starts_with('[')) {
      if (in_block_) read_port_line(line);
    } else if (line.starts_with("Switch") || line.starts_with("Ca\t") || line.starts_with("Ca ") ||
               line.starts_with("Rt\t") || line.starts_with("Rt ")) {
      read_head(line);
    } else if (line.find_first_not_of(" \t") == std::string_view::npos) {
      in_block_ = false;
    }
  }

 private:
  // Everything behind '#': the name between the first and the last quote (names contain quotes, '#' and blanks), what
  // stands before and behind it.
  struct Comment {
    std::string_view before, name, behind;
  };
  Comment read_comment(Cursor& at, std::string_view line) const {
    if (!at.find("#")) fail_record(line);
    const auto text = at.rest();
    const auto first = text.find('"'), last = text.rfind('"');
    if (first == std::string_view::npos || first == last) fail_record(line);
    return {text.substr(0, first), text.substr(first + 1, last - first - 1), text.substr(last + 1)};
  }

  // "S-0002c90200400040" with its quotes.
  std::pair<Guid, NodeKind> read_id(Cursor& at, std::string_view line) const {
    if (!at.skip_blanks().take("\"")) fail_record(line);
    auto kind = NodeKind::adapter;
    if (at.take("S-")) {
      kind = NodeKind::switch_;
    } else if (at.take("R-")) {
      kind = NodeKind::gateway;
    } else if (!at.take("H-")) {
      fail_record(line);
    }
    const auto guid = read_guid(at);
    if (!at.take("\"")) fail_record(line);
    return {guid, kind};
  }

  void read_head(std::string_view line) {
    Cursor at(line);
    at.word();
    at.skip_blanks();
    // "Switch : 0x…" is a list of -S, and no block.
    if (at.rest().starts_with(':')) return;
    const auto count = at.number();
    if (!count || *count > 255) fail(Fault::bad_number, "a node has up to 255 ports");
    const auto [guid, kind] = read_id(at, line);
    const auto comment = read_comment(at, line);
    in_block_ = true;
    is_switch_ = kind == NodeKind::switch_;
    node_ = draft_.describe(guid, kind, comment.name, place_);
    if (node_ == kNoNode || !is_switch_) return;
    Cursor behind(comment.behind);
    if (!behind.find(" lid ")) return;
    draft_.at(node_).lid = read_lid(behind);
  }

  void read_port_line(std::string_view line) {
    Cursor at(line.substr(1));
    const auto number = read_port(at);
    if (!at.take("]")) fail_record(line);
    Guid own{};
    if (at.take("(")) {
      own = read_guid(at);
      if (!at.take(")")) fail_record(line);
    }
    Draft::Link link;
    const auto [peer, peer_kind] = read_id(at, line);
    link.peer = peer;
    if (!at.take("[")) fail_record(line);
    link.peer_port = read_port(at);
    if (!at.take("]")) fail_record(line);
    const auto comment = read_comment(at, line);
    link.from = node_;
    link.port = number;
    read_peer(comment.behind, link, line);
    if (node_ == kNoNode) return;  // described before: checked, not used
    draft_.mention(peer, peer_kind, clean_name(comment.name));
    auto& port = draft_.port(node_, number);
    if (!is_switch_) read_own(comment.before, own, port, line);
    draft_.add_link(link);
  }

  void read_own(std::string_view text, Guid own, Port& port, std::string_view line) const {
    Cursor at(text);
    if (!at.find("lid ")) fail_record(line);
    port.lid = read_lid(at);
    if (at.find("lmc ")) port.lmc = read_lmc(at);
    port.guid = own;
  }

  void read_peer(std::string_view text, Draft::Link& link, std::string_view line) const {
    Cursor at(text);
    if (!at.find("lid ")) fail_record(line);
    read_lid(at);  // checked; the peer says its own
    if (const auto rate = parse_rate(at.word())) link.rate = *rate;
  }

  NodeIndex node_ = kNoNode;
  bool in_block_ = false;
  bool is_switch_ = false;
};

}  // namespace

std::unique_ptr<Reader> make_ibnetdiscover_reader(Draft& draft, const std::string& file) {
  return std::make_unique<IbnetdiscoverReader>(draft, file);
}

}  // namespace espalier::fabric
