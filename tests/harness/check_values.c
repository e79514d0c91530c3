#include "harness.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/cpu/kernels.h"

static bool is_elementwise(const op_case *c) {
    mica_op_class class = mica_op_class_of(c->op);
    return class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE;
}

static bool is_half(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
}

/* Complex functions that are defined by their rounded parts. */
static bool is_complex_exact(mica_op op) {
    return op == MICA_OP_neg || op == MICA_OP_add || op == MICA_OP_sub || op == MICA_OP_mul;
}

bool has_complex_oracle(mica_op op) {
#ifdef __GLIBC__
    (void)op;
    return true;
#else
    return mica_op_class_of(op) != MICA_CLASS_MAP || is_complex_exact(op);
#endif
}

/* What a single op may differ by. Halves compute in f32 and round: an ulp is left when a function
 * is not exact. */
static tolerance op_tolerance(const op_case *c, mica_dtype dtype) {
    tolerance allowed = {.strict_zeros = !(c->flags & ZEROS_ALIKE)};
    if (c->ulps > 0) allowed.ulps = dtype == MICA_DTYPE_f64 ? 4 : is_half(dtype) ? 1 : c->ulps;
    if (is_complex(dtype) && mica_op_class_of(c->op) == MICA_CLASS_MAP &&
        !is_complex_exact(c->op)) {
        allowed.ulps = dtype == MICA_DTYPE_c64 ? 1 : 8;
        allowed.strict_zeros = false;
    }
    if (dtype == MICA_DTYPE_c128) dtype = MICA_DTYPE_f64;
    allowed.absolute = c->absolute * (dtype == MICA_DTYPE_f64 ? ldexp(1, -26) : 1);
#ifndef __GLIBC__
    /* The reference's igamma is made of long double functions, which musl computes in f64. */
    if (c->op == MICA_OP_igamma) allowed.absolute *= 16;
#endif
    if (c->build)
        allowed.of_largest = dtype == MICA_DTYPE_f64 ? 1e-13 : is_half(dtype) ? 2e-2 : 1e-5;
    if (c->build) allowed.strict_zeros = false;
    return allowed;
}

/* ---- sums: an error bound in the number of terms ----------------------------------------------*/

/* A sum of n terms, in any order, is within n eps sum |terms|. The terms are counted by running
 * the case on ones and summed by running it on absolute values. */
static arrays sum_bounds(const op_case *c, mica_dtype dtype, const arrays *inputs) {
    mica_type types[MOST_OPERANDS];
    arrays ones = {.n = inputs->n}, magnitudes = {.n = inputs->n};
    case_types(c, MICA_DTYPE_f64, types);
    for (int32_t i = 0; i < inputs->n; i++) {
        ones.items[i] = array_create(&types[i]);
        magnitudes.items[i] = array_create(&types[i]);
        for (int64_t j = 0, j_end = mica_type_elements(&types[i]); j < j_end; j++) {
            array_set(&ones.items[i], j, 1);
            array_set(&magnitudes.items[i], j, array_magnitude(&inputs->items[i], j));
        }
    }
    mica_graph *g = case_graph(c, MICA_DTYPE_f64, types);
    arrays terms = run_reference(g, &ones, case_title(c));
    arrays sums = run_reference(g, &magnitudes, case_title(c));
    bool is_double = dtype == MICA_DTYPE_f64 || dtype == MICA_DTYPE_c128;
    double epsilon = epsilon_of(is_double ? MICA_DTYPE_f64 : MICA_DTYPE_f32);
    if (is_complex(dtype)) epsilon *= 4; /* a product is four products and two sums */
    for (int64_t j = 0, j_end = mica_type_elements(&terms.items[0].type); j < j_end; j++)
        array_set(&sums.items[0], j,
                  epsilon * (array_get(&terms.items[0], j) + 2) * array_get(&sums.items[0], j));
    mica_graph_release(g);
    arrays_free(&ones);
    arrays_free(&magnitudes);
    arrays_free(&terms);
    return sums;
}

/* Which terms select_and_scatter sums depends on what they are. */
static bool is_sum(const op_case *c, mica_dtype dtype) {
    mica_op_class class = mica_op_class_of(c->op);
    mica_type type = mica_type_scalar(dtype);
    return (class == MICA_CLASS_CONTRACTION || class == MICA_CLASS_REDUCTION) && c->ulps > 0 &&
           c->op != MICA_OP_select_and_scatter && is_float(&type);
}

/* ---- one set of operands ----------------------------------------------------------------------*/

/* What a collective means, said without it. */
static void check_expected(const op_case *c, mica_dtype dtype, const mica_type *types,
                           const arrays *inputs, const arrays *got, const char *title) {
    tolerance allowed = op_tolerance(c, dtype);
    mica_graph *g = expected_graph(c, dtype, types);
    arrays want = run_reference(g, inputs, title);
    arrays_agree(got, &want, &allowed, title);
    arrays_free(&want);
    mica_graph_release(g);
}

/* Parts give the same numbers, so that only this tells whether a composite's kernel was taken. */
static void check_claimed(const mica_graph *g, const char *title) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (!g->nodes[i] || g->nodes[i]->op != MICA_OP_call) continue;
        const char *name = mica_node_string(g->nodes[i], "name");
        if (strstr(name, ".vjp")) continue; /* a derivative: the composite is inside */
        harness_count();
        if (!mica_cpu_claims(g->nodes[i]))
            harness_fail("%s: the cpu has no kernel for %s", title, name);
    }
}

static void check_inputs(const op_case *c, mica_dtype dtype, const mica_type *types,
                         const arrays *inputs, const char *kind) {
    char title[200];
    tolerance allowed = op_tolerance(c, dtype);
    arrays bounds = {0};
    snprintf(title, sizeof title, "%s %s %s", case_title(c), mica_dtype_name(dtype), kind);
    mica_graph *g = case_graph(c, dtype, types);
    if (!g) return;
    harness_ok(mica_graph_verify(g), title);
    arrays want = run_reference(g, inputs, title);
    if (is_sum(c, dtype)) {
        bounds = sum_bounds(c, dtype, inputs);
        allowed.bounds = &bounds;
    }
    if (c->flags & AS_ONE && dtype == MICA_DTYPE_f32) check_claimed(g, title);
    if (c->flags & NAMED_AXIS) check_expected(c, dtype, types, inputs, &want, title);
    if (want.n == g->n_outputs && want.n > 0)
        check_on_devices(c, dtype, g, inputs, &want, &allowed, title);
    if (want.n > 0 && !c->build) check_eager(c, inputs, &want, &allowed, title);
    arrays_free(&want);
    arrays_free(&bounds);
    mica_graph_release(g);
}

static void check_types(const op_case *c, mica_dtype dtype, const mica_type *types,
                        const char *kind) {
    random_state r = case_random(c, kind);
    mica_type drawn[MOST_OPERANDS];
    for (int32_t i = 0; i < c->n_operands; i++) {
        drawn[i] = types[i];
        if (!(c->flags & NAMED_AXIS)) continue;
        memmove(drawn[i].dims + 1, types[i].dims, (size_t)types[i].rank * sizeof(int64_t));
        drawn[i].dims[0] = 3;
        drawn[i].rank++;
    }
    arrays inputs = draw_operands(c, drawn, c->n_operands, &r);
    check_inputs(c, dtype, types, &inputs, kind);
    arrays_free(&inputs);
}

/* ---- shapes of elementwise ops ----------------------------------------------------------------*/

typedef struct shape_row {
    const char *kind;
    mica_type shapes[3]; /* of the first, second and third operand; dtype not yet set */
    bool large;
} shape_row;

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dims = {           \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define RANK0                                                                                      \
    { .rank = 0 }
#define ALIKE(...)                                                                                 \
    { SHAPE(__VA_ARGS__), SHAPE(__VA_ARGS__), SHAPE(__VA_ARGS__) }

static const shape_row shape_rows[] = {
    {"rank 0", {RANK0, RANK0, RANK0}, false},
    {"of one", ALIKE(1), false},
    {"odd", ALIKE(7), false},
    {"empty", ALIKE(0), false},
    {"empty inside", ALIKE(2, 0, 3), false},
    {"odd matrix", ALIKE(33, 17), false},
    {"stretched both ways", {SHAPE(3, 1), SHAPE(1, 5), SHAPE(5)}, false},
    {"with a scalar", {SHAPE(4), RANK0, SHAPE(4)}, false},
    {"scalar first", {RANK0, SHAPE(4, 2), RANK0}, false},
    {"of different rank", {SHAPE(2, 3, 4), SHAPE(3, 1), SHAPE(1, 1, 4)}, false},
    {"empty stretched", {SHAPE(0), SHAPE(1), RANK0}, false},
    {"large", ALIKE(70001), true},
};

static void check_shapes(const op_case *c, mica_dtype dtype) {
    mica_type given[MOST_OPERANDS], types[MOST_OPERANDS];
    case_types(c, dtype, given);
    for (size_t s = 0; s < sizeof shape_rows / sizeof *shape_rows; s++) {
        const shape_row *row = &shape_rows[s];
        bool usual = dtype == MICA_DTYPE_f32 || dtype == MICA_DTYPE_f64 || dtype == MICA_DTYPE_i32;
        if (row->large && (!usual || harness_quick)) continue;
        if (harness_quick && !usual && s > 4) continue;
        for (int32_t i = 0; i < c->n_operands; i++) {
            types[i] = row->shapes[i];
            types[i].dtype = given[i].dtype;
        }
        check_types(c, dtype, types, row->kind);
    }
}

/* ---- special values ---------------------------------------------------------------------------*/

#define MOST_SPECIALS 256

/* Where integers end: at powers of two, one and a half beside them, the next number below. */
static int32_t integer_edges(mica_dtype dtype, double *out) {
    static const int powers[] = {7, 8, 15, 16, 31, 32, 63, 64};
    int32_t n = 0;
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        double edge = ldexp(1, powers[i]), ulp = edge * epsilon_of(dtype);
        const double beside[] = {edge,     edge - 0.5, edge + 0.5,     edge - 1,
                                 edge + 1, edge - ulp, edge + 2 * ulp, edge * 1.03125};
        for (int k = 0; k < 8; k++) {
            out[n++] = beside[k];
            out[n++] = -beside[k];
        }
    }
    return n;
}

static int32_t special_reals(mica_dtype dtype, double largest, double *out) {
    if (dtype == MICA_DTYPE_c128) dtype = MICA_DTYPE_f64;
    double smallest = dtype == MICA_DTYPE_f64 ? ldexp(1, -1022) : ldexp(1, -126);
    double most = dtype == MICA_DTYPE_f64 ? DBL_MAX : FLT_MAX;
    double denormal = dtype == MICA_DTYPE_f64 ? ldexp(1, -1074) : ldexp(1, -149);
    if (dtype == MICA_DTYPE_f16) smallest = ldexp(1, -14), most = 65504, denormal = ldexp(1, -24);
    if (dtype == MICA_DTYPE_bf16) most = ldexp(255, 120), denormal = ldexp(1, -133);
    if (dtype == MICA_DTYPE_f8e4m3fn) most = 448, denormal = ldexp(1, -9);
    if (dtype == MICA_DTYPE_f8e5m2) most = 57344, denormal = ldexp(1, -16);
    const double magnitudes[] = {
        0,   denormal, smallest / 2, smallest, 1e-3, 0.25, 0.5, 0.75,    1,   1.5,  2,
        2.5, 3,        10,           33.5,     87.3, 100,  1e4, 1048575, 1e9, most, INFINITY};
    int32_t n = 0;
    out[n++] = NAN;
    for (size_t i = 0; i < sizeof magnitudes / sizeof *magnitudes; i++) {
        if (largest > 0 && magnitudes[i] > largest && !isinf(magnitudes[i])) continue;
        out[n++] = magnitudes[i];
        out[n++] = -magnitudes[i];
    }
    return n;
}

static int32_t special_bits(mica_dtype dtype, uint64_t *out) {
    int width = dtype == MICA_DTYPE_bool ? 1 : 8 * (int)mica_dtype_bytes(dtype);
    uint64_t all = ~(uint64_t)0 >> (64 - width), top = (uint64_t)1 << (width - 1);
    const uint64_t values[] = {0,   1,       2,       3,   7,       10,      100,
                               all, all - 1, all - 6, top, top - 1, top + 1, 85};
    int32_t n = (int32_t)(sizeof values / sizeof *values);
    for (int32_t i = 0; i < n; i++) out[i] = values[i] & all;
    return n;
}

static ref_number special(mica_dtype dtype, int64_t which, double largest, bool edges,
                          int32_t *out_n) {
    double reals[MOST_SPECIALS];
    uint64_t bits[MOST_SPECIALS];
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX || kind == MICA_KIND_FLOAT8) {
        *out_n = special_reals(dtype, largest, reals);
        if (edges && kind == MICA_KIND_FLOAT) *out_n += integer_edges(dtype, reals + *out_n);
        ref_number number = {.real = reals[which % *out_n]};
        if (kind == MICA_KIND_COMPLEX) {
            number.imaginary = reals[which / *out_n % *out_n];
            *out_n *= *out_n;
        }
        return number;
    }
    *out_n = special_bits(dtype, bits);
    return ref_from_bits(bits[which % *out_n]);
}

/* Every combination for one or two operands, every seventh for three; of several complex numbers,
 * of which there are too many, some. One operand that may be of any size also meets the ends of the
 * integers. */
static void check_specials(const op_case *c, mica_dtype dtype) {
    mica_type types[MOST_OPERANDS];
    int32_t n, step = c->n_operands == 3 ? 7 : 1;
    if (is_complex(dtype) && c->n_operands > 1) step = c->n_operands == 2 ? 97 : 100003;
    int64_t total = 1;
    case_types(c, dtype, types);
    double largest = dtype == MICA_DTYPE_f64 || dtype == MICA_DTYPE_c128 ? 0 : c->largest;
    bool edges = c->n_operands == 1 && c->largest == 0;
    for (int32_t i = 0; i < c->n_operands; i++) {
        special(types[i].dtype, 0, largest, edges, &n);
        total *= n;
    }
    total = (total + step - 1) / step;
    arrays inputs = {.n = c->n_operands};
    for (int32_t i = 0; i < c->n_operands; i++) {
        types[i] = mica_type_make(types[i].dtype, MICA_INTS(total));
        inputs.items[i] = array_create(&types[i]);
    }
    for (int64_t j = 0; j < total; j++) {
        int64_t rest = j * step;
        for (int32_t i = 0; i < c->n_operands; i++) {
            ref_number number = special(types[i].dtype, rest, largest, edges, &n);
            ref_store(types[i].dtype, inputs.items[i].data, j, number);
            rest /= n;
        }
    }
    check_inputs(c, dtype, types, &inputs, "special values");
    arrays_free(&inputs);
}

/* Numbers of every magnitude: random bits as floats. */
static void check_random_bits(const op_case *c, mica_dtype dtype) {
    mica_type types[MOST_OPERANDS];
    random_state r = case_random(c, "random bits");
    int64_t count = harness_quick ? 101 : 1001;
    arrays inputs = {.n = c->n_operands};
    case_types(c, dtype, types);
    for (int32_t i = 0; i < c->n_operands; i++) {
        types[i] = mica_type_make(types[i].dtype, MICA_INTS(count));
        inputs.items[i] = array_create(&types[i]);
        for (int64_t j = 0; j < count; j++) {
            double value;
            do {
                uint64_t bits[2] = {random_bits(&r), random_bits(&r)};
                if (types[i].dtype == MICA_DTYPE_bool) bits[0] &= 1;
                ref_copy_element(types[i].dtype, inputs.items[i].data, j, bits, 0);
                value = is_float(&types[i]) ? array_magnitude(&inputs.items[i], j) : 0;
            } while (c->largest > 0 && fabs(value) > c->largest);
        }
    }
    check_inputs(c, dtype, types, &inputs, "random bits");
    arrays_free(&inputs);
}

void check_values(const op_case *c) {
    check_ulps(c);
    bool varies = false;
    for (int32_t i = 0; i < c->n_operands; i++) varies |= c->operands[i].dtype == VARIES;
    bool once = !varies && !c->build;
    for (int d = 0; d < MICA_DTYPE_COUNT; d++) {
        mica_dtype dtype = (mica_dtype)d;
        mica_type types[MOST_OPERANDS];
        if (once ? dtype != MICA_DTYPE_f32 : !case_takes(c, dtype)) continue;
        if (is_complex(dtype) && !has_complex_oracle(c->op)) continue;
        if (!once && !harness_takes_dtype(dtype)) continue;
        case_types(c, dtype, types);
        check_types(c, dtype, types, "as given");
        if (!is_elementwise(c) || (c->flags & AS_GIVEN)) continue;
        check_shapes(c, dtype);
        check_specials(c, dtype);
        check_random_bits(c, dtype);
    }
}
