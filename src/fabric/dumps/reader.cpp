#include "fabric/dumps/reader.hpp"

namespace espalier::fabric {

void Reader::take_end(std::string_view rest, std::uint64_t number) {
  if (!rest.empty()) {
    place_.line = number + 1;
    try {
      read(rest);
    } catch (const FabricError&) {
      fail(Fault::truncated, "the last line ends in the middle of a record");
    }
  }
  end();
}

void Reader::fail_record(std::string_view line) const {
  constexpr std::size_t kShown = 80;
  fail(Fault::bad_record, "'" + clean_name(line.substr(0, kShown)) + "' is no record of this format");
}

PortNumber Reader::read_port(Cursor& at) const {
  const auto port = at.number();
  if (!port || *port == 0 || *port > 254) fail(Fault::bad_number, "a port is a number from 1 to 254");
  return static_cast<PortNumber>(*port);
}

Lid Reader::read_lid(Cursor& at, int base) const {
  const auto lid = at.number(base);
  if (!lid || *lid > kMaxUnicastLid) fail(Fault::bad_number, "a LID is a number up to 49151");
  return static_cast<Lid>(*lid);
}

std::uint8_t Reader::read_lmc(Cursor& at) const {
  const auto lmc = at.number();
  if (!lmc || *lmc > 7) fail(Fault::bad_number, "an LMC is a number up to 7");
  return static_cast<std::uint8_t>(*lmc);
}

Guid Reader::read_guid(Cursor& at) const {
  at.take("0x");
  const auto guid = at.number(16);
  if (!guid || *guid == 0) fail(Fault::bad_number, "a GUID is a hexadecimal number of 64 bits, and not 0");
  return Guid{*guid};
}

}  // namespace espalier::fabric
