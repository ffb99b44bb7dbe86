# SimGrid (https://simgrid.org, Debian: libsimgrid-dev): the target SimGrid::SimGrid, and SimGrid_SMPI_INCLUDE_DIR, where
# the mpi.h of its MPI is. CMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON builds as if it were missing.
find_path(SimGrid_INCLUDE_DIR simgrid/s4u.hpp)
find_path(SimGrid_SMPI_INCLUDE_DIR mpi.h PATHS ${SimGrid_INCLUDE_DIR}/smpi NO_DEFAULT_PATH)
find_library(SimGrid_LIBRARY simgrid)
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_SMPI_INCLUDE_DIR SimGrid_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR SimGrid_SMPI_INCLUDE_DIR)
if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES
    IMPORTED_LOCATION ${SimGrid_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR})
endif()
