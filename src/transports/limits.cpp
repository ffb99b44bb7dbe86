#include "transports/limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"

namespace espalier::transports {
namespace {

Bytes soft_limit(__rlimit_resource which) noexcept {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return static_cast<Bytes>(limit.rlim_cur);
}

// The number that a file begins with; "max", or no such file: `otherwise`.
Bytes read_number(const std::string& file, Bytes otherwise) {
  const std::string text = read_system_file(file);
  const std::vector<std::string_view> words = split_words(text);
  return words.empty() ? otherwise : parse_number<Bytes>(words.front()).value_or(otherwise);
}

// A number behind its name in a file of such lines.
Bytes read_named(const std::string& file, const std::string& name) {
  const std::string text = read_system_file(file);
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() > 1 && words[0] == name) return parse_number<Bytes>(words[1]).value_or(0);
  }
  return 0;
}

/// One version of control groups: what its files are called.
struct GroupFiles {
  std::string top;  ///< where its folders begin
  const char *limit, *used, *droppable;
};

Bytes room_of_group(const std::string& folder, const GroupFiles& files) {
  const Bytes limit = read_number(folder + files.limit, unlimited);
  if (limit >= Bytes{1} << 60) return unlimited;  // version 1 writes a huge number for none
  const Bytes used = read_number(folder + files.used, 0);
  const Bytes droppable = read_named(folder + "/memory.stat", files.droppable);
  return limit - std::min(limit, used - std::min(used, droppable));
}

// Of the group and all above it, each of which may have a limit.
Bytes room_of_groups(std::string path, const GroupFiles& files) {
  Bytes room = unlimited;
  for (;;) {
    room = std::min(room, room_of_group(files.top + path, files));
    if (path.empty() || path == "/") return room;
    path.resize(path.rfind('/'));
  }
}

// Version 2 has one line "0::/path", version 1 one for each kind: "7:memory:/path". Inside a container the path may be
// the host's, of which only the root is mounted: then that is looked at.
Bytes room_of_all_groups(const std::string& root) {
  const GroupFiles second{root + "/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};
  const GroupFiles first{root + "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                         "total_inactive_file"};
  Bytes room = unlimited;
  const std::string groups = read_system_file(root + "/proc/self/cgroup");
  for (const std::string_view line : split_lines(groups)) {
    const std::size_t begin = line.find(':'), end = line.find(':', begin + 1);
    if (end == std::string_view::npos) continue;
    const std::string path(line.substr(end + 1));
    const std::vector<std::string_view> kinds = split(line.substr(begin + 1, end - begin - 1), ',');
    if (kinds.front().empty()) room = std::min(room, room_of_groups(path, second));
    if (std::find(kinds.begin(), kinds.end(), "memory") != kinds.end())
      room = std::min(room, room_of_groups(path, first));
  }
  return room;
}

Bytes room_of_machine(const std::string& root) {
  const Bytes kilobytes = read_named(root + "/proc/meminfo", "MemAvailable:");
  return kilobytes == 0 ? unlimited : kilobytes * 1024;
}

}  // namespace

Bytes probe_longest_file() noexcept { return soft_limit(RLIMIT_FSIZE); }

Bytes probe_address_room() noexcept {
  const Bytes limit = soft_limit(RLIMIT_AS);
  if (limit == unlimited) return unlimited;
  const Bytes used = read_number("/proc/self/statm", 0) * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return limit - std::min(limit, used);
}

Bytes probe_memory_room(const std::string& root) noexcept {
  try {
    return std::min(room_of_all_groups(root), room_of_machine(root));
  } catch (...) {  // no memory to look with
    return 0;
  }
}

}  // namespace espalier::transports
