# Code that is compiled once per instruction set and chosen at run time; see src/base/isa.h.

include(CheckSymbolExists)
check_symbol_exists(__x86_64__ "stddef.h" MICA_TARGET_IS_X86_64)

set(MICA_ISA_FLAGS_baseline "")
set(MICA_ISA_FLAGS_avx2 -mavx2 -mfma)
set(MICA_ISA_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512dq -mavx512bw -mavx512vl
    -mprefer-vector-width=512)

if(MICA_TARGET_IS_X86_64)
  set(MICA_ISAS baseline avx2 avx512)
  if(NOT MICA_SANITIZE AND NOT MICA_COVERAGE) # processors without AVX2 get small code, so that the library stays small
    set(MICA_ISA_FLAGS_baseline -Os)
  endif()
  add_compile_definitions(MICA_ISA_HAS_X86=1)
else()
  set(MICA_ISAS baseline)
endif()
set(MICA_ISA_ONLY "" CACHE STRING
    "baseline or avx2: kernels for no other instruction set, to build quickly; every machine is taken to have it")
if(MICA_ISA_ONLY)
  set(MICA_ISAS ${MICA_ISA_ONLY})
  add_compile_definitions(MICA_ISA_ONLY=${MICA_ISA_ONLY})
endif()

# mica_compile_per_isa(name out_objects FLAGS flags... SOURCES sources...)
# Compiles the sources once for each instruction set of the target processor, with MICA_ISA defined
# as its name; out_objects receives the object files. MICA_EXTRA_FLAGS_<isa>, when somebody defines
# it, comes last.
function(mica_compile_per_isa name out_objects)
  cmake_parse_arguments(PARSE_ARGV 2 ISA "" "" "FLAGS;SOURCES")
  set(objects "")
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND ISA_FLAGS -Wno-pass-failed) # loops over libm's functions stay scalar
  endif()
  foreach(isa ${MICA_ISAS})
    set(target ${name}_${isa})
    add_library(${target} OBJECT ${ISA_SOURCES})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
    target_compile_definitions(${target} PRIVATE MICA_ISA=${isa})
    target_compile_options(${target} PRIVATE ${MICA_KERNEL_BASE_FLAGS} ${ISA_FLAGS} ${MICA_ISA_FLAGS_${isa}}
                           ${MICA_EXTRA_FLAGS_${isa}})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  set(${out_objects} "${objects}" PARENT_SCOPE)
endfunction()
