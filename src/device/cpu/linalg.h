/* device/cpu/linalg.h: linear algebra on row-major matrices, one set of loops per dtype.
 *
 * The order in which an element is computed depends on the matrix's sizes alone. Loops that split
 * their work do so with mica_parallel_for, which runs inline inside a batch. */
#ifndef MICA_DEVICE_CPU_LINALG_H
#define MICA_DEVICE_CPU_LINALG_H

#include "device/cpu/kernel.h"

/* A triangle, as it acts: element (i, j) is a[i * row + j * column]. */
typedef struct cpu_triangle {
    int64_t n, row, column;
    bool lower, unit;
} cpu_triangle;

typedef struct cpu_linalg {
    /* Systems begin to end: columns of x = b, row stride `systems`, with a x = b. */
    void (*solve_left)(const cpu_triangle *t, const void *a, const void *b, void *x,
                       int64_t systems, int64_t begin, int64_t end);
    /* The same for rows of x, with x a = b. */
    void (*solve_right)(const cpu_triangle *t, const void *a, const void *b, void *x, int64_t begin,
                        int64_t end);
    /* a's lower triangle to y, all of which is written. */
    void (*cholesky)(const void *a, void *y, int64_t n);
} cpu_linalg;

extern const cpu_linalg mica_cpu_linalg_f32, mica_cpu_linalg_f64;

#endif
