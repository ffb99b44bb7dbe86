#include "base/program_patterns.hpp"

#include <fnmatch.h>
#include <unistd.h>

#include <climits>

namespace espalier {
namespace {

bool fits(const std::string& pattern, const std::string& program) {
  const bool has_folder = pattern.find('/') != std::string::npos;
  const std::size_t name = has_folder ? 0 : program.rfind('/') + 1;
  return fnmatch(pattern.c_str(), program.c_str() + name, 0) == 0;
}

}  // namespace

std::string probe_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

bool fits_any(std::string_view patterns, const std::string& program) {
  while (!patterns.empty()) {
    const std::size_t end = patterns.find_first_of(":,");
    const std::string pattern(patterns.substr(0, end));
    if (!pattern.empty() && fits(pattern, program)) return true;
    patterns.remove_prefix(end == std::string_view::npos ? patterns.size() : end + 1);
  }
  return false;
}

std::string why_not_served(const std::string& only, const std::string& excluded, const std::string& program) {
  if (program.empty()) return {};
  if (fits_any(excluded, program)) return "ESPALIER_NOT excludes " + program;
  const bool has_patterns = only.find_first_not_of(":,") != std::string::npos;
  if (has_patterns && !fits_any(only, program)) return "ESPALIER_ONLY does not name " + program;
  return {};
}

}  // namespace espalier
