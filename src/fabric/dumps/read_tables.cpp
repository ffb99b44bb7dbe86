// Forwarding tables. dump_fts, dump_lfts and ibroute print, with names, bare (-n) or with illegal ports too (-a):
//
//   Unicast lids [0x0-0x16] of switch Lid 3 guid 0x0002c90200400010 (leaf01):
//   0x0002 006 : (Channel Adapter portguid 0x0002c90300010101: 'node015 HCA-1')
//   0x0003 011 : (path #2 out of 2: portguid 0x0002c90300010101)
//   22 valid lids dumped
//
// opensm-lfts.dump the same with '#' in place of ':'; its last line tells the highest LID ("22 lids dumped"), whatever
// is missing below it. opensm.fdbs
//
//   dump_ucast_routes: Switch 0x0002c90200400010
//   0x0002 : 006  : 03   : yes

#include <algorithm>

#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {
namespace {

class TablesBase : public Reader {
 public:
  TablesBase(Draft& draft, const std::string& file) : Reader(draft, file), source_(draft.add_table_source()) {}

 protected:
  void begin(Guid guid) {
    finish(-1);
    table_ = &draft_.begin_table(guid, source_);
    read_ = 0;
  }

  // Ends the table in progress, if any; `promised` as Draft::end_table.
  void finish(std::int64_t promised) {
    if (table_ == nullptr) return;
    draft_.end_table(promised, read_, place_);
    table_ = nullptr;
  }

  void set(std::uint64_t lid, std::uint64_t port) {
    if (lid > kMaxUnicastLid) fail(Fault::bad_number, "a LID is a number up to 0xbfff");
    if (port > 255) fail(Fault::bad_number, "a port is a number up to 255");
    auto& out = table_->out;
    if (out.size() <= lid) out.resize(lid + 1, ForwardingTable::kNoEntry);
    out[lid] = static_cast<std::uint8_t>(port);
    ++read_;
  }

  void end() override { finish(-1); }

  int source_;
  ForwardingTable* table_ = nullptr;
  std::int64_t read_ = 0;
};

class TablesReader final : public TablesBase {
 public:
  using TablesBase::TablesBase;

 protected:
  void read(std::string_view line) override {
    Cursor at(line);
    if (at.take("0x")) {
      if (table_ != nullptr) read_entry(at, line);
    } else if (at.take("Unicast lids [")) {
      counts_entries_ = at.rest().starts_with("0x");
      if (!at.find("] of switch ") || !at.find("guid ")) fail_record(line);
      begin(read_guid(at));
    } else if (at.take("Multicast")) {
      finish(-1);
    } else if (line.find("lids dumped") != std::string_view::npos) {
      const auto promised = at.skip_blanks().number();
      if (promised) finish(counts_entries_ ? static_cast<std::int64_t>(*promised) : read_);
    }
  }

 private:
  void read_entry(Cursor at, std::string_view line) {
    const auto lid = at.number(16);
    const auto port = at.skip_blanks().number();
    if (!lid || !port) fail_record(line);
    set(*lid, *port);
    if (!at.find("portguid 0x")) return;
    const auto owner = at.number(16);
    if (!owner) return;
    auto& owners = draft_.lid_owners(source_);
    if (owners.size() <= *lid) owners.resize(*lid + 1);
    owners[*lid] = Guid{*owner};
  }

  bool counts_entries_ = true;
};

class OpensmRoutesReader final : public TablesBase {
 public:
  using TablesBase::TablesBase;

 protected:
  void read(std::string_view line) override {
    Cursor at(line);
    if (at.take("dump_ucast_routes: Switch ")) {
      // This format has no last lines; the next table is the only sign that one is whole.
      finish(read_);
      if (last_ > 0) least_last_ = std::min(least_last_, last_);
      last_ = 0;
      begin(read_guid(at));
    } else if (table_ != nullptr && at.take("0x")) {
      const auto lid = at.number(16);
      at.skip_blanks();
      if (!lid || !at.take(":")) fail_record(line);
      const auto port = at.skip_blanks().number();
      last_ = std::max(last_, *lid);
      // "UNREACHABLE" stands in the place of the port.
      if (port) set(*lid, *port);
    }
  }

  // All tables go up to the same LID: the last one was cut if it ends before every other.
  void end() override { finish(last_ < least_last_ && least_last_ != kNone ? -1 : read_); }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t last_ = 0, least_last_ = kNone;
};

}  // namespace

std::unique_ptr<Reader> make_tables_reader(Draft& draft, const std::string& file) {
  return std::make_unique<TablesReader>(draft, file);
}

std::unique_ptr<Reader> make_opensm_routes_reader(Draft& draft, const std::string& file) {
  return std::make_unique<OpensmRoutesReader>(draft, file);
}

}  // namespace espalier::fabric
