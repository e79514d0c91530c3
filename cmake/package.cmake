# What find_package(mica) reads: micaConfig.cmake, with the target mica::mica. It finds the prefix
# from where it lies, as mica.pc does, so that an installed tree can be moved, unless a folder was
# given as an absolute path (CMAKE_INSTALL_LIBDIR=/elsewhere).

include(CMakePackageConfigHelpers)

set(package_folder ${library_folder}/cmake/mica)
install(EXPORT mica_targets NAMESPACE mica:: DESTINATION ${package_folder} FILE micaTargets.cmake)
configure_package_config_file(cmake/micaConfig.cmake.in ${CMAKE_BINARY_DIR}/micaConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
# Until version 1 a program needs the minor version that it was compiled with; see mica/version.h.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${CMAKE_BINARY_DIR}/micaConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_BINARY_DIR}/micaConfig.cmake ${CMAKE_BINARY_DIR}/micaConfigVersion.cmake
        DESTINATION ${package_folder})
