/* base/pool.h: the compute pool, one for the process, started on first use. */
#ifndef MICA_BASE_POOL_H
#define MICA_BASE_POOL_H

#include <stdint.h>

#include "base/status.h"

/* Runs body over [0, n) in pieces of `grain` (the last may be shorter), on the pool and the caller;
 * returns when all are done. Where pieces are cut depends on n and grain only, never on the number
 * of threads. Calls from inside a body run inline. Several callers may use the pool at once. Never
 * fails: without threads it runs on the caller. Inside a scope of base/interrupt.h that is left,
 * the pieces that have not begun are left out. */
void mica_parallel_for(int64_t n, int64_t grain,
                       void (*body)(void *context, int64_t begin, int64_t end), void *context);

/* The same for bodies that read or write memory from begin to end: each thread walks through a part
 * of [0, n) of its own, so that it goes on where it was, until it helps others with theirs. */
void mica_parallel_walk(int64_t n, int64_t grain,
                        void (*body)(void *context, int64_t begin, int64_t end), void *context);

/* Threads in use, the caller included. 0 asks for the machine's number (MICA_THREADS overrides). */
mica_status mica_pool_set_threads(int32_t n);
int32_t mica_pool_threads(void);
void mica_pool_shutdown(void);

#endif
