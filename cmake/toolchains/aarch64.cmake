# Builds for 64-bit ARM with Debian's cross compiler; what is built runs by qemu (scripts/aarch64.sh, which also gathers in
# ESPALIER_ARM what has no processor: headers, and GoogleTest built by this very file).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ESPALIER_ARM)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu)

# This machine's own headers and libraries are of another processor.
set(CMAKE_FIND_ROOT_PATH ${ESPALIER_ARM})
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_DISABLE_FIND_PACKAGE_SimGrid ON)
