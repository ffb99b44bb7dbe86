// ibnetdiscover -p: a line per port, down ones without a peer:
//
//   CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'ib-i1l1s01' )
//   SW     8  8 0x0002c90200400040 4x SDR                                    'leaf04'
//
// A switch shows its node GUID, an adapter only its ports' GUIDs: every adapter port is a node of its own here.

#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

class PortListReader final : public Reader {
 public:
  using Reader::Reader;

 protected:
  void read(std::string_view line) override {
    Cursor at(line);
    const auto kind = kind_of(at.word());
    if (!kind) return;
    at.skip_blanks();
    // A message that begins with the same letters.
    if (at.rest().empty() || at.rest().front() < '0' || at.rest().front() > '9') return;
    const auto mine = read_end(at, *kind);
    const auto lanes = at.skip_blanks().number();
    if (!lanes || *lanes > 255 || !at.take("x")) fail_record(line);
    const auto speed = at.word();
    at.skip_blanks();
    if (!at.take("- ")) {
      add(mine, strip_quotes(at.rest()));
      return;
    }
    const auto peer_kind = kind_of(at.word());
    if (!peer_kind) fail_record(line);
    const auto peer = read_end(at, *peer_kind);
    if (!at.find("( ")) fail_record(line);
    const auto [own_name, peer_name] = split_names(at.rest());
    const auto node = add(mine, own_name);
    add(peer, peer_name);
    const auto known = speed.find('?') == std::string_view::npos;
    draft_.add_link({node, mine.port, peer.guid, peer.port, known ? rate_of(static_cast<int>(*lanes), speed) : Rate{}});
  }

 private:
  struct End {
    NodeKind kind;
    Lid lid;
    PortNumber port;
    Guid guid;
  };

  static std::optional<NodeKind> kind_of(std::string_view word) {
    if (word == "CA") return NodeKind::adapter;
    if (word == "SW") return NodeKind::switch_;
    if (word == "RT") return NodeKind::gateway;
    return std::nullopt;
  }

  End read_end(Cursor& at, NodeKind kind) const {
    at.skip_blanks();
    const auto lid = read_lid(at);
    at.skip_blanks();
    const auto port = read_port(at);
    at.skip_blanks();
    return {kind, lid, port, read_guid(at)};
  }

  static std::string_view strip_quotes(std::string_view text) {
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (text.size() >= 2 && text.starts_with('\'') && text.ends_with('\'')) return text.substr(1, text.size() - 2);
    return text;
  }

  // "'mine' - 'peer' )"; either may contain quotes and " - ".
  static std::pair<std::string_view, std::string_view> split_names(std::string_view text) {
    text = text.substr(0, text.rfind(')'));
    const auto middle = text.find("' - '");
    if (middle == std::string_view::npos) return {strip_quotes(text), {}};
    return {strip_quotes(text.substr(0, middle + 1)), strip_quotes(text.substr(middle + 4))};
  }

  NodeIndex add(const End& end, std::string_view name) {
    const auto index = draft_.node(end.guid, end.kind);
    auto& node = draft_.at(index);
    if (node.name.empty()) draft_.describe(end.guid, end.kind, name, place_);
    draft_.address(index, end.port, end.lid, end.guid);
    return index;
  }
};

}  // namespace

std::unique_ptr<Reader> make_port_list_reader(Draft& draft, const std::string& file) {
  return std::make_unique<PortListReader>(draft, file);
}

}  // namespace espalier::fabric
