/* Random numbers: TensorFlow's own, drawn from Philox 4x32-10.
 *
 * A stateful op has a generator: a key and a 128-bit counter that moves on by 256 blocks for each
 * element drawn, however many it needs. In a graph it belongs to the node, and to the set that was
 * entered, if any; eagerly all ops with the same attributes share one. Lowered, the op takes key
 * and counter as an input, which the run provides. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/shutdown.h"
#include "tf/host_rules.h"
#include "tf/lower_rules.h"
#include "tf/ops/random/generators.h"
#include "tf/shape_rules.h"

enum { RESERVED_BLOCKS = 256, STATE_WORDS = 6 };

/* ---- generators -------------------------------------------------------------------------------*/

struct mica_tf_philox {
    struct mica_tf_philox *next;
    mica_tf_operation *operation; /* in a set: whose it is, retained */
    uint64_t hash;                /* of the attributes, where they tell whose it is */
    uint64_t epoch;               /* the number of resets it has seen */
    uint32_t key[2], counter[4];
};

static mica_mutex lock;
static mica_tf_philox *shared; /* of ops that run by themselves */
static uint64_t epoch;         /* how often generators were started anew */

static uint64_t unpredictable(void) {
    static uint64_t calls;
    double now = mica_clock_seconds();
    uint64_t h = mica_hash_bytes(MICA_HASH_SEED, &now, sizeof now);
    h = mica_hash_u64(h, (uint64_t)mica_process_id());
    h = mica_hash_u64(h, (uint64_t)(uintptr_t)&now);
    return mica_hash_u64(h, ++calls);
}

static void start(mica_tf_philox *p, uint64_t seed, uint64_t seed2) {
    if (seed == 0 && seed2 == 0) {
        seed = unpredictable();
        seed2 = unpredictable();
    }
    p->key[0] = (uint32_t)seed;
    p->key[1] = (uint32_t)(seed >> 32);
    p->counter[0] = p->counter[1] = 0;
    p->counter[2] = (uint32_t)seed2;
    p->counter[3] = (uint32_t)(seed2 >> 32);
}

void mica_tf_counter_skip(uint32_t counter[4], uint64_t blocks) {
    uint64_t low = (uint64_t)counter[1] << 32 | counter[0];
    uint64_t high = (uint64_t)counter[3] << 32 | counter[2];
    uint64_t sum = low + blocks;
    high += sum < low;
    for (int i = 0; i < 2; i++) {
        counter[i] = (uint32_t)(sum >> 32 * i);
        counter[2 + i] = (uint32_t)(high >> 32 * i);
    }
}

static void free_list(mica_tf_philox *list) {
    while (list) {
        mica_tf_philox *next = list->next;
        mica_free(list);
        list = next;
    }
}

void mica_tf_random_reset(void) {
    mica_mutex_lock(&lock);
    mica_tf_philox *list = shared;
    shared = NULL;
    epoch++;
    mica_mutex_unlock(&lock);
    free_list(list);
}

void mica_tf_philox_destroy(mica_tf_philox *philox) {
    mica_free(philox);
}

static void start_by_attrs(mica_tf_philox *p, const mica_tf_op_info *info,
                           const mica_tf_attr *attrs) {
    start(p, (uint64_t)mica_tf_attr_find(info, attrs, "seed")->as.integer,
          (uint64_t)mica_tf_attr_find(info, attrs, "seed2")->as.integer);
    p->epoch = epoch;
}

static mica_tf_philox *create(const mica_tf_op_info *info, const mica_tf_attr *attrs) {
    mica_tf_philox *p = mica_calloc(1, sizeof *p);
    if (p) start_by_attrs(p, info, attrs);
    return p;
}

/* With the lock held. */
static mica_tf_philox *find_shared(mica_tf_op op, const mica_tf_op_info *info,
                                   const mica_tf_attr *attrs) {
    uint64_t hash = mica_tf_attrs_hash(op, attrs);
    for (mica_tf_philox *p = shared; p; p = p->next)
        if (p->hash == hash) return p;
    mica_tf_philox *p = create(info, attrs);
    if (!p) return NULL;
    mica_shutdown_first(mica_tf_random_reset);
    p->hash = hash;
    p->next = shared;
    shared = p;
    return p;
}

/* ---- sets of generators -----------------------------------------------------------------------*/

struct mica_tf_generators {
    mica_refcount references;
    mica_tf_philox *first;
};

static _Thread_local mica_tf_generators *entered;

mica_status mica_tf_generators_create(mica_tf_generators **out_generators) {
    MICA_GIVEN(out_generators);
    mica_tf_generators *made = *out_generators = mica_calloc(1, sizeof *made);
    if (!made) return MICA_NO_MEMORY();
    mica_refcount_init(&made->references);
    return NULL;
}

void mica_tf_generators_retain(mica_tf_generators *generators) {
    if (!generators) return;
    mica_refcount_retain(&generators->references);
}

void mica_tf_generators_release(mica_tf_generators *generators) {
    if (!generators || !mica_refcount_release(&generators->references)) return;
    for (mica_tf_philox *p = generators->first; p; p = p->next)
        mica_tf_operation_release(p->operation);
    free_list(generators->first);
    mica_free(generators);
}

mica_tf_generators *mica_tf_generators_enter(mica_tf_generators *generators) {
    mica_tf_generators *before = entered;
    entered = generators;
    return before;
}

/* With the lock held. */
static mica_tf_philox *find_entered(mica_tf_operation *operation) {
    for (mica_tf_philox *p = entered->first; p; p = p->next)
        if (p->operation == operation) return p;
    mica_tf_philox *p = create(operation->info, operation->attrs);
    if (!p) return NULL;
    p->operation = operation;
    mica_tf_operation_retain(operation);
    p->next = entered->first;
    entered->first = p;
    return p;
}

static mica_status take_draw(mica_tf_generators *from, mica_tf_generators *taken,
                             mica_tf_operation *operation, int64_t elements, int64_t runs) {
    mica_tf_generators *before = mica_tf_generators_enter(from);
    mica_tf_philox *source = find_entered(operation), *copy = NULL;
    mica_tf_generators_enter(before);
    if (source) copy = mica_calloc(1, sizeof *copy);
    if (!copy) return MICA_NO_MEMORY();
    *copy = *source;
    mica_tf_operation_retain(operation);
    copy->next = taken->first;
    taken->first = copy;
    for (int64_t i = 0; i < runs; i++)
        mica_tf_counter_skip(source->counter, (uint64_t)elements * RESERVED_BLOCKS);
    return NULL;
}

mica_status mica_tf_generators_take(mica_tf_generators *generators, const mica_tf_graph *function,
                                    int64_t runs, mica_tf_generators **out_taken) {
    MICA_GIVEN(generators, function, out_taken);
    *out_taken = NULL;
    if (mica_tf_graph_order(function) == MICA_TF_IN_ORDER)
        return MICA_INVALID("[%s] what a run draws is not known before it", function->name);
    mica_tf_generators *taken = NULL;
    MICA_TRY(mica_tf_generators_create(&taken));
    mica_status status = NULL;
    mica_mutex_lock(&lock);
    for (int32_t i = 0; !status && i < function->n_nodes; i++) {
        const mica_tf_node *node = &function->nodes[i];
        if (node->operation && mica_tf_rows[node->operation->op].effect == MICA_TF_RANDOM)
            status = take_draw(generators, taken, node->operation,
                               mica_tf_shape_elements(&node->shapes[0]), runs);
    }
    mica_mutex_unlock(&lock);
    if (status)
        mica_tf_generators_release(taken);
    else
        *out_taken = taken;
    return status;
}

static bool is_draw(const mica_tf_node *node) {
    return node->operation && mica_tf_rows[node->operation->op].effect == MICA_TF_RANDOM;
}

/* The op for whose sake a function runs in order. */
static const char *stateful_op(const mica_tf_graph *function) {
    for (int32_t i = 0; i < function->n_nodes; i++) {
        const mica_tf_operation *o = function->nodes[i].operation;
        mica_tf_effect effect = o ? mica_tf_rows[o->op].effect : MICA_TF_PURE;
        if (effect != MICA_TF_PURE && effect != MICA_TF_READS && effect != MICA_TF_CHECK)
            return o->info->name;
    }
    return "a function in it";
}

mica_status mica_tf_generators_save(mica_tf_generators *generators, const mica_tf_graph *function,
                                    uint32_t *out_words, int32_t capacity, int32_t *out_n) {
    MICA_GIVEN(generators, function, MICA_MANY(out_words, capacity), out_n);
    *out_n = 0;
    if (mica_tf_graph_order(function) == MICA_TF_IN_ORDER)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[%s] %s is stateful.", function->name,
                          stateful_op(function));
    mica_status status = NULL;
    mica_mutex_lock(&lock);
    mica_tf_generators *before = mica_tf_generators_enter(generators);
    for (int32_t i = 0; !status && i < function->n_nodes; i++) {
        if (!is_draw(&function->nodes[i])) continue;
        const mica_tf_philox *p = find_entered(function->nodes[i].operation);
        if (!p) status = MICA_NO_MEMORY();
        if (p && capacity - *out_n >= STATE_WORDS) {
            memcpy(out_words + *out_n, p->key, sizeof p->key);
            memcpy(out_words + *out_n + 2, p->counter, sizeof p->counter);
        }
        *out_n += STATE_WORDS;
    }
    mica_tf_generators_enter(before);
    mica_mutex_unlock(&lock);
    return status;
}

mica_status mica_tf_generators_restore(mica_tf_generators *generators,
                                       const mica_tf_graph *function, const uint32_t *words,
                                       int32_t n) {
    MICA_GIVEN(generators, function, MICA_MANY(words, n));
    mica_status status = NULL;
    int32_t at = 0;
    mica_mutex_lock(&lock);
    mica_tf_generators *before = mica_tf_generators_enter(generators);
    for (int32_t i = 0; !status && i < function->n_nodes; i++) {
        if (!is_draw(&function->nodes[i])) continue;
        mica_tf_philox *p = find_entered(function->nodes[i].operation);
        if (!p)
            status = MICA_NO_MEMORY();
        else if (n - at < STATE_WORDS)
            status =
                MICA_INVALID("[%s] %d words are too few for its random ops", function->name, n);
        if (status) break;
        memcpy(p->key, words + at, sizeof p->key);
        memcpy(p->counter, words + at + 2, sizeof p->counter);
        at += STATE_WORDS;
    }
    mica_tf_generators_enter(before);
    mica_mutex_unlock(&lock);
    return status;
}

/* The operation's own, with the lock held. */
static mica_tf_philox *find_own(mica_tf_operation *operation) {
    if (!operation->philox)
        operation->philox = create(operation->info, operation->attrs);
    else if (operation->philox->epoch != epoch)
        start_by_attrs(operation->philox, operation->info, operation->attrs);
    return operation->philox;
}

static mica_status reserve(mica_tf_philox *p, uint64_t blocks, uint32_t out[6]) {
    if (!p) return MICA_NO_MEMORY();
    memcpy(out, p->key, sizeof p->key);
    memcpy(out + 2, p->counter, sizeof p->counter);
    mica_tf_counter_skip(p->counter, blocks);
    return NULL;
}

static mica_status reserve_runs(mica_tf_operation *operation, bool is_shared, int64_t elements,
                                int64_t runs, uint32_t *out) {
    mica_mutex_lock(&lock);
    mica_tf_philox *p = is_shared ? find_shared(operation->op, operation->info, operation->attrs)
                        : entered ? find_entered(operation)
                                  : find_own(operation);
    /* A shuffle, and who samples windows, say how many words they draw; others reserve more than
     * they can need. */
    bool says = operation->op == MICA_TF_RandomShuffle ||
                operation->op == MICA_TF_SampleDistortedBoundingBoxV2;
    uint64_t blocks = says ? ((uint64_t)elements + 3) / 4 : (uint64_t)elements * RESERVED_BLOCKS;
    mica_status status = NULL;
    for (int64_t i = 0; !status && i < runs; i++)
        status = reserve(p, blocks, out + STATE_WORDS * i);
    mica_mutex_unlock(&lock);
    return status;
}

mica_status mica_tf_random_reserve(mica_tf_operation *operation, bool is_shared, int64_t elements,
                                   uint32_t out[6]) {
    return reserve_runs(operation, is_shared, elements, 1, out);
}

mica_status mica_tf_random_tensor(mica_device *device, mica_tf_operation *operation, bool is_shared,
                                  int64_t elements, int64_t runs, mica_tensor **out_tensor) {
    enum { FEW = 256 };
    int64_t n = runs ? runs : 1;
    uint32_t few[FEW * STATE_WORDS], *states = few;
    mica_type type = mica_type_make(MICA_DTYPE_u32,
                                    runs ? MICA_INTS(runs, STATE_WORDS) : MICA_INTS(STATE_WORDS));
    if (n > FEW && !(states = mica_alloc((size_t)n * STATE_WORDS * sizeof *states)))
        return MICA_NO_MEMORY();
    mica_status status = reserve_runs(operation, is_shared, elements, n, states);
    if (!status) status = mica_tensor_from_host(device, &type, states, out_tensor);
    if (states != few) mica_free(states);
    return status;
}

/* ---- lowering: bits to numbers ----------------------------------------------------------------*/

mica_status tf_shape_random(mica_tf_inference *c) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank != 1)
        return MICA_INVALID("[%s] shape must be a vector, got shape %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[0]).chars);
    if (mica_tf_input_ints(c, 0, ints, &n) && n <= MICA_MAX_RANK) {
        c->outputs[0].rank = n;
        for (int32_t i = 0; i < n; i++)
            c->outputs[0].dims[i] = ints[i] == MICA_TF_UNKNOWN_INT ? -1 : ints[i];
        /* While a graph is built -1 is a size that is not known yet. */
        for (int32_t i = 0; i < n; i++)
            if (ints[i] != MICA_TF_UNKNOWN_INT && ints[i] < (c->graph ? -1 : 0))
                return MICA_INVALID("[%s] Dimension %lld must be >= 0", c->info->name,
                                    (long long)ints[i]);
    } else if (c->inputs[0].rank == 1 && c->inputs[0].dims[0] >= 0 &&
               c->inputs[0].dims[0] <= MICA_MAX_RANK) {
        c->outputs[0] = mica_tf_unknown_of_rank((int32_t)c->inputs[0].dims[0]);
    }
    return NULL;
}

mica_status mica_tf_check_seed(const mica_tf_inference *c, int32_t i) {
    const mica_tf_shape *seed = &c->inputs[i];
    if (seed->rank < 0 || (seed->rank == 1 && (seed->dims[0] < 0 || seed->dims[0] == 2)))
        return NULL;
    return MICA_INVALID("[%s] seed must have shape [2], not %s", c->info->name,
                        mica_tf_shape_text(seed).chars);
}

mica_status tf_shape_key_counter(mica_tf_inference *c) {
    MICA_TRY(mica_tf_check_seed(c, 0));
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {1}};
    c->outputs[1] = (mica_tf_shape){.rank = 1, .dims = {2}};
    return NULL;
}

mica_status tf_shape_rng_read(mica_tf_inference *c) {
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {3}};
    return NULL;
}

typedef struct source {
    mica_graph *g;
    mica_value key, counter; /* u32[2], u32[4] */
    mica_tf_shape shape;
    int64_t elements;
} source;

static mica_value part(mica_graph *g, mica_value x, int64_t first, int64_t n) {
    return mica_slice(g, x, MICA_INTS(first), MICA_INTS(first + n), MICA_INTS(1));
}

static bool shape_of_source(mica_tf_lowering *c, source *s) {
    s->g = c->g;
    if (!mica_tf_result_dims(c, &s->shape)) return false;
    s->elements = mica_tf_shape_elements(&s->shape);
    return true;
}

static bool stateful_source(mica_tf_lowering *c, source *s) {
    if (!shape_of_source(c, s)) return false;
    mica_value state = mica_tf_session_random(c->session, c->g, c->operation, s->elements, 0);
    s->key = part(c->g, state, 0, 2);
    s->counter = part(c->g, state, 2, 4);
    return true;
}

/* u64[n] as u32[2 n], low words first */
static mica_value words(mica_graph *g, mica_value x, int64_t n) {
    return mica_reshape(g, mica_bitcast(g, x, MICA_DTYPE_u32), MICA_INTS(2 * n));
}

static bool stateless_source(mica_tf_lowering *c, source *s) {
    if (!shape_of_source(c, s)) return false;
    s->key = words(c->g, mica_reshape(c->g, c->inputs[1], MICA_INTS(1)), 1);
    s->counter = words(c->g, mica_reshape(c->g, c->inputs[2], MICA_INTS(2)), 2);
    return true;
}

static mica_value bits(const source *s, int64_t n) {
    return mica_rng_bits(s->g, s->key, s->counter, MICA_INTS(n), MICA_DTYPE_u32);
}

static mica_value shaped(const source *s, mica_value x) {
    return mica_reshape(s->g, x, (mica_ints){s->shape.dims, s->shape.rank});
}

static mica_value number(mica_graph *g, mica_dtype dtype, uint64_t value) {
    mica_type type = mica_type_scalar(dtype);
    return mica_constant(g, (mica_data){&type, &value});
}

/* The low bits as a mantissa under the exponent of 1, less 1. */
static mica_value unit_float(mica_graph *g, mica_value x) {
    mica_value mantissa = mica_and(g, x, number(g, MICA_DTYPE_u32, 0x7fffff));
    mica_value one = mica_or(g, mantissa, number(g, MICA_DTYPE_u32, 0x3f800000));
    return mica_sub(g, mica_bitcast(g, one, MICA_DTYPE_f32), mica_scalar(g, MICA_DTYPE_f32, 1));
}

static mica_value unit_half(mica_graph *g, mica_value x, mica_dtype dtype) {
    bool is_half = dtype == MICA_DTYPE_f16;
    mica_value mantissa = mica_and(g, x, number(g, MICA_DTYPE_u32, is_half ? 0x3ff : 0x7f));
    mica_value one = mica_or(g, mantissa, number(g, MICA_DTYPE_u32, is_half ? 0x3c00 : 0x3f80));
    mica_value narrow = mica_bitcast(g, mica_convert(g, one, MICA_DTYPE_u16), dtype);
    return mica_sub(g, narrow, mica_scalar(g, dtype, 1));
}

/* u32[2 n] as n doubles: the first word of a pair is the upper part of the mantissa. */
static mica_value unit_double(mica_graph *g, mica_value x, int64_t n) {
    mica_value pairs = mica_reshape(g, x, MICA_INTS(n, 2));
    mica_value high = mica_slice(g, pairs, MICA_INTS(0, 0), MICA_INTS(n, 1), MICA_INTS(1, 1));
    mica_value low = mica_slice(g, pairs, MICA_INTS(0, 1), MICA_INTS(n, 2), MICA_INTS(1, 1));
    high = mica_or(g, mica_and(g, high, number(g, MICA_DTYPE_u32, 0xfffff)),
                   number(g, MICA_DTYPE_u32, 0x3ff00000));
    mica_value both = mica_concat(g, (mica_value[]){low, high}, 2, 1);
    mica_value one = mica_bitcast(g, mica_bitcast(g, both, MICA_DTYPE_u64), MICA_DTYPE_f64);
    one = mica_reshape(g, one, MICA_INTS(n));
    return mica_sub(g, one, mica_scalar(g, MICA_DTYPE_f64, 1));
}

static mica_dtype result_dtype(const mica_tf_lowering *c) {
    return mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "dtype"));
}

static void uniform(mica_tf_lowering *c, const source *s) {
    mica_dtype dtype = result_dtype(c);
    mica_value x;
    if (dtype == MICA_DTYPE_f64)
        x = unit_double(c->g, bits(s, 2 * s->elements), s->elements);
    else if (dtype == MICA_DTYPE_f32)
        x = unit_float(c->g, bits(s, s->elements));
    else
        x = unit_half(c->g, bits(s, s->elements), dtype);
    c->outputs[0] = shaped(s, x);
}

/* Box and Muller's transform: pairs of uniform numbers to pairs of normal ones, sine first. */
static mica_value box_muller(mica_graph *g, mica_value unit, int64_t pairs, mica_dtype dtype) {
    mica_value both = mica_reshape(g, unit, MICA_INTS(pairs, 2));
    mica_value u = mica_slice(g, both, MICA_INTS(0, 0), MICA_INTS(pairs, 1), MICA_INTS(1, 1));
    mica_value v = mica_slice(g, both, MICA_INTS(0, 1), MICA_INTS(pairs, 2), MICA_INTS(1, 1));
    u = mica_max(g, u, mica_scalar(g, dtype, dtype == MICA_DTYPE_f32 ? (double)1.0e-7f : 1.0e-7));
    double turn = dtype == MICA_DTYPE_f32 ? (double)(float)(2.0f * (float)M_PI) : 2.0 * M_PI;
    v = mica_mul(g, v, mica_scalar(g, dtype, turn));
    mica_value radius = mica_sqrt(g, mica_mul(g, mica_log(g, u), mica_scalar(g, dtype, -2)));
    mica_value sine = mica_mul(g, mica_sin(g, v), radius);
    mica_value cosine = mica_mul(g, mica_cos(g, v), radius);
    return mica_reshape(g, mica_concat(g, (mica_value[]){sine, cosine}, 2, 1),
                        MICA_INTS(2 * pairs));
}

static void normal(mica_tf_lowering *c, const source *s) {
    mica_dtype dtype = result_dtype(c);
    int64_t pairs = (s->elements + 1) / 2;
    mica_value x;
    if (dtype == MICA_DTYPE_f64)
        x = box_muller(c->g, unit_double(c->g, bits(s, 4 * pairs), 2 * pairs), pairs, dtype);
    else
        x = box_muller(c->g, unit_float(c->g, bits(s, 2 * pairs)), pairs, MICA_DTYPE_f32);
    x = part(c->g, x, 0, s->elements);
    if (dtype != MICA_DTYPE_f64 && dtype != MICA_DTYPE_f32) x = mica_convert(c->g, x, dtype);
    c->outputs[0] = shaped(s, x);
}

/* Unsigned integers of the result's width. */
static mica_value raw_integers(const source *s, bool is_wide) {
    if (!is_wide) return bits(s, s->elements);
    mica_value pairs = mica_reshape(s->g, bits(s, 2 * s->elements), MICA_INTS(s->elements, 2));
    return mica_reshape(s->g, mica_bitcast(s->g, pairs, MICA_DTYPE_u64), MICA_INTS(s->elements));
}

static void uniform_int(mica_tf_lowering *c, const source *s, mica_value low, mica_value high) {
    if (mica_value_is_null(low)) return;
    mica_dtype dtype = mica_value_type(low)->dtype;
    bool is_wide = mica_dtype_bytes(dtype) == 8;
    mica_dtype raw = is_wide ? MICA_DTYPE_u64 : MICA_DTYPE_u32;
    mica_value range = mica_bitcast(c->g, mica_sub(c->g, high, low), raw);
    mica_value offset = mica_rem(c->g, raw_integers(s, is_wide), range);
    mica_value x = mica_add(c->g, mica_bitcast(c->g, low, raw), offset);
    c->outputs[0] = shaped(s, mica_bitcast(c->g, x, dtype));
}

void tf_lower_random_uniform(mica_tf_lowering *c) {
    source s;
    if (stateful_source(c, &s)) uniform(c, &s);
}

void tf_lower_random_normal(mica_tf_lowering *c) {
    source s;
    if (stateful_source(c, &s)) normal(c, &s);
}

void tf_lower_random_uniform_int(mica_tf_lowering *c) {
    source s;
    if (stateful_source(c, &s)) uniform_int(c, &s, c->inputs[1], c->inputs[2]);
}

void tf_lower_stateless_uniform(mica_tf_lowering *c) {
    source s;
    if (stateless_source(c, &s)) uniform(c, &s);
}

void tf_lower_stateless_normal(mica_tf_lowering *c) {
    source s;
    if (stateless_source(c, &s)) normal(c, &s);
}

void tf_lower_stateless_uniform_int(mica_tf_lowering *c) {
    source s;
    if (stateless_source(c, &s)) uniform_int(c, &s, c->inputs[4], c->inputs[5]);
}

void tf_lower_stateless_full_int(mica_tf_lowering *c) {
    source s;
    mica_dtype dtype = result_dtype(c);
    if (!stateless_source(c, &s)) return;
    mica_value raw = raw_integers(&s, mica_dtype_bytes(dtype) == 8);
    c->outputs[0] = shaped(&s, mica_bitcast(c->g, raw, dtype));
}

void tf_lower_random_algorithm(mica_tf_lowering *c) {
    c->outputs[0] = mica_scalar(c->g, MICA_DTYPE_i32, 1);
}

/* The seed is the counter of one block under a fixed key; the block is the new key and counter. */
void tf_lower_key_counter(mica_tf_lowering *c) {
    static const uint32_t scramble[2] = {0x3ec8f720, 0x02461e29}, zeros[2] = {0, 0};
    mica_type pair = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_graph *g = c->g;
    mica_value seed = mica_reshape(g, c->inputs[0], MICA_INTS(2));
    mica_value counter = words(g, mica_convert(g, seed, MICA_DTYPE_i64), 2);
    mica_value key = mica_constant(g, (mica_data){&pair, scramble});
    mica_value mix = mica_rng_bits(g, key, counter, MICA_INTS(4), MICA_DTYPE_u32);
    mica_value low = mica_constant(g, (mica_data){&pair, zeros});
    mica_value both = mica_concat(g, (mica_value[]){low, part(g, mix, 2, 2)}, 2, 0);
    c->outputs[0] = mica_reshape(
        g, mica_bitcast(g, mica_reshape(g, part(g, mix, 0, 2), MICA_INTS(1, 2)), MICA_DTYPE_u64),
        MICA_INTS(1));
    c->outputs[1] = mica_reshape(
        g, mica_bitcast(g, mica_reshape(g, both, MICA_INTS(2, 2)), MICA_DTYPE_u64), MICA_INTS(2));
}

/* State: a counter of two words, low first, then the key. */
void tf_lower_rng_read_and_skip(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    int32_t variable = c->variables[0];
    if (variable < 0 || mica_value_is_null(c->session->variables[variable].value)) {
        MICA_TF_FAIL(c, "[RngReadAndSkip] the generator has no state");
        return;
    }
    mica_tf_variable_slot *slot = &c->session->variables[variable];
    mica_value state = slot->value;
    mica_value raw = mica_bitcast(g, state, MICA_DTYPE_u64);
    mica_value by = mica_mul(g, mica_reshape(g, c->inputs[2], MICA_INTS(1)),
                             number(g, MICA_DTYPE_u64, RESERVED_BLOCKS));
    mica_value low = part(g, raw, 0, 1), sum = mica_add(g, low, by);
    mica_value carry = mica_convert(g, mica_compare(g, sum, low, "lt"), MICA_DTYPE_u64);
    mica_value high = mica_add(g, part(g, raw, 1, 1), carry);
    mica_value next = mica_concat(g, (mica_value[]){sum, high, part(g, raw, 2, 1)}, 3, 0);
    c->outputs[0] = state;
    slot->value = mica_bitcast(g, next, MICA_DTYPE_i64);
    slot->written = true;
}

/* ---- on the host: what draws as often as it takes ---------------------------------------------*/

typedef mica_tf_generator generator;

static void philox(const uint32_t counter[4], const uint32_t key_given[2], uint32_t out[4]) {
    uint32_t x[4], key[2] = {key_given[0], key_given[1]};
    memcpy(x, counter, sizeof x);
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)x[0] * 0xD2511F53, b = (uint64_t)x[2] * 0xCD9E8D57;
        uint32_t y[4] = {(uint32_t)(b >> 32) ^ x[1] ^ key[0], (uint32_t)b,
                         (uint32_t)(a >> 32) ^ x[3] ^ key[1], (uint32_t)a};
        memcpy(x, y, sizeof x);
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    memcpy(out, x, sizeof x);
}

generator mica_tf_generator_of(const uint32_t state[6]) {
    generator r = {.used = 4};
    memcpy(r.key, state, sizeof r.key);
    memcpy(r.counter, state + 2, sizeof r.counter);
    return r;
}

uint32_t mica_tf_generator_word(generator *r) {
    if (r->used == 4) {
        philox(r->counter, r->key, r->block);
        mica_tf_counter_skip(r->counter, 1);
        r->used = 0;
    }
    return r->block[r->used++];
}

static float word_float(uint32_t x) {
    uint32_t one = (x & 0x7fffff) | 0x3f800000;
    float value;
    memcpy(&value, &one, sizeof value);
    return value - 1.0f;
}

double mica_tf_words_double(uint32_t x0, uint32_t x1) {
    uint64_t one = UINT64_C(0x3ff) << 52 | (uint64_t)(x0 & 0xfffff) << 32 | x1;
    double value;
    memcpy(&value, &one, sizeof value);
    return value - 1.0;
}

void mica_tf_normal_pair(generator *r, bool is_double, double out[2]) {
    if (is_double) {
        uint32_t x[4];
        for (int i = 0; i < 4; i++) x[i] = mica_tf_generator_word(r);
        double u = mica_tf_words_double(x[0], x[1]),
               v = 2.0 * M_PI * mica_tf_words_double(x[2], x[3]);
        double radius = sqrt(-2.0 * log(u < 1.0e-7 ? 1.0e-7 : u));
        out[0] = sin(v) * radius;
        out[1] = cos(v) * radius;
        return;
    }
    float u = word_float(mica_tf_generator_word(r)),
          v = 2.0f * (float)M_PI * word_float(mica_tf_generator_word(r));
    float radius = sqrtf(-2.0f * logf(u < 1.0e-7f ? 1.0e-7f : u));
    out[0] = sinf(v) * radius;
    out[1] = cosf(v) * radius;
}

/* Each group of 4 (2 doubles) elements has blocks of its own, of which it takes what it needs. */
static mica_status fill_truncated(const uint32_t state[6], int64_t n, bool is_double, double *out) {
    int group = is_double ? 2 : 4;
    for (int64_t first = 0; first < n; first += group) {
        if (mica_tf_is_interrupted(first / group)) return mica_interrupt_status();
        generator r = mica_tf_generator_of(state);
        mica_tf_counter_skip(r.counter,
                             (uint64_t)(first / group) * (uint64_t)(group * RESERVED_BLOCKS / 4));
        for (int filled = 0; filled < group;) {
            double pair[2];
            mica_tf_normal_pair(&r, is_double, pair);
            for (int i = 0; i < 2 && filled < group; i++) {
                if (fabs(pair[i]) >= 2.0) continue;
                if (first + filled < n) out[first + filled] = pair[i];
                filled++;
            }
        }
    }
    return NULL;
}

mica_status mica_tf_give_doubles(mica_tf_host *c, const mica_type *type, const double *data) {
    mica_type wide = *type;
    mica_tensor *tensor = NULL;
    wide.dtype = MICA_DTYPE_f64;
    MICA_TRY(mica_tensor_from_host(c->device, &wide, data, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    if (type->dtype == MICA_DTYPE_f64) return NULL;
    mica_attribute attribute = {.integer = type->dtype};
    mica_tensor *narrow = NULL;
    MICA_TRY(mica_eager(c->device, MICA_OP_convert, &tensor, 1, &attribute, &narrow));
    mica_tf_value_release(c->outputs[0]);
    c->outputs[0] = mica_tf_value_of(narrow);
    return NULL;
}

mica_status mica_tf_drawn(const char *op, mica_ints dims, int64_t *out) {
    *out = 1;
    for (int32_t i = 0; i < dims.n; i++)
        if (dims.data[i] < 0 || __builtin_mul_overflow(*out, dims.data[i], out) ||
            *out > INT64_MAX / 64)
            return MICA_INVALID("[%s] an array whose axis %d has %lld elements cannot be drawn", op,
                                i, (long long)dims.data[i]);
    return NULL;
}

static mica_status truncated(mica_tf_host *c, const uint32_t state[6]) {
    int64_t dims[MICA_MAX_RANK];
    int32_t rank;
    MICA_TRY(mica_tf_tensor_ints(c->inputs[0].object, dims, MICA_MAX_RANK, &rank));
    mica_type type =
        mica_type_make(mica_tf_dtype_core(c->output_dtypes[0]), (mica_ints){dims, rank});
    int64_t n = 0;
    MICA_TRY(mica_tf_drawn(c->info->name, (mica_ints){dims, rank}, &n));
    double *data = mica_alloc(((size_t)n + 1) * sizeof *data);
    if (!data) return MICA_NO_MEMORY();
    mica_status status = fill_truncated(state, n, type.dtype == MICA_DTYPE_f64, data);
    if (!status) status = mica_tf_give_doubles(c, &type, data);
    mica_free(data);
    return status;
}

static mica_status elements_of(mica_tf_host *c, int64_t *out) {
    int64_t dims[MICA_MAX_RANK];
    int32_t rank;
    MICA_TRY(mica_tf_tensor_ints(c->inputs[0].object, dims, MICA_MAX_RANK, &rank));
    return mica_tf_drawn(c->info->name, (mica_ints){dims, rank}, out);
}

mica_status tf_host_truncated_normal(mica_tf_host *c) {
    uint32_t state[6];
    int64_t n = 0;
    MICA_TRY(elements_of(c, &n));
    MICA_TRY(mica_tf_random_reserve(c->operation, c->is_eager, n, state));
    return truncated(c, state);
}

mica_status mica_tf_key_counter_state(mica_tf_host *c, int32_t key, uint32_t out[6]) {
    MICA_TRY(mica_tensor_to_host(c->inputs[key].object, out, 2 * sizeof *out));
    return mica_tensor_to_host(c->inputs[key + 1].object, out + 2, 4 * sizeof *out);
}

/* As tf_lower_key_counter. */
mica_status mica_tf_seed_state(mica_tf_host *c, int32_t seed, uint32_t out[6]) {
    static const uint32_t scramble[2] = {0x3ec8f720, 0x02461e29};
    int64_t words[2];
    int32_t n;
    uint32_t counter[4], mix[4];
    MICA_TRY(mica_tf_tensor_ints(c->inputs[seed].object, words, 2, &n));
    if (n != 2) return MICA_INVALID("[%s] seed must have shape [2], not [%d]", c->info->name, n);
    for (int i = 0; i < 4; i++) counter[i] = (uint32_t)((uint64_t)words[i / 2] >> 32 * (i % 2));
    philox(counter, scramble, mix);
    const uint32_t state[6] = {mix[0], mix[1], 0, 0, mix[2], mix[3]};
    memcpy(out, state, sizeof state);
    return NULL;
}

mica_status tf_host_stateless_truncated_normal(mica_tf_host *c) {
    uint32_t state[6];
    MICA_TRY(mica_tf_key_counter_state(c, 1, state));
    return truncated(c, state);
}

/* Fisher and Yates, from the front; each draw is uniform below what is left. */
static mica_status shuffle(generator *r, int64_t n, int64_t *order) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i + 1 < n; i++) {
        if (mica_tf_is_interrupted(i)) return mica_interrupt_status();
        uint32_t range = (uint32_t)(n - i);
        int64_t k = i + (int64_t)(mica_tf_generator_word(r) % range);
        int64_t kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    return NULL;
}

static mica_status take_rows(mica_tf_host *c, const int64_t *order) {
    const mica_type *type = mica_tensor_type(c->inputs[0].object);
    mica_tensor *tensor = NULL;
    const void *from;
    void *to = NULL;
    size_t row = type->dims[0] ? mica_type_bytes(type) / (size_t)type->dims[0] : 0;
    MICA_TRY(mica_tensor_create(c->device, type, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    MICA_TRY(mica_tf_open(c->inputs[0], &from));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &to);
    for (int64_t i = 0; !status && i < type->dims[0]; i++)
        memcpy((char *)to + (size_t)i * row, (const char *)from + (size_t)order[i] * row, row);
    if (!status) status = mica_tensor_close_view(tensor);
    mica_tf_close(c->inputs[0]);
    return status;
}

static mica_status shuffled(mica_tf_host *c, const uint32_t state[6], int64_t n) {
    generator r = mica_tf_generator_of(state);
    int64_t *order = mica_alloc((size_t)n * sizeof *order);
    if (!order) return MICA_NO_MEMORY();
    mica_status status = shuffle(&r, n, order);
    if (!status) status = take_rows(c, order);
    mica_free(order);
    return status;
}

/* How many slices there are to shuffle; with fewer than two the value is given as it is. */
static mica_status slices_of(mica_tf_host *c, int64_t *out_n) {
    *out_n = 0;
    if (!mica_tf_is_core(c->inputs[0].dtype))
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] takes numbers or bools, not strings",
                          c->info->name);
    const mica_type *type = mica_tensor_type(c->inputs[0].object);
    *out_n = type->rank ? type->dims[0] : 0;
    if (*out_n > 1) return NULL;
    c->outputs[0] = c->inputs[0];
    mica_tf_value_retain(c->outputs[0]);
    return NULL;
}

mica_status tf_host_random_shuffle(mica_tf_host *c) {
    uint32_t state[6];
    int64_t n;
    MICA_TRY(slices_of(c, &n));
    if (n < 2) return NULL;
    MICA_TRY(mica_tf_random_reserve(c->operation, c->is_eager, n, state));
    return shuffled(c, state, n);
}

mica_status tf_host_stateless_shuffle(mica_tf_host *c) {
    uint32_t state[6];
    int64_t n;
    MICA_TRY(slices_of(c, &n));
    if (n < 2) return NULL;
    MICA_TRY(mica_tf_key_counter_state(c, 1, state));
    return shuffled(c, state, n);
}
