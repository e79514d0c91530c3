#include "support/every_op.h"

#include <stddef.h>

#include "ir/graph.h"

/* Builds with a new graph and gives it away; on failure regions are NULL, which sticks. */
static mica_graph *start(const char *name) {
    mica_graph *g = NULL;
    mica_status_release(mica_graph_create(name, &g));
    return g;
}

static mica_value parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}

static mica_value vector(mica_graph *g) {
    return parameter(g, MICA_DTYPE_f32, MICA_INTS(3));
}

/* ---- without regions ------------------------------------------------------------------------*/

/* Every row of class MAP with one or two operands has this shape of builder. */
static void add_maps(mica_graph *g, mica_value x, mica_value i, mica_value b) {
    static mica_value (*const unary[])(mica_graph *, mica_value) = {
        mica_neg,      mica_abs,      mica_sign, mica_floor, mica_ceil,   mica_round,
        mica_exp,      mica_expm1,    mica_log,  mica_log1p, mica_sqrt,   mica_rsqrt,
        mica_cbrt,     mica_erfinv,   mica_sin,  mica_cos,   mica_tan,    mica_asin,
        mica_acos,     mica_atan,     mica_sinh, mica_cosh,  mica_tanh,   mica_asinh,
        mica_acosh,    mica_atanh,    mica_erf,  mica_erfc,  mica_lgamma, mica_digamma,
        mica_logistic, mica_is_finite};
    static mica_value (*const binary[])(mica_graph *, mica_value, mica_value) = {
        mica_add, mica_sub, mica_mul,   mica_div,    mica_rem,      mica_pow,
        mica_max, mica_min, mica_atan2, mica_igamma, mica_nextafter};
    static mica_value (*const bits[])(mica_graph *, mica_value, mica_value) = {mica_and, mica_or,
                                                                               mica_xor};
    static mica_value (*const shifts[])(mica_graph *, mica_value, mica_value) = {mica_shl, mica_shr,
                                                                                 mica_sar};
    for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) mica_output(g, shifts[k](g, i, i));
    for (size_t k = 0; k < sizeof unary / sizeof *unary; k++) mica_output(g, unary[k](g, x));
    for (size_t k = 0; k < sizeof binary / sizeof *binary; k++) mica_output(g, binary[k](g, x, x));
    for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) {
        mica_output(g, bits[k](g, i, i));
        mica_output(g, bits[k](g, b, b));
    }
    mica_value z = mica_complex(g, x, x);
    mica_output(g, mica_real(g, z));
    mica_output(g, mica_imag(g, z));
    mica_output(g, mica_conj(g, mica_exp(g, z)));
    mica_output(g, mica_not(g, b));
    mica_output(g, mica_popcount(g, i));
    mica_output(g, mica_clz(g, i));
    mica_output(g, mica_bitcast(g, x, MICA_DTYPE_u8));
    mica_output(g, mica_reduce_precision(g, x, 5, 10));
    mica_output(g, mica_clamp(g, x, mica_scalar(g, MICA_DTYPE_f32, -0.0), x));
    mica_output(g, mica_select(g, mica_compare(g, x, x, "le"), x, mica_zeros_like(g, x)));
    for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++)
        mica_output(g, mica_convert(g, i, (mica_dtype)dtype));
}

static void add_moves(mica_graph *g, mica_value m, mica_value scalar) {
    mica_type integers = mica_type_make(MICA_DTYPE_i32, MICA_INTS(2));
    const int32_t numbers[] = {1, -2};
    mica_value start_at = mica_constant(g, (mica_data){&integers, numbers});
    mica_value part = mica_slice(g, m, MICA_INTS(0, 1), MICA_INTS(2, 3), MICA_INTS(1, 2));
    mica_output(g, mica_iota(g, MICA_INTS(4, 2), 1, MICA_DTYPE_u16));
    mica_output(g, mica_broadcast(g, m, MICA_INTS(5, 2, 3), MICA_INTS(1, 2)));
    mica_output(g, mica_reshape(g, m, MICA_INTS(3, 1, 2)));
    mica_output(g, mica_transpose(g, m, MICA_INTS(1, 0)));
    mica_output(g, part);
    mica_output(g, mica_pad(g, m, scalar, MICA_INTS(1, -1), MICA_INTS(0, 2), MICA_INTS(2, 0)));
    mica_output(g, mica_concat(g, (const mica_value[]){m, m, m}, 3, 1));
    mica_output(g, mica_reverse(g, m, MICA_INTS(0, 1)));
    mica_output(g, mica_dynamic_slice(g, m, start_at, MICA_INTS(1, 2)));
    mica_output(g, mica_dynamic_update_slice(g, m, part, start_at));
    mica_output(g, mica_gather(g, m, start_at, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS,
                               MICA_NO_INTS, MICA_INTS(0), 1, MICA_INTS(1, 3), "clip"));
    part = mica_reshape(g, part, MICA_INTS(2));
    mica_output(g, mica_scatter(g, m, start_at, part, "add", MICA_NO_INTS, MICA_INTS(1),
                                MICA_INTS(0), MICA_INTS(0), MICA_INTS(1), 1, "fill"));
}

static void add_constants(mica_graph *g) {
    static const double values[] = {0.1, -0.0, 1.0 / 3, 5e-324, 1.7976931348623157e308};
    static const uint8_t zeros[4096];
    for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            mica_output(g, mica_scalar(g, (mica_dtype)dtype, values[k]));
    static const float specials[] = {1.0f / 0.0f, -1.0f / 0.0f, 0.0f / 0.0f, 3.4028235e38f};
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4));
    mica_output(g, mica_constant(g, (mica_data){&type, specials}));
    type = mica_type_make(MICA_DTYPE_i16, MICA_INTS(100, 2)); /* written as bytes */
    mica_output(g, mica_constant(g, (mica_data){&type, zeros}));
    type = mica_type_make(MICA_DTYPE_f64, MICA_INTS(0, 7));
    mica_output(g, mica_constant(g, (mica_data){&type, NULL}));
}

static void add_contractions(mica_graph *g, mica_value x, mica_value m) {
    mica_value image = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 8, 9, 4));
    mica_value kernel = parameter(g, MICA_DTYPE_f32, MICA_INTS(3, 3, 2, 6));
    mica_value key = parameter(g, MICA_DTYPE_u32, MICA_INTS(2));
    mica_value counter = parameter(g, MICA_DTYPE_u32, MICA_INTS(4));
    mica_output(g, mica_dot(g, m, x, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS));
    mica_output(g, mica_conv(g, image, kernel, "N01C,01IO,N01C", MICA_INTS(2, 1), MICA_INTS(1, 0),
                             MICA_INTS(1, -1), MICA_INTS(1, 2), MICA_INTS(1, 1), 2, 1));
    mica_output(g, mica_reduce(g, m, "sum", MICA_INTS(0)));
    mica_output(g, mica_reduce(g, m, "max", MICA_INTS(0, 1)));
    mica_output(g, mica_argmax(g, m, 1, MICA_DTYPE_i32));
    mica_output(g, mica_argmin(g, m, 0, MICA_DTYPE_u8));
    mica_output(g, mica_cumulative(g, m, "prod", 1, 1, 0));
    mica_value windows =
        mica_reduce_window(g, m, "max", MICA_INTS(1, 2), MICA_INTS(1, 2), MICA_INTS(0, 1),
                           MICA_INTS(0, -1), MICA_INTS(1, 1), MICA_INTS(3, 1));
    mica_output(g, windows);
    mica_output(g, mica_select_and_scatter(g, m, windows, "min", MICA_INTS(1, 2), MICA_INTS(1, 2),
                                           MICA_INTS(0, 1), MICA_INTS(0, -1)));
    mica_value sorted[2];
    mica_sort(g, (const mica_value[]){m, m}, 2, 0, 1, 1, sorted);
    mica_output(g, sorted[1]);
    mica_top_k(g, m, 2, sorted);
    mica_output(g, sorted[1]);
    mica_output(g, mica_rng_bits(g, key, counter, MICA_INTS(7), MICA_DTYPE_u64));
    mica_output(g, mica_axis_index(g, "devices"));
    mica_output(g, mica_all_reduce(g, x, "sum", "a name with \"quotes\", \\ and \n"));
    mica_output(g, mica_all_gather(g, x, "devices", 4, 0));
    mica_output(g, mica_reduce_scatter(g, x, "max", "devices", 3, 0));
    mica_output(g, mica_permute(g, x, "devices", 3, MICA_INTS(0, 2), MICA_INTS(1, 0)));
    mica_output(g, mica_broadcast_from(g, x, "devices", 4, 3));
    mica_output(g,
                mica_log_softmax(g, mica_matmul(g, m, mica_transpose(g, m, MICA_INTS(1, 0))), -1));
    mica_output(g, mica_mean(g, m, MICA_INTS(-1)));
}

static void add_linear_algebra(mica_graph *g, mica_value m) {
    mica_value square = mica_dot(g, m, m, MICA_INTS(1), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS);
    mica_output(g, mica_triangular_solve(g, square, m, 1, 0, 1, 0));
    mica_output(g, mica_cholesky(g, square));
    mica_value out[3];
    mica_lu(g, m, out);
    mica_output(g, out[2]);
    mica_qr(g, m, 1, out);
    mica_output(g, out[1]);
    mica_eigh(g, square, out);
    mica_output(g, out[0]);
    mica_svd(g, m, 0, out);
    mica_output(g, out[2]);
    mica_eig(g, square, out);
    mica_output(g, out[1]);
    mica_output(g, mica_fft(g, m, "rfft", MICA_INTS(2, 3)));
}

/* ---- regions --------------------------------------------------------------------------------*/

static mica_graph *unary_region(const char *name, mica_value (*f)(mica_graph *, mica_value)) {
    mica_graph *g = start(name);
    mica_output(g, f(g, vector(g)));
    return g;
}

/* (x, y, cotangent) -> cotangent of x */
static mica_graph *vjp_region(void) {
    mica_graph *g = start("vjp");
    vector(g);
    mica_value y = vector(g), ct = vector(g);
    mica_output(g, mica_mul(g, y, ct));
    return g;
}

static void add_branches(mica_graph *g, mica_value x, mica_value flag) {
    mica_graph *a = unary_region("branch", mica_sin), *b = unary_region("branch", mica_cos);
    mica_graph *branches[] = {a, b, a};
    mica_value out;
    mica_value index = parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
    mica_cond(g, flag, a, b, &x, 1, &out);
    mica_output(g, out);
    mica_case(g, index, branches, 3, &x, 1, &out);
    mica_output(g, out);
    mica_graph_release(a);
    mica_graph_release(b);
}

/* Doubles x and pushes it on a list until its first element is large. */
static void add_while(mica_graph *g, mica_value x) {
    mica_graph *condition = start("condition"), *body = start("body");
    mica_type element = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_type list = mica_type_list_of(&element);
    mica_value limit = parameter(condition, MICA_DTYPE_f32, MICA_NO_INTS), v = vector(condition);
    mica_parameter(condition, &list);
    v = mica_reshape(condition, mica_slice(condition, v, MICA_INTS(0), MICA_INTS(1), MICA_INTS(1)),
                     MICA_NO_INTS);
    mica_output(condition, mica_compare(condition, v, limit, "lt"));
    parameter(body, MICA_DTYPE_f32, MICA_NO_INTS);
    v = vector(body);
    mica_value stack = mica_parameter(body, &list);
    mica_output(body, mica_add(body, v, v));
    mica_output(body, mica_list_push(body, stack, v));
    mica_value out[2],
        operands[] = {mica_scalar(g, MICA_DTYPE_f32, 100), x, mica_list_empty(g, &element)};
    mica_while(g, condition, body, operands, 3, 1, out);
    mica_list_pop(g, out[1], &out[1], &out[0]);
    mica_output(g, out[0]);
    mica_graph_release(condition);
    mica_graph_release(body);
}

static void add_scan(mica_graph *g, mica_value x, mica_value scalar) {
    mica_graph *body = start("body");
    mica_value carry = parameter(body, MICA_DTYPE_f32, MICA_NO_INTS);
    mica_value next = mica_add(body, carry, parameter(body, MICA_DTYPE_f32, MICA_NO_INTS));
    mica_output(body, next);
    mica_output(body, mica_mul(body, next, next));
    mica_value out[2], operands[] = {scalar, x};
    mica_scan(g, body, operands, 2, 0, 1, 3, true, out);
    mica_output(g, out[1]);
    mica_graph_release(body);
}

static void add_composites(mica_graph *g, mica_value x) {
    mica_graph *f = unary_region("square root", mica_sqrt), *vjp = vjp_region();
    mica_value out, pair[] = {x, x};
    mica_call(g, "root", "", f, "root_vjp", vjp, &x, 1, &out);
    mica_output(g, out);
    mica_custom_gradient(g, f, vjp, &x, 1, &out);
    mica_output(g, out);
    mica_remat(g, f, &x, 1, &out);
    mica_output(g, out);
    mica_barrier(g, pair, 2, pair);
    mica_output(g, pair[1]);
    mica_graph_release(f);
    mica_graph_release(vjp);
}

static void add_callback(mica_graph *g, mica_value x) {
    mica_type types[] = {mica_type_make(MICA_DTYPE_f32, MICA_INTS(3)),
                         mica_type_scalar(MICA_DTYPE_bool)};
    mica_value out[3];
    mica_callback(g, "print", 7, mica_token(g), &x, 1, (mica_types){types, 2}, out);
    mica_output(g, out[2]);
}

mica_graph *every_op_graph(void) {
    mica_graph *g = start("every op");
    mica_value x = vector(g), m = parameter(g, MICA_DTYPE_f32, MICA_INTS(2, 3));
    mica_value i = parameter(g, MICA_DTYPE_i32, MICA_INTS(3)),
               b = parameter(g, MICA_DTYPE_bool, MICA_INTS(3)),
               scalar = parameter(g, MICA_DTYPE_f32, MICA_NO_INTS),
               flag = parameter(g, MICA_DTYPE_bool, MICA_NO_INTS);
    add_maps(g, x, i, b);
    add_moves(g, m, scalar);
    add_constants(g);
    add_contractions(g, x, m);
    add_linear_algebra(g, m);
    add_branches(g, x, flag);
    add_while(g, x);
    add_scan(g, x, scalar);
    add_composites(g, x);
    add_callback(g, x);
    return g;
}

int64_t every_op_count(const mica_graph *g, mica_op op) {
    int64_t count = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        count += g->nodes[i]->op == op;
        for (int32_t k = 0; k < g->nodes[i]->n_regions; k++)
            count += every_op_count(g->nodes[i]->regions[k], op);
    }
    return count;
}
