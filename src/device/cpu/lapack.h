/* device/cpu/lapack.h: a LAPACK that is found at run time.
 *
 * It is looked for once: where MICA_LAPACK says ("off": nowhere), in the wheels of numpy and scipy,
 * in the system's places. The names of its functions say how wide its integers are. Its functions
 * run on one thread, each call from whichever thread of ours has the matrix, so that results do not
 * depend on how many threads there are. */
#ifndef MICA_DEVICE_CPU_LAPACK_H
#define MICA_DEVICE_CPU_LAPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cpu/kernel.h"

/* name, parameters. Integers go in as int64_t: a LAPACK with
 * narrow ones reads the low half, which on the machines we run on comes first. */
#define MICA_LAPACK_API(X)                                                                         \
    X(potrf, (const char *, const int64_t *, void *, const int64_t *, int64_t *, size_t))          \
    X(getrf, (const int64_t *, const int64_t *, void *, const int64_t *, void *, int64_t *))       \
    X(geqrf, (const int64_t *, const int64_t *, void *, const int64_t *, void *, void *,           \
              const int64_t *, int64_t *))                                                         \
    X(orgqr, (const int64_t *, const int64_t *, const int64_t *, void *, const int64_t *,          \
              const void *, void *, const int64_t *, int64_t *))                                   \
    X(syevd, (const char *, const char *, const int64_t *, void *, const int64_t *, void *,        \
              void *, const int64_t *, void *, const int64_t *, int64_t *, size_t, size_t))        \
    X(gesdd, (const char *, const int64_t *, const int64_t *, void *, const int64_t *, void *,     \
              void *, const int64_t *, void *, const int64_t *, void *, const int64_t *, void *,   \
              int64_t *, size_t))                                                                  \
    X(geev, (const char *, const char *, const int64_t *, void *, const int64_t *, void *, void *, \
             void *, const int64_t *, void *, const int64_t *, void *, const int64_t *, int64_t *, \
             size_t, size_t))
/* Of complex numbers. */
#define MICA_LAPACK_COMPLEX_API(X)                                                                 \
    X(potrf, (const char *, const int64_t *, void *, const int64_t *, int64_t *, size_t))          \
    X(getrf, (const int64_t *, const int64_t *, void *, const int64_t *, void *, int64_t *))       \
    X(geqrf, (const int64_t *, const int64_t *, void *, const int64_t *, void *, void *,           \
              const int64_t *, int64_t *))                                                         \
    X(ungqr, (const int64_t *, const int64_t *, const int64_t *, void *, const int64_t *,          \
              const void *, void *, const int64_t *, int64_t *))                                   \
    X(heevd, (const char *, const char *, const int64_t *, void *, const int64_t *, void *,        \
              void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,           \
              int64_t *, size_t, size_t))                                                          \
    X(gesdd, (const char *, const int64_t *, const int64_t *, void *, const int64_t *, void *,     \
              void *, const int64_t *, void *, const int64_t *, void *, const int64_t *, void *,   \
              void *, int64_t *, size_t))                                                          \
    X(geev, (const char *, const char *, const int64_t *, void *, const int64_t *, void *, void *, \
             const int64_t *, void *, const int64_t *, void *, const int64_t *, void *, int64_t *, \
             size_t, size_t))

/* The functions of one dtype. */
typedef struct cpu_lapack_routines {
#define X(name, parameters) void(*name) parameters;
    MICA_LAPACK_API(X)
#undef X
} cpu_lapack_routines;

typedef struct cpu_lapack_complex {
#define X(name, parameters) void(*name) parameters;
    MICA_LAPACK_COMPLEX_API(X)
#undef X
} cpu_lapack_complex;

typedef struct cpu_lapack {
    bool wide;  /* integers have 64 bits */
    bool tuned; /* made for speed: OpenBLAS, MKL or Apple's; else it wins in eigh, svd and eig only
                 */
    cpu_lapack_routines f32, f64;
    cpu_lapack_complex c64, c128;
} cpu_lapack;

/* NULL when there is none; an error only for want of memory. What was loaded stays. */
MICA_MUST_CHECK mica_status mica_cpu_lapack(const cpu_lapack **out);
/* Around calls, on the thread that makes them: the library then uses that thread alone. */
void mica_cpu_lapack_enter(void);
void mica_cpu_lapack_leave(void);
/* For tests: looks again at the next call. No kernel made before may run any more. */
void mica_cpu_lapack_forget(void);

#endif
