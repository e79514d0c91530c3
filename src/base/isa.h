/* base/isa.h: names for code that is compiled once per instruction set (cmake/isa.cmake).
 *
 * Such a file is compiled with MICA_ISA defined as baseline, avx2 or avx512, and writes
 * `void MICA_ISA_NAME(mica_cpu_gemm)(...)`, which becomes mica_cpu_gemm_avx2. Whoever chooses
 * at run time includes this without MICA_ISA: MICA_ISA_HAS_X86 says whether avx2 and avx512 exist
 * beside baseline, mica_machine_has_avx2_fma() and ..._avx512() whether they may run. */
#ifndef MICA_BASE_ISA_H
#define MICA_BASE_ISA_H

#define MICA_ISA_JOIN_AGAIN(name, isa) name##_##isa
#define MICA_ISA_JOIN(name, isa) MICA_ISA_JOIN_AGAIN(name, isa)
#define MICA_ISA_NAME(name) MICA_ISA_JOIN(name, MICA_ISA)

#ifndef MICA_ISA_HAS_X86
#define MICA_ISA_HAS_X86 0
#endif

#endif
