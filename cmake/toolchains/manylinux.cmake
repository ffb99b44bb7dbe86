# Builds that run on every Linux with glibc 2.28 or later, whatever this machine has: its own compiler, and what ESPALIER_GLIBC
# holds, a folder that scripts/old-glibc.sh makes, to link with in place of its own glibc. So hot code is compiled as it was
# measured and proved.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ESPALIER_GLIBC)

set(CMAKE_DISABLE_FIND_PACKAGE_SimGrid ON)

# Startup code and libraries of that folder come first, and what nothing calls is left out. The same commit gives the
# same bytes wherever it lies, and debug files are found by what they belong to.
foreach(language C CXX)
  string(APPEND CMAKE_${language}_FLAGS_INIT
    " -ffunction-sections -fdata-sections -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
endforeach()
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS_INIT
    " -B${ESPALIER_GLIBC} -L${ESPALIER_GLIBC} -static-libgcc -static-libstdc++ -Wl,--build-id=sha1 -Wl,--as-needed -Wl,--gc-sections")
endforeach()
