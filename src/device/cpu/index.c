/* gather and scatter: windows of an array, found by index vectors (ir/index_layout.h).
 *
 * Positions are resolved a block at a time: the index vectors give where windows begin in x. A
 * window is then moved row by row, a row being its longest stretch of even steps in both arrays.
 *
 * gather is cut into pieces of rows. scatter is cut by destination: a piece walks all the windows
 * in order and applies what falls into its own range of x. So every element sees its updates in
 * order, whatever the number of pieces, and the number of threads may choose it. */
#include <string.h>

#include "device/cpu/index.h"
#include "device/cpu/write_c.h"

#define GRAIN_WORK 16384
#define BLOCK 128                     /* positions, or rows of a window, taken together */
#define OUTSIDE (-(INT64_C(1) << 62)) /* where a window begins that is not to be moved */

/* at[i] += stride times the index at indices[places[i]] (NULL: indices[i]), kept within 0..last;
 * where it is not, clipped or OUTSIDE, which stays. */
typedef void (*add_starts)(const void *indices, const int64_t *places, int64_t n, int64_t last,
                           int64_t stride, bool fill, int64_t *at);

/* Elements that lie side by side in y, by one index each. */
typedef void (*pick_by)(const void *x, const void *indices, void *y, int64_t n, int64_t last,
                        int64_t stride, bool fill);

typedef struct index_kernel {
    cpu_kernel base;
    pick_by pick; /* gather: all in one loop; NULL: by positions */
    bool fill;
    int32_t bytes, index_bytes;
    add_starts add;
    const mica_cpu_scatter *scatter; /* NULL: gather */
    int64_t x_elements;
    /* What the position's number alone says: where its index vector is, where its window is in the
     * windows' array, and where batch axes put it in x. */
    cpu_space vectors, windows, batch;
    int32_t n_map;
    int64_t vector_stride;
    int64_t last[MICA_MAX_RANK], strides[MICA_MAX_RANK]; /* per entry of an index vector */
    cpu_space x_rows, window_rows;                       /* where the rows of a window begin */
    int64_t row, x_step, window_step;
} index_kernel;

typedef struct index_run {
    const index_kernel *kernel;
    const void *indices;
    const char *from;
    char *to;
    int64_t pieces; /* of scatter */
} index_run;

/* ---- resolving --------------------------------------------------------------------------------*/

/* An index as an unsigned number is above `last` when it is negative, too. */
#define ADD_STARTS(dtype, type, NEGATIVE)                                                          \
    static void add_##dtype(const void *indices, const int64_t *places, int64_t n, int64_t last,   \
                            int64_t stride, bool fill, int64_t *at) {                              \
        const type *index = indices;                                                               \
        type picked[BLOCK];                                                                        \
        if (places) {                                                                              \
            for (int64_t i = 0; i < n; i++) picked[i] = index[places[i]];                          \
            index = picked;                                                                        \
        }                                                                                          \
        for (int64_t i = 0; i < n && !fill; i++) {                                                 \
            type value = index[i];                                                                 \
            int64_t low = NEGATIVE ? 0 : (int64_t)value;                                           \
            at[i] += ((uint64_t)low > (uint64_t)last ? last : low) * stride;                       \
        }                                                                                          \
        for (int64_t i = 0; i < n && fill; i++) {                                                  \
            bool outside = (uint64_t)index[i] > (uint64_t)last || at[i] < 0;                       \
            at[i] = outside ? OUTSIDE : at[i] + (int64_t)index[i] * stride;                        \
        }                                                                                          \
    }
ADD_STARTS(i8, int8_t, value < 0)
ADD_STARTS(i16, int16_t, value < 0)
ADD_STARTS(i32, int32_t, value < 0)
ADD_STARTS(i64, int64_t, value < 0)
ADD_STARTS(u8, uint8_t, false)
ADD_STARTS(u16, uint16_t, false)
ADD_STARTS(u32, uint32_t, false)
ADD_STARTS(u64, uint64_t, false)

static const add_starts adders[MICA_DTYPE_COUNT] = {
    [MICA_DTYPE_i8] = add_i8,   [MICA_DTYPE_i16] = add_i16, [MICA_DTYPE_i32] = add_i32,
    [MICA_DTYPE_i64] = add_i64, [MICA_DTYPE_u8] = add_u8,   [MICA_DTYPE_u16] = add_u16,
    [MICA_DTYPE_u32] = add_u32, [MICA_DTYPE_u64] = add_u64,
};

/* Position i is i. */
static bool is_dense(const cpu_space *space) {
    return space->rank == 1 && space->strides[0] == 1;
}

/* Where the windows of n <= BLOCK positions begin in x and in the windows' array, in elements. */
static void resolve(const index_run *run, int64_t begin, int64_t n, int64_t *x_at,
                    int64_t *window_at) {
    const index_kernel *k = run->kernel;
    int64_t places[BLOCK];
    bool dense = is_dense(&k->vectors);
    mica_cpu_space_positions(&k->windows, begin, n, window_at);
    mica_cpu_space_positions(&k->batch, begin, n, x_at);
    if (!dense) mica_cpu_space_positions(&k->vectors, begin, n, places);
    for (int32_t e = 0; e < k->n_map; e++) {
        int64_t first = e * k->vector_stride + (dense ? begin : 0);
        k->add((const char *)run->indices + first * k->index_bytes, dense ? NULL : places, n,
               k->last[e], k->strides[e], k->fill, x_at);
    }
}

/* ---- gather -----------------------------------------------------------------------------------*/

typedef struct sixteen {
    uint64_t halves[2];
} sixteen;

/* One element at a time: y[y_at[i]] = x[x_at[i]], or 0. Without y_at: y[i], and x has them all. */
#define PICK(name, type)                                                                           \
    static void name(const void *x, const int64_t *x_at, void *y, const int64_t *y_at,             \
                     int64_t n) {                                                                  \
        const type *from = x;                                                                      \
        type *to = y;                                                                              \
        const type zero = {0};                                                                     \
        for (int64_t i = 0; i < n && !y_at; i++) to[i] = from[x_at[i]];                            \
        for (int64_t i = 0; i < n && y_at; i++) to[y_at[i]] = x_at[i] < 0 ? zero : from[x_at[i]];  \
    }                                                                                              \
    static void name##_row(const void *x, int64_t x_step, void *y, int64_t y_step, int64_t n) {    \
        const type *from = x;                                                                      \
        type *to = y;                                                                              \
        for (int64_t i = 0; i < n; i++) to[i * y_step] = from[i * x_step];                         \
    }
PICK(pick_1, uint8_t)
PICK(pick_2, uint16_t)
PICK(pick_4, uint32_t)
PICK(pick_8, uint64_t)
PICK(pick_16, sixteen)

static void pick_elements(int32_t bytes, const void *x, const int64_t *x_at, void *y,
                          const int64_t *y_at, int64_t n) {
    switch (bytes) {
    case 1: pick_1(x, x_at, y, y_at, n); break;
    case 2: pick_2(x, x_at, y, y_at, n); break;
    case 4: pick_4(x, x_at, y, y_at, n); break;
    case 8: pick_8(x, x_at, y, y_at, n); break;
    default: pick_16(x, x_at, y, y_at, n);
    }
}

/* y[i] = x[stride times index[i]], the index kept within 0..last (fill: 0 where it is not), in one
 * loop without positions. */
#define PICK_BY(name, type, index_type, NEGATIVE)                                                  \
    static void name(const void *x, const void *indices, void *y, int64_t n, int64_t last,         \
                     int64_t stride, bool fill) {                                                  \
        const type *from = x;                                                                      \
        const index_type *index = indices;                                                         \
        type *to = y;                                                                              \
        const type zero = {0};                                                                     \
        for (int64_t i = 0; i < n && !fill; i++) {                                                 \
            index_type value = index[i];                                                           \
            int64_t low = NEGATIVE ? 0 : (int64_t)value;                                           \
            to[i] = from[((uint64_t)low > (uint64_t)last ? last : low) * stride];                  \
        }                                                                                          \
        for (int64_t i = 0; i < n && fill; i++) {                                                  \
            bool outside = (uint64_t)index[i] > (uint64_t)last;                                    \
            to[i] = outside ? zero : from[(int64_t)index[i] * stride];                             \
        }                                                                                          \
    }
PICK_BY(pick_4_i32, uint32_t, int32_t, value < 0)
PICK_BY(pick_8_i32, uint64_t, int32_t, value < 0)
PICK_BY(pick_4_i64, uint32_t, int64_t, value < 0)
PICK_BY(pick_8_i64, uint64_t, int64_t, value < 0)

static pick_by find_pick_by(int32_t bytes, mica_dtype index) {
    if (index == MICA_DTYPE_i32) return bytes == 4 ? pick_4_i32 : bytes == 8 ? pick_8_i32 : NULL;
    if (index == MICA_DTYPE_i64) return bytes == 4 ? pick_4_i64 : bytes == 8 ? pick_8_i64 : NULL;
    return NULL;
}

/* One row; x is NULL for zeros. */
static void pick_row(const index_kernel *k, const void *x, void *y) {
    static const sixteen zeros;
    int64_t x_step = x ? k->x_step : 0;
    if (!x) x = &zeros;
    if (x_step == 1 && k->window_step == 1) {
        memcpy(y, x, (size_t)k->row * (size_t)k->bytes);
        return;
    }
    switch (k->bytes) {
    case 1: pick_1_row(x, x_step, y, k->window_step, k->row); break;
    case 2: pick_2_row(x, x_step, y, k->window_step, k->row); break;
    case 4: pick_4_row(x, x_step, y, k->window_step, k->row); break;
    case 8: pick_8_row(x, x_step, y, k->window_step, k->row); break;
    default: pick_16_row(x, x_step, y, k->window_step, k->row);
    }
}

/* Rows begin..end-1 of the window that begins at x_at in x. */
static void pick_rows(const index_run *run, int64_t x_at, int64_t window_at, int64_t begin,
                      int64_t end) {
    const index_kernel *k = run->kernel;
    int64_t x_rows[BLOCK], window_rows[BLOCK];
    while (begin < end) {
        int64_t n = cpu_min(BLOCK, end - begin);
        mica_cpu_space_positions(&k->x_rows, begin, n, x_rows);
        mica_cpu_space_positions(&k->window_rows, begin, n, window_rows);
        for (int64_t i = 0; i < n; i++) {
            const char *x = x_at < 0 ? NULL : run->from + (x_at + x_rows[i]) * k->bytes;
            pick_row(k, x, run->to + (window_at + window_rows[i]) * k->bytes);
        }
        begin += n;
    }
}

static void gather_elements(void *context, int64_t begin, int64_t end) {
    const index_run *run = context;
    const index_kernel *k = run->kernel;
    k->pick(run->from, (const char *)run->indices + begin * k->index_bytes,
            run->to + begin * k->bytes, end - begin, k->last[0], k->strides[0], k->fill);
}

/* Rows of all windows, counted through. */
static void gather_range(void *context, int64_t begin, int64_t end) {
    const index_run *run = context;
    const index_kernel *k = run->kernel;
    int64_t rows = k->x_rows.n, x_at[BLOCK], window_at[BLOCK];
    while (begin < end) {
        int64_t first = begin / rows, n = cpu_min(BLOCK, cpu_ceil_div(end, rows) - first);
        resolve(run, first, n, x_at, window_at);
        if (k->row == 1 && rows == 1) {
            bool dense = !k->fill && is_dense(&k->windows);
            pick_elements(k->bytes, run->from, x_at, run->to + (dense ? first * k->bytes : 0),
                          dense ? NULL : window_at, n);
        } else if (rows == 1) {
            for (int64_t i = 0; i < n; i++)
                pick_row(k, x_at[i] < 0 ? NULL : run->from + x_at[i] * k->bytes,
                         run->to + window_at[i] * k->bytes);
        } else {
            for (int64_t i = 0; i < n; i++) {
                int64_t zero = (first + i) * rows;
                pick_rows(run, x_at[i], window_at[i], cpu_max(begin - zero, 0),
                          cpu_min(end - zero, rows));
            }
        }
        begin = cpu_min(end, (first + n) * rows);
    }
}

static void run_gather(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                       void *scratch) {
    (void)scratch;
    const index_kernel *k = (const index_kernel *)kernel;
    index_run run = {k, operands[1], operands[0], results[0], 1};
    if (k->row == 0) return;
    if (k->pick) {
        mica_parallel_walk(k->vectors.n, GRAIN_WORK, gather_elements, &run);
        return;
    }
    mica_parallel_walk(k->vectors.n * k->x_rows.n, cpu_max(1, GRAIN_WORK / k->row), gather_range,
                       &run);
}

/* ---- scatter ----------------------------------------------------------------------------------*/

/* The part of a row that lies in low..high-1 of x. */
static void put_row(const index_run *run, int64_t x_at, int64_t window_at, int64_t low,
                    int64_t high) {
    const index_kernel *k = run->kernel;
    int64_t begin = x_at >= low ? 0 : cpu_ceil_div(low - x_at, k->x_step);
    int64_t end = x_at >= high ? 0 : cpu_min(k->row, cpu_ceil_div(high - x_at, k->x_step));
    if (begin < end)
        k->scatter->row(run->to + (x_at + begin * k->x_step) * k->bytes, k->x_step,
                        run->from + (window_at + begin * k->window_step) * k->bytes, k->window_step,
                        end - begin);
}

static void put_rows(const index_run *run, int64_t x_at, int64_t window_at, int64_t low,
                     int64_t high) {
    const index_kernel *k = run->kernel;
    int64_t x_rows[BLOCK], window_rows[BLOCK];
    for (int64_t begin = 0; begin < k->x_rows.n; begin += BLOCK) {
        int64_t n = cpu_min(BLOCK, k->x_rows.n - begin);
        mica_cpu_space_positions(&k->x_rows, begin, n, x_rows);
        mica_cpu_space_positions(&k->window_rows, begin, n, window_rows);
        for (int64_t i = 0; i < n; i++)
            put_row(run, x_at + x_rows[i], window_at + window_rows[i], low, high);
    }
}

static void scatter_piece(const index_run *run, int64_t piece) {
    const index_kernel *k = run->kernel;
    int64_t part = cpu_ceil_div(k->x_elements, run->pieces);
    int64_t low = piece * part, high = cpu_min(low + part, k->x_elements);
    int64_t x_at[BLOCK], window_at[BLOCK];
    for (int64_t begin = 0; begin < k->vectors.n; begin += BLOCK) {
        int64_t n = cpu_min(BLOCK, k->vectors.n - begin);
        resolve(run, begin, n, x_at, window_at);
        if (k->row == 1 && k->x_rows.n == 1) {
            k->scatter->elements(run->to, x_at, run->from, window_at, n, low, high);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (x_at[i] < 0) continue;
            if (k->x_rows.n == 1)
                put_row(run, x_at[i], window_at[i], low, high);
            else
                put_rows(run, x_at[i], window_at[i], low, high);
        }
    }
}

static void scatter_pieces(void *context, int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; piece++) scatter_piece(context, piece);
}

static void run_scatter(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                        void *scratch) {
    (void)scratch;
    const index_kernel *k = (const index_kernel *)kernel;
    index_run run = {k, operands[1], operands[2], results[0], 1};
    if (results[0] != operands[0] && k->x_elements) {
        cpu_copy all;
        int64_t one = 1;
        mica_cpu_copy_init(&all, (size_t)k->bytes, 1, &k->x_elements, &one, &one);
        mica_cpu_copy_run(&all, operands[0], results[0]);
    }
    int64_t work = k->vectors.n * k->x_rows.n * k->row;
    if (work == 0) return;
    if (work >= 2 * GRAIN_WORK) run.pieces = mica_pool_threads();
    mica_parallel_for(run.pieces, 1, scatter_pieces, &run);
}

/* ---- as C -------------------------------------------------------------------------------------*/

static void write_layout(const index_kernel *k, const mica_node *node, mica_kernel_text *out) {
    mica_text *text = out->constants;
    bool is_signed = mica_dtype_kind_of(mica_operand_type(node, 1)->dtype) == MICA_KIND_SIGNED;
    mica_text_printf(text, "static const mica_host_indexed indexed%d = {\n", out->number);
#define SPACE(name)                                                                                \
    mica_cpu_write_space(text, #name, k->name.rank, k->name.n, k->name.sizes, k->name.strides)
    SPACE(vectors), SPACE(windows), SPACE(batch), SPACE(x_rows), SPACE(window_rows);
#undef SPACE
    mica_text_printf(text,
                     "    .n_map = %d, .vector_stride = %lld, .row = %lld, .x_step = %lld, "
                     ".window_step = %lld,\n    .fills = %d, .index_bytes = %d, .index_is_signed = "
                     "%d,\n",
                     k->n_map, (long long)k->vector_stride, (long long)k->row, (long long)k->x_step,
                     (long long)k->window_step, k->fill, k->index_bytes, is_signed);
    for (int32_t e = 0; e < k->n_map; e++)
        mica_text_printf(text, "    .last[%d] = %lld, .strides[%d] = %lld,\n", e,
                         (long long)k->last[e], e, (long long)k->strides[e]);
    mica_text_append(text, "};\n");
}

static mica_status write_gather(const cpu_kernel *kernel, const mica_node *node,
                                mica_kernel_text *out) {
    const index_kernel *k = (const index_kernel *)kernel;
    if (k->row == 0) return NULL;
    write_layout(k, node, out);
    mica_text_printf(out->body, "    mica_host_gather(&indexed%d, %d, x[0], x[1], y[0]);\n",
                     out->number, k->bytes);
    return NULL;
}

static mica_status write_scatter(const cpu_kernel *kernel, const mica_node *node,
                                 mica_kernel_text *out) {
    const index_kernel *k = (const index_kernel *)kernel;
    const char *type, *kind = mica_node_string(node, "kind");
    bool sets = !strcmp(kind, "set");
    if (!sets) MICA_TRY(mica_cpu_write_float(node, node->results[0].dtype, &type));
    mica_text_printf(out->body, "    if (y[0] != x[0]) memcpy(y[0], x[0], %zu);\n",
                     mica_type_bytes(&node->results[0]));
    if (k->vectors.n * k->x_rows.n * k->row == 0) return NULL;
    write_layout(k, node, out);
    if (sets)
        mica_text_printf(out->body, "    mica_host_put(&indexed%d, %d, x[1], x[2], y[0]);\n",
                         out->number, k->bytes);
    else
        mica_text_printf(
            out->body, "    mica_scatter_%s_%s(&indexed%d, x[1], (const %s *)x[2], (%s *)y[0]);\n",
            kind, mica_dtype_name(node->results[0].dtype), out->number, type, type);
    return NULL;
}

/* ---- creating ---------------------------------------------------------------------------------*/

/* Cuts a window into rows: the last axes, as long as they continue each other in both arrays. */
static void plan_rows(index_kernel *k, const mica_index_layout *l, const int64_t *x_strides,
                      const int64_t *strides) {
    int32_t outer = l->n_window;
    k->row = k->x_step = k->window_step = 1;
    bool begun = false;
    while (outer > 0) {
        int64_t size = l->window[outer - 1].size, x_step = x_strides[l->window[outer - 1].x],
                step = strides[l->window[outer - 1].windows];
        if (size != 1) {
            if (begun && (x_step != k->x_step * k->row || step != k->window_step * k->row)) break;
            if (!begun) k->x_step = x_step, k->window_step = step;
            begun = true;
            k->row *= size;
        }
        outer--;
    }
    for (int32_t i = 0; i < outer; i++) {
        mica_cpu_space_add(&k->x_rows, l->window[i].size, x_strides[l->window[i].x]);
        mica_cpu_space_add(&k->window_rows, l->window[i].size, strides[l->window[i].windows]);
    }
}

static void plan_positions(index_kernel *k, const mica_index_layout *l, const int64_t *x_strides,
                           const int64_t *index_strides, const int64_t *strides) {
    for (int32_t i = 0; i < l->n_positions; i++) {
        int64_t size = l->positions[i].size;
        int32_t batch = l->positions[i].batch;
        mica_cpu_space_add(&k->vectors, size, index_strides[l->positions[i].indices]);
        mica_cpu_space_add(&k->windows, size, strides[l->positions[i].windows]);
        mica_cpu_space_add(&k->batch, size, batch < 0 ? 0 : x_strides[batch]);
    }
}

/* One number of an index says where an element is; indices and elements lie side by side. */
static bool is_plain(const index_kernel *k) {
    if (k->n_map != 1 || k->last[0] < 0 || k->row != 1 || k->x_rows.n != 1) return false;
    for (int32_t i = 0; i < k->batch.rank; i++)
        if (k->batch.strides[i] && k->batch.sizes[i] > 1) return false;
    return is_dense(&k->vectors) && is_dense(&k->windows);
}

mica_status mica_cpu_create_index(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0), *indices = mica_operand_type(node, 1);
    bool gather = node->op == MICA_OP_gather;
    const mica_type *windows = gather ? &node->results[0] : mica_operand_type(node, 2);
    mica_index_dims d = mica_index_dims_of(node);
    mica_index_layout l = mica_index_layout_of(node);
    const mica_cpu_scatter *scatter =
        gather ? NULL : mica_cpu_scatter_of(mica_node_string(node, "kind"), x->dtype);
    if (!gather && !scatter->row) return mica_cpu_unsupported(node, x->dtype);
    int64_t x_strides[MICA_MAX_RANK], index_strides[MICA_MAX_RANK], strides[MICA_MAX_RANK];
    index_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, gather ? run_gather : run_scatter, &k));
    k->base.write = gather ? write_gather : write_scatter;
    mica_cpu_strides(x, x_strides);
    mica_cpu_strides(indices, index_strides);
    mica_cpu_strides(windows, strides);
    cpu_space *spaces[] = {&k->vectors, &k->windows, &k->batch, &k->x_rows, &k->window_rows};
    for (int i = 0; i < 5; i++) mica_cpu_space_init(spaces[i]);
    k->fill = d.fill;
    k->bytes = (int32_t)mica_dtype_bytes(x->dtype);
    k->index_bytes = (int32_t)mica_dtype_bytes(indices->dtype);
    k->add = adders[indices->dtype];
    k->scatter = scatter;
    k->x_elements = mica_type_elements(x);
    if (!gather) k->base.head.in_place_operands = 1;
    k->n_map = d.map.n;
    k->vector_stride = d.vector_dim < indices->rank ? index_strides[d.vector_dim] : 0;
    for (int32_t e = 0; e < d.map.n; e++) {
        k->strides[e] = x_strides[d.map.data[e]];
        k->last[e] = x->dims[d.map.data[e]] - l.sizes[d.map.data[e]];
    }
    plan_positions(k, &l, x_strides, index_strides, strides);
    plan_rows(k, &l, x_strides, strides);
    if (gather && is_plain(k)) k->pick = find_pick_by(k->bytes, indices->dtype);
    *out = &k->base;
    return NULL;
}
