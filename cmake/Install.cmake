# Where things are installed, stated once. Two layouts:
#   the Python package (wheels, and .venv of a source tree), which holds all there is in one folder;
#   a prefix (`make install`, distributions): libraries, headers, CMake and pkg-config files where compilers look, and the
#   package, which is of use to the `espalier` command only, in a folder of its own (cmake/Prefix.cmake).
include(GNUInstallDirs)
if(SKBUILD)
  set(ESPALIER_PACKAGE_DIR espalier)
else()
  set(ESPALIER_PACKAGE_DIR lib/espalier/espalier)
endif()

# The C interface's version, the N of libespalier-mpich.so.N: programs linked with one N run with every library of that N.
# It grows when a function goes or changes its arguments, not when one is added.
set(ESPALIER_SOVERSION 0)

# espalier_install_preload(TARGET [UNLINKED]): a preload library, where its layout wants it. Its SONAME is the same in both,
# so that one in LD_PRELOAD also serves programs that were linked with another copy. UNLINKED: nobody links with it.
function(espalier_install_preload target)
  get_target_property(name ${target} OUTPUT_NAME)
  if(SKBUILD)  # wheels hold no symbolic links
    set_target_properties(${target} PROPERTIES NO_SONAME ON)
    target_link_options(${target} PRIVATE -Wl,-soname,lib${name}.so.${ESPALIER_SOVERSION})
    install(TARGETS ${target} LIBRARY DESTINATION ${ESPALIER_PACKAGE_DIR})
    return()
  endif()
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${ESPALIER_SOVERSION} EXPORT_NAME ${name})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if("UNLINKED" IN_LIST ARGN)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  else()
    install(TARGETS ${target} EXPORT EspalierTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/espalier.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
  # Where the command looks.
  espalier_install_link(../../../${CMAKE_INSTALL_LIBDIR}/lib${name}.so.${ESPALIER_SOVERSION}
    ${ESPALIER_PACKAGE_DIR}/lib${name}.so)
endfunction()

# espalier_install_link(TARGET LINK): a symbolic link below the prefix, known to the manifest.
function(espalier_install_link target link)
  install(CODE "
    file(CREATE_LINK \"${target}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${link}\" SYMBOLIC)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${CMAKE_INSTALL_PREFIX}/${link}\")")
endfunction()

# Which commit this is, for `espalier --version`: asked at each installation, not when the build was configured. A source
# archive, which has no history, names it with -DESPALIER_COMMIT=….
set(ESPALIER_COMMIT "" CACHE STRING "The commit that is built; empty: ask git")
install(CODE "
  set(commit \"${ESPALIER_COMMIT}\")
  if(NOT commit)
    execute_process(COMMAND git -C \"${PROJECT_SOURCE_DIR}\" describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(file \"\${CMAKE_INSTALL_PREFIX}/${ESPALIER_PACKAGE_DIR}/_commit.txt\")
  file(WRITE \"\$ENV{DESTDIR}\${file}\" \"\${commit}\\n\")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
