/* sort: lines along one axis.
 *
 * One operand alone is sorted as words, which are then turned back into elements. With several
 * operands the keys, the last one first, sort places; every operand is then read in that order.
 *
 * Many short lines go side by side through a sorting network; else a line is sorted by its digits,
 * long ones on the whole pool. What comes out is determined by the row in ops.def alone, so none of
 * these choices can be seen in it. */
#include <string.h>

#include "base/interrupt.h"
#include "device/cpu/order.h"

enum {
    NETWORK_MOST = 1024, /* the length of lines for which a network is the faster way */
    NETWORK_LINES = 4,   /* of which there must be some */
    LONG_LINE = 65536,   /* a line that is worth all threads */
    MOST_PIECES = 64,    /* that run at once; each has memory of its own */
    GRAIN_WORK = 16384,
};

/* A real array that decides: an operand, or a part of a complex one. */
typedef struct sort_key {
    const mica_cpu_order *dtype;
    uint64_t flip;
    int32_t operand, step, offset; /* in parts: 2 to an element when it is complex */
} sort_key;

typedef struct sort_kernel {
    cpu_kernel base;
    const mica_cpu_networks *networks;
    int64_t size, inner, lines;
    int32_t n_operands, n_keys;
    bool alone, network, pairs;
    int64_t per_piece, pieces; /* lines of one piece, at most MOST_PIECES of them */
    size_t scratch;            /* bytes of one piece */
    int32_t *bytes;            /* of the operands' elements */
    sort_key keys[];
} sort_kernel;

typedef struct sort_run {
    const sort_kernel *kernel;
    const void *const *operands;
    void *const *results;
    char *scratch;
} sort_run;

static int64_t first_of(const sort_kernel *k, int64_t line) {
    return line / k->inner * k->size * k->inner + line % k->inner;
}

static const char *key_line(const sort_run *run, const sort_key *key, int64_t first) {
    return (const char *)run->operands[key->operand] +
           (first * key->step + key->offset) * key->dtype->bytes;
}

/* ---- one operand ------------------------------------------------------------------------------*/

typedef struct alone_line {
    const sort_kernel *kernel;
    const char *x;
    char *y, *words;
    int special; /* atomic */
} alone_line;

static int64_t word_bytes(const sort_key *key) {
    return key->dtype->bits <= 32 ? 4 : 8;
}

static void load_range(void *context, int64_t begin, int64_t end) {
    alone_line *l = context;
    const sort_key *key = l->kernel->keys;
    int64_t inner = l->kernel->inner;
    if (key->dtype->load(l->x + begin * inner * key->dtype->bytes, inner, end - begin, key->flip,
                         l->words + begin * word_bytes(key), 1))
        __atomic_store_n(&l->special, 1, __ATOMIC_RELAXED);
}

static void store_range(void *context, int64_t begin, int64_t end) {
    const alone_line *l = context;
    const sort_key *key = l->kernel->keys;
    int64_t inner = l->kernel->inner;
    key->dtype->store(l->words + begin * word_bytes(key), 1, end - begin, key->flip,
                      l->y + begin * inner * key->dtype->bytes, inner);
}

static void sort_alone(const sort_run *run, int64_t line, char *scratch) {
    const sort_kernel *k = run->kernel;
    const sort_key *key = k->keys;
    int64_t first = first_of(k, line);
    size_t words = cpu_align((size_t)(k->size * word_bytes(key)));
    alone_line l = {k, key_line(run, key, first),
                    (char *)run->results[0] + first * key->dtype->bytes, scratch, 0};
    void *other = scratch + words, *counts = scratch + 2 * words;
    mica_parallel_for(k->size, GRAIN_WORK, load_range, &l);
    if (word_bytes(key) == 4)
        l.words = (char *)mica_cpu_radix_u32((uint32_t *)l.words, other, k->size, 0,
                                             key->dtype->bits, counts);
    else
        l.words = (char *)mica_cpu_radix_u64((uint64_t *)l.words, other, k->size, 0,
                                             key->dtype->bits, counts);
    mica_parallel_for(k->size, GRAIN_WORK, store_range, &l);
    if (l.special) key->dtype->restore(l.x, l.y, k->inner, k->size);
}

/* Up to a network's lanes of lines that lie side by side in memory, or one behind the other. */
typedef struct line_group {
    int64_t begin, end, first;
    bool beside;
} line_group;

static line_group group_of(const sort_kernel *k, int64_t begin, int64_t end) {
    bool beside = k->inner > 1 && begin / k->inner == (end - 1) / k->inner;
    return (line_group){begin, end, first_of(k, begin), beside};
}

/* Words of a lane, with room so that squares of lanes are whole and lie in different cache sets. */
static int64_t padded(const sort_kernel *k) {
    return (k->size + CPU_NETWORK_U32 - 1) / CPU_NETWORK_U32 * CPU_NETWORK_U32;
}
static int64_t lane_step(const sort_kernel *k) {
    return padded(k) + CPU_NETWORK_U32;
}

static bool load_lanes(const sort_run *run, line_group group, char *lines, char *words) {
    const sort_kernel *k = run->kernel;
    const sort_key *key = k->keys;
    int64_t bytes = word_bytes(key), lanes = 64 / bytes, step = lane_step(k);
    bool special = false;
    if (group.beside) {
        for (int64_t i = 0; i < k->size; i++)
            special |= key->dtype->load(key_line(run, key, group.first + i * k->inner), 1,
                                        group.end - group.begin, key->flip, words + i * 64, 1);
        return special;
    }
    for (int64_t l = 0; l < group.end - group.begin; l++)
        special |= key->dtype->load(key_line(run, key, first_of(k, group.begin + l)), k->inner,
                                    k->size, key->flip, lines + l * step * bytes, 1);
    if (lanes == CPU_NETWORK_U32)
        k->networks->join_u32((uint32_t *)lines, step, padded(k), (uint32_t *)words);
    else
        k->networks->join_u64((uint64_t *)lines, step, padded(k), (uint64_t *)words);
    return special;
}

static void store_lanes(const sort_run *run, line_group group, char *words, char *lines) {
    const sort_kernel *k = run->kernel;
    const sort_key *key = k->keys;
    int64_t bytes = word_bytes(key), step = lane_step(k);
    char *y = run->results[0];
    if (group.beside) {
        for (int64_t i = 0; i < k->size; i++)
            key->dtype->store(words + i * 64, 1, group.end - group.begin, key->flip,
                              y + (group.first + i * k->inner) * key->dtype->bytes, 1);
        return;
    }
    if (bytes == 4)
        k->networks->part_u32((uint32_t *)words, padded(k), (uint32_t *)lines, step);
    else
        k->networks->part_u64((uint64_t *)words, padded(k), (uint64_t *)lines, step);
    for (int64_t l = 0; l < group.end - group.begin; l++)
        key->dtype->store(lines + l * step * bytes, 1, k->size, key->flip,
                          y + first_of(k, group.begin + l) * key->dtype->bytes, k->inner);
}

static void sort_alone_together(const sort_run *run, int64_t begin, int64_t end, char *scratch) {
    const sort_kernel *k = run->kernel;
    const sort_key *key = k->keys;
    line_group group = group_of(k, begin, end);
    char *words = scratch, *lines = scratch + padded(k) * 64;
    if ((end - begin) * word_bytes(key) < 64) memset(scratch, 0, k->scratch);
    bool special = load_lanes(run, group, lines, words);
    if (word_bytes(key) == 4)
        k->networks->u32((uint32_t *)words, k->size);
    else
        k->networks->u64((uint64_t *)words, k->size);
    store_lanes(run, group, words, lines);
    for (int64_t line = begin; special && line < end; line++)
        key->dtype->restore(key_line(run, key, first_of(k, line)),
                            (char *)run->results[0] + first_of(k, line) * key->dtype->bytes,
                            k->inner, k->size);
}

/* ---- places -----------------------------------------------------------------------------------*/

typedef struct move_line {
    const sort_run *run;
    const int64_t *places;
    int64_t first;
} move_line;

#define MOVE(type)                                                                                 \
    for (int64_t i = begin; i < end; i++)                                                          \
        ((type *)y)[i * inner] = ((const type *)x)[m->places[i] * inner];                          \
    break

typedef struct sixteen {
    uint64_t halves[2];
} sixteen;

static void move_range(void *context, int64_t begin, int64_t end) {
    const move_line *m = context;
    const sort_kernel *k = m->run->kernel;
    int64_t inner = k->inner;
    for (int32_t operand = 0; operand < k->n_operands; operand++) {
        const char *x = (const char *)m->run->operands[operand] + m->first * k->bytes[operand];
        char *y = (char *)m->run->results[operand] + m->first * k->bytes[operand];
        switch (k->bytes[operand]) {
        case 1: MOVE(uint8_t);
        case 2: MOVE(uint16_t);
        case 4: MOVE(uint32_t);
        case 8: MOVE(uint64_t);
        default: MOVE(sixteen);
        }
    }
}

static void move_operands(const sort_run *run, int64_t line, const int64_t *places) {
    move_line m = {run, places, first_of(run->kernel, line)};
    mica_parallel_for(run->kernel->size, GRAIN_WORK, move_range, &m);
}

/* The memory of a piece. There are two lists of places per lane: those of the last key and those of
 * the one before. */
typedef struct place_memory {
    char *items, *other; /* of the network: keys, and their places */
    char *words, *lines;
    int64_t *places[2];
    void *counts;
} place_memory;

static size_t lay_out(const sort_kernel *k, char *memory, place_memory *m) {
    size_t size = (size_t)k->size, at = 0;
    size_t items = cpu_align(size * (k->pairs ? sizeof(cpu_pair) : sizeof(uint64_t)));
    size_t lanes = k->network ? (size_t)padded(k) * 64 : 0;
    size_t lines = k->network ? (size_t)lane_step(k) * 64 : 0;
    size_t places = k->network ? lines : cpu_align(size * sizeof(int64_t));
    size_t sizes[] = {k->network ? lanes : items,
                      k->network ? lanes : items,
                      cpu_align(size * sizeof(uint64_t)),
                      lines,
                      places,
                      places,
                      k->network ? 0 : mica_cpu_radix_counts(k->size)};
    void *parts[7];
    for (int i = 0; i < 7; i++) {
        parts[i] = memory ? memory + at : NULL;
        at += sizes[i];
    }
    *m = (place_memory){parts[0], parts[1], parts[2], parts[3], {parts[4], parts[5]}, parts[6]};
    return at;
}

/* to[i] = from[items[i]'s place]; of the first key, from is NULL: the place itself. */
#define FOLLOW(place)                                                                              \
    for (int64_t i = 0; i < k->size; i++) to[i] = from ? from[place] : (int64_t)(place)

static void load_words(const sort_run *run, const sort_key *key, int64_t line, char *words) {
    const sort_kernel *k = run->kernel;
    key->dtype->load(key_line(run, key, first_of(k, line)), k->inner * key->step, k->size,
                     key->flip, words, 1);
}

/* One more key, of higher rank than those before. */
static void order_by(const sort_run *run, const sort_key *key, int64_t line, const place_memory *m,
                     const int64_t *from, int64_t *to) {
    const sort_kernel *k = run->kernel;
    load_words(run, key, line, m->words);
    if (k->pairs) {
        cpu_pair *items = (cpu_pair *)m->items;
        mica_cpu_order_pair(key->dtype, m->words, from, k->size, key->flip, items);
        items = mica_cpu_radix_pair(items, (cpu_pair *)m->other, k->size, 0, key->dtype->bits,
                                    m->counts);
        FOLLOW(items[i].place);
    } else {
        uint64_t *items = (uint64_t *)m->items;
        mica_cpu_order_pack(key->dtype, m->words, from, k->size, key->flip, items);
        items = mica_cpu_radix_u64(items, (uint64_t *)m->other, k->size, 32, 32 + key->dtype->bits,
                                   m->counts);
        FOLLOW((uint32_t)items[i]);
    }
}

static void sort_places(const sort_run *run, int64_t line, char *scratch) {
    const sort_kernel *k = run->kernel;
    place_memory m;
    lay_out(k, scratch, &m);
    int64_t *places = NULL;
    for (int32_t i = k->n_keys - 1; i >= 0; i--) {
        int64_t *next = m.places[i & 1];
        order_by(run, &k->keys[i], line, &m, places, next);
        places = next;
    }
    move_operands(run, line, places);
}

/* The same in a network's lanes: lane l of places is a list at l * lane_step. */
static void order_together_by(const sort_run *run, const sort_key *key, int64_t begin, int64_t end,
                              const place_memory *m, const int64_t *all_from, int64_t *all_to) {
    const sort_kernel *k = run->kernel;
    uint64_t *items = (uint64_t *)m->items, *numbers = (uint64_t *)m->other;
    uint64_t *lines = (uint64_t *)m->lines;
    const int64_t lanes = CPU_NETWORK_U64, step = lane_step(k);
    for (int64_t l = 0; l < end - begin; l++) { /* what other lanes hold is sorted and dropped */
        const int64_t *from = all_from ? all_from + l * step : NULL;
        load_words(run, key, begin + l, m->words);
        (k->pairs ? mica_cpu_order_keys : mica_cpu_order_pack)(key->dtype, m->words, from, k->size,
                                                               key->flip, lines + l * step);
    }
    k->networks->join_u64(lines, step, padded(k), items);
    if (k->pairs) {
        for (int64_t i = 0; i < k->size * lanes; i++) numbers[i] = (uint64_t)(i / lanes);
        k->networks->pairs(items, numbers, k->size);
    } else {
        k->networks->u64(items, k->size);
    }
    k->networks->part_u64(k->pairs ? numbers : items, padded(k), lines, step);
    for (int64_t l = 0; l < end - begin; l++) {
        const int64_t *from = all_from ? all_from + l * step : NULL;
        int64_t *to = all_to + l * step;
        FOLLOW((uint32_t)lines[l * step + i]);
    }
}

static void sort_places_together(const sort_run *run, int64_t begin, int64_t end, char *scratch) {
    const sort_kernel *k = run->kernel;
    place_memory m;
    lay_out(k, scratch, &m);
    int64_t *places = NULL;
    for (int32_t i = k->n_keys - 1; i >= 0; i--) {
        int64_t *next = m.places[i & 1];
        order_together_by(run, &k->keys[i], begin, end, &m, places, next);
        places = next;
    }
    for (int64_t line = begin; line < end; line++)
        move_operands(run, line, places + (line - begin) * lane_step(k));
}

/* ---- lines ------------------------------------------------------------------------------------*/

static int64_t lanes_of(const sort_kernel *k) {
    if (!k->network) return 1;
    return k->alone && word_bytes(k->keys) == 4 ? CPU_NETWORK_U32 : CPU_NETWORK_U64;
}

static void run_pieces(void *context, int64_t begin, int64_t end) {
    const sort_run *run = context;
    const sort_kernel *k = run->kernel;
    int64_t lanes = lanes_of(k);
    for (int64_t piece = begin; piece < end; piece++) {
        char *scratch = run->scratch + (size_t)piece * k->scratch;
        int64_t last = cpu_min(k->lines, (piece + 1) * k->per_piece);
        for (int64_t line = piece * k->per_piece; line < last; line += lanes) {
            if (mica_interrupt_must_leave_around()) return;
            int64_t stop = cpu_min(last, line + lanes);
            if (k->network)
                (k->alone ? sort_alone_together : sort_places_together)(run, line, stop, scratch);
            else
                (k->alone ? sort_alone : sort_places)(run, line, scratch);
        }
    }
}

static void run_sort(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    const sort_kernel *k = (const sort_kernel *)kernel;
    sort_run run = {k, operands, results, scratch};
    if (k->pieces == 1)
        run_pieces(&run, 0, 1);
    else
        mica_parallel_for(k->pieces, 1, run_pieces, &run);
}

/* ---- creation ---------------------------------------------------------------------------------*/

static const mica_cpu_order *part_of(mica_dtype dtype) {
    if (dtype == MICA_DTYPE_c64) dtype = MICA_DTYPE_f32;
    if (dtype == MICA_DTYPE_c128) dtype = MICA_DTYPE_f64;
    return mica_cpu_order_of(dtype);
}

static void add_keys(sort_kernel *k, const mica_node *node) {
    bool descending = mica_node_int(node, "descending") == 1;
    for (int32_t i = 0; i < mica_node_int(node, "keys"); i++) {
        mica_dtype dtype = mica_operand_type(node, i)->dtype;
        int32_t parts = mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX ? 2 : 1;
        for (int32_t part = 0; part < parts; part++) {
            const mica_cpu_order *order = part_of(dtype);
            k->pairs |= order->bits > 32 || k->size > UINT32_MAX;
            k->keys[k->n_keys++] =
                (sort_key){order, mica_cpu_order_flip(order, descending), i, parts, part};
        }
    }
    k->alone = node->n_operands == 1 && k->n_keys == 1 && k->size <= UINT32_MAX;
}

/* Lines for which a piece's memory is used again and again; a long line is a piece of all. */
static void cut_into_pieces(sort_kernel *k) {
    int64_t lanes = lanes_of(k), groups = cpu_ceil_div(k->lines, lanes);
    int64_t grain = cpu_max(1, GRAIN_WORK / cpu_max(1, k->size * lanes));
    if (k->size >= LONG_LINE) grain = groups;
    k->pieces = cpu_max(1, cpu_min(MOST_PIECES, groups / cpu_max(1, grain)));
    k->per_piece = cpu_ceil_div(groups, k->pieces) * lanes;
    k->pieces = cpu_ceil_div(k->lines, k->per_piece);
    place_memory unused;
    if (!k->alone)
        k->scratch = lay_out(k, NULL, &unused);
    else if (k->network)
        k->scratch = (size_t)(padded(k) + lane_step(k)) * 64;
    else
        k->scratch =
            2 * cpu_align((size_t)(k->size * word_bytes(k->keys))) + mica_cpu_radix_counts(k->size);
    k->scratch = cpu_align(k->scratch);
    k->base.head.scratch_bytes = k->scratch * (size_t)k->pieces;
}

mica_status mica_cpu_create_sort(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    int64_t axis = mica_node_int(node, "axis"), keys = mica_node_int(node, "keys");
    size_t keys_bytes = 2 * (size_t)keys * sizeof(sort_key);
    sort_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(
        sizeof *k + keys_bytes + (size_t)node->n_operands * sizeof *k->bytes, run_sort, &k));
    k->networks = mica_cpu_isa_current()->networks;
    k->bytes = (int32_t *)((char *)k->keys + keys_bytes);
    k->n_operands = node->n_operands;
    k->size = x->dims[axis];
    k->inner = 1;
    for (int64_t i = axis + 1; i < x->rank; i++) k->inner *= x->dims[i];
    k->lines = k->size ? mica_type_elements(x) / k->size : 0;
    for (int32_t i = 0; i < node->n_operands; i++)
        k->bytes[i] = (int32_t)mica_dtype_bytes(mica_operand_type(node, i)->dtype);
    add_keys(k, node);
    k->network = k->size <= NETWORK_MOST && k->lines >= NETWORK_LINES;
    if (k->lines > 0) cut_into_pieces(k);
    *out = &k->base;
    return NULL;
}
