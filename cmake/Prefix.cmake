# What a prefix holds beyond the parts that each folder installs: the command, and what compilers and build systems look for.
install(DIRECTORY include/espalier DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

if(ESPALIER_BINDINGS)
  install(DIRECTORY python/espalier/ DESTINATION ${ESPALIER_PACKAGE_DIR} PATTERN __pycache__ EXCLUDE)
  # The Python that the core was compiled for.
  set(ESPALIER_COMMAND_PYTHON ${Python_EXECUTABLE} CACHE STRING "The interpreter in the first line of bin/espalier")
  configure_file(cmake/espalier.in ${PROJECT_BINARY_DIR}/command/espalier @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/command/espalier DESTINATION ${CMAKE_INSTALL_BINDIR})
  # What scripts/prefix.sh makes: man pages and completions, and the Python packages that the command needs. A distribution
  # that has its own leaves them out.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} OPTIONAL)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/packages/ DESTINATION lib/espalier OPTIONAL)
endif()

# Units that name the command by its path: what `env` would find is what lies on systemd's PATH, which a prefix does not.
if(ESPALIER_BINDINGS)
  foreach(unit serve collect)
    file(READ ${PROJECT_SOURCE_DIR}/packaging/systemd/espalier-${unit}.service text)
    string(REPLACE "/usr/bin/env espalier " "${CMAKE_INSTALL_FULL_BINDIR}/espalier " text "${text}")
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/systemd/espalier-${unit}.service CONTENT "${text}" @ONLY)
  endforeach()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/systemd/ DESTINATION lib/systemd/system)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS packaging/systemd/espalier-serve.service
    packaging/systemd/espalier-collect.service)
endif()

include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Espalier)
install(EXPORT EspalierTargets NAMESPACE espalier:: DESTINATION ${config_folder})
configure_package_config_file(cmake/EspalierConfig.cmake.in ${PROJECT_BINARY_DIR}/EspalierConfig.cmake
  INSTALL_DESTINATION ${config_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/EspalierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/EspalierConfig.cmake ${PROJECT_BINARY_DIR}/EspalierConfigVersion.cmake
  DESTINATION ${config_folder})
