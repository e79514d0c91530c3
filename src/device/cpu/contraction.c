/* A contraction with what is done to its result (ir/contraction.h): whenever a line of the product
 * is done, and still in a cache, the nodes after it run over it, by the loops that would run over
 * the whole of it. */
#include "ir/contraction.h"

#include <string.h>

#include "device/cpu/kernel.h"

#define SEGMENT 512       /* elements that the nodes run over at a time */
#define WHOLE_GRAIN 16384 /* of the product, when it was made in one go */

typedef enum part_kind {
    PART_PRODUCT,
    PART_OPERAND, /* of the product's shape */
    PART_SPREAD,  /* one element per several */
    PART_STEP,
} part_kind;

typedef struct contraction_part {
    part_kind kind;
    int32_t bytes;
    int32_t operand; /* of the call; -1: `constant` */
    char constant[8];
    cpu_space places;    /* SPREAD: where the operand's elements are, over the product's axes */
    bool is_line;        /* SPREAD: neighbours along the run, else all the same */
    cpu_kernel *step;    /* STEP */
    int32_t operands[3]; /* STEP: parts */
    int32_t result;      /* of the call; -1: none */
} contraction_part;

typedef struct contraction_kernel {
    cpu_kernel base;
    cpu_kernel *product;
    int32_t product_operands[2];
    int32_t raw;       /* the result that the product is stored in; -1: scratch */
    int64_t n, run;    /* elements of the product; of its last axes, that parts agree about */
    size_t raw_offset; /* in scratch, after the product's own */
    int32_t product_bytes;
    int32_t n_parts;
    contraction_part parts[MICA_CONTRACTION_NODES + 4 * MICA_CONTRACTION_RESULTS];
} contraction_kernel;

typedef struct contraction_finish {
    const contraction_kernel *kernel;
    const void *const *operands;
    void *const *results;
    char *product;
} contraction_finish;

/* ---- running ----------------------------------------------------------------------------------*/

#define MOST_PARTS ((int32_t)(sizeof((contraction_kernel *)0)->parts / sizeof(contraction_part)))

static void spread(const char *from, int32_t bytes, char *to, int64_t n) {
#define SPREAD(type)                                                                               \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        for (int64_t i = 0; i < n; i++) ((type *)(void *)to)[i] = value;                           \
    }
    if (bytes == 1) SPREAD(uint8_t)
    if (bytes == 2) SPREAD(uint16_t)
    if (bytes == 4) SPREAD(uint32_t)
    if (bytes == 8) SPREAD(uint64_t)
}

/* What is at hand while lines are finished: room for every part, and what it is filled with. */
typedef struct contraction_desk {
    _Alignas(64) char rooms[MOST_PARTS][SEGMENT * 8];
    const char *spread_from[MOST_PARTS];
    int64_t spread_n[MOST_PARTS];
} contraction_desk;

/* Where the n elements of part i from `position` on are. */
static const char *find_part(const contraction_finish *f, int32_t i, int64_t position, int64_t n,
                             contraction_desk *desk) {
    const contraction_part *p = &f->kernel->parts[i];
    if (p->kind == PART_PRODUCT) return f->product + position * p->bytes;
    const char *from = p->operand < 0 ? p->constant : f->operands[p->operand];
    if (p->kind == PART_OPERAND) return from + position * p->bytes;
    from += mica_cpu_space_position(&p->places, position) * p->bytes;
    if (p->is_line) return from;
    if (desk->spread_from[i] != from || desk->spread_n[i] < n) {
        spread(from, p->bytes, desk->rooms[i], n);
        desk->spread_from[i] = from;
        desk->spread_n[i] = n;
    }
    return desk->rooms[i];
}

/* n elements from `position` on, within a run. */
static void finish_segment(const contraction_finish *f, int64_t position, int64_t n,
                           contraction_desk *desk) {
    const contraction_kernel *k = f->kernel;
    const char *at[MOST_PARTS];
    int32_t late = -1; /* a result in the place of the product, which later steps may read */
    for (int32_t i = 0; i < k->n_parts; i++) {
        const contraction_part *p = &k->parts[i];
        if (p->kind != PART_STEP) {
            at[i] = find_part(f, i, position, n, desk);
            continue;
        }
        const void *x[3] = {NULL, NULL, NULL};
        for (int32_t o = 0; o < 3 && p->operands[o] >= 0; o++) x[o] = at[p->operands[o]];
        char *y = desk->rooms[i];
        if (p->result >= 0 && p->result == k->raw && i + 1 < k->n_parts)
            late = i;
        else if (p->result >= 0)
            y = (char *)f->results[p->result] + position * p->bytes;
        mica_cpu_elementwise_range(p->step, x, y, n);
        at[i] = y;
    }
    if (late >= 0)
        memcpy((char *)f->results[k->raw] + position * k->parts[late].bytes, at[late],
               (size_t)(n * k->parts[late].bytes));
}

static void finish_line(const void *context, int64_t position, int64_t n) {
    const contraction_finish *f = context;
    int64_t run = f->kernel->run;
    contraction_desk desk;
    memset(desk.spread_from, 0, sizeof desk.spread_from);
    for (int64_t end = position + n, count; position < end; position += count) {
        count = cpu_min(cpu_min(end - position, run - position % run), SEGMENT);
        finish_segment(f, position, count, &desk);
    }
}

static void finish_range(void *context, int64_t begin, int64_t end) {
    finish_line(context, begin, end - begin);
}

static void run_contraction(const cpu_kernel *kernel, const void *const *operands,
                            void *const *results, void *scratch) {
    const contraction_kernel *k = (const contraction_kernel *)kernel;
    const void *of_product[2] = {operands[k->product_operands[0]],
                                 operands[k->product_operands[1]]};
    void *product = k->raw >= 0 ? results[k->raw] : (char *)scratch + k->raw_offset;
    contraction_finish f = {k, operands, results, product};
    if (k->product->run_finished) {
        cpu_finish finish = {finish_line, &f, product};
        k->product->run_finished(k->product, of_product, &product, scratch, &finish);
    } else {
        k->product->run(k->product, of_product, &product, scratch);
        mica_parallel_for(k->n, WHOLE_GRAIN, finish_range, &f);
    }
}

static void destroy_contraction(cpu_kernel *kernel) {
    contraction_kernel *k = (contraction_kernel *)kernel;
    for (int32_t i = 0; i < k->n_parts; i++)
        if (k->parts[i].step) mica_cpu_kernel_destroy(&k->parts[i].step->head);
    if (k->product) mica_cpu_kernel_destroy(&k->product->head);
    mica_free(k);
}

/* ---- creating ---------------------------------------------------------------------------------*/

static int32_t parameter_number(const mica_graph *body, const mica_node *n) {
    for (int32_t i = 0; i < body->n_parameters; i++)
        if (body->parameters[i].node == n) return i;
    return -1;
}

/* A broadcast, seen from the product's axes; the run shrinks to axes that it is a line along, or
 * the same. */
static void plan_spread(contraction_kernel *k, const mica_node *n, contraction_part *p) {
    const mica_type *from = mica_operand_type(n, 0), *to = &n->results[0];
    mica_ints axes = mica_node_ints(n, "axes");
    int64_t dense[MICA_MAX_RANK], strides[MICA_MAX_RANK] = {0};
    mica_cpu_strides(from, dense);
    for (int32_t i = 0; i < axes.n; i++)
        if (from->dims[i] > 1) strides[axes.data[i]] = dense[i];
    mica_cpu_space_init(&p->places);
    for (int32_t i = 0; i < to->rank; i++) mica_cpu_space_add(&p->places, to->dims[i], strides[i]);
    int32_t last = p->places.rank - 1;
    p->is_line = last >= 0 && p->places.strides[last] == 1;
    /* Neither a line nor the same: one element at a time. */
    int64_t run = last < 0 ? k->n : p->places.sizes[last];
    if (last >= 0 && p->places.strides[last] > 1) run = 1;
    k->run = cpu_min(k->run, run); /* both are sizes of last axes: the smaller divides */
}

static mica_status add_part(contraction_kernel *k, const mica_graph *body, const mica_node *n,
                            const mica_node *product, int32_t *parts) {
    contraction_part *p = &k->parts[k->n_parts];
    *p = (contraction_part){.operand = -1, .operands = {-1, -1, -1}, .result = -1};
    p->bytes = (int32_t)mica_dtype_bytes(n->results[0].dtype);
    if (n == product) {
        p->kind = PART_PRODUCT;
    } else if (n->op == MICA_OP_PARAMETER) {
        p->kind = PART_OPERAND;
        p->operand = parameter_number(body, n);
    } else if (n->op == MICA_OP_broadcast) {
        const mica_node *from = n->operands[0].node;
        p->kind = PART_SPREAD;
        p->operand = parameter_number(body, from);
        if (p->operand < 0) memcpy(p->constant, from->attrs[0].as.data.bytes, (size_t)p->bytes);
        plan_spread(k, n, p);
    } else if (n->op == MICA_OP_constant) { /* then the product is one element */
        p->kind = PART_SPREAD;
        memcpy(p->constant, n->attrs[0].as.data.bytes, (size_t)p->bytes);
        mica_cpu_space_init(&p->places);
    } else {
        p->kind = PART_STEP;
        MICA_TRY(mica_cpu_create_elementwise(n, &p->step));
        for (int32_t i = 0; i < n->n_operands; i++) p->operands[i] = parts[n->operands[i].node->id];
    }
    for (int32_t i = 0; i < body->n_outputs; i++)
        if (body->outputs[i].node == n) p->result = i;
    parts[n->id] = k->n_parts++;
    return NULL;
}

/* Parts in the order of the body; of parameters only those that elementwise nodes read. */
static mica_status add_parts(contraction_kernel *k, const mica_graph *body,
                             const mica_node *product) {
    int32_t *parts = mica_alloc(sizeof *parts * (size_t)body->n_nodes);
    if (!parts) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < body->n_nodes; i++) parts[i] = -1;
    mica_status status = NULL;
    for (int32_t i = 0; i < body->n_nodes && !status; i++) {
        const mica_node *n = body->nodes[i];
        if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_constant) continue;
        bool is_step = n != product && n->op != MICA_OP_broadcast;
        for (int32_t o = 0; is_step && o < n->n_operands && !status; o++) {
            const mica_node *x = n->operands[o].node;
            if (parts[x->id] >= 0) continue;
            if (k->n_parts + 2 > MOST_PARTS) /* x and n */
                status = MICA_ERROR(MICA_UNSUPPORTED, "[contraction] too many operands");
            else
                status = add_part(k, body, x, product, parts);
        }
        if (!status) status = add_part(k, body, n, product, parts);
    }
    mica_free(parts);
    return status;
}

/* Results that a body names twice have memory of their own each; only one can be written. */
static mica_status check_results(const mica_graph *body) {
    for (int32_t i = 0; i < body->n_outputs; i++)
        for (int32_t j = 0; j < i; j++)
            if (body->outputs[i].node == body->outputs[j].node)
                return MICA_ERROR(MICA_UNSUPPORTED, "[contraction] results %d and %d are one value",
                                  j, i);
    return NULL;
}

static void place_product(contraction_kernel *k, const mica_graph *body, const mica_node *product) {
    size_t scratch = cpu_align(k->product->head.scratch_bytes);
    k->raw = -1;
    for (int32_t i = body->n_outputs - 1; i >= 0; i--)
        if (body->outputs[i].node->results[0].dtype == product->results[0].dtype) k->raw = i;
    for (int32_t i = 0; i < body->n_outputs; i++)
        if (body->outputs[i].node == product) k->raw = i;
    k->raw_offset = scratch;
    k->base.head.scratch_bytes = scratch;
    if (k->raw < 0) k->base.head.scratch_bytes += mica_type_bytes(&product->results[0]);
}

static mica_status fill(contraction_kernel *k, const mica_graph *body, const mica_node *product) {
    mica_kernel *kernel = NULL;
    MICA_TRY(mica_cpu_kernel_create(product, &kernel));
    k->product = (cpu_kernel *)kernel;
    k->n = k->run = mica_type_elements(&product->results[0]);
    for (int32_t i = 0; i < 2; i++)
        k->product_operands[i] = parameter_number(body, product->operands[i].node);
    MICA_TRY(check_results(body));
    MICA_TRY(add_parts(k, body, product));
    place_product(k, body, product);
    return NULL;
}

mica_status mica_cpu_create_contraction(const mica_node *node, cpu_kernel **out) {
    const mica_node *product;
    MICA_TRY(mica_contraction_check(node->regions[0], &product));
    if (mica_dtype_bytes(product->results[0].dtype) > 8)
        return mica_cpu_unsupported(product, product->results[0].dtype);
    contraction_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_contraction, &k));
    k->base.destroy = destroy_contraction;
    mica_status status = fill(k, node->regions[0], product);
    if (status) {
        destroy_contraction(&k->base);
        return status;
    }
    *out = &k->base;
    return NULL;
}
