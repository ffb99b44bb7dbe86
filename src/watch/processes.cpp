#include "watch/processes.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace espalier::watch {
namespace {

namespace fs = std::filesystem;
using transports::Arena;

std::string folder_of(int pid) { return "/proc/" + std::to_string(pid); }

/// The fields of its `stat` behind the name, which may hold anything; empty where there is no such process.
std::string_view fields_of(const std::string& stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? "" : std::string_view(stat).substr(end + 2);
}

int parent_of(int pid) {
  const std::string stat = read_first_line(folder_of(pid) + "/stat");
  const std::string_view fields = fields_of(stat);  // "S 17 …"
  const std::string_view number = fields.substr(std::min<std::size_t>(2, fields.size()));
  return parse_number<int>(number.substr(0, number.find(' '))).value_or(0);
}

std::vector<int> all_processes() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error))
    if (const auto pid = parse_number<int>(entry.path().filename().native())) found.push_back(*pid);
  std::sort(found.begin(), found.end());
  return found;
}

/// The process and all that it has started, or that those have: of a launcher, its ranks of this host.
std::vector<int> family_of(int pid) {
  std::map<int, int> parents;
  for (const int it : all_processes()) parents[it] = parent_of(it);
  const auto descends = [&](int it) {
    for (std::size_t steps = 0; it != pid && it > 0 && steps < parents.size(); ++steps) it = parents[it];
    return it == pid;
  };
  std::vector<int> family;
  for (const auto& [it, parent] : std::map(parents))
    if (descends(it)) family.push_back(it);
  return family;
}

// Files that others have mapped for it are its own, too; several numbers may be of one file.
void add_arenas(int pid, std::set<std::uint64_t>& known, std::vector<std::shared_ptr<const Arena>>& found) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(pid) + "/fd", error)) {
    std::error_code unreadable;
    if (!fs::read_symlink(entry.path(), unreadable).string().starts_with("/memfd:espalier")) continue;
    try {
      auto arena = Arena::observe(entry.path());
      if (known.insert(arena->name().id).second) found.push_back(std::move(arena));
    } catch (const Error&) {
      // gone meanwhile, or somebody else's
    }
  }
}

}  // namespace

Life probe_life(int pid) {
  const std::string stat = read_first_line(folder_of(pid) + "/stat");
  const std::string_view fields = fields_of(stat);
  switch (fields.empty() ? 'X' : fields.front()) {
    case 'R': return Life::running;
    case 'D': return Life::in_kernel;
    case 'T':
    case 't': return Life::stopped;
    case 'Z':
    case 'X':
    case 'x': return Life::dead;
    default: return Life::asleep;
  }
}

Lives probe_lives(std::span<const Sighting> seen) {
  Lives lives;
  for (const Sighting& rank : seen)
    if (const Process process = process_of(rank); !lives.contains(process)) lives[process] = probe_life(rank.pid);
  return lives;
}

std::vector<std::shared_ptr<const Arena>> find_arenas(int pid) {
  std::vector<std::shared_ptr<const Arena>> found;
  std::set<std::uint64_t> known;
  if (pid != 0 && !fs::exists(folder_of(pid))) throw Error("there is no process " + std::to_string(pid));
  for (const int it : pid != 0 ? family_of(pid) : all_processes()) add_arenas(it, known, found);
  return found;
}

}  // namespace espalier::watch
