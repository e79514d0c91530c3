/* Moving elements: one engine for broadcast, transpose, slice, pad, concat, reverse and their like.
 *
 * A copy is a list of axes with a stride on each side. Axes are sorted so that y's smallest stride
 * is innermost and merged where both sides continue. The innermost axis is then copied (x stride
 * 1), filled (x stride 0) or gathered; when another axis is the contiguous one in x, the two are
 * walked in square tiles, so that both sides use whole cache lines. */
#include <string.h>

#include "device/cpu/kernel.h"

/* Side of a transposed tile: several cache lines, and a tile fits the nearest cache. */
#define TILE(bytes) ((bytes) <= 4 ? 64 : 32)
#define PIECE_BYTES (1 << 17) /* moved by one piece */
#define LINE_LIMIT 16384      /* longer innermost axes are cut, so that they can be shared */

/* Elements as bits. Complex ones are aligned to their parts only. */
typedef uint8_t __attribute__((may_alias)) bits8;
typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias, aligned(4))) bits64;
typedef struct bits128 {
    uint64_t low, high;
} __attribute__((may_alias, aligned(8))) bits128;

#define FOR_BITS(bytes, DO)                                                                        \
    switch (bytes) {                                                                               \
    case 1: {                                                                                      \
        DO(bits8);                                                                                 \
    } break;                                                                                       \
    case 2: {                                                                                      \
        DO(bits16);                                                                                \
    } break;                                                                                       \
    case 4: {                                                                                      \
        DO(bits32);                                                                                \
    } break;                                                                                       \
    case 8: {                                                                                      \
        DO(bits64);                                                                                \
    } break;                                                                                       \
    default: {                                                                                     \
        DO(bits128);                                                                               \
    } break;                                                                                       \
    }

/* ---- plans
 * -------------------------------------------------------------------------------------*/

static int64_t magnitude(int64_t a) {
    return a < 0 ? -a : a;
}

static void swap_axes(cpu_copy *c, int32_t a, int32_t b) {
    int64_t size = c->sizes[a], x = c->x_strides[a], y = c->y_strides[a];
    c->sizes[a] = c->sizes[b], c->x_strides[a] = c->x_strides[b], c->y_strides[a] = c->y_strides[b];
    c->sizes[b] = size, c->x_strides[b] = x, c->y_strides[b] = y;
}

static void sort_axes(cpu_copy *c) {
    for (int32_t i = 1; i < c->rank; i++)
        for (int32_t j = i; j > 0 && magnitude(c->y_strides[j]) > magnitude(c->y_strides[j - 1]);
             j--)
            swap_axes(c, j, j - 1);
}

static void merge_axes(cpu_copy *c) {
    int32_t n = 0;
    for (int32_t i = 0; i < c->rank; i++) {
        int32_t last = n - 1;
        if (n && c->x_strides[last] == c->x_strides[i] * c->sizes[i] &&
            c->y_strides[last] == c->y_strides[i] * c->sizes[i]) {
            c->sizes[last] *= c->sizes[i];
            c->x_strides[last] = c->x_strides[i];
            c->y_strides[last] = c->y_strides[i];
        } else {
            c->sizes[n] = c->sizes[i];
            c->x_strides[n] = c->x_strides[i];
            c->y_strides[n++] = c->y_strides[i];
        }
    }
    c->rank = n;
}

void mica_cpu_copy_init(cpu_copy *c, size_t bytes, int32_t rank, const int64_t *sizes,
                        const int64_t *x_strides, const int64_t *y_strides) {
    c->bytes = (int32_t)bytes;
    c->rank = 0;
    c->n = 1;
    c->across = -1;
    for (int32_t i = 0; i < rank; i++) {
        c->n *= sizes[i];
        if (sizes[i] == 1) continue;
        c->sizes[c->rank] = sizes[i];
        c->x_strides[c->rank] = x_strides[i];
        c->y_strides[c->rank++] = y_strides[i];
    }
    if (c->n == 0) return;
    sort_axes(c);
    merge_axes(c);
    if (c->rank == 0) {
        c->rank = 1;
        c->sizes[0] = c->x_strides[0] = c->y_strides[0] = 1;
    }
    int64_t inner = c->x_strides[c->rank - 1];
    if (magnitude(inner) <= 1) return;
    for (int32_t i = 0; i < c->rank - 1; i++)
        if (magnitude(c->x_strides[i]) == 1 && c->sizes[i] >= 4) c->across = i;
}

/* ---- innermost loops
 * ---------------------------------------------------------------------------*/

static void copy_line(const char *x, int64_t x_stride, char *y, int64_t y_stride, int32_t bytes,
                      int64_t n) {
    if (x_stride == 1 && y_stride == 1) {
        size_t size = (size_t)(n * bytes);
        if (size > 256 || size % 16) {
            memcpy(y, x, size);
        } else {
            for (size_t i = 0; i < size; i += 16) memcpy(y + i, x + i, 16);
        }
        return;
    }
#define FILL_LINE(type)                                                                            \
    type value = *(const type *)x;                                                                 \
    for (int64_t i = 0; i < n; i++) ((type *)y)[i] = value
#define GATHER_LINE(type)                                                                          \
    for (int64_t i = 0; i < n; i++) ((type *)y)[i * y_stride] = ((const type *)x)[i * x_stride]
    if (x_stride == 0 && y_stride == 1) {
        FOR_BITS(bytes, FILL_LINE)
    } else {
        FOR_BITS(bytes, GATHER_LINE)
    }
}

/* A tile is read in whole lines of x into a buffer and written in whole lines of y: strides are
 * often powers of two, where lines of several rows drive each other out of the cache. */
typedef struct tile_strides {
    int64_t x_row, x_column, y_row, y_column;
} tile_strides;

typedef uint32_t four_words __attribute__((vector_size(16)));
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (four_words){i, j, k, l})
#endif

/* to[j][i] = from[i][j] for 4 x 4 words. */
static inline void transpose_four(const uint32_t *from, int64_t from_step, char *to,
                                  int64_t to_step) {
    four_words a, b, c, d;
    memcpy(&a, from, 16);
    memcpy(&b, from + from_step, 16);
    memcpy(&c, from + 2 * from_step, 16);
    memcpy(&d, from + 3 * from_step, 16);
    four_words ab_low = SHUFFLE(a, b, 0, 4, 1, 5), ab_high = SHUFFLE(a, b, 2, 6, 3, 7);
    four_words cd_low = SHUFFLE(c, d, 0, 4, 1, 5), cd_high = SHUFFLE(c, d, 2, 6, 3, 7);
    a = SHUFFLE(ab_low, cd_low, 0, 1, 4, 5), b = SHUFFLE(ab_low, cd_low, 2, 3, 6, 7);
    c = SHUFFLE(ab_high, cd_high, 0, 1, 4, 5), d = SHUFFLE(ab_high, cd_high, 2, 3, 6, 7);
    memcpy(to, &a, 16);
    memcpy(to + to_step, &b, 16);
    memcpy(to + 2 * to_step, &c, 16);
    memcpy(to + 3 * to_step, &d, 16);
}

/* A tile of words whose lines are contiguous. */
static void copy_word_tile(const char *x, char *y, const tile_strides *s, int64_t rows,
                           int64_t columns) {
    _Alignas(64) uint32_t buffer[TILE(4)][TILE(4)];
    for (int64_t j = 0; j < columns; j++)
        memcpy(buffer[j], x + j * s->x_column * 4, (size_t)rows * 4);
    int64_t whole_rows = rows & ~(int64_t)3, whole_columns = columns & ~(int64_t)3;
    for (int64_t i = 0; i < whole_rows; i += 4)
        for (int64_t j = 0; j < whole_columns; j += 4)
            transpose_four(&buffer[j][i], TILE(4), y + (i * s->y_row + j) * 4, s->y_row * 4);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            ((bits32 *)y)[i * s->y_row + j] = buffer[j][i];
}

/* rows x columns elements; x runs along rows, y along columns. */
static void copy_tile(const char *x, char *y, const tile_strides *s, int32_t bytes, int64_t rows,
                      int64_t columns) {
    if (bytes == 4 && s->x_row == 1 && s->y_column == 1) {
        copy_word_tile(x, y, s, rows, columns);
        return;
    }
#define COPY_TILE(type)                                                                            \
    type buffer[TILE(sizeof(type))][TILE(sizeof(type))];                                           \
    for (int64_t j = 0; j < columns; j++)                                                          \
        for (int64_t i = 0; i < rows; i++)                                                         \
            buffer[j][i] = ((const type *)x)[j * s->x_column + i * s->x_row];                      \
    for (int64_t i = 0; i < rows; i++)                                                             \
        for (int64_t j = 0; j < columns; j++)                                                      \
    ((type *)y)[i * s->y_row + j * s->y_column] = buffer[j][i]
    FOR_BITS(bytes, COPY_TILE)
}

/* ---- running
 * -----------------------------------------------------------------------------------*/

typedef struct copy_run {
    const cpu_copy *copy;
    const char *x;
    char *y;
    int64_t lines;          /* per innermost axis: how many stretches it is cut into */
    int64_t tiles, columns; /* transposed: tiles along the axis across, along the innermost */
} copy_run;

/* Positions of x and y (in elements) for index i over all axes but the last and `skipped`. */
static void outer_position(const cpu_copy *c, int64_t i, int32_t skipped, int64_t *x, int64_t *y) {
    *x = *y = 0;
    for (int32_t d = c->rank - 2; d >= 0; d--) {
        if (d == skipped) continue;
        int64_t digit = i % c->sizes[d];
        i /= c->sizes[d];
        *x += digit * c->x_strides[d];
        *y += digit * c->y_strides[d];
    }
}

static void run_lines(void *context, int64_t begin, int64_t end) {
    const copy_run *run = context;
    const cpu_copy *c = run->copy;
    int32_t last = c->rank - 1;
    int64_t size = c->sizes[last], x_stride = c->x_strides[last], y_stride = c->y_strides[last];
    if (run->lines > 1) {
        for (int64_t i = begin; i < end; i++) {
            int64_t x, y, first = i % run->lines * LINE_LIMIT;
            outer_position(c, i / run->lines, -1, &x, &y);
            x += first * x_stride, y += first * y_stride;
            copy_line(run->x + x * c->bytes, x_stride, run->y + y * c->bytes, y_stride, c->bytes,
                      cpu_min(LINE_LIMIT, size - first));
        }
        return;
    }
    /* An odometer: one line after the other without divisions. */
    int64_t digits[MICA_MAX_RANK], x, y, rest = begin;
    for (int32_t d = last - 1; d >= 0; d--) digits[d] = rest % c->sizes[d], rest /= c->sizes[d];
    outer_position(c, begin, -1, &x, &y);
    for (int64_t i = begin; i < end; i++) {
        copy_line(run->x + x * c->bytes, x_stride, run->y + y * c->bytes, y_stride, c->bytes, size);
        for (int32_t d = last - 1; d >= 0; d--) {
            x += c->x_strides[d], y += c->y_strides[d];
            if (++digits[d] < c->sizes[d]) break;
            digits[d] = 0;
            x -= c->sizes[d] * c->x_strides[d], y -= c->sizes[d] * c->y_strides[d];
        }
    }
}

static void run_tiles(void *context, int64_t begin, int64_t end) {
    const copy_run *run = context;
    const cpu_copy *c = run->copy;
    int32_t last = c->rank - 1, across = c->across;
    int64_t side = TILE(c->bytes);
    tile_strides strides = {c->x_strides[across], c->x_strides[last], c->y_strides[across],
                            c->y_strides[last]};
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % run->columns * side, row = i / run->columns % run->tiles * side, x, y;
        outer_position(c, i / run->columns / run->tiles, across, &x, &y);
        x += row * c->x_strides[across] + column * c->x_strides[last];
        y += row * c->y_strides[across] + column * c->y_strides[last];
        copy_tile(run->x + x * c->bytes, run->y + y * c->bytes, &strides, c->bytes,
                  cpu_min(side, c->sizes[across] - row), cpu_min(side, c->sizes[last] - column));
    }
}

void mica_cpu_copy_run(const cpu_copy *c, const void *x, void *y) {
    if (c->n == 0) return;
    copy_run run = {.copy = c, .x = x, .y = y};
    int64_t last = c->sizes[c->rank - 1];
    if (c->across >= 0) {
        int64_t side = TILE(c->bytes);
        run.tiles = cpu_ceil_div(c->sizes[c->across], side);
        run.columns = cpu_ceil_div(last, side);
        int64_t outer = c->n / last / c->sizes[c->across];
        mica_parallel_for(outer * run.tiles * run.columns,
                          cpu_max(1, PIECE_BYTES / (side * side * c->bytes)), run_tiles, &run);
        return;
    }
    run.lines = cpu_ceil_div(last, LINE_LIMIT);
    int64_t line_bytes = cpu_min(last, LINE_LIMIT) * c->bytes;
    mica_parallel_for(c->n / last * run.lines, cpu_max(1, PIECE_BYTES / line_bytes), run_lines,
                      &run);
}

void mica_cpu_fill(void *y, const void *value, size_t bytes, int64_t n) {
    cpu_copy fill;
    int64_t zero = 0, one = 1;
    mica_cpu_copy_init(&fill, bytes, 1, &n, &zero, &one);
    mica_cpu_copy_run(&fill, value, y);
}
