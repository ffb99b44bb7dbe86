#include <algorithm>
#include <array>
#include <cctype>

#include "fabric/dumps/cursor.hpp"
#include "fabric/dumps/lines.hpp"
#include "fabric/dumps/readers.hpp"

namespace espalier::fabric {
namespace {

bool starts_with_word(std::string_view line, std::string_view word) {
  if (line.size() < word.size()) return false;
  return std::equal(word.begin(), word.end(), line.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// "CA   134  1 0x7cfe9003003b4bde 4x …"
bool is_port_line(std::string_view line) {
  Cursor at(line);
  if (!at.take("CA ") && !at.take("SW ") && !at.take("RT ")) return false;
  if (!at.skip_blanks().number()) return false;
  if (!at.skip_blanks().number()) return false;
  return at.skip_blanks().take("0x");
}

bool is_ibnetdiscover(std::string_view line) {
  for (const auto* start : {"# Topology file: generated", "vendid=0x", "switchguid=0x", "caguid=0x"})
    if (line.starts_with(start)) return true;
  Cursor at(line);
  if (!at.take("Switch") && !at.take("Ca")) return false;
  return at.skip_blanks().number() && at.skip_blanks().take("\"");
}

// "[0-22]" in decimal is opensm's own dump, "[0x0-0x16]" a tool's.
Format table_format(std::string_view line) {
  return line.starts_with("Unicast lids [0x") ? Format::tables : Format::opensm_tables;
}

Format format_of_line(std::string_view line) {
  if (is_ibnetdiscover(line)) return Format::ibnetdiscover;
  if (is_port_line(line)) return Format::port_list;
  if (line.starts_with("Unicast lids [")) return table_format(line);
  if (line.starts_with("dump_ucast_routes: Switch ")) return Format::opensm_routes;
  if (line.starts_with("{ ") && line.find("NodeGUID:") != std::string_view::npos) return Format::opensm_subnet;
  if (line.starts_with("Switch: 0x") || line.starts_with("CA: ")) return Format::link_info;
  if (line.starts_with("0x") && line.find("==(") != std::string_view::npos) return Format::link_info_lines;
  if (starts_with_word(line, "switchname=") || starts_with_word(line, "blockname=")) return Format::slurm_conf;
  if (line.starts_with("- topology:") || line.starts_with("topology:")) return Format::slurm_yaml;
  return Format::unknown;
}

// What says most comes first. Later formats of a row lack LMCs, node GUIDs, kinds, or all but a tree.
constexpr std::array kWirings = {Format::ibnetdiscover,   Format::opensm_subnet, Format::port_list,
                                 Format::link_info_lines, Format::link_info,     Format::slurm_yaml,
                                 Format::slurm_conf};
constexpr std::array kTables = {Format::tables, Format::opensm_tables, Format::opensm_routes};

}  // namespace

std::string_view name_of(Format format) {
  constexpr std::array<std::string_view, 13> kNames = {
      "unknown",    "empty",         "compressed",    "ibnetdiscover", "opensm-subnet.lst", "ibnetdiscover -p",
      "iblinkinfo", "iblinkinfo -l", "topology.yaml", "topology.conf", "forwarding tables", "opensm-lfts.dump",
      "opensm.fdbs"};
  return kNames.at(static_cast<std::size_t>(format));
}

Format detect_format(std::string_view head) {
  if (head.starts_with("\x1f\x8b") || head.starts_with(std::string_view("\xfd"
                                                                        "7zXZ\0",
                                                                        6)))
    return Format::compressed;
  auto format = Format::unknown;
  LineSplitter lines;
  const auto look = [&](std::string_view line, std::uint64_t) {
    if (format == Format::unknown) format = format_of_line(line);
  };
  lines.feed(head, look);
  look(lines.rest(), 0);
  if (format == Format::unknown && head.find_first_not_of(" \t\r\n") == std::string_view::npos) return Format::empty;
  return format;
}

std::vector<std::size_t> choose_files(std::span<const Format> formats) {
  std::vector<std::size_t> chosen;
  const auto take_first_of = [&](const auto& wanted) {
    for (const auto format : wanted) {
      const auto before = chosen.size();
      for (std::size_t i = 0; i < formats.size(); ++i)
        if (formats[i] == format) chosen.push_back(i);
      if (chosen.size() > before) return;
    }
  };
  take_first_of(kWirings);
  take_first_of(kTables);
  return chosen;
}

}  // namespace espalier::fabric
