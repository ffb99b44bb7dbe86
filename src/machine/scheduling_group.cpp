#include "machine/scheduling_group.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace espalier::machine {
namespace {

std::string first_word(const std::string& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

bool has_entry(std::string_view list, std::string_view wanted) {
  std::istringstream entries{std::string(list)};
  for (std::string entry; std::getline(entries, entry, ',');)
    if (entry == wanted) return true;
  return false;
}

// In version 2 processor time is shared out among groups down to the last that has a weight.
std::string last_weighted(const std::string& root, std::string path) {
  std::error_code ignored;
  while (!path.empty() && path != "/") {
    if (std::filesystem::exists(root + "/sys/fs/cgroup" + path + "/cpu.weight", ignored)) return path;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return {};
}

// A line is "number:controllers:path"; version 2 has the number 0 and no controllers.
std::string control_group(const std::string& root) {
  std::ifstream lines(root + "/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (has_entry(controllers, "cpu") && path != "/") return path;
    if (!controllers.empty()) continue;
    if (std::string group = last_weighted(root, path); !group.empty()) return group;
  }
  return {};
}

}  // namespace

// Automatic groups divide only what is in no control group.
std::string probe_scheduling_group(const std::string& root) {
  if (std::string group = control_group(root); !group.empty()) return group;
  if (first_word(root + "/proc/sys/kernel/sched_autogroup_enabled") != "1") return {};
  return first_word(root + "/proc/self/autogroup");
}

}  // namespace espalier::machine
