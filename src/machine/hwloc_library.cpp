#include "machine/hwloc_library.hpp"

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"

namespace espalier::machine {
namespace {

// The name of every hwloc 2: 2.0 to 2.12 keep their binary interface, hwloc 3 has another number.
constexpr const char* file = "libhwloc.so.15";
constexpr unsigned major_version = 2;

template <class Function>
void resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Error(std::string(file) + " has no " + name + ": install hwloc 2.1 or newer");
}

Hwloc open() {
  // Local: our copy must not serve anybody else's symbols.
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(std::string("hwloc cannot be loaded (install libhwloc15, or your system's package): ") + dlerror());
  Hwloc hwloc;
#define ESPALIER_RESOLVE(function) resolve(library, "hwloc_" #function, hwloc.function)
  ESPALIER_RESOLVE(get_api_version);
  ESPALIER_RESOLVE(topology_init);
  ESPALIER_RESOLVE(topology_set_flags);
  ESPALIER_RESOLVE(topology_set_io_types_filter);
  ESPALIER_RESOLVE(topology_set_xmlbuffer);
  ESPALIER_RESOLVE(topology_set_synthetic);
  ESPALIER_RESOLVE(topology_load);
  ESPALIER_RESOLVE(topology_destroy);
  ESPALIER_RESOLVE(get_obj_by_depth);
  ESPALIER_RESOLVE(bitmap_next);
  ESPALIER_RESOLVE(distances_get_by_name);
  ESPALIER_RESOLVE(distances_release);
#undef ESPALIER_RESOLVE
  if (const unsigned version = hwloc.get_api_version() >> 16; version != major_version)
    throw Error(std::string(file) + " is hwloc " + std::to_string(version) + ", but hwloc 2 is needed");
  return hwloc;
}

}  // namespace

const Hwloc& load_hwloc() {
  static const Hwloc hwloc = open();
  return hwloc;
}

}  // namespace espalier::machine
