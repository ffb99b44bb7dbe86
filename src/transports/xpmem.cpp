#include "transports/xpmem.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "transports/mapped_memory.hpp"

namespace espalier::transports {
namespace {

std::uintptr_t owner_only = 0600;               // as the kernel lets processes of one user read each other (ptrace)
constexpr std::size_t whole = ~std::size_t{0};  // XPMEM_MAXADDR_SIZE

template <class Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

std::optional<Xpmem> load_calls(const char* file) {
  // Kept for good: neighbours' memory stays mapped until the process ends.
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Xpmem calls{};
  const bool has_all = find(library, "xpmem_make", calls.make) && find(library, "xpmem_remove", calls.remove) &&
                       find(library, "xpmem_get", calls.get) && find(library, "xpmem_release", calls.release) &&
                       find(library, "xpmem_attach", calls.attach) && find(library, "xpmem_detach", calls.detach);
  return has_all ? std::optional(calls) : std::nullopt;
}

}  // namespace

const Xpmem* Xpmem::load(const char* file) {
  static std::mutex mutex;
  static std::map<std::string, std::optional<Xpmem>> loaded;
  const std::lock_guard lock(mutex);
  auto entry = loaded.find(file);
  if (entry == loaded.end()) entry = loaded.emplace(file, load_calls(file)).first;
  return entry->second ? &*entry->second : nullptr;
}

XpmemSegment offer_memory(const Xpmem& xpmem) {
  static std::mutex mutex;
  static std::map<const Xpmem*, XpmemSegment> offered;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = offered.try_emplace(&xpmem, 0);
  if (is_new) {
    const std::int64_t made = xpmem.make(nullptr, whole, permit_mode, reinterpret_cast<void*>(owner_only));
    if (made > 0) entry->second = made;
  }
  return entry->second;
}

bool can_attach(const Xpmem& xpmem, XpmemSegment segment, const std::uint64_t* word, std::uint64_t expected) noexcept {
  constexpr Bytes page = 4096;
  NeighbourMemory neighbour(xpmem, segment, {.chunk = page, .worth = 0, .most = 1});
  std::byte* const mapped = neighbour.find(reinterpret_cast<const std::byte*>(word), sizeof expected);
  if (mapped == nullptr) return false;
  auto* const theirs = reinterpret_cast<volatile std::uint64_t*>(mapped);
  if (*theirs != expected) return false;
  *theirs = expected;  // what is there already
  return true;
}

}  // namespace espalier::transports
