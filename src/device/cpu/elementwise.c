/* Elementwise kernels: MAP rows, compare, select, is_finite, nextafter, convert and the parts of
 * complex numbers.
 *
 * Operands are contiguous and of one size, so a kernel is a loop over a range. f16 and bf16 go
 * through the f32 loop in small chunks that stay in the nearest cache. */
#include <math.h>
#include <string.h>

#include "device/cpu/kernel.h"

#define CHUNK 1024 /* elements of f16 and bf16 that are converted at a time */
/* Elements that are worth another thread. */
#define CHEAP_GRAIN 65536
#define COSTLY_GRAIN 4096

typedef struct elementwise_kernel {
    cpu_kernel base;
    mica_cpu_map loop;
    const mica_cpu_bounded *bounded; /* or NULL */
    mica_cpu_map widen,
        narrow; /* f16 and bf16: to and from f32; narrow is NULL when y is not half */
    int64_t n, grain;
    int32_t arity, x_bytes[3], y_bytes;
    bool swapped; /* gt and ge are lt and le the other way round */
} elementwise_kernel;

typedef struct elementwise_run {
    const elementwise_kernel *kernel;
    const void *x[3];
    void *y;
} elementwise_run;

/* The loop for n values at x[0]. */
static mica_cpu_map choose_loop(const elementwise_kernel *k, const void *const *x, int64_t n) {
    return k->bounded && k->bounded->all_bounded(x[0], n) ? k->bounded->loop : k->loop;
}

static void run_range(void *context, int64_t begin, int64_t end) {
    const elementwise_run *run = context;
    const elementwise_kernel *k = run->kernel;
    const void *x[3] = {NULL, NULL, NULL};
    for (int32_t i = 0; i < k->arity; i++) x[i] = (const char *)run->x[i] + begin * k->x_bytes[i];
    choose_loop(k, x, end - begin)(x, (char *)run->y + begin * k->y_bytes, end - begin);
}

static void run_half_range(void *context, int64_t begin, int64_t end) {
    const elementwise_run *run = context;
    const elementwise_kernel *k = run->kernel;
    float wide[3][CHUNK], result[CHUNK];
    for (int64_t i = begin; i < end; i += CHUNK) {
        int64_t n = cpu_min(CHUNK, end - i);
        const void *x[3] = {wide[0], wide[1], wide[2]};
        for (int32_t o = 0; o < k->arity; o++) {
            const void *half = (const uint16_t *)run->x[o] + i;
            k->widen(&half, wide[o], n);
        }
        void *y = (char *)run->y + i * k->y_bytes;
        if (!k->narrow) {
            k->loop(x, y, n);
            continue;
        }
        choose_loop(k, x, n)(x, result, n);
        const void *from = result;
        k->narrow(&from, y, n);
    }
}

static void run_elementwise(const cpu_kernel *kernel, const void *const *operands,
                            void *const *results, void *scratch) {
    (void)scratch;
    const elementwise_kernel *k = (const elementwise_kernel *)kernel;
    elementwise_run run = {.kernel = k, .y = results[0]};
    for (int32_t i = 0; i < k->arity; i++) run.x[i] = operands[k->swapped ? 1 - i : i];
    mica_parallel_walk(k->n, k->grain, k->widen ? run_half_range : run_range, &run);
}

void mica_cpu_elementwise_range(const cpu_kernel *kernel, const void *const *operands, void *result,
                                int64_t n) {
    const elementwise_kernel *k = (const elementwise_kernel *)kernel;
    elementwise_run run = {.kernel = k, .y = result};
    for (int32_t i = 0; i < k->arity; i++) run.x[i] = operands[k->swapped ? 1 - i : i];
    (k->widen ? run_half_range : run_range)(&run, 0, n);
}

static bool is_half(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
}

/* The loop of a MAP row; half types use that of f32. */
static mica_cpu_map find_map(const mica_cpu_isa *isa, mica_op op, mica_dtype dtype) {
    if (dtype == MICA_DTYPE_f64) return isa->map_f64[op];
    if (dtype == MICA_DTYPE_f32 || is_half(dtype)) return isa->map_f32[op];
    if (dtype >= MICA_DTYPE_c64) return isa->map_complex[dtype - MICA_DTYPE_c64][op];
    return isa->map_int[dtype][op];
}

static const mica_cpu_bounded *find_bounded(const mica_cpu_isa *isa, mica_op op, mica_dtype dtype) {
    mica_dtype wide = is_half(dtype) ? MICA_DTYPE_f32 : dtype;
    for (int i = 0; i < CPU_BOUNDED_COUNT; i++)
        if (isa->bounded[i].op == op && isa->bounded[i].dtype == wide) return &isa->bounded[i];
    return NULL;
}

static mica_cpu_map find_compare(const mica_cpu_isa *isa, const char *direction, mica_dtype dtype,
                                 bool *out_swapped) {
    static const struct {
        const char *name;
        mica_cpu_compare compare;
        bool swapped;
    } directions[] = {{"eq", CPU_EQ, false}, {"ne", CPU_NE, false}, {"lt", CPU_LT, false},
                      {"le", CPU_LE, false}, {"gt", CPU_LT, true},  {"ge", CPU_LE, true}};
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        if (strcmp(direction, directions[i].name)) continue;
        *out_swapped = directions[i].swapped;
        return isa->elementwise
            ->compare[directions[i].compare][is_half(dtype) ? MICA_DTYPE_f32 : dtype];
    }
    return NULL;
}

/* Finds the loop; NULL when there is none. */
static mica_cpu_map find_loop(const mica_node *node, const mica_cpu_isa *isa, bool *out_swapped) {
    mica_dtype from = mica_operand_type(node, 0)->dtype, to = node->results[0].dtype;
    switch (node->op) {
    case MICA_OP_compare:
        return find_compare(isa, mica_node_string(node, "direction"), from, out_swapped);
    case MICA_OP_select: return isa->elementwise->select[__builtin_ctzll(mica_dtype_bytes(to))];
    case MICA_OP_is_finite: return isa->elementwise->is_finite[from];
    case MICA_OP_nextafter: return isa->elementwise->nextafter[from];
    case MICA_OP_convert: return isa->elementwise->convert[from][to];
    case MICA_OP_real: return isa->elementwise->real[from];
    case MICA_OP_imag: return isa->elementwise->imag[from];
    case MICA_OP_conj: return isa->elementwise->conj[from];
    case MICA_OP_complex: return isa->elementwise->join[from];
    default: return find_map(isa, node->op, from);
    }
}

/* ---- reduce_precision: through f64, which holds every number of the other floats ------------- */

typedef struct precision_kernel {
    cpu_kernel base;
    mica_cpu_precision format;
    const mica_cpu_elementwise *loops;
    mica_cpu_map widen, narrow;
    int64_t n;
    int32_t bytes;
} precision_kernel;

typedef struct precision_run {
    const precision_kernel *kernel;
    const char *x;
    char *y;
} precision_run;

static void run_precision_range(void *context, int64_t begin, int64_t end) {
    const precision_run *run = context;
    const precision_kernel *k = run->kernel;
    double wide[CHUNK];
    for (int64_t i = begin; i < end; i += CHUNK) {
        int64_t n = cpu_min(CHUNK, end - i);
        const void *x = run->x + i * k->bytes, *rounded = wide;
        k->widen(&x, wide, n);
        k->loops->reduce_precision(&k->format, wide, wide, n);
        k->narrow(&rounded, run->y + i * k->bytes, n);
    }
}

static void run_precision(const cpu_kernel *kernel, const void *const *operands,
                          void *const *results, void *scratch) {
    (void)scratch;
    const precision_kernel *k = (const precision_kernel *)kernel;
    precision_run run = {k, operands[0], results[0]};
    mica_parallel_walk(k->n, CHEAP_GRAIN, run_precision_range, &run);
}

static mica_status create_precision(const mica_node *node, cpu_kernel **out) {
    mica_dtype dtype = node->results[0].dtype;
    int exponent_bits = (int)mica_node_int(node, "exponent_bits");
    int mantissa_bits = (int)mica_node_int(node, "mantissa_bits");
    int most = (1 << (exponent_bits - 1)) - 1; /* exponent of the largest number */
    const mica_cpu_elementwise *loops = mica_cpu_isa_current()->elementwise;
    precision_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_precision, &k));
    k->format.drop = 52 - mantissa_bits;
    k->format.smallest = ldexp(1, 1 - most);
    k->format.denormal_shift = ldexp(1, 1 - most + k->format.drop);
    k->format.largest = ldexp(2 - ldexp(1, -mantissa_bits), most);
    k->loops = loops;
    k->widen = loops->convert[dtype][MICA_DTYPE_f64];
    k->narrow = loops->convert[MICA_DTYPE_f64][dtype];
    k->n = mica_type_elements(&node->results[0]);
    k->bytes = (int32_t)mica_dtype_bytes(dtype);
    k->base.head.in_place_operands = 1;
    *out = &k->base;
    return NULL;
}

mica_status mica_cpu_create_elementwise(const mica_node *node, cpu_kernel **out) {
    if (node->op == MICA_OP_reduce_precision) return create_precision(node, out);
    const mica_cpu_isa *isa = mica_cpu_isa_current();
    mica_dtype from = mica_operand_type(node, 0)->dtype, to = node->results[0].dtype;
    bool swapped = false;
    mica_cpu_map loop = find_loop(node, isa, &swapped);
    if (!loop) return mica_cpu_unsupported(node, from);
    elementwise_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_elementwise, &k));
    k->loop = loop;
    k->bounded = find_bounded(isa, node->op, from);
    k->swapped = swapped;
    k->n = mica_type_elements(&node->results[0]);
    k->arity = node->n_operands;
    k->y_bytes = (int32_t)mica_dtype_bytes(to);
    const mica_op_info *row = mica_op_describe(node->op);
    bool costly = row->expression && !mica_op_takes(node->op, MICA_DTYPE_i32);
    k->grain = costly ? COSTLY_GRAIN : CHEAP_GRAIN;
    if (is_half(from) && (row->expression || node->op == MICA_OP_compare)) {
        k->widen = isa->elementwise->convert[from][MICA_DTYPE_f32];
        if (is_half(to)) k->narrow = isa->elementwise->convert[MICA_DTYPE_f32][to];
    }
    for (int32_t i = 0; i < node->n_operands; i++) {
        int32_t source = swapped ? 1 - i : i;
        k->x_bytes[i] = (int32_t)mica_dtype_bytes(mica_operand_type(node, source)->dtype);
        /* An element is read before it is written, so equal sizes share memory. */
        if (k->x_bytes[i] == k->y_bytes) k->base.head.in_place_operands |= 1u << source;
    }
    *out = &k->base;
    return NULL;
}
