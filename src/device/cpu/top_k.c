/* top_k: the k largest of each line along the last axis.
 *
 * Words are taken for descending order, so that the largest element has the smallest word. A line
 * is read once; what is below the k-th smallest word so far is collected, and when there is no more
 * room, sorted and cut to k. Equal words keep their order, so the first of equals stays.
 *
 * When there are few lines and they are long, blocks of a line do this on their own; the k of each
 * block are then sorted together. The result is determined by the row in ops.def. */
#include <string.h>

#include "base/interrupt.h"
#include "device/cpu/order.h"

enum {
    CHUNK = 1024,       /* elements that are turned into words at a time */
    LEAST_ROOM = 16,    /* for what is collected beyond k */
    LONG_LINE = 65536,  /* a line that is worth all threads */
    LINE_BLOCK = 32768, /* of it, for one thread */
    MOST_PIECES = 64,   /* that run at once; each has memory of its own */
    GRAIN_WORK = 16384,
};

typedef struct top_k_kernel {
    cpu_kernel base;
    const mica_cpu_order *dtype;
    uint64_t flip;
    int64_t lines, size, k;
    int64_t block, blocks; /* elements of a block, and how many there are in a line */
    int64_t room;          /* items that are collected */
    int64_t per_piece, pieces;
    size_t scratch, item; /* bytes of one piece, and of an item */
} top_k_kernel;

typedef struct top_k_run {
    const top_k_kernel *kernel;
    const char *x;
    char *values;
    int32_t *indices;
    char *scratch, *candidates; /* the k items of each block */
    int64_t line;               /* the one whose blocks are looked at */
} top_k_run;

/* ---- items: packed up to 32 bits, else pairs --------------------------------------------------*/

static bool is_packed(const top_k_kernel *k) {
    return k->item == sizeof(uint64_t);
}

static uint64_t key_of(const top_k_kernel *k, const void *items, int64_t i) {
    return is_packed(k) ? ((const uint64_t *)items)[i] >> 32 : ((const cpu_pair *)items)[i].key;
}

static int32_t place_of(const top_k_kernel *k, const void *items, int64_t i) {
    return (int32_t)(is_packed(k) ? ((const uint64_t *)items)[i] & UINT32_MAX
                                  : ((const cpu_pair *)items)[i].place);
}

/* Sorts n items; `other` has room for as many, then come the counts. The result is in `items`. */
static void sort_items(const top_k_kernel *k, char *items, char *other, char *counts, int64_t n) {
    int bits = k->dtype->bits;
    void *sorted = is_packed(k) ? (void *)mica_cpu_radix_u64((uint64_t *)items, (uint64_t *)other,
                                                             n, 32, 32 + bits, counts)
                                : (void *)mica_cpu_radix_pair((cpu_pair *)items, (cpu_pair *)other,
                                                              n, 0, bits, counts);
    if (sorted != items) memcpy(items, sorted, (size_t)n * k->item);
}

/* ---- collecting -------------------------------------------------------------------------------*/

typedef struct collection {
    const top_k_kernel *k;
    char *items, *other, *counts;
    int64_t n;
    uint64_t limit; /* what is not below it cannot be among the k smallest */
    bool limited;
} collection;

static collection collection_in(const top_k_kernel *k, char *scratch) {
    size_t bytes = cpu_align((size_t)k->room * k->item);
    return (collection){k, scratch, scratch + bytes, scratch + 2 * bytes, 0, 0, false};
}

static void cut_to_k(collection *c) {
    sort_items(c->k, c->items, c->other, c->counts, c->n);
    c->n = cpu_min(c->n, c->k->k);
    if (c->n == c->k->k && c->n > 0) {
        c->limit = key_of(c->k, c->items, c->n - 1);
        c->limited = true;
    }
}

#define COLLECT(store)                                                                             \
    for (int64_t i = 0; i < n; i++) {                                                              \
        uint64_t word = words[i] == minus ? plus : words[i];                                       \
        if (c->limited && word >= c->limit) continue;                                              \
        if (c->n == c->k->room) {                                                                  \
            cut_to_k(c);                                                                           \
            if (word >= c->limit) continue;                                                        \
        }                                                                                          \
        store;                                                                                     \
        c->n++;                                                                                    \
    }

/* Elements first .. first + n - 1 of a line. */
static void collect_chunk(collection *c, const char *line, int64_t first, int64_t n) {
    const mica_cpu_order *dtype = c->k->dtype;
    union {
        uint32_t narrow[CHUNK];
        uint64_t wide[CHUNK];
    } memory;
    dtype->load(line + first * dtype->bytes, 1, n, c->k->flip, &memory, 1);
    uint64_t minus = 0, plus = 0; /* of integers no word is changed */
    if (dtype->is_float) {
        plus = (uint64_t)1 << (dtype->bits - 1);
        minus = (plus - 1) ^ c->k->flip;
        plus ^= c->k->flip;
    }
    if (is_packed(c->k)) {
        const uint32_t *words = memory.narrow;
        uint64_t *items = (uint64_t *)c->items;
        COLLECT(items[c->n] = word << 32 | (uint64_t)(first + i))
    } else {
        const uint64_t *words = memory.wide;
        cpu_pair *items = (cpu_pair *)c->items;
        COLLECT(items[c->n] = ((cpu_pair){word, (uint64_t)(first + i)}))
    }
}

/* Leaves the k best of elements begin .. end - 1 of a line, sorted, in c->items. */
static void collect(collection *c, const char *line, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += CHUNK) collect_chunk(c, line, i, cpu_min(CHUNK, end - i));
    cut_to_k(c);
}

static const char *line_of(const top_k_run *run, int64_t line) {
    return run->x + line * run->kernel->size * run->kernel->dtype->bytes;
}

static void write_line(const top_k_run *run, int64_t line, const void *items) {
    const top_k_kernel *k = run->kernel;
    int32_t bytes = k->dtype->bytes;
    for (int64_t i = 0; i < k->k; i++) {
        int64_t place = place_of(k, items, i), to = line * k->k + i;
        run->indices[to] = (int32_t)place;
        memcpy(run->values + to * bytes, line_of(run, line) + place * bytes, (size_t)bytes);
    }
}

/* ---- lines ------------------------------------------------------------------------------------*/

static void run_pieces(void *context, int64_t begin, int64_t end) {
    const top_k_run *run = context;
    const top_k_kernel *k = run->kernel;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t last = cpu_min(k->lines, (piece + 1) * k->per_piece);
        for (int64_t line = piece * k->per_piece; line < last; line++) {
            if (mica_interrupt_must_leave_around()) return;
            collection c = collection_in(k, run->scratch + (size_t)piece * k->scratch);
            collect(&c, line_of(run, line), 0, k->size);
            write_line(run, line, c.items);
        }
    }
}

/* Blocks of one line; each but the last has at least k elements, and the last is sorted too. */
static void run_blocks(void *context, int64_t begin, int64_t end) {
    const top_k_run *run = context;
    const top_k_kernel *k = run->kernel;
    for (int64_t b = begin; b < end; b++) {
        collection c = collection_in(k, run->scratch + (size_t)b * k->scratch);
        collect(&c, line_of(run, run->line), b * k->block, cpu_min(k->size, (b + 1) * k->block));
        memcpy(run->candidates + (size_t)(b * k->k) * k->item, c.items, (size_t)c.n * k->item);
    }
}

static void run_long_line(top_k_run *run, int64_t line) {
    const top_k_kernel *k = run->kernel;
    int64_t last = k->size - (k->blocks - 1) * k->block;
    int64_t n = (k->blocks - 1) * k->k + cpu_min(k->k, last);
    size_t bytes = cpu_align((size_t)(k->blocks * k->k) * k->item);
    run->line = line;
    mica_parallel_for(k->blocks, 1, run_blocks, run);
    char *other = run->candidates + bytes;
    sort_items(k, run->candidates, other, other + bytes, n);
    write_line(run, line, run->candidates);
}

static void run_top_k(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                      void *scratch) {
    const top_k_kernel *k = (const top_k_kernel *)kernel;
    top_k_run run = {.kernel = k,
                     .x = operands[0],
                     .values = results[0],
                     .indices = results[1],
                     .scratch = scratch};
    if (k->lines == 0 || k->k == 0) return;
    run.candidates = run.scratch + (size_t)(k->blocks > 1 ? k->blocks : k->pieces) * k->scratch;
    if (k->blocks > 1)
        for (int64_t line = 0; line < k->lines && !mica_interrupt_must_leave_around(); line++)
            run_long_line(&run, line);
    else if (k->pieces == 1)
        run_pieces(&run, 0, 1);
    else
        mica_parallel_for(k->pieces, 1, run_pieces, &run);
}

/* Few long lines are cut into blocks, unless k is so large that all of a line is sorted. */
static void cut_into_pieces(top_k_kernel *k) {
    int64_t grain = cpu_max(1, GRAIN_WORK / k->size);
    k->blocks = 1;
    k->block = k->size;
    bool is_long = k->size >= LONG_LINE && k->lines < MOST_PIECES;
    if (is_long && k->k <= LINE_BLOCK / 8) {
        k->blocks = cpu_min(MOST_PIECES, cpu_ceil_div(k->size, LINE_BLOCK));
        k->block = cpu_ceil_div(k->size, k->blocks);
        k->blocks = cpu_ceil_div(k->size, k->block);
    }
    if (is_long && k->lines < 4) grain = k->lines; /* the sort inside uses the pool */
    k->room = k->k > k->block / 4 ? k->block : cpu_min(k->block, k->k + cpu_max(k->k, LEAST_ROOM));
    k->pieces = cpu_max(1, cpu_min(MOST_PIECES, k->lines / grain));
    k->per_piece = cpu_ceil_div(k->lines, k->pieces);
    k->pieces = cpu_ceil_div(k->lines, k->per_piece);
    k->scratch =
        cpu_align(2 * cpu_align((size_t)k->room * k->item) + mica_cpu_radix_counts(k->room));
    size_t candidates = cpu_align((size_t)(k->blocks * k->k) * k->item);
    k->base.head.scratch_bytes = k->blocks > 1 ? (size_t)k->blocks * k->scratch + 2 * candidates +
                                                     mica_cpu_radix_counts(k->blocks * k->k)
                                               : (size_t)k->pieces * k->scratch;
}

mica_status mica_cpu_create_top_k(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    const mica_cpu_order *dtype = mica_cpu_order_of(x->dtype);
    if (!dtype) return mica_cpu_unsupported(node, x->dtype);
    top_k_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_top_k, &k));
    k->dtype = dtype;
    k->flip = mica_cpu_order_flip(dtype, true);
    k->item = dtype->bits <= 32 ? sizeof(uint64_t) : sizeof(cpu_pair);
    k->size = x->dims[x->rank - 1];
    k->lines = k->size ? mica_type_elements(x) / k->size : 0;
    k->k = mica_node_int(node, "k");
    if (k->lines > 0 && k->k > 0) cut_into_pieces(k);
    *out = &k->base;
    return NULL;
}
