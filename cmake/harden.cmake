# Hardening of everything that is built: a write past an array on the stack ends the process
# instead of taking it over, libc's copies check the sizes that the compiler knows, and after
# start-up no table of addresses can be written. Sanitized builds do all of it better, and
# _FORTIFY_SOURCE needs an optimizer. Kernels go without, those of device/cpu/isa and those that are
# compiled at run time (codegen/toolchain.c): they are loops over arrays whose bounds were checked
# before, and what they have on the stack are tiles of a fixed size.

include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported() # programs are loaded where nobody can guess

set(MICA_KERNEL_BASE_FLAGS ${MICA_FLAGS})
if(MICA_SANITIZE OR MICA_COVERAGE)
  return()
endif()

set(fortify 2)
if(CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  set(fortify 3) # sizes that are known only at run time, too
endif()
list(APPEND MICA_FLAGS -fstack-protector-strong
     "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${fortify}>")
if(NOT APPLE)
  check_c_compiler_flag(-fstack-clash-protection MICA_HAS_STACK_CLASH_PROTECTION)
  if(MICA_HAS_STACK_CLASH_PROTECTION)
    list(APPEND MICA_FLAGS -fstack-clash-protection)
    # Buffers of kernels are large: touching each page of them costs 3 us a run.
    file(GLOB sources CONFIGURE_DEPENDS src/device/cpu/*.c)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -fno-stack-clash-protection)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
