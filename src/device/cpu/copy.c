/* Moving elements: one engine for broadcast, transpose, slice, pad, concat, reverse and their like.
 *
 * A copy is a list of axes with a stride on each side. Axes are sorted so that y's smallest stride
 * is innermost and merged where both sides continue. The innermost axis is then copied (x stride
 * 1, or -1 and turned round), filled (x stride 0) or gathered; when another axis is the contiguous
 * one in x, the two are walked in square tiles, so that both sides use whole cache lines. */
#include <string.h>

#include "base/platform.h"
#include "device/cpu/kernel.h"
#include "ir/scalar_stream.h"

/* Side of a transposed tile: several cache lines, and a tile fits the nearest cache. */
#define TILE(bytes) ((bytes) <= 4 ? 64 : 32)
#define PIECE_BYTES (1 << 17) /* moved by one piece */
#define SHORT_LINE 512        /* shorter lines take as long as such a one */
#define LINE_LIMIT 16384      /* longer innermost axes are cut, so that they can be shared */
#define BAND 64               /* lines of x that are turned together, past the caches */
#define BAND_COLUMNS 1024     /* elements of each that one piece turns */

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

typedef uint8_t lanes8 __attribute__((vector_size(16)));
typedef uint16_t lanes16 __attribute__((vector_size(16)));
typedef uint32_t lanes32 __attribute__((vector_size(16)));
typedef uint64_t lanes64 __attribute__((vector_size(16)));
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(lanes, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(lanes, a, b, ...) __builtin_shuffle(a, b, (lanes){__VA_ARGS__})
#endif

/* Elements in a word, the other way round. */
static inline uint64_t reverse_8(uint64_t word) {
    return __builtin_bswap64(word);
}

static inline uint64_t reverse_16(uint64_t word) {
    const uint64_t even = 0x0000ffff0000ffff;
    word = word >> 32 | word << 32;
    return (word >> 16 & even) | (word & even) << 16;
}

static inline lanes32 reverse_32(lanes32 v) {
    return SHUFFLE(lanes32, v, v, 3, 2, 1, 0);
}

static inline lanes64 reverse_64(lanes64 v) {
    return SHUFFLE(lanes64, v, v, 1, 0);
}

/* back: y[i] = x[-i] for i < n, a group at a time. */
#define BACK_LINE(w, group)                                                                        \
    static void back_##w(const bits##w *x, bits##w *y, int64_t n) {                                \
        enum { TOGETHER = sizeof(group) * 8 / w };                                                 \
        int64_t i = 0;                                                                             \
        for (; i + TOGETHER <= n; i += TOGETHER) {                                                 \
            group v;                                                                               \
            memcpy(&v, x - i - (TOGETHER - 1), sizeof v);                                          \
            v = reverse_##w(v);                                                                    \
            memcpy(y + i, &v, sizeof v);                                                           \
        }                                                                                          \
        for (; i < n; i++) y[i] = x[-i];                                                           \
    }
BACK_LINE(8, uint64_t)
BACK_LINE(16, uint64_t)
BACK_LINE(32, lanes32)
BACK_LINE(64, lanes64)

static void back_line(const void *x, void *y, int32_t bytes, int64_t n) {
    switch (bytes) {
    case 1: back_8(x, y, n); break;
    case 2: back_16(x, y, n); break;
    case 4: back_32(x, y, n); break;
    case 8: back_64(x, y, n); break;
    default:
        for (int64_t i = 0; i < n; i++) ((bits128 *)y)[i] = ((const bits128 *)x)[-i];
    }
}

/* halve: y[i] = x[2 i] for i < n; two vectors of x are one of y. */
#define EVEN_8 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define EVEN_16 0, 2, 4, 6, 8, 10, 12, 14
#define EVEN_32 0, 2, 4, 6
#define EVEN_64 0, 2
#define HALVE_LINE(w)                                                                              \
    static void halve_##w(const bits##w *x, bits##w *y, int64_t n) {                               \
        enum { TOGETHER = 128 / w };                                                               \
        int64_t i = 0;                                                                             \
        for (; i + TOGETHER < n; i += TOGETHER) {                                                  \
            lanes##w v[2], even;                                                                   \
            memcpy(v, x + 2 * i, sizeof v);                                                        \
            even = SHUFFLE(lanes##w, v[0], v[1], EVEN_##w);                                        \
            memcpy(y + i, &even, sizeof even);                                                     \
        }                                                                                          \
        for (; i < n; i++) y[i] = x[2 * i];                                                        \
    }
HALVE_LINE(8)
HALVE_LINE(16)
HALVE_LINE(32)
HALVE_LINE(64)

static void halve_line(const void *x, void *y, int32_t bytes, int64_t n) {
    switch (bytes) {
    case 1: halve_8(x, y, n); break;
    case 2: halve_16(x, y, n); break;
    case 4: halve_32(x, y, n); break;
    case 8: halve_64(x, y, n); break;
    default:
        for (int64_t i = 0; i < n; i++) ((bits128 *)y)[i] = ((const bits128 *)x)[2 * i];
    }
}

/* y[i] = *x for i < n, in whole vectors. */
static void fill_line(const char *x, char *y, int32_t bytes, int64_t n) {
    char pattern[64];
    int64_t size = n * bytes, i = 0;
    if (bytes == 1) {
        memset(y, *x, (size_t)n);
        return;
    }
    for (int64_t j = 0; j < 64 && j < size; j += bytes) memcpy(pattern + j, x, (size_t)bytes);
    for (; i + 64 <= size; i += 64) memcpy(y + i, pattern, 64);
    if (i < size) memcpy(y + i, pattern, (size_t)(size - i));
}

/* The same past the caches, or a copy; y and its size are whole cache lines. */
static void stream_line(const char *x, int64_t x_stride, char *y, int32_t bytes, int64_t n) {
    char pattern[MICA_STREAM_LINE];
    if (x_stride) {
        mica_stream_lines(y, x, n * bytes);
        return;
    }
    for (int j = 0; j < MICA_STREAM_LINE; j += bytes) memcpy(pattern + j, x, (size_t)bytes);
    for (int64_t i = 0; i < n * bytes; i += MICA_STREAM_LINE)
        mica_stream_lines(y + i, pattern, MICA_STREAM_LINE);
}

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
#define GATHER_LINE(type)                                                                          \
    for (int64_t i = 0; i < n; i++) ((type *)y)[i * y_stride] = ((const type *)x)[i * x_stride]
    if (x_stride == 0 && y_stride == 1) {
        fill_line(x, y, bytes, n);
    } else if (x_stride == -1 && y_stride == 1) {
        back_line(x, y, bytes, n);
    } else if (x_stride == 2 && y_stride == 1) {
        halve_line(x, y, bytes, n);
    } else {
        FOR_BITS(bytes, GATHER_LINE)
    }
}

/* A tile is read in whole lines of x into a buffer and written in whole lines of y: strides are
 * often powers of two, where lines of several rows drive each other out of the cache. */
typedef struct tile_strides {
    int64_t x_row, x_column, y_row, y_column;
} tile_strides;

/* Squares are transposed in registers of 16 bytes: interleaving lines i and i + n / 2, log2(n)
 * times, makes columns of n lines. */
#define LOW_8 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_8 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_16 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_16 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_32 0, 4, 1, 5
#define HIGH_32 2, 6, 3, 7
#define LOW_64 0, 2
#define HIGH_64 1, 3

/* transpose: to[j][i] = from[i][j] for an n x n square, n = 128 / bits; steps in elements.
 * copy_square_tile: a tile whose lines are contiguous on both sides. */
#define SQUARE_DEFINE(w)                                                                           \
    static inline void transpose_##w(const bits##w *from, int64_t from_step, bits##w *to,          \
                                     int64_t to_step) {                                            \
        enum { n = 128 / w };                                                                      \
        lanes##w a[n], b[n];                                                                       \
        for (int i = 0; i < n; i++) memcpy(&a[i], from + i * from_step, 16);                       \
        for (int step = 1; step < n; step *= 2) {                                                  \
            for (int i = 0; i < n / 2; i++) {                                                      \
                b[2 * i] = SHUFFLE(lanes##w, a[i], a[i + n / 2], LOW_##w);                         \
                b[2 * i + 1] = SHUFFLE(lanes##w, a[i], a[i + n / 2], HIGH_##w);                    \
            }                                                                                      \
            for (int i = 0; i < n; i++) a[i] = b[i];                                               \
        }                                                                                          \
        for (int i = 0; i < n; i++) memcpy(to + i * to_step, &a[i], 16);                           \
    }                                                                                              \
    static void copy_square_tile_##w(const bits##w *x, bits##w *y, const tile_strides *s,          \
                                     int64_t rows, int64_t columns) {                              \
        enum { n = 128 / w, side = TILE(w / 8) };                                                  \
        _Alignas(64) bits##w buffer[side][side];                                                   \
        for (int64_t j = 0; j < columns; j++)                                                      \
            memcpy(buffer[j], x + j * s->x_column, (size_t)rows * sizeof *x);                      \
        int64_t whole_rows = rows / n * n, whole_columns = columns / n * n;                        \
        for (int64_t i = 0; i < whole_rows; i += n)                                                \
            for (int64_t j = 0; j < whole_columns; j += n)                                         \
                transpose_##w(&buffer[j][i], side, y + i * s->y_row + j, s->y_row);                \
        for (int64_t i = 0; i < rows; i++)                                                         \
            for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)                 \
                y[i * s->y_row + j] = buffer[j][i];                                                \
    }
SQUARE_DEFINE(8)
SQUARE_DEFINE(16)
SQUARE_DEFINE(32)
SQUARE_DEFINE(64)

static bool copy_square_tile(const char *x, char *y, const tile_strides *s, int32_t bytes,
                             int64_t rows, int64_t columns) {
    if (s->x_row != 1 || s->y_column != 1) return false;
    switch (bytes) {
    case 1: copy_square_tile_8((const bits8 *)x, (bits8 *)y, s, rows, columns); return true;
    case 2: copy_square_tile_16((const bits16 *)x, (bits16 *)y, s, rows, columns); return true;
    case 4: copy_square_tile_32((const bits32 *)x, (bits32 *)y, s, rows, columns); return true;
    case 8: copy_square_tile_64((const bits64 *)x, (bits64 *)y, s, rows, columns); return true;
    default: return false;
    }
}

/* rows x columns elements; x runs along rows, y along columns. */
static void copy_tile(const char *x, char *y, const tile_strides *s, int32_t bytes, int64_t rows,
                      int64_t columns) {
    if (copy_square_tile(x, y, s, bytes, rows, columns)) return;
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
    bool streams;           /* lines: y is written past the caches */
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

static void run_line(const copy_run *run, int64_t x, int64_t y, int64_t n) {
    const cpu_copy *c = run->copy;
    int64_t x_stride = c->x_strides[c->rank - 1], y_stride = c->y_strides[c->rank - 1];
    const char *from = run->x + x * c->bytes;
    char *to = run->y + y * c->bytes;
    if (run->streams)
        stream_line(from, x_stride, to, c->bytes, n);
    else
        copy_line(from, x_stride, to, y_stride, c->bytes, n);
}

static void run_lines(void *context, int64_t begin, int64_t end) {
    const copy_run *run = context;
    const cpu_copy *c = run->copy;
    int32_t last = c->rank - 1;
    int64_t size = c->sizes[last], x, y;
    for (int64_t i = begin; i < end && run->lines > 1; i++) {
        int64_t first = i % run->lines * LINE_LIMIT;
        outer_position(c, i / run->lines, -1, &x, &y);
        run_line(run, x + first * c->x_strides[last], y + first * c->y_strides[last],
                 cpu_min(LINE_LIMIT, size - first));
    }
    /* An odometer: one line after the other without divisions. */
    int64_t digits[MICA_MAX_RANK], rest = begin;
    for (int32_t d = last - 1; d >= 0; d--) digits[d] = rest % c->sizes[d], rest /= c->sizes[d];
    outer_position(c, begin, -1, &x, &y);
    for (int64_t i = begin; i < end && run->lines == 1; i++) {
        run_line(run, x, y, size);
        for (int32_t d = last - 1; d >= 0; d--) {
            x += c->x_strides[d], y += c->y_strides[d];
            if (++digits[d] < c->sizes[d]) break;
            digits[d] = 0;
            x -= c->sizes[d] * c->x_strides[d], y -= c->sizes[d] * c->y_strides[d];
        }
    }
    if (run->streams) mica_stream_end();
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

/* ---- past the caches
 * --------------------------------------------------------------------------*/

/* A large result made of whole cache lines: ordinary stores would read each before writing it. */
static bool is_streamed(const cpu_copy *c, const char *y) {
    int32_t last = c->rank - 1;
    if (c->y_strides[last] != 1 || c->x_strides[last] < 0 || (uintptr_t)y % MICA_STREAM_LINE ||
        c->sizes[last] * c->bytes % MICA_STREAM_LINE)
        return false;
    for (int32_t i = 0; i < last; i++)
        if (c->y_strides[i] * c->bytes % MICA_STREAM_LINE) return false;
    if (c->across >= 0 && (c->x_strides[c->across] != 1 || c->bytes > 8)) return false;
    if (c->across < 0 && c->x_strides[last] > 1) return false;
    return mica_machine_streams((size_t)(c->n * c->bytes));
}

/* Scattered whole lines cost no more than neighbours, so x is read in its order; not where it is
 * read again and again. */
static void sort_by_source(cpu_copy *c) {
    for (int32_t i = 0; i < c->rank; i++)
        if (c->x_strides[i] == 0) return;
    for (int32_t i = 1; i < c->rank - 1; i++)
        for (int32_t j = i; j > 0 && magnitude(c->x_strides[j]) > magnitude(c->x_strides[j - 1]);
             j--)
            swap_axes(c, j, j - 1);
}

/* Units are bands of lines of x, in pieces. What is left of a line beyond whole squares becomes
 * lines of y that are written as usual. */
static void run_bands(void *context, int64_t begin, int64_t end) {
    const copy_run *run = context;
    const cpu_copy *c = run->copy;
    int32_t last = c->rank - 1, across = c->across;
    int64_t bytes = c->bytes, square = MICA_STREAM_LINE / bytes, side = TILE(bytes);
    tile_strides strides = {1, c->x_strides[last], c->y_strides[across], 1};
    mica_cpu_transpose transpose =
        mica_cpu_isa_current()->transposes[__builtin_ctzll((uint64_t)bytes)];
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % run->columns * BAND_COLUMNS, band = i / run->columns % run->tiles, x,
                y;
        outer_position(c, i / run->columns / run->tiles, across, &x, &y);
        int64_t rows = cpu_min(BAND, c->sizes[last] - band * BAND);
        int64_t columns = cpu_min(BAND_COLUMNS, c->sizes[across] - column);
        int64_t whole = columns / square * square;
        const char *from = run->x + (x + band * BAND * strides.x_column + column) * bytes;
        char *to = run->y + (y + band * BAND + column * strides.y_row) * bytes;
        transpose(from, strides.x_column * bytes, to, strides.y_row * bytes, rows, whole);
        for (int64_t r = 0; r < rows && whole < columns; r += side)
            copy_tile(from + (r * strides.x_column + whole) * bytes,
                      to + (r + whole * strides.y_row) * bytes, &strides, c->bytes, columns - whole,
                      cpu_min(side, rows - r));
    }
    mica_stream_end();
}

static void run_streamed(const cpu_copy *c, copy_run *run) {
    int64_t last = c->sizes[c->rank - 1];
    if (c->across >= 0) {
        int64_t across = c->sizes[c->across];
        run->tiles = cpu_ceil_div(last, BAND);
        run->columns = cpu_ceil_div(across, BAND_COLUMNS);
        mica_parallel_walk(c->n / last / across * run->tiles * run->columns, 1, run_bands, run);
        return;
    }
    cpu_copy sorted = *c;
    sort_by_source(&sorted);
    run->copy = &sorted;
    run->streams = true;
    run->lines = cpu_ceil_div(last, LINE_LIMIT);
    int64_t line_bytes = cpu_min(last, LINE_LIMIT) * c->bytes;
    mica_parallel_walk(c->n / last * run->lines, cpu_max(1, PIECE_BYTES / line_bytes), run_lines,
                       run);
}

void mica_cpu_copy_run(const cpu_copy *c, const void *x, void *y) {
    if (c->n == 0) return;
    copy_run run = {.copy = c, .x = x, .y = y};
    int64_t last = c->sizes[c->rank - 1];
    if (is_streamed(c, y)) {
        run_streamed(c, &run);
        return;
    }
    if (c->across >= 0) {
        int64_t side = TILE(c->bytes);
        run.tiles = cpu_ceil_div(c->sizes[c->across], side);
        run.columns = cpu_ceil_div(last, side);
        int64_t outer = c->n / last / c->sizes[c->across];
        mica_parallel_walk(outer * run.tiles * run.columns,
                           cpu_max(1, PIECE_BYTES / (side * side * c->bytes)), run_tiles, &run);
        return;
    }
    run.lines = cpu_ceil_div(last, LINE_LIMIT);
    int64_t line_bytes = cpu_max(SHORT_LINE, cpu_min(last, LINE_LIMIT) * c->bytes);
    mica_parallel_walk(c->n / last * run.lines, cpu_max(1, PIECE_BYTES / line_bytes), run_lines,
                       &run);
}

void mica_cpu_fill(void *y, const void *value, size_t bytes, int64_t n) {
    cpu_copy fill;
    int64_t zero = 0, one = 1;
    mica_cpu_copy_init(&fill, bytes, 1, &n, &zero, &one);
    mica_cpu_copy_run(&fill, value, y);
}
