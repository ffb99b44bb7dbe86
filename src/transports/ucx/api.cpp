#include "transports/ucx/api.hpp"

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"

namespace espalier::transports::ucx {
namespace {

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Error(std::string("libucp.so.0 has no ") + name + ": install UCX 1.11 or later");
}

Api load() {
  // By its soname, so that an MPI that has brought its own UCX and we use the same one.
  void* const library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(std::string("UCX cannot be loaded: ") + dlerror());
  Api found;
#define ESPALIER_UCX_LOOK_UP(name) look_up(library, #name, found.name);
  ESPALIER_UCX_FUNCTIONS(ESPALIER_UCX_LOOK_UP)
#undef ESPALIER_UCX_LOOK_UP
  return found;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace espalier::transports::ucx
