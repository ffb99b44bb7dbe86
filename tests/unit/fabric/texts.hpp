#pragma once
// Fabrics out of a few lines of text.

#include <string>
#include <vector>

#include "fabric/dumps/readers.hpp"
#include "fabric/routes.hpp"

namespace espalier::fabric {

inline Fabric load_texts(const std::vector<std::string>& files) {
  std::vector<Format> formats;
  for (const auto& text : files) formats.push_back(detect_format(std::string_view(text).substr(0, kHeadBytes)));
  Loader loader;
  for (const auto index : choose_files(formats)) {
    loader.open("text" + std::to_string(index), formats[index]);
    loader.feed(files[index]);
    loader.close();
  }
  return loader.finish();
}

inline std::string switch_head(const std::string& guid, const std::string& name, int lid) {
  return "\nSwitch\t36 \"S-" + guid + "\"\t\t# \"" + name + "\" enhanced port 0 lid " + std::to_string(lid) +
         " lmc 0\n";
}

// Two leaves and two spines, a host at each leaf; and tables that send "b" over spine 2.
//
//      s1   s2          leaf ports: 1 host, 2 s1, 3 s2
//      | \ / |          spine ports: 1 leaf1, 2 leaf2
//      | / \ |
//      l1   l2
//      a     b          LIDs: l1 1, l2 2, s1 3, s2 4, a 5, b 6
inline const std::string kSquare = switch_head("00000000000000a1", "l1", 1) +
                                   "[1]\t\"H-00000000000000c1\"[1](d1) \t\t# \"a HCA-1\" lid 5 4xQDR\n"
                                   "[2]\t\"S-00000000000000b1\"[1]\t\t# \"s1\" lid 3 4xQDR\n"
                                   "[3]\t\"S-00000000000000b2\"[1]\t\t# \"s2\" lid 4 4xDDR\n" +
                                   switch_head("00000000000000a2", "l2", 2) +
                                   "[1]\t\"H-00000000000000c2\"[1](d2) \t\t# \"b HCA-1\" lid 6 4xQDR\n"
                                   "[2]\t\"S-00000000000000b1\"[2]\t\t# \"s1\" lid 3 4xQDR\n"
                                   "[3]\t\"S-00000000000000b2\"[2]\t\t# \"s2\" lid 4 4xQDR\n" +
                                   switch_head("00000000000000b1", "s1", 3) +
                                   "[1]\t\"S-00000000000000a1\"[2]\t\t# \"l1\" lid 1 4xQDR\n"
                                   "[2]\t\"S-00000000000000a2\"[2]\t\t# \"l2\" lid 2 4xQDR\n" +
                                   switch_head("00000000000000b2", "s2", 4) +
                                   "[1]\t\"S-00000000000000a1\"[3]\t\t# \"l1\" lid 1 4xDDR\n"
                                   "[2]\t\"S-00000000000000a2\"[3]\t\t# \"l2\" lid 2 4xQDR\n"
                                   "\nCa\t1 \"H-00000000000000c1\"\t\t# \"a HCA-1\"\n"
                                   "[1](d1) \t\"S-00000000000000a1\"[1]\t\t# lid 5 lmc 0 \"l1\" lid 1 4xQDR\n"
                                   "\nCa\t1 \"H-00000000000000c2\"\t\t# \"b HCA-1\"\n"
                                   "[1](d2) \t\"S-00000000000000a2\"[1]\t\t# lid 6 lmc 0 \"l2\" lid 2 4xQDR\n";

inline std::string table_of(const std::string& guid, const std::string& entries, int count) {
  return "Unicast lids [0x0-0x6] of switch Lid 1 guid 0x" + guid + " (x):\n  Lid  Out   Destination\n" + entries +
         std::to_string(count) + " valid lids dumped\n";
}

inline const std::string kSquareTables = table_of("00000000000000a1", "0x0005 001\n0x0006 003\n", 2) +
                                         table_of("00000000000000a2", "0x0005 002\n0x0006 001\n", 2) +
                                         table_of("00000000000000b1", "0x0005 001\n0x0006 002\n", 2) +
                                         table_of("00000000000000b2", "0x0005 001\n0x0006 002\n", 2);

inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

inline Route route_between(const Fabric& fabric, const std::string& from, const std::string& to) {
  const auto [source, target] = fabric.find_pair(from, to);
  return trace_route(fabric, source, target);
}

}  // namespace espalier::fabric
