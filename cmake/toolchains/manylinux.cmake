# Builds that run on every Linux with glibc 2.28 or later, whatever this machine has: clang as PyPI's `ziglang` packs it,
# with glibc's symbols of that version and a C++ library to link in. scripts/dist.sh makes what two variables name:
# ESPALIER_ZIG, a folder with the compilers, and ESPALIER_HEADERS, a prefix with hwloc's, UCX's, Asio's and nlohmann-json's
# headers and no others: those of this machine's glibc must not be found.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ESPALIER_ZIG ESPALIER_HEADERS)

set(CMAKE_C_COMPILER ${ESPALIER_ZIG}/zig-cc)
set(CMAKE_CXX_COMPILER ${ESPALIER_ZIG}/zig-c++)
set(CMAKE_PREFIX_PATH ${ESPALIER_HEADERS})
set(CMAKE_DISABLE_FIND_PACKAGE_SimGrid ON)

# The same commit gives the same bytes wherever it lies, and debug files are found by what they belong to.
string(APPEND CMAKE_C_FLAGS_INIT " -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
string(APPEND CMAKE_CXX_FLAGS_INIT " -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT " -Wl,--build-id=sha1")
endforeach()
