#include "base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace espalier {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw Error(path + ": cannot be read (" + std::strerror(errno) + ")");
}

[[noreturn]] void fail_large(const std::string& path, Bytes limit) {
  throw Error(path + ": is larger than the " + format_bytes(limit) + " that are read of such a file");
}

void refuse_others(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  throw Error(path + ": cannot be read (it is " + (S_ISDIR(mode) ? "a folder" : "no regular file") + ")");
}

struct Descriptor {
  explicit Descriptor(int file) : number(file) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int release() { return std::exchange(number, -1); }

  int number;
};

/// Beside it, under a name that whoever lists the folder passes over.
std::string draft_of(const std::string& path, const std::string& whose = std::to_string(getpid())) {
  const std::size_t name = path.rfind('/') + 1;
  return path.substr(0, name) + "." + path.substr(name) + "." + whose;
}

/// What it leads to; itself where it is no link, or leads nowhere.
std::string end_of_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> end(realpath(path.c_str(), nullptr), &std::free);
  return end == nullptr ? path : end.get();
}

bool is_folder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

/// A terminal, a pipe, a device (/dev/stdout): text goes there, and it stays what it is.
bool is_stream(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

/// Null where nobody reads a pipe, too: it is not waited for.
std::FILE* open_stream(const std::string& path) {
  const int number = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (number < 0) return nullptr;
  fcntl(number, F_SETFL, O_WRONLY);
  return fdopen(number, "w");
}

/// Closes it, too. Null is none.
bool write_all(std::FILE* file, const std::string& text) {
  if (file == nullptr) return false;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 &&
                          (fsync(fileno(file)) == 0 || errno == EINVAL || errno == EROFS);  // of what is no file
  return std::fclose(file) == 0 && is_written;
}

std::string why_not_replaced(const std::string& path, int error) {
  return "cannot write '" + path + "': " + std::strerror(error);
}

/// `path` leads to `place`.
std::string replace_by(const std::string& draft, const std::string& place, const std::string& path,
                       const std::string& text) {
  const bool is_written = write_all(std::fopen(draft.c_str(), "we"), text);
  if (is_written && std::rename(draft.c_str(), place.c_str()) == 0) return {};
  const int error = errno;
  unlink(draft.c_str());
  return why_not_replaced(path, error);
}

}  // namespace

int open_file(const std::string& path) {
  struct stat facts {};
  // Looked at before it is opened, which some devices answer by doing something, and afterwards, because names change.
  // A pipe that took the name meanwhile is opened at once, with or without a writer.
  if (stat(path.c_str(), &facts) != 0) fail(path);
  refuse_others(path, facts.st_mode);
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.number < 0 || fstat(file.number, &facts) != 0) fail(path);
  refuse_others(path, facts.st_mode);
  return file.release();
}

std::string read_file(const std::string& path, Bytes limit) {
  const Descriptor file{open_file(path)};
  struct stat facts {};
  if (fstat(file.number, &facts) != 0) fail(path);
  if (static_cast<Bytes>(facts.st_size) > limit) fail_large(path, limit);
  std::string text;
  // One more than there should be, so that the last read finds the end; files of /proc say nothing of their size.
  std::size_t room = static_cast<std::size_t>(facts.st_size) + 1;
  for (;;) {
    const auto before = text.size();
    text.resize(before + room);
    const ssize_t got = read(file.number, text.data() + before, room);
    if (got < 0 && errno != EINTR) fail(path);
    text.resize(before + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (got == 0) return text;
    if (text.size() > limit) fail_large(path, limit);
    room = std::size_t{64} << 10;
  }
}

std::string read_system_file(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  std::string text;
  std::array<char, 4096> piece;
  while (file.number >= 0) {
    const ssize_t got = read(file.number, piece.data(), piece.size());
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    text.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return text;
}

std::string read_first_line(const std::string& path) {
  std::string text = read_system_file(path);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::string to_absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::array<char, PATH_MAX> folder;
  return getcwd(folder.data(), folder.size()) == nullptr ? path : std::string(folder.data()) + "/" + path;
}

std::string probe_replacing(const std::string& path) {
  if (is_folder(path)) return why_not_replaced(path, EISDIR);
  if (is_stream(path)) return access(path.c_str(), W_OK) == 0 ? "" : why_not_replaced(path, errno);
  const std::string draft = draft_of(end_of_links(path));
  const Descriptor file{open(draft.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  if (file.number < 0) return why_not_replaced(path, errno);
  unlink(draft.c_str());
  return {};
}

std::string replace_file(const std::string& path, const std::string& text) {
  if (is_stream(path)) return write_all(open_stream(path), text) ? "" : why_not_replaced(path, errno);
  const std::string place = end_of_links(path);
  return replace_by(draft_of(place), place, path, text);
}

std::string replace_locked_file(const std::string& path, const std::string& text) {
  const std::string place = end_of_links(path);
  return replace_by(draft_of(place, "draft"), place, path, text);
}

}  // namespace espalier
