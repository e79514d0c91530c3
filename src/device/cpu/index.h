/* device/cpu/index.h: the loops of scatter, by kind and dtype. */
#ifndef MICA_DEVICE_CPU_INDEX_H
#define MICA_DEVICE_CPU_INDEX_H

#include "device/cpu/kernel.h"
#include "ir/index_layout.h"

typedef struct mica_cpu_scatter {
    /* x[i x_step] = x[i x_step] op u[i u_step] for i < n; x and u do not overlap. */
    void (*row)(void *x, int64_t x_step, const void *u, int64_t u_step, int64_t n);
    /* x[at[i]] = x[at[i]] op u[from[i]] for i < n in order, where low <= at[i] < high. */
    void (*elements)(void *x, const int64_t *at, const void *u, const int64_t *from, int64_t n,
                     int64_t low, int64_t high);
} mica_cpu_scatter;

/* Its functions are NULL where the kind does not take the dtype. */
const mica_cpu_scatter *mica_cpu_scatter_of(const char *kind, mica_dtype dtype);

#endif
