# What finds an installed Mica: mica.pc for pkg-config, micaConfig.cmake with the target mica::mica
# for find_package. Both find the prefix from where they lie, so that an installed tree can be moved,
# unless a folder was given as an absolute path (CMAKE_INSTALL_LIBDIR=/elsewhere).

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

set(MICA_DESCRIPTION "${PROJECT_DESCRIPTION}")
if(IS_ABSOLUTE "${library_folder}")
  set(MICA_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${library_folder}/pkgconfig" /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(MICA_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(folder include lib)
  set(place ${library_folder})
  if(folder STREQUAL include)
    set(place ${header_folder})
  endif()
  string(TOUPPER ${folder} variable)
  if(IS_ABSOLUTE "${place}")
    set(MICA_PC_${variable} "${place}")
  else()
    set(MICA_PC_${variable} "\${prefix}/${place}")
  endif()
endforeach()
configure_file(cmake/mica.pc.in ${CMAKE_BINARY_DIR}/mica.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/mica.pc DESTINATION ${library_folder}/pkgconfig)
