# What the wheel for 64-bit ARM is built with: Debian's cross compiler, linked as on this machine's own processor.
include(${CMAKE_CURRENT_LIST_DIR}/aarch64.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/manylinux.cmake)
