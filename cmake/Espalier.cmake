# How every Espalier target is compiled, stated once.

add_library(espalier_flags INTERFACE)
target_compile_features(espalier_flags INTERFACE cxx_std_20)
target_compile_options(espalier_flags INTERFACE
  -Wall -Wextra -fvisibility=hidden $<$<BOOL:${ESPALIER_WERROR}>:-Werror>)
target_include_directories(espalier_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(ESPALIER_SANITIZE STREQUAL "address")
  target_compile_options(espalier_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(espalier_flags INTERFACE -fsanitize=address,undefined)
elseif(ESPALIER_SANITIZE STREQUAL "thread")
  target_compile_options(espalier_flags INTERFACE -fsanitize=thread)
  target_link_options(espalier_flags INTERFACE -fsanitize=thread)
elseif(ESPALIER_SANITIZE)
  message(FATAL_ERROR "ESPALIER_SANITIZE=${ESPALIER_SANITIZE}: use address, thread or nothing")
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# espalier_folder(NAME SOURCES... [LINKS folders...]): the static library of one folder of src/.
function(espalier_folder name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  list(TRANSFORM ARG_LINKS PREPEND espalier_)
  if(ARG_UNPARSED_ARGUMENTS)
    add_library(espalier_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
    target_link_libraries(espalier_${name} PUBLIC espalier_flags ${ARG_LINKS})
  else()
    add_library(espalier_${name} INTERFACE)
    target_link_libraries(espalier_${name} INTERFACE espalier_flags ${ARG_LINKS})
  endif()
endfunction()
