# Two layouts. `cmake --install` fills lib, include and bin of a prefix. A wheel (SKBUILD) holds
# everything inside the package: mica/libmica.so, mica/include (for programs that link against the
# package's library), mica/bin/mica. Wheels know no links, so the library has one name there and
# no version in it; what finds a prefix has no place in them.

if(APPLE)
  set(origin "@loader_path")
else()
  set(origin "$ORIGIN")
endif()

if(SKBUILD)
  set(library_folder mica)
  set(header_folder mica/include)
  set(program_folder mica/bin)
  set(program_to_library "${origin}/..")
else()
  set(library_folder ${CMAKE_INSTALL_LIBDIR})
  set(header_folder ${CMAKE_INSTALL_INCLUDEDIR})
  set(program_folder ${CMAKE_INSTALL_BINDIR})
  set(program_to_library "${origin}/../${CMAKE_INSTALL_LIBDIR}")
endif()

install(TARGETS mica EXPORT mica_targets LIBRARY DESTINATION ${library_folder})
install(DIRECTORY include/mica DESTINATION ${header_folder})
if(TARGET mica_cli)
  set_target_properties(mica_cli PROPERTIES INSTALL_RPATH "${program_to_library}")
  install(TARGETS mica_cli RUNTIME DESTINATION ${program_folder})
endif()
if(NOT SKBUILD)
  if(PROJECT_VERSION_MAJOR EQUAL 0) # see mica/version.h
    set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  else()
    set(abi ${PROJECT_VERSION_MAJOR})
  endif()
  set_target_properties(mica PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${abi})
  include(cmake/package.cmake)
endif()
if(TARGET mica_extension AND SKBUILD)
  set_target_properties(mica_extension PROPERTIES INSTALL_RPATH "${origin}")
  install(TARGETS mica_extension LIBRARY DESTINATION mica)
  set_target_properties(mlcompute_extension PROPERTIES INSTALL_RPATH "${origin}/../mica")
  install(TARGETS mlcompute_extension LIBRARY DESTINATION mlcompute)
endif()
