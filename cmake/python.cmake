# The package mica with its extension mica._mica. In the build tree it is assembled in
# <build>/python/mica, of links to the sources, so that PYTHONPATH=<build>/python is enough.

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

file(GLOB_RECURSE MICA_PYTHON_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python
     python/mica/*.py python/mica/py.typed python/mica/*.pyi)
file(GLOB_RECURSE old_links ${CMAKE_BINARY_DIR}/python/mica/*.py)
if(old_links)
  file(REMOVE ${old_links})
endif()
foreach(file ${MICA_PYTHON_FILES})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/python/${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/${file} ${CMAKE_BINARY_DIR}/python/${file}
       COPY_ON_ERROR SYMBOLIC)
endforeach()
