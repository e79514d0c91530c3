/* codegen/prelude/host_index.h: gather and scatter for programs of C that run without Mica. Windows
 * are put in one after the other, in the order of the index vectors. */
#ifndef MICA_CODEGEN_PRELUDE_HOST_INDEX_H
#define MICA_CODEGEN_PRELUDE_HOST_INDEX_H

#include "codegen/prelude/host_space.h"

/* By position: where its index vector is, its window in the array of windows, and what batch axes
 * add to its place in x. A window is rows of even steps. */
typedef struct mica_host_indexed {
    mica_space vectors, windows, batch, x_rows, window_rows;
    int64_t n_map, vector_stride, row, x_step, window_step, fills, index_bytes, index_is_signed;
    int64_t last[MICA_SPACE_AXES], strides[MICA_SPACE_AXES]; /* by entry of an index vector */
} mica_host_indexed;

/* Where the window of position p begins in x; -1: beyond x, and it is left out. */
MICA_CALLED int64_t mica_host_window(const mica_host_indexed *a, const void *indices, int64_t p) {
    const int shift = 64 - 8 * (int)a->index_bytes;
    int64_t at = mica_host_position(&a->batch, p), vector = mica_host_position(&a->vectors, p);
    for (int64_t e = 0; e < a->n_map; e++) {
        uint64_t value = 0;
        memcpy(&value, (const char *)indices + (vector + e * a->vector_stride) * a->index_bytes,
               (size_t)a->index_bytes);
        if (a->index_is_signed) value = (uint64_t)((int64_t)(value << shift) >> shift);
        if (value > (uint64_t)a->last[e]) {
            if (a->fills) return -1;
            value = a->index_is_signed && (int64_t)value < 0 ? 0 : (uint64_t)a->last[e];
        }
        at += (int64_t)value * a->strides[e];
    }
    return at;
}

/* Elements of `bytes`, moved from one even stretch to another; x NULL: zeros. */
MICA_CALLED void mica_host_row(const char *x, int64_t x_step, char *y, int64_t y_step, int64_t n,
                               int64_t bytes) {
    if (x && x_step == 1 && y_step == 1) {
        memcpy(y, x, (size_t)(n * bytes));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (x)
            memcpy(y + i * y_step * bytes, x + i * x_step * bytes, (size_t)bytes);
        else
            memset(y + i * y_step * bytes, 0, (size_t)bytes);
}

#define MICA_HOST_EACH_ROW(a, indices)                                                             \
    for (int64_t p = 0; p < (a)->vectors.n; p++)                                                   \
        for (int64_t r = 0, start = mica_host_window(a, indices, p),                               \
                     window = mica_host_position(&(a)->windows, p), at, from;                      \
             r < (a)->x_rows.n && (at = start + mica_host_position(&(a)->x_rows, r),               \
                                  from = window + mica_host_position(&(a)->window_rows, r), 1);    \
             r++)

MICA_CALLED void mica_host_gather(const mica_host_indexed *a, int64_t bytes, const void *x,
                                  const void *indices, void *y) {
    MICA_HOST_EACH_ROW(a, indices)
    mica_host_row(start < 0 ? NULL : (const char *)x + at * bytes, a->x_step,
                  (char *)y + from * bytes, a->window_step, a->row, bytes);
}

MICA_CALLED void mica_host_put(const mica_host_indexed *a, int64_t bytes, const void *indices,
                               const void *updates, void *y) {
    MICA_HOST_EACH_ROW(a, indices)
    if (start >= 0)
        mica_host_row((const char *)updates + from * bytes, a->window_step, (char *)y + at * bytes,
                      a->x_step, a->row, bytes);
}

#define MICA_HOST_SCATTER(name, type)                                                              \
    MICA_CALLED void mica_scatter_##name(const mica_host_indexed *a, const void *indices,          \
                                         const type *updates, type *y) {                           \
        MICA_HOST_EACH_ROW(a, indices)                                                             \
        for (int64_t i = 0; start >= 0 && i < a->row; i++)                                         \
            y[at + i * a->x_step] =                                                                \
                mica_##name(y[at + i * a->x_step], updates[from + i * a->window_step]);            \
    }
MICA_HOST_SCATTER(add_f32, float)
MICA_HOST_SCATTER(mul_f32, float)
MICA_HOST_SCATTER(max_f32, float)
MICA_HOST_SCATTER(min_f32, float)
MICA_HOST_SCATTER(add_f64, double)
MICA_HOST_SCATTER(mul_f64, double)
MICA_HOST_SCATTER(max_f64, double)
MICA_HOST_SCATTER(min_f64, double)

#endif
