/* reduce: over any axes, in an order that depends on the shape alone.
 *
 * The axes of x, merged, alternate between kept and reduced. What one element of the result reduces
 * is cut into parts: when the innermost axis is reduced, blocks of neighbours of
 * one row, each by lanes; when it is kept, groups of CPU_REDUCE_ROWS rows, each one row after the
 * other. Parts, in row-major order, are combined by a binary tree: two parts make a pair, two pairs
 * a quad, and so on; what is left over is combined at the end, smallest first. A subtree over an
 * aligned power of two of parts can therefore be computed by any thread. */
#include <string.h>

#include "device/cpu/write_c.h"

#define GROUP 8             /* parts of a row that are reduced side by side: a subtree */
#define GROUP_LEVEL 3       /* 2^GROUP_LEVEL is GROUP */
#define STRIP 128           /* columns of the result that one tree holds at a time */
#define WIDE_BYTES 16384    /* of a line that is one part: rows are read from end to end */
#define LEVELS 48           /* of the tree: more than there can be parts */
#define WIDEST 16           /* bytes of a compute type */
#define PIECE_WORK 65536    /* elements read by a piece, about */
#define ENOUGH_PIECES 32    /* below this, the parts of one result are shared between pieces */
#define WIDE_WORK (1 << 19) /* elements that one line reduces, for each part to be a piece */

typedef struct reduce_kernel {
    cpu_kernel base;
    mica_cpu_reducer reducer;
    int32_t x_bytes, y_bytes;
    bool by_rows;      /* the innermost axis is reduced */
    cpu_space kept;    /* all kept axes but, by columns, the innermost */
    cpu_space reduced; /* all reduced axes but, by rows, the innermost */
    int64_t inner;     /* size of the innermost axis */
    int64_t parts;     /* per element of the result */
    int64_t blocks;    /* by rows: parts per row */
    int64_t strip;     /* by columns: of the result, held by one piece */
    int64_t strips;    /* by columns: strips per line of results */
    int64_t chunk;     /* parts that one piece reduces: a power of two */
    int64_t chunks;
    int64_t units; /* by rows: kept.n; by columns: kept.n * strips */
    int64_t grain;
} reduce_kernel;

typedef struct reduce_run {
    const reduce_kernel *kernel;
    const char *x;
    char *y;
    /* When chunks > 1, of the compute type: by rows [kept element][chunk], by columns
     * [line][chunk][inner]. */
    char *partial;
} reduce_run;

/* The tree: levels[l] is a subtree of 2^l parts, present where count has bit l. */
typedef struct tree {
    const mica_cpu_reducer *reducer;
    int64_t width; /* values side by side */
    uint64_t count;
    _Alignas(64) char levels[LEVELS][STRIP * WIDEST];
} tree;

/* part: a subtree of 2^level parts; no smaller one is in the tree. */
static void tree_add_at(tree *t, char *part, int level) {
    size_t bytes = (size_t)(t->width * t->reducer->bytes);
    uint64_t parts = (uint64_t)1 << level;
    for (; t->count >> level & 1; level++) {
        t->reducer->combine(t->levels[level], part, t->width);
        memcpy(part, t->levels[level], bytes);
    }
    memcpy(t->levels[level], part, bytes);
    t->count += parts;
}

static void tree_add(tree *t, char *part) {
    tree_add_at(t, part, 0);
}

static void tree_finish(tree *t, char *out) {
    size_t bytes = (size_t)(t->width * t->reducer->bytes);
    bool any = false;
    for (int level = 0; t->count >> level; level++) {
        if (!(t->count >> level & 1)) continue;
        if (any) t->reducer->combine(t->levels[level], out, t->width);
        memcpy(out, t->levels[level], bytes);
        any = true;
    }
}

/* ---- by rows
 * -----------------------------------------------------------------------------------*/

/* Where n parts of one size begin: blocks of a row, or rows that are one part each. */
static void part_offsets(const reduce_kernel *k, int64_t first, int64_t n, int64_t *offsets) {
    if (k->blocks == 1) {
        mica_cpu_space_positions(&k->reduced, first, n, offsets);
        return;
    }
    int64_t block = k->reducer.block;
    int64_t row = mica_cpu_space_position(&k->reduced, first / k->blocks);
    for (int64_t i = 0; i < n; i++) offsets[i] = row + (first % k->blocks + i) * block;
}

/* A whole group of parts as one subtree: in the order of their reversed bits, the second half of
 * what is left holds the right neighbours of the first. */
static void add_group(tree *t, const char *parts) {
    static const int8_t reversed[GROUP] = {0, 4, 2, 6, 1, 5, 3, 7};
    int32_t bytes = t->reducer->bytes;
    _Alignas(WIDEST) char turned[GROUP * WIDEST];
    for (int i = 0; i < GROUP; i++)
        memcpy(turned + i * bytes, parts + reversed[i] * bytes, (size_t)bytes);
    for (int half = GROUP / 2; half > 0; half /= 2)
        t->reducer->combine(turned, turned + half * bytes, half);
    tree_add_at(t, turned, GROUP_LEVEL);
}

/* Parts first .. first + count - 1 of the result whose rows begin at x. */
static void reduce_row_parts(const reduce_kernel *k, const char *x, int64_t first, int64_t count,
                             char *out) {
    tree t;
    t.reducer = &k->reducer;
    t.width = 1;
    t.count = 0;
    int64_t offsets[GROUP], block = k->reducer.block;
    _Alignas(WIDEST) char parts[GROUP * WIDEST];
    for (int64_t p = first; p < first + count;) {
        /* Parts of one size go together: whole blocks of a row, or its last, or one per row. */
        int64_t in_row = p % k->blocks, size = cpu_min(block, k->inner - in_row * block);
        int64_t alike = k->blocks == 1 ? count : cpu_max(1, k->inner / block - in_row);
        int64_t n = cpu_min(cpu_min(GROUP, alike), first + count - p);
        part_offsets(k, p, n, offsets);
        k->reducer.rows(x, offsets, n, size, parts);
        if (n == GROUP && t.count % GROUP == 0)
            add_group(&t, parts);
        else
            for (int64_t i = 0; i < n; i++) tree_add(&t, parts + i * k->reducer.bytes);
        p += n;
    }
    tree_finish(&t, out);
}

/* Results that are one part each, many at a time. */
static void reduce_short_rows(const reduce_run *run, int64_t begin, int64_t end) {
    const reduce_kernel *k = run->kernel;
    int64_t offsets[STRIP];
    _Alignas(64) char acc[STRIP * WIDEST];
    for (int64_t i = begin; i < end; i += STRIP) {
        int64_t n = cpu_min(STRIP, end - i);
        mica_cpu_space_positions(&k->kept, i, n, offsets);
        k->reducer.rows(run->x, offsets, n, k->inner, acc);
        k->reducer.store(acc, run->y + i * k->y_bytes, n);
    }
}

static void run_rows(void *context, int64_t begin, int64_t end) {
    const reduce_run *run = context;
    const reduce_kernel *k = run->kernel;
    if (k->parts == 1) {
        reduce_short_rows(run, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t unit = i / k->chunks, chunk = i % k->chunks;
        const char *x = run->x + mica_cpu_space_position(&k->kept, unit) * k->x_bytes;
        int64_t first = chunk * k->chunk, count = cpu_min(k->chunk, k->parts - first);
        _Alignas(WIDEST) char value[WIDEST];
        char *out = k->chunks > 1 ? run->partial + i * k->reducer.bytes : value;
        reduce_row_parts(k, x, first, count, out);
        if (k->chunks == 1) k->reducer.store(out, run->y + unit * k->y_bytes, 1);
    }
}

/* ---- by columns
 * --------------------------------------------------------------------------------*/

static void reduce_column_parts(const reduce_kernel *k, const char *x, int64_t width, int64_t first,
                                int64_t count, char *out) {
    tree t;
    t.reducer = &k->reducer;
    t.width = width;
    t.count = 0;
    _Alignas(64) char part[STRIP * WIDEST];
    for (int64_t p = first; p < first + count; p++) {
        int64_t row = p * CPU_REDUCE_ROWS, offsets[CPU_REDUCE_ROWS];
        int64_t rows = cpu_min(CPU_REDUCE_ROWS, k->reduced.n - row);
        mica_cpu_space_positions(&k->reduced, row, rows, offsets);
        k->reducer.columns(x, offsets, rows, width, count == 1 ? out : part);
        if (count > 1) tree_add(&t, part);
    }
    if (count > 1) tree_finish(&t, out);
}

/* Lines of results that are one part each, such as those of pooling: offsets are made for many
 * lines at a time. */
static void reduce_short_columns(const reduce_run *run, int64_t begin, int64_t end) {
    const reduce_kernel *k = run->kernel;
    int64_t rows[CPU_REDUCE_ROWS], lines[STRIP];
    _Alignas(64) char acc[WIDE_BYTES];
    mica_cpu_space_positions(&k->reduced, 0, k->reduced.n, rows);
    for (int64_t i = begin; i < end; i += STRIP) {
        int64_t n = cpu_min(STRIP, end - i);
        mica_cpu_space_positions(&k->kept, i, n, lines);
        for (int64_t j = 0; j < n; j++) {
            k->reducer.columns(run->x + lines[j] * k->x_bytes, rows, k->reduced.n, k->inner, acc);
            k->reducer.store(acc, run->y + (i + j) * k->inner * k->y_bytes, k->inner);
        }
    }
}

static void run_columns(void *context, int64_t begin, int64_t end) {
    const reduce_run *run = context;
    const reduce_kernel *k = run->kernel;
    if (k->parts == 1 && k->strips == 1) {
        reduce_short_columns(run, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t unit = i / k->chunks, chunk = i % k->chunks;
        int64_t line = unit / k->strips, column = unit % k->strips * k->strip;
        int64_t width = cpu_min(k->strip, k->inner - column);
        const char *x = run->x + (mica_cpu_space_position(&k->kept, line) + column) * k->x_bytes;
        int64_t first = chunk * k->chunk, count = cpu_min(k->chunk, k->parts - first);
        _Alignas(64) char acc[WIDE_BYTES];
        int64_t place = (line * k->chunks + chunk) * k->inner + column;
        char *out = k->chunks > 1 ? run->partial + place * k->reducer.bytes : acc;
        reduce_column_parts(k, x, width, first, count, out);
        if (k->chunks == 1)
            k->reducer.store(out, run->y + (line * k->inner + column) * k->y_bytes, width);
    }
}

/* ---- both
 * --------------------------------------------------------------------------------------*/

/* Combines the chunks of every element, or of strips of them: the upper levels of the tree. */
static void run_chunks(void *context, int64_t begin, int64_t end) {
    const reduce_run *run = context;
    const reduce_kernel *k = run->kernel;
    int64_t line_size = k->by_rows ? 1 : k->inner, strips = cpu_ceil_div(line_size, STRIP);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t line = unit / strips, column = unit % strips * STRIP;
        tree t;
        t.reducer = &k->reducer;
        t.width = cpu_min(STRIP, line_size - column);
        t.count = 0;
        _Alignas(64) char acc[STRIP * WIDEST];
        for (int64_t c = 0; c < k->chunks; c++)
            tree_add(&t, run->partial +
                             ((line * k->chunks + c) * line_size + column) * k->reducer.bytes);
        tree_finish(&t, acc);
        k->reducer.store(acc, run->y + (line * line_size + column) * k->y_bytes, t.width);
    }
}

static void run_reduce(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                       void *scratch) {
    const reduce_kernel *k = (const reduce_kernel *)kernel;
    reduce_run run = {k, operands[0], results[0], scratch};
    mica_parallel_walk(k->units * k->chunks, k->grain, k->by_rows ? run_rows : run_columns, &run);
    if (k->chunks > 1)
        mica_parallel_for(k->kept.n * (k->by_rows ? 1 : cpu_ceil_div(k->inner, STRIP)),
                          k->by_rows ? 16 : 1, run_chunks, &run);
}

/* Of nothing: the identity. */
static void run_empty(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                      void *scratch) {
    (void)operands, (void)scratch;
    const reduce_kernel *k = (const reduce_kernel *)kernel;
    _Alignas(WIDEST) char acc[WIDEST], value[WIDEST];
    k->reducer.identity(acc, 1);
    k->reducer.store(acc, value, 1);
    mica_cpu_fill(results[0], value, (size_t)k->y_bytes, k->kept.n);
}

static void plan_axes(reduce_kernel *k, const mica_type *x, uint32_t reduced) {
    int64_t strides[MICA_MAX_RANK];
    int32_t last = x->rank - 1;
    while (last >= 0 && x->dims[last] == 1) last--;
    mica_cpu_strides(x, strides);
    mica_cpu_space_init(&k->kept);
    mica_cpu_space_init(&k->reduced);
    k->by_rows = last < 0 || reduced >> last & 1;
    /* The innermost run of axes that are alike is one axis. */
    k->inner = 1;
    for (; last >= 0 && (x->dims[last] == 1 || (reduced >> last & 1) == k->by_rows); last--)
        k->inner *= x->dims[last];
    for (int32_t i = 0; i <= last; i++)
        mica_cpu_space_add(reduced >> i & 1 ? &k->reduced : &k->kept, x->dims[i], strides[i]);
}

/* By columns, pieces without a tree may hold wide strips, and reading goes on from the end of one
 * row to the next: where a part is all, or the parts are pieces by themselves. */
static bool is_wide(const reduce_kernel *k, int64_t width) {
    if (k->by_rows || k->inner <= STRIP) return false;
    if (k->parts == 1) return k->kept.n * cpu_ceil_div(k->inner, width) >= ENOUGH_PIECES;
    return k->reduced.n * k->inner >= WIDE_WORK;
}

static void plan_pieces(reduce_kernel *k) {
    int64_t width = WIDE_BYTES / k->reducer.bytes;
    k->blocks = k->by_rows ? cpu_ceil_div(k->inner, k->reducer.block) : 1;
    k->parts = k->by_rows ? k->reduced.n * k->blocks : cpu_ceil_div(k->reduced.n, CPU_REDUCE_ROWS);
    bool wide = is_wide(k, width);
    k->strip = wide ? width : STRIP;
    k->strips = k->by_rows ? 1 : cpu_ceil_div(k->inner, k->strip);
    k->units = k->kept.n * k->strips;
    int64_t part_work = k->by_rows
                            ? cpu_min(k->inner, k->reducer.block)
                            : cpu_min(k->reduced.n, CPU_REDUCE_ROWS) * cpu_min(k->inner, k->strip);
    k->chunk = 1;
    while (!wide && k->chunk < k->parts &&
           (k->units >= ENOUGH_PIECES || k->chunk * part_work < PIECE_WORK))
        k->chunk *= 2;
    k->chunks = cpu_ceil_div(k->parts, k->chunk);
    k->grain = cpu_max(1, PIECE_WORK / cpu_max(1, cpu_min(k->chunk, k->parts) * part_work));
    if (k->chunks > 1)
        k->base.head.scratch_bytes =
            (size_t)(k->kept.n * k->chunks * (k->by_rows ? 1 : k->inner) * k->reducer.bytes);
}

static mica_status write_reduce(const cpu_kernel *kernel, const mica_node *node,
                                mica_kernel_text *out) {
    static const char *const kinds[] = {"sum", "add", "prod", "mul", "max", "max", "min", "min"};
    const reduce_kernel *k = (const reduce_kernel *)kernel;
    const char *type, *kind = mica_node_string(node, "kind"), *name = NULL;
    MICA_TRY(mica_cpu_write_float(node, node->results[0].dtype, &type));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i += 2)
        if (!strcmp(kind, kinds[i])) name = kinds[i + 1];
    if (!name || mica_type_elements(mica_operand_type(node, 0)) == 0)
        return MICA_ERROR(MICA_UNSUPPORTED, "[reduce] '%s' of %s cannot be written as C", kind,
                          mica_type_text(mica_operand_type(node, 0)).chars);
    mica_text_printf(out->constants, "static const mica_host_reduction reduction%d = {\n",
                     out->number);
    mica_cpu_write_space(out->constants, "kept", k->kept.rank, k->kept.n, k->kept.sizes,
                         k->kept.strides);
    mica_cpu_write_space(out->constants, "reduced", k->reduced.rank, k->reduced.n, k->reduced.sizes,
                         k->reduced.strides);
    mica_text_printf(out->constants, "    .inner = %lld};\n", (long long)k->inner);
    mica_text_printf(out->body,
                     "    mica_reduce_%s_%s_%s(&reduction%d, (const %s *)x[0], (%s *)y[0]);\n",
                     k->by_rows ? "rows" : "columns", name, mica_dtype_name(node->results[0].dtype),
                     out->number, type, type);
    return NULL;
}

static bool find_reducer(const mica_node *node, mica_cpu_reducer *out) {
    static const char *const names[CPU_REDUCTION_COUNT] = {"sum", "prod", "max",
                                                           "min", "and",  "or"};
    const mica_cpu_isa *isa = mica_cpu_isa_current();
    mica_dtype dtype = mica_operand_type(node, 0)->dtype;
    for (int i = 0; i < CPU_REDUCTION_COUNT; i++) {
        if (strcmp(mica_node_string(node, "kind"), names[i])) continue;
        *out = dtype < MICA_DTYPE_f16   ? isa->reduce_int[dtype][i]
               : dtype < MICA_DTYPE_c64 ? isa->reduce_float[dtype - MICA_DTYPE_f16][i]
                                        : isa->reduce_complex[dtype - MICA_DTYPE_c64][i];
        return out->rows != NULL;
    }
    return false;
}

mica_status mica_cpu_create_reduce(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_ints axes = mica_node_ints(node, "axes");
    mica_cpu_reducer reducer;
    if (!find_reducer(node, &reducer)) return mica_cpu_unsupported(node, x->dtype);
    reduce_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_reduce, &k));
    k->base.write = write_reduce;
    k->reducer = reducer;
    k->x_bytes = k->y_bytes = (int32_t)mica_dtype_bytes(x->dtype);
    uint32_t reduced = 0;
    for (int32_t i = 0; i < axes.n; i++) reduced |= 1u << axes.data[i];
    plan_axes(k, x, reduced);
    if (mica_type_elements(x) == 0) {
        k->base.run = run_empty;
        k->kept.n = mica_type_elements(&node->results[0]);
    } else {
        plan_pieces(k);
    }
    *out = &k->base;
    return NULL;
}
