// opensm-subnet.lst: a line per direction of a cable. LIDs, port numbers and counts are hexadecimal; old files have no
// SPD; SPD is per lane and cut to an integer.
//
//   { CA-SM Ports:01 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {desc} LID:0002 PN:01 } { SW … } PHY=4x
//   LOG=ACT SPD=10

#include <cmath>

#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

class SubnetReader final : public Reader {
 public:
  using Reader::Reader;

 protected:
  void read(std::string_view line) override {
    Cursor at(line);
    at.skip_blanks();
    if (!at.take("{ ")) return;
    const auto mine = read_end(at, line);
    at.skip_blanks();
    if (!at.take("{ ")) fail_record(line);
    const auto peer = read_end(at, line);
    const auto node = add(mine);
    add(peer);
    if (!is_active(at)) {
      draft_.note(FindingKind::inactive_link, place_.file + ":" + std::to_string(place_.line) + ": " +
                                                  format_guid(mine.node) + " port " + std::to_string(mine.port) +
                                                  " is not active");
      return;
    }
    draft_.add_link({node, mine.port, peer.node, peer.port, read_rate(at, line)});
  }

 private:
  struct End {
    NodeKind kind;
    Guid node, port_guid;
    std::string_view name;
    Lid lid;
    PortNumber port;
  };

  End read_end(Cursor& at, std::string_view line) const {
    End end{};
    const auto kind = at.word();
    end.kind = kind.starts_with("SW")   ? NodeKind::switch_
               : kind.starts_with("CA") ? NodeKind::adapter
                                        : NodeKind::gateway;
    if (!at.find("NodeGUID:")) fail_record(line);
    end.node = read_guid(at);
    if (!at.find("PortGUID:")) fail_record(line);
    end.port_guid = read_guid(at);
    // The description may contain braces; what follows it is fixed.
    if (!at.find("{")) fail_record(line);
    const auto name = at.until("} LID:");
    if (!name) fail_record(line);
    end.name = *name;
    end.lid = read_lid(at, 16);
    at.skip_blanks();
    if (!at.take("PN:")) fail_record(line);
    const auto port = at.number(16);
    if (!port || *port == 0 || *port > 254) fail(Fault::bad_number, "a port is a number from 1 to 254");
    end.port = static_cast<PortNumber>(*port);
    at.skip_blanks();
    if (!at.take("}")) fail_record(line);
    return end;
  }

  NodeIndex add(const End& end) {
    const auto index = draft_.node(end.node, end.kind);
    if (draft_.at(index).name.empty()) draft_.describe(end.node, end.kind, end.name, place_);
    draft_.address(index, end.port, end.lid, end.port_guid);
    return index;
  }

  static bool is_active(Cursor at) { return !at.find("LOG=") || at.word() == "ACT"; }

  Rate read_rate(Cursor& at, std::string_view line) const {
    if (!at.find("PHY=")) fail_record(line);
    const auto lanes = at.skip_blanks().number();
    if (!lanes || *lanes > 255) fail(Fault::bad_number, "a link has up to 255 lanes");
    if (!at.find("SPD=")) return {};
    const auto speed = at.skip_blanks().decimal();
    if (!speed || !std::isfinite(*speed) || *speed <= 0) return {};
    return rate_of(static_cast<int>(*lanes), *speed);
  }
};

}  // namespace

std::unique_ptr<Reader> make_subnet_reader(Draft& draft, const std::string& file) {
  return std::make_unique<SubnetReader>(draft, file);
}

}  // namespace espalier::fabric
