/* codegen/prelude/window.h: reduce_window, select_and_scatter, cumulative, argmax and argmin, and
 * scatter that combines. For one dtype; one thread per result, or per line. */
#include "codegen/prelude/index.h"

/* Element w of window i, along all axes: its place in x; -1: on no element. */
MICA_SCALAR int64_t window_place(const mica_window_arguments *a, int64_t i, int64_t w) {
    int64_t at = 0;
    for (int64_t d = a->rank - 1; d >= 0; d--) {
        const int64_t i_above = i / a->y_sizes[d], w_above = w / a->window[d];
        const int64_t place = (i - i_above * a->y_sizes[d]) * a->stride[d] +
                              (w - w_above * a->window[d]) * a->window_dilation[d] - a->low[d];
        if (place < 0 || place % a->base_dilation[d] != 0) return -1;
        if (place / a->base_dilation[d] >= a->x_sizes[d]) return -1;
        at += place / a->base_dilation[d] * a->x_strides[d];
        i = i_above;
        w = w_above;
    }
    return at;
}

#define MICA_WINDOW_KERNELS(kind, OP, IDENTITY)                                                    \
    MICA_KERNEL(window_##kind, mica_window_arguments) {                                            \
        MICA_EACH_THREAD MICA_EACH(i, a.n) {                                                       \
            C all = IDENTITY;                                                                      \
            for (int64_t w = 0; w < a.window_elements; w++) {                                      \
                const int64_t at = window_place(&a, i, w);                                         \
                if (at >= 0) all = OP(all, LOAD(((const T *)a.at.x[0])[at]));                      \
            }                                                                                      \
            ((T *)a.at.y)[i] = STORE(all);                                                         \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(cumulative_##kind, mica_line_arguments) {                                          \
        MICA_EACH_THREAD MICA_EACH(l, a.lines) {                                                   \
            const int64_t begin = l / a.inner * a.size * a.inner + l % a.inner;                    \
            C all = IDENTITY;                                                                      \
            for (int64_t j = 0; j < a.size; j++) {                                                 \
                const int64_t at = begin + (a.reverse ? a.size - 1 - j : j) * a.inner;             \
                const C before = all;                                                              \
                all = OP(all, LOAD(((const T *)a.at.x[0])[at]));                                   \
                ((T *)a.at.y)[at] = STORE(a.exclusive ? before : all);                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(scatter_##kind, mica_index_arguments) {                                            \
        MICA_EACH_UPDATE(from, to) {                                                               \
            T *y = (T *)a.at.y + to;                                                               \
            *y = STORE(OP(LOAD(*y), LOAD(((const T *)a.at.x[2])[from])));                          \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(scatter_sorted_##kind, mica_index_arguments) {                                     \
        MICA_EACH_RUN({                                                                            \
            T y = ((const T *)a.at.y)[to];                                                         \
            MICA_EACH_IN_RUN(r)                                                                    \
            y = STORE(OP(LOAD(y), LOAD(((const T *)a.at.x[2])[MICA_UPDATE_AT(r)])));               \
            ((T *)a.at.y)[to] = y;                                                                 \
        })                                                                                         \
    }

MICA_WINDOW_KERNELS(sum, ADD, (C)0)
MICA_WINDOW_KERNELS(prod, MUL, (C)1)
MICA_WINDOW_KERNELS(max, MAX, LOWEST)
MICA_WINDOW_KERNELS(min, MIN, HIGHEST)

/* Of equals the first; NaN before all. */
#define BEATS(value, best, BETTER) ((value)BETTER(best) || ((value) != (value) && (best) == (best)))

#define MICA_SELECT_KERNELS(kind, BETTER)                                                          \
    MICA_SCALAR int64_t selected_##kind(const mica_window_arguments *a, int64_t i) {               \
        C best = (C)0;                                                                             \
        int64_t place = -1;                                                                        \
        for (int64_t w = 0; w < a->window_elements; w++) {                                         \
            const int64_t at = window_place(a, i, w);                                              \
            if (at < 0) continue;                                                                  \
            const C value = LOAD(((const T *)a->at.x[0])[at]);                                     \
            if (place >= 0 && !(BEATS(value, best, BETTER))) continue;                             \
            best = value;                                                                          \
            place = at;                                                                            \
        }                                                                                          \
        return place;                                                                              \
    }                                                                                              \
    /* Every element of x looks at the windows that it may lie in, in order. */                    \
    MICA_KERNEL(select_##kind, mica_window_arguments) {                                            \
        MICA_EACH_THREAD MICA_EACH(e, a.n) {                                                       \
            C sum = (C)0;                                                                          \
            int64_t first[MICA_SPACE_AXES], count[MICA_SPACE_AXES], windows = 1, rest = e;         \
            for (int64_t d = a.rank - 1; d >= 0; d--) {                                            \
                const int64_t above = rest / a.x_sizes[d];                                         \
                const int64_t place = rest - above * a.x_sizes[d] + a.low[d];                      \
                int64_t begin = place - a.window[d] + a.stride[d];                                 \
                begin = begin < 0 ? 0 : begin / a.stride[d];                                       \
                int64_t end = place / a.stride[d];                                                 \
                if (end > a.y_sizes[d] - 1) end = a.y_sizes[d] - 1;                                \
                first[d] = begin;                                                                  \
                count[d] = end < begin ? 0 : end - begin + 1;                                      \
                windows *= count[d];                                                               \
                rest = above;                                                                      \
            }                                                                                      \
            for (int64_t v = 0; v < windows; v++) {                                                \
                int64_t i = 0, left = v;                                                           \
                for (int64_t d = a.rank - 1; d >= 0; d--) {                                        \
                    i += (first[d] + left % count[d]) * a.y_strides[d];                            \
                    left /= count[d];                                                              \
                }                                                                                  \
                if (selected_##kind(&a, i) == e) sum = ADD(sum, LOAD(((const T *)a.at.x[1])[i]));  \
            }                                                                                      \
            ((T *)a.at.y)[e] = STORE(sum);                                                         \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(arg_##kind, mica_line_arguments) {                                                 \
        MICA_EACH_THREAD MICA_EACH(l, a.lines) {                                                   \
            const T *x = (const T *)a.at.x[0] + l / a.inner * a.size * a.inner + l % a.inner;      \
            C best = LOAD(x[0]);                                                                   \
            int64_t place = 0;                                                                     \
            for (int64_t j = 1; j < a.size; j++) {                                                 \
                const C value = LOAD(x[j * a.inner]);                                              \
                if (!(BEATS(value, best, BETTER))) continue;                                       \
                best = value;                                                                      \
                place = j;                                                                         \
            }                                                                                      \
            if (a.index_bytes == 8)                                                                \
                ((int64_t *)a.at.y)[l] = place;                                                    \
            else if (a.index_bytes == 4)                                                           \
                ((int32_t *)a.at.y)[l] = (int32_t)place;                                           \
            else if (a.index_bytes == 2)                                                           \
                ((int16_t *)a.at.y)[l] = (int16_t)place;                                           \
            else                                                                                   \
                ((int8_t *)a.at.y)[l] = (int8_t)place;                                             \
        }                                                                                          \
    }

MICA_SELECT_KERNELS(max, >)
MICA_SELECT_KERNELS(min, <)
