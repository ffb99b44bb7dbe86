#include "tune/places.hpp"

#include <unistd.h>

#include <cstdlib>

namespace espalier::tune {

std::vector<std::string> table_places(std::string_view xdg_config_home, std::string_view home) {
  std::vector<std::string> places;
  // The XDG specification has relative paths ignored.
  if (xdg_config_home.starts_with('/'))
    places.push_back(std::string(xdg_config_home) + "/espalier/table.json");
  else if (!home.empty())
    places.push_back(std::string(home) + "/.config/espalier/table.json");
  places.emplace_back("/etc/espalier/table.json");
  return places;
}

std::string probe_table_path(std::string_view setting) {
  if (setting == "off") return "";
  if (!setting.empty()) return std::string(setting);
  const char* const xdg = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  for (std::string& place : table_places(xdg != nullptr ? xdg : "", home != nullptr ? home : ""))
    if (access(place.c_str(), R_OK) == 0) return std::move(place);
  return "";
}

}  // namespace espalier::tune
