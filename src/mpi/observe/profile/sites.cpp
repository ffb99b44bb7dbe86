#include "mpi/observe/profile/sites.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <memory>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "mpi/native/tools.hpp"

namespace espalier::mpi {
namespace {

/// libmpi.so.12, libmpifort.so.40, libmpich.so …: their names say so.
bool is_mpis(const void* address) noexcept {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  return std::strncmp(slash == nullptr ? info.dli_fname : slash + 1, "libmpi", 6) == 0;
}

const void* search_stack() noexcept {
  constexpr int depth = 16;
  void* frames[depth];
  const int count = backtrace(frames, depth);
  for (int i = 0; i < count; ++i)
    if (!is_ours(frames[i]) && !is_mpis(frames[i])) return frames[i];
  return nullptr;
}

/// Programs that are not relocated have the addresses that their files say.
bool is_fixed(const void* base) noexcept {
  ElfW(Ehdr) header;
  std::memcpy(&header, base, sizeof header);
  return header.e_type == ET_EXEC;
}

}  // namespace

const void* find_site(const void* back) noexcept {
  // Whether an address is MPI's. Of the memory that each thread has of a library there is little: hence a pointer.
  static thread_local std::unique_ptr<std::unordered_map<const void*, bool>> known;
  if (is_ours(back)) return search_stack();
  try {
    if (known == nullptr) known = std::make_unique<std::unordered_map<const void*, bool>>();
    const auto [found, is_new] = known->try_emplace(back, false);
    if (is_new) found->second = is_mpis(back);
    return found->second ? search_stack() : back;
  } catch (const std::exception&) {  // no memory
    return back;
  }
}

std::string name_site(const void* site) {
  Dl_info info;
  if (dladdr(site, &info) == 0 || info.dli_fname == nullptr) return {};
  const auto at = reinterpret_cast<std::uintptr_t>(site) - 1;  // of the call, not of what comes after it
  const auto base = is_fixed(info.dli_fbase) ? 0 : reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%zx", static_cast<std::size_t>(at - base));
  return info.dli_fname + std::string(offset) + (info.dli_sname == nullptr ? "" : std::string(" ") + info.dli_sname);
}

}  // namespace espalier::mpi
