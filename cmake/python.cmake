# The packages mica and mlcompute with their extensions mica._mica and mlcompute._mlcompute. In the
# build tree they are assembled in <build>/python, of links to the sources, so that
# PYTHONPATH=<build>/python is enough.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

file(GLOB MICA_EXTENSION_SOURCES CONFIGURE_DEPENDS python/_mica/*.c)
if(NOT MICA_EXTENSION_SOURCES)
  return()
endif()
Python_add_library(mica_extension MODULE WITH_SOABI ${MICA_EXTENSION_SOURCES})
set_target_properties(mica_extension PROPERTIES OUTPUT_NAME _mica
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/mica)
target_compile_options(mica_extension PRIVATE ${MICA_FLAGS} -fno-strict-aliasing)
target_link_libraries(mica_extension PRIVATE mica m)

# Most of mlcompute's extension is made from the annotated headers.
set(MLCOMPUTE_GENERATED ${CMAKE_BINARY_DIR}/generated/mlcompute_generated.c)
file(GLOB mlcompute_headers ${CMAKE_SOURCE_DIR}/include/mica/mlc*.h)
add_custom_command(OUTPUT ${MLCOMPUTE_GENERATED}
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/python/_mlcompute/generate.py
          ${CMAKE_SOURCE_DIR}/include ${MLCOMPUTE_GENERATED}
  DEPENDS ${mlcompute_headers} python/_mlcompute/generate.py python/_mlcompute/headers.py VERBATIM)
file(GLOB MLCOMPUTE_EXTENSION_SOURCES CONFIGURE_DEPENDS python/_mlcompute/*.c)
Python_add_library(mlcompute_extension MODULE WITH_SOABI ${MLCOMPUTE_EXTENSION_SOURCES}
                   python/_mica/entry.c ${MLCOMPUTE_GENERATED})
set_target_properties(mlcompute_extension PROPERTIES OUTPUT_NAME _mlcompute
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/mlcompute)
target_include_directories(mlcompute_extension PRIVATE python/_mlcompute)
target_compile_options(mlcompute_extension PRIVATE ${MICA_FLAGS} -fno-strict-aliasing)
target_link_libraries(mlcompute_extension PRIVATE mica m)

file(GLOB_RECURSE MICA_PYTHON_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python
     python/mica/*.py python/mica/*.json python/mica/py.typed python/mica/*.pyi python/mlcompute/*.py
     python/mlcompute/*.pyi python/mlcompute/py.typed)
file(GLOB_RECURSE old_links ${CMAKE_BINARY_DIR}/python/mica/*.py
     ${CMAKE_BINARY_DIR}/python/mlcompute/*.py)
if(old_links)
  file(REMOVE ${old_links})
endif()
foreach(file ${MICA_PYTHON_FILES})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/python/${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/${file} ${CMAKE_BINARY_DIR}/python/${file}
       COPY_ON_ERROR SYMBOLIC)
endforeach()
