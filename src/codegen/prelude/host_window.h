/* codegen/prelude/host_window.h: reduce_window, select_and_scatter, reduce over any axes, running
 * reductions, argmax and argmin for programs of C that run without Mica. Elements of a window are
 * taken in row-major order, windows in the order of the results, parts of a reduction as
 * ir/scalar_reduce.h says. */
#ifndef MICA_CODEGEN_PRELUDE_HOST_WINDOW_H
#define MICA_CODEGEN_PRELUDE_HOST_WINDOW_H

#include "codegen/prelude/host_space.h"
#include "codegen/prelude/reducers.h"

typedef struct mica_host_axis {
    int64_t size, window, stride, low, base_dilation, window_dilation, results;
    int64_t x_stride;
} mica_host_axis;

typedef struct mica_host_windows {
    int64_t rank, rows, elements; /* rows: of results; elements: of x */
    mica_host_axis axes[MICA_SPACE_AXES];
} mica_host_windows;

#define MICA_WINDOW_STRIP 256 /* results side by side */

/* The element of x at element w of window i, along an axis; -1: none. */
MICA_SCALAR int64_t mica_host_element(const mica_host_axis *a, int64_t i, int64_t w) {
    int64_t position = i * a->stride + w * a->window_dilation - a->low;
    if (a->base_dilation != 1) {
        if (position < 0 || position % a->base_dilation) return -1;
        position /= a->base_dilation;
    }
    return position >= 0 && position < a->size ? position : -1;
}

/* Calls VISIT(j, at) for each window j of a strip of the last axis and its element at x[at]. */
#define MICA_HOST_WINDOWS(a, row, begin, end, VISIT)                                               \
    {                                                                                              \
        const int64_t last = (a)->rank - 1;                                                        \
        const mica_host_axis *const inner = &(a)->axes[last];                                      \
        int64_t index[MICA_SPACE_AXES], w[MICA_SPACE_AXES] = {0}, left = row, d;                   \
        for (d = last - 1; d >= 0; d--) {                                                          \
            index[d] = left % (a)->axes[d].results;                                                \
            left /= (a)->axes[d].results;                                                          \
        }                                                                                          \
        do {                                                                                       \
            int64_t from = 0;                                                                      \
            for (d = 0; d < last && from >= 0; d++) {                                              \
                const int64_t element = mica_host_element(&(a)->axes[d], index[d], w[d]);          \
                from = element < 0 ? -1 : from + element * (a)->axes[d].x_stride;                  \
            }                                                                                      \
            for (int64_t v = 0; from >= 0 && v < inner->window; v++) {                             \
                if (inner->stride == 1 && inner->base_dilation == 1) {                             \
                    const int64_t shift = v * inner->window_dilation - inner->low;                 \
                    const int64_t first = (begin) + shift < 0 ? -shift : (begin);                  \
                    const int64_t reach = inner->size - shift;                                     \
                    const int64_t limit = (end) < reach ? (end) : reach;                           \
                    for (int64_t j = first; j < limit; j++) VISIT(j - (begin), from + j + shift);  \
                    continue;                                                                      \
                }                                                                                  \
                for (int64_t j = (begin); j < (end); j++) {                                        \
                    const int64_t element = mica_host_element(inner, j, v);                        \
                    if (element >= 0) VISIT(j - (begin), from + element);                          \
                }                                                                                  \
            }                                                                                      \
            for (d = last - 1; d >= 0 && ++w[d] == (a)->axes[d].window; d--) w[d] = 0;             \
        } while (d >= 0);                                                                          \
    }

#define MICA_HOST_WINDOW(name, type, OP, IDENTITY)                                                 \
    MICA_CALLED void mica_window_##name(const mica_host_windows *a, const type *restrict x,        \
                                        type *restrict y) {                                        \
        const int64_t width = a->axes[a->rank - 1].results;                                        \
        for (int64_t row = 0; row < a->rows; row++)                                                \
            for (int64_t begin = 0; begin < width; begin += MICA_WINDOW_STRIP) {                   \
                const int64_t rest = width - begin;                                                \
                const int64_t n = rest < MICA_WINDOW_STRIP ? rest : MICA_WINDOW_STRIP;             \
                type acc[MICA_WINDOW_STRIP];                                                       \
                for (int64_t j = 0; j < n; j++) acc[j] = (type)(IDENTITY);                         \
                MICA_HOST_WINDOWS(a, row, begin, begin + n, MICA_TAKE_##OP)                        \
                for (int64_t j = 0; j < n; j++) y[row * width + begin + j] = acc[j];               \
            }                                                                                      \
    }
#define MICA_TAKE_add_f32(j, at) acc[j] = mica_add_f32(acc[j], x[at])
#define MICA_TAKE_mul_f32(j, at) acc[j] = mica_mul_f32(acc[j], x[at])
#define MICA_TAKE_max_f32(j, at) acc[j] = mica_max_f32(acc[j], x[at])
#define MICA_TAKE_min_f32(j, at) acc[j] = mica_min_f32(acc[j], x[at])
#define MICA_TAKE_add_f64(j, at) acc[j] = mica_add_f64(acc[j], x[at])
#define MICA_TAKE_mul_f64(j, at) acc[j] = mica_mul_f64(acc[j], x[at])
#define MICA_TAKE_max_f64(j, at) acc[j] = mica_max_f64(acc[j], x[at])
#define MICA_TAKE_min_f64(j, at) acc[j] = mica_min_f64(acc[j], x[at])
MICA_HOST_WINDOW(add_f32, float, add_f32, 0)
MICA_HOST_WINDOW(mul_f32, float, mul_f32, 1)
MICA_HOST_WINDOW(max_f32, float, max_f32, -MICA_INF_F32)
MICA_HOST_WINDOW(min_f32, float, min_f32, MICA_INF_F32)
MICA_HOST_WINDOW(add_f64, double, add_f64, 0)
MICA_HOST_WINDOW(mul_f64, double, mul_f64, 1)
MICA_HOST_WINDOW(max_f64, double, max_f64, -MICA_INF_F64)
MICA_HOST_WINDOW(min_f64, double, min_f64, MICA_INF_F64)

/* Of equals the first; a NaN is better than what is none. */
#define MICA_HOST_BEATS(value, best, BETTER)                                                       \
    (((value)BETTER(best)) | (((value) != (value)) & ((best) == (best))))

/* y = 0 but where windows select an element of x: there the sum of their `source`. Places are
 * chosen with the bits of x, so that the loop over a strip is one of vectors. */
#define MICA_TAKE_SELECTED(j, at)                                                                  \
    {                                                                                              \
        const int take = (place[j] < 0) | MICA_HOST_BEATS(x[at], best[j], MICA_BETTER);            \
        best[j] = take ? x[at] : best[j];                                                          \
        place[j] = take ? (at) : place[j];                                                         \
    }
#define MICA_HOST_SELECT(name, type)                                                               \
    MICA_CALLED void mica_select_##name(const mica_host_windows *a, const type *restrict x,        \
                                        const type *restrict source, type *restrict y) {           \
        const int64_t width = a->axes[a->rank - 1].results;                                        \
        memset(y, 0, (size_t)a->elements * sizeof *y);                                             \
        for (int64_t row = 0; row < a->rows; row++)                                                \
            for (int64_t begin = 0; begin < width; begin += MICA_WINDOW_STRIP) {                   \
                const int64_t rest = width - begin;                                                \
                const int64_t n = rest < MICA_WINDOW_STRIP ? rest : MICA_WINDOW_STRIP;             \
                type best[MICA_WINDOW_STRIP];                                                      \
                int64_t place[MICA_WINDOW_STRIP];                                                  \
                for (int64_t j = 0; j < n; j++) best[j] = 0, place[j] = -1;                        \
                MICA_HOST_WINDOWS(a, row, begin, begin + n, MICA_TAKE_SELECTED)                    \
                for (int64_t j = 0; j < n; j++)                                                    \
                    if (place[j] >= 0)                                                             \
                        y[place[j]] = y[place[j]] + source[row * width + begin + j];               \
            }                                                                                      \
    }
#define MICA_BETTER >
MICA_HOST_SELECT(max_f32, float)
MICA_HOST_SELECT(max_f64, double)
#undef MICA_BETTER
#define MICA_BETTER <
MICA_HOST_SELECT(min_f32, float)
MICA_HOST_SELECT(min_f64, double)
#undef MICA_BETTER

/* The axes of x alternate between kept and reduced; the innermost is `inner` long. */
typedef struct mica_host_reduction {
    mica_space kept, reduced; /* without the innermost axis */
    int64_t inner;
} mica_host_reduction;

#define MICA_HOST_REDUCE(name, type, OP)                                                           \
    MICA_CALLED void mica_reduce_rows_##name(const mica_host_reduction *a, const type *x,          \
                                             type *y) {                                            \
        for (int64_t i = 0; i < a->kept.n; i++) {                                                  \
            type levels[MICA_REDUCE_LEVELS];                                                       \
            uint64_t count = 0;                                                                    \
            const type *from = x + mica_host_position(&a->kept, i);                                \
            for (int64_t r = 0; r < a->reduced.n; r++) {                                           \
                const type *row = from + mica_host_position(&a->reduced, r);                       \
                for (int64_t j = 0; j < a->inner; j += MICA_REDUCE_BLOCK, count++)                 \
                    tree_##name(levels, count,                                                     \
                                row_##name(row + j, MIN(a->inner - j, MICA_REDUCE_BLOCK)));        \
            }                                                                                      \
            y[i] = root_##name(levels, count);                                                     \
        }                                                                                          \
    }                                                                                              \
    MICA_CALLED void mica_reduce_columns_##name(const mica_host_reduction *a, const type *x,       \
                                                type *y) {                                         \
        enum { WIDTH = 64 };                                                                       \
        for (int64_t i = 0; i < a->kept.n; i++, y += a->inner)                                     \
            for (int64_t j = 0; j < a->inner; j += WIDTH) {                                        \
                const type *from = x + mica_host_position(&a->kept, i) + j;                        \
                const int64_t n = MIN(a->inner - j, WIDTH);                                        \
                type levels[MICA_REDUCE_LEVELS][WIDTH], part[WIDTH];                               \
                uint64_t count = 0;                                                                \
                int l;                                                                             \
                for (int64_t r = 0; r < a->reduced.n; count++) {                                   \
                    const int64_t end = MIN(a->reduced.n, r + MICA_REDUCE_ROWS);                   \
                    memcpy(part, from + mica_host_position(&a->reduced, r),                        \
                           (size_t)n * sizeof *part);                                              \
                    for (r++; r < end; r++) {                                                      \
                        const type *row = from + mica_host_position(&a->reduced, r);               \
                        for (int64_t c = 0; c < n; c++) part[c] = OP(part[c], row[c]);             \
                    }                                                                              \
                    for (l = 0; count >> l & 1; l++)                                               \
                        for (int64_t c = 0; c < n; c++) part[c] = OP(levels[l][c], part[c]);       \
                    memcpy(levels[l], part, (size_t)n * sizeof *part);                             \
                }                                                                                  \
                for (l = 0; !(count >> l & 1);) l++;                                               \
                memcpy(part, levels[l], (size_t)n * sizeof *part);                                 \
                for (l++; count >> l; l++)                                                         \
                    if (count >> l & 1)                                                            \
                        for (int64_t c = 0; c < n; c++) part[c] = OP(levels[l][c], part[c]);       \
                memcpy(y + j, part, (size_t)n * sizeof *part);                                     \
            }                                                                                      \
    }
MICA_HOST_REDUCE(add_f32, float, mica_add_f32)
MICA_HOST_REDUCE(mul_f32, float, mica_mul_f32)
MICA_HOST_REDUCE(max_f32, float, mica_max_f32)
MICA_HOST_REDUCE(min_f32, float, mica_min_f32)
MICA_HOST_REDUCE(add_f64, double, mica_add_f64)
MICA_HOST_REDUCE(mul_f64, double, mica_mul_f64)
MICA_HOST_REDUCE(max_f64, double, mica_max_f64)
MICA_HOST_REDUCE(min_f64, double, mica_min_f64)

/* Running reductions of lines of `size` elements that are `step` apart, `inner` of them side by
 * side; y may be x. */
#define MICA_HOST_SCAN(name, type, IDENTITY)                                                       \
    MICA_CALLED void mica_scan_##name(const type *x, type *y, int64_t outer, int64_t size,         \
                                      int64_t inner, int reverse, int exclusive) {                 \
        for (int64_t line = 0; line < outer; line++)                                               \
            for (int64_t first = 0; first < inner; first += MICA_WINDOW_STRIP) {                   \
                const int64_t n = MIN(inner - first, MICA_WINDOW_STRIP);                           \
                type acc[MICA_WINDOW_STRIP];                                                       \
                for (int64_t j = 0; j < n; j++) acc[j] = (type)(IDENTITY);                         \
                for (int64_t i = 0; i < size; i++) {                                               \
                    const int64_t at =                                                             \
                        (line * size + (reverse ? size - 1 - i : i)) * inner + first;              \
                    for (int64_t j = 0; j < n; j++) {                                              \
                        const type next = mica_##name(acc[j], x[at + j]);                          \
                        y[at + j] = exclusive ? acc[j] : next;                                     \
                        acc[j] = next;                                                             \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
    }
MICA_HOST_SCAN(add_f32, float, 0)
MICA_HOST_SCAN(mul_f32, float, 1)
MICA_HOST_SCAN(max_f32, float, -MICA_INF_F32)
MICA_HOST_SCAN(min_f32, float, MICA_INF_F32)
MICA_HOST_SCAN(add_f64, double, 0)
MICA_HOST_SCAN(mul_f64, double, 1)
MICA_HOST_SCAN(max_f64, double, -MICA_INF_F64)
MICA_HOST_SCAN(min_f64, double, MICA_INF_F64)

/* The place of the best element of n that are `stride` apart. */
#define MICA_HOST_BEST(name, type, BETTER)                                                         \
    MICA_CALLED int64_t mica_best_##name(const type *x, int64_t stride, int64_t n) {               \
        int64_t place = 0;                                                                         \
        for (int64_t i = 1; i < n; i++)                                                            \
            if (MICA_HOST_BEATS(x[i * stride], x[place * stride], BETTER)) place = i;              \
        return place;                                                                              \
    }
MICA_HOST_BEST(argmax_f32, float, >)
MICA_HOST_BEST(argmin_f32, float, <)
MICA_HOST_BEST(argmax_f64, double, >)
MICA_HOST_BEST(argmin_f64, double, <)

#endif
