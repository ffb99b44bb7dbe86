# How every Espalier target is compiled, stated once.

add_library(espalier_flags INTERFACE)
target_compile_features(espalier_flags INTERFACE cxx_std_20)
target_compile_options(espalier_flags INTERFACE
  -Wall -Wextra -Wswitch-enum -fvisibility=hidden $<$<BOOL:${ESPALIER_WERROR}>:-Werror>)
target_include_directories(espalier_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(ESPALIER_SANITIZE STREQUAL "address")
  target_compile_options(espalier_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(espalier_flags INTERFACE -fsanitize=address,undefined)
elseif(ESPALIER_SANITIZE STREQUAL "thread")
  target_compile_options(espalier_flags INTERFACE -fsanitize=thread)
  target_link_options(espalier_flags INTERFACE -fsanitize=thread)
elseif(ESPALIER_SANITIZE STREQUAL "fuzz")
  target_compile_options(espalier_flags INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(espalier_flags INTERFACE -fsanitize=address,undefined)
elseif(ESPALIER_SANITIZE)
  message(FATAL_ERROR "ESPALIER_SANITIZE=${ESPALIER_SANITIZE}: use address, thread, fuzz or nothing")
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# Where nothing keeps what was compiled, headers that most files read are read once, several files of a folder are compiled
# in one go, and debuggers learn functions and lines, but no variables: half of the time that some 900 files take. Not with
# ccache, which cannot keep what was compiled so, nor in wheels and under sanitizers: there each file stands alone. With
# ESPALIER_QUICK, for a build that happens once and soon.
option(ESPALIER_QUICK "Compile for a build that happens once, and soon" OFF)
set(ESPALIER_ONCE ON)
if(NOT ESPALIER_QUICK AND
   (CMAKE_CXX_COMPILER_LAUNCHER OR ESPALIER_SANITIZE OR (SKBUILD AND NOT SKBUILD_STATE STREQUAL "editable")))
  set(ESPALIER_ONCE OFF)
endif()
if(ESPALIER_ONCE)
  string(REGEX REPLACE "(^| )-g( |$)" "\\1-g1\\2" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")
  string(REGEX REPLACE "(^| )-g( |$)" "\\1-g1\\2" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
endif()

# espalier_together(TARGET FILES): so many files of the target in one go, where that is how it is compiled: no two files of a
# target have something of one name to themselves.
function(espalier_together target files)
  if(ESPALIER_ONCE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    # What a file has to itself looks like a header's to who finds it behind an #include.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# What runs when a job begins or somebody asks, and not in calls, is compiled to be short: half of its code, of which a wheel
# has four copies. Where the build is to be quick, to be quick (and with the macros of the rest, as precompiled headers want).
set(ESPALIER_SMALL $<$<CONFIG:RelWithDebInfo>:-Os>)
if(ESPALIER_QUICK)
  set(ESPALIER_SMALL -O1)
endif()

set(ESPALIER_COMMON_HEADERS <algorithm> <array> <chrono> <functional> <map> <memory> <optional> <span> <string> <vector>)
# What is compiled to be short has headers of its own: they know how they were compiled.
if(ESPALIER_ONCE AND NOT ESPALIER_QUICK)
  file(CONFIGURE OUTPUT small.cpp CONTENT "")
  add_library(espalier_small OBJECT ${CMAKE_CURRENT_BINARY_DIR}/small.cpp)
  target_link_libraries(espalier_small PRIVATE espalier_flags)
  target_compile_options(espalier_small PRIVATE ${ESPALIER_SMALL})
  target_precompile_headers(espalier_small PRIVATE ${ESPALIER_COMMON_HEADERS})
endif()
function(espalier_precompile target)
  if(NOT ESPALIER_ONCE)
    return()
  endif()
  if(target STREQUAL espalier_base)
    target_precompile_headers(${target} PRIVATE ${ESPALIER_COMMON_HEADERS})
  elseif(target MATCHES "^espalier_(mpich|openmpi|abi)$")
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/mpi/calls/serve.hpp ${ESPALIER_COMMON_HEADERS})
  elseif("SMALL" IN_LIST ARGN AND TARGET espalier_small)
    target_precompile_headers(${target} REUSE_FROM espalier_small)
  else()
    target_precompile_headers(${target} REUSE_FROM espalier_base)
  endif()
endfunction()

# espalier_folder(NAME SOURCES... [SMALL] [LINKS folders...]): the static library of one folder of src/.
function(espalier_folder name)
  cmake_parse_arguments(ARG "SMALL" "" "LINKS" ${ARGN})
  list(TRANSFORM ARG_LINKS PREPEND espalier_)
  if(ARG_UNPARSED_ARGUMENTS)
    add_library(espalier_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
    target_link_libraries(espalier_${name} PUBLIC espalier_flags ${ARG_LINKS})
    espalier_together(espalier_${name} 12)
    if(ARG_SMALL)
      target_compile_options(espalier_${name} PRIVATE ${ESPALIER_SMALL})
      espalier_precompile(espalier_${name} SMALL)
    else()
      espalier_precompile(espalier_${name})
    endif()
  else()
    add_library(espalier_${name} INTERFACE)
    target_link_libraries(espalier_${name} INTERFACE espalier_flags ${ARG_LINKS})
  endif()
endfunction()

# espalier_mpi_headers(ABI VARIABLE): the folder with the mpi.h of this binary interface; empty where there is none.
function(espalier_mpi_headers abi variable)
  set(folder ${ESPALIER_MPICH_INCLUDE})
  set(file mpi.h)
  if(abi STREQUAL openmpi)
    set(folder ${ESPALIER_OPENMPI_INCLUDE})
  elseif(abi STREQUAL abi)
    set(file mpi_abi.h)
  endif()
  if(NOT EXISTS ${folder}/${file})
    set(folder "")
  endif()
  set(${variable} "${folder}" PARENT_SCOPE)
endfunction()

# espalier_mpi_program(NAME sources...): one C program per ABI (NAME_mpich, NAME_openmpi, NAME_abi), compiled with that ABI's
# headers and linked with no libmpi at all; whoever runs it puts the libmpi of its choice behind ours in LD_PRELOAD. So one
# binary serves MPICH 4, MPICH 5 and Intel MPI.
function(espalier_mpi_program name)
  find_package(Threads REQUIRED)
  foreach(abi mpich openmpi abi)
    set(target ${name}_${abi})
    espalier_mpi_headers(${abi} headers)
    if(NOT headers)
      message(STATUS "${target} is left out: no mpi.h (make mpi)")
      continue()
    endif()
    add_executable(${target} ${ARGN})
    target_include_directories(${target} SYSTEM PRIVATE ${headers})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(${target} PRIVATE -Wall -Wextra -fPIC)  # PIE would copy data that libmpi owns
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
    if(${target} MATCHES "_abi$")
      target_compile_definitions(${target} PRIVATE MPI_ABI)
    endif()
    # Without exported symbols ld drops the undefined ones from the dynamic table and leaves empty relocations behind.
    set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON POSITION_INDEPENDENT_CODE ON C_STANDARD 11)
    target_link_options(${target} PRIVATE -Wl,--unresolved-symbols=ignore-all -Wl,-z,lazy)
  endforeach()
endfunction()
