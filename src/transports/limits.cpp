#include "transports/limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace espalier::transports {
namespace {

Bytes soft_limit(__rlimit_resource which) noexcept {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return static_cast<Bytes>(limit.rlim_cur);
}

// A number alone in a file; "max", or no such file: `otherwise`.
Bytes read_number(const std::string& file, Bytes otherwise) {
  Bytes value = 0;
  return std::ifstream(file) >> value ? value : otherwise;
}

// A number behind its name in a file of such lines.
Bytes read_named(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  std::string word;
  Bytes value = 0;
  while (lines >> word) {
    if (word == name && lines >> value) return value;
    lines.ignore(4096, '\n');
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
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t kinds = line.find(':'), path = line.find(':', kinds + 1);
    if (path == std::string::npos) continue;
    const std::string kind = line.substr(kinds + 1, path - kinds - 1);
    if (kind.empty()) room = std::min(room, room_of_groups(line.substr(path + 1), second));
    if (("," + kind + ",").find(",memory,") != std::string::npos)
      room = std::min(room, room_of_groups(line.substr(path + 1), first));
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
