/* codegen/prelude/pool.h: reduce_window and select_and_scatter whose windows lie on at most three
 * neighbouring axes, as those of pooling do. For one dtype.
 *
 *     pool_<kind>    a group of neighbouring results per thread
 *     choose_<kind>  which place of its window each window selects, into scratch memory
 *     spread         every element of x looks at the windows that it may lie in, in order
 *
 * A group is one element, or (wide_*) as many as are loaded at once: all of the innermost axis, on
 * which there are no windows. All counts are below 2^31. */
#include "codegen/prelude/space.h"

#define POOL_WIDTH (16 / (int)sizeof(T))
#define POOL_NOTHING 255 /* a window without elements selects none */

typedef struct pool_one {
    T at[1];
} pool_one;
typedef struct __attribute__((aligned(16))) pool_wide {
    T at[POOL_WIDTH];
} pool_wide;
typedef struct pool_one_choice {
    uint8_t at[1];
} pool_one_choice;
typedef struct __attribute__((aligned(POOL_WIDTH))) pool_wide_choice {
    uint8_t at[POOL_WIDTH];
} pool_wide_choice;

/* The place in x that tap w of window i is on, along an axis; -1: none. */
MICA_SCALAR int32_t pool_place(const mica_pool_axis *axis, int32_t i, int32_t w) {
    int32_t place = i * axis->stride + w * axis->window_dilation - axis->low;
    if (place < 0) return -1;
    if (axis->base_dilation != 1) {
        const int32_t element = place / axis->base_dilation;
        if (element * axis->base_dilation != place) return -1;
        place = element;
    }
    return place < axis->size ? place : -1;
}

/* Group g of an array that has `sizes` windows (or elements) along the axes: outer, their indices,
 * and the group on the innermost axis. */
typedef struct pool_index {
    int32_t outer, at[3], inner;
} pool_index;

MICA_SCALAR pool_index pool_find(uint32_t g, uint32_t inner, uint32_t n0, uint32_t n1,
                                 uint32_t n2) {
    pool_index p;
    /* Most have windows along two axes, which are the last ones. */
    const uint32_t a = g / inner, b = a / n2, c = b / n1, d = n0 == 1 ? c : c / n0;
    p.inner = (int32_t)(g - a * inner);
    p.at[2] = (int32_t)(a - b * n2);
    p.at[1] = (int32_t)(b - c * n1);
    p.at[0] = (int32_t)(c - d * n0);
    p.outer = (int32_t)d;
    return p;
}

/* A loop over the taps of a window: `from` is the group of x that tap number `tap` is on. */
#define POOL_EACH_TAP(p, from, tap)                                                                \
    for (int32_t w0 = 0; w0 < a.axes[0].window; w0++)                                              \
        for (int32_t w1 = 0, p0 = pool_place(&a.axes[0], p.at[0], w0);                             \
             p0 >= 0 && w1 < a.axes[1].window; w1++)                                               \
            for (int32_t w2 = 0, p1 = pool_place(&a.axes[1], p.at[1], w1), from, tap;              \
                 p1 >= 0 && w2 < a.axes[2].window; w2++)                                           \
                if ((from = pool_place(&a.axes[2], p.at[2], w2)) >= 0 &&                           \
                    (from = (((p.outer * a.axes[0].size + p0) * a.axes[1].size + p1) *             \
                                 a.axes[2].size +                                                  \
                             from) *                                                               \
                                a.inner +                                                          \
                            p.inner,                                                               \
                     tap = (w0 * a.axes[1].window + w1) * a.axes[2].window + w2, 1))

#define POOL_FIND_WINDOW(g)                                                                        \
    pool_find((uint32_t)g, (uint32_t)a.inner, (uint32_t)a.axes[0].results,                         \
              (uint32_t)a.axes[1].results, (uint32_t)a.axes[2].results)

#define POOL_KERNELS(name, group, WIDTH, OP, IDENTITY)                                             \
    MICA_KERNEL(name, mica_pool_arguments) {                                                       \
        MICA_EACH_THREAD MICA_EACH(g, a.n) {                                                       \
            const pool_index p = POOL_FIND_WINDOW(g);                                              \
            C all[WIDTH];                                                                          \
            group y;                                                                               \
            for (int v = 0; v < WIDTH; v++) all[v] = IDENTITY;                                     \
            POOL_EACH_TAP(p, from, tap) {                                                          \
                const group x = ((const group *)a.at.x[0])[from];                                  \
                for (int v = 0; v < WIDTH; v++) all[v] = OP(all[v], LOAD(x.at[v]));                \
            }                                                                                      \
            for (int v = 0; v < WIDTH; v++) y.at[v] = STORE(all[v]);                               \
            ((group *)a.at.y)[g] = y;                                                              \
        }                                                                                          \
    }

#define POOL_KINDS(kind, OP, IDENTITY)                                                             \
    POOL_KERNELS(pool_##kind, pool_one, 1, OP, IDENTITY)                                           \
    POOL_KERNELS(wide_pool_##kind, pool_wide, POOL_WIDTH, OP, IDENTITY)

POOL_KINDS(sum, ADD, (C)0)
POOL_KINDS(prod, MUL, (C)1)
POOL_KINDS(max, MAX, LOWEST)
POOL_KINDS(min, MIN, HIGHEST)

/* Of equals the first; NaN before all. */
#define BEATS(value, best, BETTER) ((value)BETTER(best) || ((value) != (value) && (best) == (best)))

#define POOL_CHOICES(name, group, choices, WIDTH, BETTER)                                          \
    MICA_KERNEL(name, mica_pool_arguments) {                                                       \
        MICA_EACH_THREAD MICA_EACH(g, a.n) {                                                       \
            const pool_index p = POOL_FIND_WINDOW(g);                                              \
            C best[WIDTH];                                                                         \
            choices chosen;                                                                        \
            for (int v = 0; v < WIDTH; v++) best[v] = (C)0, chosen.at[v] = POOL_NOTHING;           \
            POOL_EACH_TAP(p, from, tap) {                                                          \
                const group x = ((const group *)a.at.x[0])[from];                                  \
                for (int v = 0; v < WIDTH; v++) {                                                  \
                    const C value = LOAD(x.at[v]);                                                 \
                    if (chosen.at[v] != POOL_NOTHING && !(BEATS(value, best[v], BETTER)))          \
                        continue;                                                                  \
                    best[v] = value;                                                               \
                    chosen.at[v] = (uint8_t)tap;                                                   \
                }                                                                                  \
            }                                                                                      \
            ((choices *)a.at.scratch)[g] = chosen;                                                 \
        }                                                                                          \
    }

#define POOL_CHOICE_KINDS(kind, BETTER)                                                            \
    POOL_CHOICES(choose_##kind, pool_one, pool_one_choice, 1, BETTER)                              \
    POOL_CHOICES(wide_choose_##kind, pool_wide, pool_wide_choice, POOL_WIDTH, BETTER)

POOL_CHOICE_KINDS(max, >)
POOL_CHOICE_KINDS(min, <)

/* The windows along an axis that an element lies in: the first, and how many. */
MICA_SCALAR int32_t pool_first(const mica_pool_axis *axis, int32_t place) {
    const int32_t begin = place + axis->low - axis->window + axis->stride;
    if (axis->stride == 1) return begin < 0 ? 0 : begin;
    return begin < 0 ? 0 : begin / axis->stride;
}
MICA_SCALAR int32_t pool_end(const mica_pool_axis *axis, int32_t place) {
    const int32_t last = place + axis->low;
    const int32_t end = (axis->stride == 1 ? last : last / axis->stride) + 1;
    return end < axis->results ? end : axis->results;
}

#define POOL_SPREAD(name, group, choices, WIDTH)                                                   \
    MICA_KERNEL(name, mica_pool_arguments) {                                                       \
        MICA_EACH_THREAD MICA_EACH(g, a.n) {                                                       \
            const pool_index p =                                                                   \
                pool_find((uint32_t)g, (uint32_t)a.inner, (uint32_t)a.axes[0].size,                \
                          (uint32_t)a.axes[1].size, (uint32_t)a.axes[2].size);                     \
            int32_t first[3], end[3];                                                              \
            C sum[WIDTH];                                                                          \
            group y;                                                                               \
            for (int d = 0; d < 3; d++) {                                                          \
                first[d] = pool_first(&a.axes[d], p.at[d]);                                        \
                end[d] = pool_end(&a.axes[d], p.at[d]);                                            \
            }                                                                                      \
            for (int v = 0; v < WIDTH; v++) sum[v] = (C)0;                                         \
            for (int32_t i = first[0]; i < end[0]; i++)                                            \
                for (int32_t j = first[1]; j < end[1]; j++)                                        \
                    for (int32_t k = first[2]; k < end[2]; k++) {                                  \
                        const int32_t w0 = p.at[0] + a.axes[0].low - i * a.axes[0].stride;         \
                        const int32_t w1 = p.at[1] + a.axes[1].low - j * a.axes[1].stride;         \
                        const int32_t w2 = p.at[2] + a.axes[2].low - k * a.axes[2].stride;         \
                        const int32_t tap = (w0 * a.axes[1].window + w1) * a.axes[2].window + w2;  \
                        const int32_t window =                                                     \
                            (((p.outer * a.axes[0].results + i) * a.axes[1].results + j) *         \
                                 a.axes[2].results +                                               \
                             k) *                                                                  \
                                a.inner +                                                          \
                            p.inner;                                                               \
                        const choices chosen = ((const choices *)a.at.scratch)[window];            \
                        const group dy = ((const group *)a.at.x[1])[window];                       \
                        for (int v = 0; v < WIDTH; v++)                                            \
                            if (chosen.at[v] == tap) sum[v] = ADD(sum[v], LOAD(dy.at[v]));         \
                    }                                                                              \
            for (int v = 0; v < WIDTH; v++) y.at[v] = STORE(sum[v]);                               \
            ((group *)a.at.y)[g] = y;                                                              \
        }                                                                                          \
    }

POOL_SPREAD(spread, pool_one, pool_one_choice, 1)
POOL_SPREAD(wide_spread, pool_wide, pool_wide_choice, POOL_WIDTH)
