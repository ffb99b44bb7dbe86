#include "tune/places.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace espalier::tune {
namespace {

std::string_view read_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Its readable tables in alphabetical order; none where there is no such folder. Names that begin with a dot are
/// drafts.
std::vector<std::string> list_folder(const std::string& folder) {
  std::vector<std::string> files;
  DIR* const all = opendir(folder.c_str());
  if (all == nullptr) return files;
  while (const dirent* const entry = readdir(all)) {
    const std::string_view name = entry->d_name;
    const std::string path = folder + "/" + entry->d_name;
    if (name.ends_with(".json") && !name.starts_with('.') && access(path.c_str(), R_OK) == 0) files.push_back(path);
  }
  closedir(all);
  std::sort(files.begin(), files.end());
  return files;
}

void add_learned(std::vector<std::string>& files, const std::string& folder) {
  for (std::string& file : list_folder(folder))
    if (is_learned_name(file)) files.push_back(std::move(file));
}

}  // namespace

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

std::vector<std::string> store_folders(std::string_view xdg_config_home, std::string_view home) {
  std::vector<std::string> folders;
  for (const std::string& place : table_places(xdg_config_home, home))
    folders.push_back(place.substr(0, place.rfind('/')) + "/tables");
  return folders;
}

std::string probe_store(std::string_view setting) {
  if (setting == "off") return "";
  if (!setting.empty()) return std::string(setting);
  const std::vector<std::string> folders = store_folders(read_variable("XDG_CONFIG_HOME"), read_variable("HOME"));
  return folders.size() > 1 ? folders.front() : "";
}

bool is_learned_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.starts_with("learned-") && path.ends_with(".json");
}

std::vector<std::string> probe_table_files(std::string_view table, std::string_view store) {
  const std::string_view config = read_variable("XDG_CONFIG_HOME"), home = read_variable("HOME");
  const std::vector<std::string> places = table_places(config, home), folders = store_folders(config, home);
  std::vector<std::string> files;
  if (!table.empty() && table != "off") files.emplace_back(table);
  if (const std::string own = probe_store(store); !own.empty() && own != folders.front()) add_learned(files, own);
  for (std::size_t layer = 0; layer < places.size(); ++layer) {
    if (table.empty() && access(places[layer].c_str(), R_OK) == 0) files.push_back(places[layer]);
    const std::vector<std::string> more = list_folder(folders[layer]);
    const auto add = [&](bool learned) {
      std::copy_if(more.begin(), more.end(), std::back_inserter(files),
                   [&](const std::string& file) { return is_learned_name(file) == learned; });
    };
    if (table.empty()) add(false);
    if (store.empty()) add(true);
  }
  return files;
}

}  // namespace espalier::tune
