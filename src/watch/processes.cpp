#include "watch/processes.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace espalier::watch {
namespace {

namespace fs = std::filesystem;
using transports::Arena;

std::string folder_of(int pid) { return "/proc/" + std::to_string(pid); }

std::vector<int> all_processes() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error))
    if (const auto pid = parse_number<int>(entry.path().filename().native())) found.push_back(*pid);
  std::sort(found.begin(), found.end());
  return found;
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
  const std::string text = read_first_line(folder_of(pid) + "/stat");
  const std::size_t end = text.rfind(')');  // names may hold anything
  switch (end == std::string::npos || end + 2 >= text.size() ? 'X' : text[end + 2]) {
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
  for (const int it : pid != 0 ? std::vector<int>{pid} : all_processes()) add_arenas(it, known, found);
  return found;
}

}  // namespace espalier::watch
