#include "mpi/boundary/tools.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

// Of the linker: this library's own beginning and end.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start, _end;

namespace espalier::mpi {
namespace {

/// What is loaded, from its first byte to behind its last.
struct Object {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::string name;  ///< empty: the program
  enum class Kind { unknown, other, tool } kind = Kind::unknown;

  bool holds(std::uintptr_t address) const { return address >= begin && address < end; }
};

/// Those that are loaded when it is made. dladdr() would look through all symbols of an object for every question.
class Objects {
 public:
  Objects() { dl_iterate_phdr(add, &all_); }

  /// The tool that a function belongs to, or null. MPI has PMPI's names, too; tools go on to them.
  Object* find_tool(const void* function) {
    if (function == nullptr || is_ours(function)) return nullptr;
    const auto at = reinterpret_cast<std::uintptr_t>(function);
    const auto found = std::find_if(all_.begin(), all_.end(), [at](const Object& it) { return it.holds(at); });
    if (found == all_.end()) return nullptr;
    if (found->kind == Object::Kind::unknown) found->kind = has_mpi(*found) ? Object::Kind::other : Object::Kind::tool;
    return found->kind == Object::Kind::tool ? &*found : nullptr;
  }

  const std::vector<Object>& all() const { return all_; }

 private:
  static int add(dl_phdr_info* info, std::size_t, void* all) {
    Object object{UINTPTR_MAX, 0, info->dlpi_name == nullptr ? "" : info->dlpi_name};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      object.begin = std::min(object.begin, info->dlpi_addr + segment.p_vaddr);
      object.end = std::max(object.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    static_cast<std::vector<Object>*>(all)->push_back(std::move(object));
    return 0;
  }

  static bool has_mpi(const Object& object) {
    void* const handle = dlopen(object.name.empty() ? nullptr : object.name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return true;  // what cannot be looked into had better be left alone
    void* const pmpi = dlsym(handle, "PMPI_Init");
    dlclose(handle);
    return pmpi != nullptr && object.holds(reinterpret_cast<std::uintptr_t>(pmpi));
  }

  std::vector<Object> all_;
};

Native next_table{};
std::vector<Object> tools;

/// A tool in front of us is called by the program; one behind us, by us.
template <class Function>
void look_for(Objects& objects, Function& next, const char* name) {
  objects.find_tool(dlsym(RTLD_DEFAULT, name));
  void* const behind = dlsym(RTLD_NEXT, name);
  if (objects.find_tool(behind) != nullptr) next = reinterpret_cast<Function>(behind);
}

void look_for_all() {
  Objects objects;
#define ESPALIER_LOOK_FOR(name) look_for(objects, next_table.name, "MPI_" #name);
  ESPALIER_NATIVE_FUNCTIONS(ESPALIER_LOOK_FOR)
  ESPALIER_NATIVE_NONBLOCKING_FUNCTIONS(ESPALIER_LOOK_FOR)
  ESPALIER_NATIVE_NEIGHBOR_FUNCTIONS(ESPALIER_LOOK_FOR)
  ESPALIER_NATIVE_PERSISTENT_FUNCTIONS(ESPALIER_LOOK_FOR)
  ESPALIER_NATIVE_LARGE_FUNCTIONS(ESPALIER_LOOK_FOR)
#undef ESPALIER_LOOK_FOR
  for (const Object& object : objects.all())
    if (object.kind == Object::Kind::tool) tools.push_back(object);
}

}  // namespace

bool is_ours(const void* symbol) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(symbol);
  return at >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) && at < reinterpret_cast<std::uintptr_t>(&_end);
}

Tools::State Tools::look() noexcept {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const State known = state_.load(std::memory_order_acquire); known != State::unknown) return known;
  try {
    look_for_all();
  } catch (const std::exception&) {  // no memory: tools are passed by
    tools.clear();
    next_table = {};
  }
  const State found = tools.empty() ? State::none : State::some;
  state_.store(found, std::memory_order_release);
  return found;
}

const Native* Tools::next_slowly() noexcept {
  const State known = state_.load(std::memory_order_acquire);
  return (known == State::unknown ? look() : known) == State::some ? &next_table : nullptr;
}

bool Tools::has_slowly(const void* address) noexcept {
  if (state_.load(std::memory_order_acquire) == State::unknown && look() == State::none) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(tools.begin(), tools.end(), [at](const Object& tool) { return tool.holds(at); });
}

void Tools::tell_of_way_past(const void* function) noexcept {
  static std::atomic<bool> is_said = false;
  Dl_info tool;
  if (is_said.exchange(true, std::memory_order_relaxed) || !speaks_for_all() || dladdr(function, &tool) == 0) return;
  std::fprintf(
      stderr,
      "espalier: %s stands behind Espalier and goes on to the MPI by itself, not by PMPI, so that calls which it "
      "wraps are the MPI's; preload it in front of Espalier\n",
      tool.dli_fname);
}

}  // namespace espalier::mpi
