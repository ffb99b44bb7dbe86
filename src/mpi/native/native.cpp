#include "mpi/native/native.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mpi/native/loaded_object.hpp"
#include "mpi/native/tools.hpp"

namespace espalier::mpi {

bool speaks_for_all() {
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"})
    if (const char* const rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  return true;
}

namespace {

// The object that holds MPI when it was loaded with local scope, as Python extensions do: not in the global search.
std::atomic<void*> local_library = nullptr;

/// Whether it is another of our builds, which define MPI's functions as this one does: one that all of them have, and
/// nobody else.
bool is_sibling(const LoadedObject& object) {
  const void* const mark = object.find("Espalier_Transport");
  return mark != nullptr && !is_ours(mark);
}

bool is_of_sibling(const void* function) {
  const std::optional<LoadedObject> object = LoadedObject::find_holder(function);
  return object && is_sibling(*object);
}

bool has_sibling() {
  const std::vector<LoadedObject> objects = LoadedObject::all();
  return std::any_of(objects.begin(), objects.end(), is_sibling);
}

/// A handle of the first object, in the loader's order, that MPI is in, or comes with. It is kept, so that MPI stays
/// loaded as long as our table.
void* find_local_library() {
  for (const LoadedObject& it : LoadedObject::all()) {  // opened here, and not under the loader's lock
    void* const object = it.name().empty() ? nullptr : dlopen(it.name().c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    const void* const init = dlsym(object, "PMPI_Init");
    if (init != nullptr && !is_ours(init) && !is_of_sibling(init)) return object;
    dlclose(object);
  }
  return nullptr;
}

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find_symbol(name));
  return function != nullptr;
}

void find_handles(Native& table) {
  table.comm_null = MPI_COMM_NULL;
  table.comm_self = MPI_COMM_SELF;
  table.comm_world = MPI_COMM_WORLD;
  table.byte = MPI_BYTE;
  table.datatype_null = MPI_DATATYPE_NULL;
  table.integer = MPI_INT;
  table.packed = MPI_PACKED;
  table.errors_return = MPI_ERRORS_RETURN;
  table.min = MPI_MIN;
  table.op_null = MPI_OP_NULL;
  table.request_null = MPI_REQUEST_NULL;
}

// The name of the first function that is missing, or null when the table is complete.
const char* fill(Native& table) {
#define ESPALIER_FIND(name) \
  if (!find(table.name, "PMPI_" #name)) return "PMPI_" #name;
  ESPALIER_NATIVE_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_NONBLOCKING_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_NEIGHBOR_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_FORTRAN_FUNCTIONS(ESPALIER_FIND)
#undef ESPALIER_FIND
#define ESPALIER_FIND(name) find(table.name, "PMPI_" #name);
  ESPALIER_NATIVE_PERSISTENT_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_LARGE_FUNCTIONS(ESPALIER_FIND)
#undef ESPALIER_FIND
  find_handles(table);
  return nullptr;
}

}  // namespace

std::atomic<const Native*> detail::native_table = nullptr;
std::atomic<const Native*> detail::foreign_table = nullptr;
std::atomic<const Native*> detail::foreign_next = nullptr;

namespace {

/// Whether an MPI, told by one of its functions, has the binary interface that this build is for. Which it has its
/// symbols say, and of the standard's the file's name.
bool is_served(const void* function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return true;
  const bool is_standard = std::strstr(info.dli_fname, "libmpi_abi") != nullptr;
#if defined(MPI_ABI)
  return is_standard;
#else
  const std::optional<LoadedObject> object = LoadedObject::find_holder(function);
  const bool is_open_mpi = object && object->find("ompi_mpi_comm_world") != nullptr;
#if defined(OPEN_MPI)
  return is_open_mpi && !is_standard;
#else
  return !is_open_mpi && !is_standard;
#endif
#endif
}

/// Who is next behind us by MPI's names: a tool, another of our builds, which may fit, or MPI.
template <class Function>
void find_next(Function& next, const char* name, Function otherwise) {
  void* const found = dlsym(RTLD_NEXT, name);
  next = found != nullptr && !is_ours(found) ? reinterpret_cast<Function>(found) : otherwise;
}

/// `function`: one of an MPI's that this build is not for.
void tell_of_foreign(const void* function) {
  Dl_info info, own;
  if (!speaks_for_all() || dladdr(function, &info) == 0) return;
  if (has_sibling() && dladdr(reinterpret_cast<const void*>(&tell_of_foreign), &own) != 0)
    std::fprintf(stderr,
                 "espalier: of several builds of Espalier that are preloaded %s does not fit %s, and is passed by\n",
                 own.dli_fname, info.dli_fname);
  else
    std::fprintf(stderr,
                 "espalier: %s has another binary interface than this build, and is left alone; take the build that "
                 "fits it (espalier lib --for PROGRAM)\n",
                 info.dli_fname);
}

/// `function`: one of that MPI's.
void leave_alone(const void* function) {
  static Native table, next;
#define ESPALIER_FIND(name)        \
  find(table.name, "PMPI_" #name); \
  find_next(next.name, "MPI_" #name, table.name);
  ESPALIER_NATIVE_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_NONBLOCKING_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_NEIGHBOR_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_FORTRAN_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_PERSISTENT_FUNCTIONS(ESPALIER_FIND)
  ESPALIER_NATIVE_LARGE_FUNCTIONS(ESPALIER_FIND)
#undef ESPALIER_FIND
  detail::foreign_next.store(&next, std::memory_order_release);
  detail::foreign_table.store(&table, std::memory_order_release);
  Tools::forget();
  tell_of_foreign(function);
}

bool is_disabled() {
  const char* const value = std::getenv("ESPALIER_DISABLE");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

/// An MPI that has run, though no call of it came by here: the program has looked its functions up with dlsym, in the
/// file that it has opened, and not in the process.
[[gnu::destructor]] void tell_of_passed_by() {
  if (detail::native_table.load() != nullptr || find_foreign() != nullptr || is_disabled()) return;
  const std::vector<LoadedObject> objects = LoadedObject::all();
  const auto mpi = std::find_if(objects.begin(), objects.end(), [](const LoadedObject& it) {
    return it.name().find("libmpi") != std::string::npos && it.find("PMPI_Initialized") != nullptr;
  });
  if (mpi == objects.end()) return;
  const void* const function = mpi->find("PMPI_Initialized");
  int is_initialized = 0;
  const auto has_begun = reinterpret_cast<int (*)(int*)>(const_cast<void*>(function));
  if (has_begun(&is_initialized) != MPI_SUCCESS || !is_initialized) return;
  if (has_sibling() && !is_served(function))
    tell_of_foreign(function);
  else if (speaks_for_all())
    std::fprintf(stderr,
                 "espalier: MPI has run, and no call of it came by here: the program calls what dlsym finds in the "
                 "file of libmpi, where nothing can be preloaded; nothing was changed\n");
}

/// A program that is linked with its MPI has it now.
[[gnu::constructor]] void look_early() {
  const void* const init = find_symbol("PMPI_Init");
  if (init != nullptr && !is_served(init)) leave_alone(init);
}

}  // namespace

const Native* detail::search_native() {
  static std::mutex mutex;
  static bool has_complained = false;
  const std::lock_guard lock(mutex);
  if (const Native* table = native_table.load(std::memory_order_acquire)) return table;
  if (find_symbol("PMPI_Init") == nullptr) local_library = find_local_library();
  if (find_foreign() != nullptr) return nullptr;
  if (const void* const init = find_symbol("PMPI_Init"); init != nullptr && !is_served(init)) {
    leave_alone(init);
    return nullptr;
  }
  static Native table;
  const char* missing = fill(table);
  if (missing == nullptr) {
    native_table.store(&table, std::memory_order_release);
    return &table;
  }
  if (!has_complained)
    std::fprintf(stderr,
                 "espalier: no MPI library with %s is loaded in this process; load libmpi before or together with "
                 "Espalier, and take the build that fits it (espalier lib --for PROGRAM)\n",
                 missing);
  has_complained = true;
  return nullptr;
}

std::string read_native_version() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING + 1, '\0');
  int length = 0;
  native().Get_library_version(text.data(), &length);
  return text.c_str();
}

// PMPI's names are ours, too, for other tools (tools.hpp); native's come behind. Of other names the global search comes
// first, and begins with the program: it may hold the copies (copy relocations, Fortran common blocks) of data objects
// that the whole process, libmpi included, then uses.
void* find_symbol(const char* name) {
  const bool is_function = std::strncmp(name, "PMPI_", 5) == 0;
  void* symbol = dlsym(is_function ? RTLD_NEXT : RTLD_DEFAULT, name);
  if (symbol == nullptr && is_function) symbol = dlsym(RTLD_DEFAULT, name);
  const bool is_sibling = symbol != nullptr && is_function && is_of_sibling(symbol);
  if (symbol != nullptr && !is_sibling && !is_ours(symbol)) return symbol;
  void* library = local_library.load(std::memory_order_relaxed);
  if (library == nullptr && is_sibling) local_library = library = find_local_library();
  return library == nullptr ? nullptr : dlsym(library, name);
}

#if defined(OPEN_MPI)
void* find_predefined(const char* symbol) { return find_symbol(symbol); }
#endif

}  // namespace espalier::mpi
