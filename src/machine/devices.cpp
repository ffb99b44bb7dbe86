#include "machine/devices.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string_view>
#include <vector>

namespace espalier::machine {
namespace {

constexpr std::string_view runtimes[] = {"libcuda.so", "libcudart.so", "libamdhip64.so", "libze_loader.so",
                                         "libsycl.so"};
// Where nvcc and hipcc put device code.
constexpr std::string_view sections[] = {".nv_fatbin", ".hip_fatbin"};

struct Loaded {
  unsigned long long additions = 0;  ///< objects loaded since the process began; never falls
  std::vector<std::string> paths;
};

// Only names: files may not be read under the loader's lock. The program itself has no name.
int note(dl_phdr_info* info, std::size_t, void* data) {
  auto& loaded = *static_cast<Loaded*>(data);
  loaded.additions = info->dlpi_adds;
  const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!name.empty()) {
    loaded.paths.emplace_back(name);
  } else if (loaded.paths.empty()) {
    loaded.paths.emplace_back("/proc/self/exe");
  }
  return 0;
}

bool is_runtime(const std::string& path) {
  const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
  return std::any_of(std::begin(runtimes), std::end(runtimes),
                     [&](std::string_view name) { return file.starts_with(name); });
}

/// A program or library as it lies on the disk.
class Image {
 public:
  explicit Image(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Image() {
    if (file_ >= 0) close(file_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  template <class Record>
  bool read_at(std::uint64_t offset, Record* records, std::size_t count) const {
    const std::size_t bytes = count * sizeof(Record);
    const ssize_t got = pread(file_, records, bytes, static_cast<off_t>(offset));
    return got >= 0 && static_cast<std::size_t>(got) == bytes;
  }

 private:
  int file_;
};

}  // namespace

bool carries_device_code(const std::string& path) {
  const Image file(path);
  ElfW(Ehdr) header;
  if (!file.read_at(0, &header, 1) || std::string_view(reinterpret_cast<char*>(header.e_ident), SELFMAG) != ELFMAG)
    return false;
  if (header.e_shentsize != sizeof(ElfW(Shdr)) || header.e_shstrndx >= header.e_shnum) return false;
  std::vector<ElfW(Shdr)> table(header.e_shnum);
  if (!file.read_at(header.e_shoff, table.data(), table.size())) return false;
  constexpr std::uint64_t longest_names = 1 << 20;  // a damaged header must not make us allocate what it likes
  const ElfW(Shdr)& strings = table[header.e_shstrndx];
  std::string names(std::min<std::uint64_t>(strings.sh_size, longest_names), '\0');
  if (!file.read_at(strings.sh_offset, names.data(), names.size())) return false;
  return std::any_of(table.begin(), table.end(), [&](const ElfW(Shdr) & section) {
    if (section.sh_name >= names.size()) return false;
    const std::string_view name = names.c_str() + section.sh_name;
    return std::find(std::begin(sections), std::end(sections), name) != std::end(sections);
  });
}

bool uses_devices(const std::string& path) { return is_runtime(path) || carries_device_code(path); }

bool may_use_devices() {
  static std::mutex mutex;
  static unsigned long long looked_at = 0;
  static bool answer = false;
  Loaded loaded;
  dl_iterate_phdr(note, &loaded);
  const std::lock_guard lock(mutex);
  if (loaded.additions == looked_at) return answer;
  looked_at = loaded.additions;
  answer = std::any_of(loaded.paths.begin(), loaded.paths.end(), uses_devices);
  return answer;
}

}  // namespace espalier::machine
