#include "mpi/native/tools.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/native/loaded_object.hpp"

// Of the linker: this library's own beginning and end.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start, _end;

namespace espalier::mpi {
namespace {

struct Object {
  LoadedObject loaded;
  enum class Kind { unknown, other, tool } kind = Kind::unknown;
};

/// Those that are loaded when it is made. dladdr() would look through all symbols of an object for every question.
class Objects {
 public:
  Objects() {
    for (LoadedObject& it : LoadedObject::all()) all_.push_back({std::move(it)});
  }

  /// The tool that a function belongs to, or null. MPI has PMPI's names, too; tools go on to them.
  Object* find_tool(const void* function) {
    if (function == nullptr || is_ours(function)) return nullptr;
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const Object& it) { return it.loaded.holds(function); });
    if (found == all_.end()) return nullptr;
    if (found->kind == Object::Kind::unknown)
      found->kind = found->loaded.find("PMPI_Init") != nullptr ? Object::Kind::other : Object::Kind::tool;
    return found->kind == Object::Kind::tool ? &*found : nullptr;
  }

  const std::vector<Object>& all() const { return all_; }

 private:
  std::vector<Object> all_;
};

Native next_table{};
std::vector<LoadedObject> tools;

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
    if (object.kind == Object::Kind::tool) tools.push_back(object.loaded);
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
  return std::any_of(tools.begin(), tools.end(), [&](const LoadedObject& tool) { return tool.holds(address); });
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
