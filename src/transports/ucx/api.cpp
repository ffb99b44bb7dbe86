#include "transports/ucx/api.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace espalier::transports::ucx {
namespace {

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Error(std::string("libucp.so.0 has no ") + name + ": install UCX 1.11 or later");
}

// MPIs bring their own UCX under names like libucp.so.0 or, from a wheel, libucp-4f2a.so.0.0.0. Stops at the first.
int find_libucp(dl_phdr_info* object, std::size_t, void* found) {
  const std::string_view path = object->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with("libucp")) return 0;
  *static_cast<std::string*>(found) = path;
  return 1;
}

void* open_library() {
  std::string loaded;
  dl_iterate_phdr(find_libucp, &loaded);
  void* const library = loaded.empty() ? dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL)
                                       : dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) throw Error(std::string("UCX cannot be loaded: ") + dlerror());
  return library;
}

// Functions and structures keep their form within a major version.
void check_version(const Api& api) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  api.ucp_get_version(&major, &minor, &release);
  if (major != UCP_API_MAJOR || minor < 11)
    throw Error("the UCX found is " + std::to_string(major) + "." + std::to_string(minor) +
                ": 1.11 or a later 1.x is needed");
}

Api load() {
  void* const library = open_library();
  Api found;
#define ESPALIER_UCX_LOOK_UP(name) look_up(library, #name, found.name);
  ESPALIER_UCX_FUNCTIONS(ESPALIER_UCX_LOOK_UP)
#undef ESPALIER_UCX_LOOK_UP
  check_version(found);
  return found;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace espalier::transports::ucx
