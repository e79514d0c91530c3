/* Cases of `call`: composites that a device computes whole, with their own kernels forward and
 * backward. The reference goes through their bodies. */
#include "harness.h"
#include "mica/nn.h"

static void build_attention(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_output(g, mica_nn_attend(g, in[0], in[1], in[2], MICA_NULL_VALUE, 0.5, false));
}

/* Scores whose exponentials overflow unless the largest is taken off. */
static void build_sharp_attention(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_output(g, mica_nn_attend(g, in[0], in[1], in[2], MICA_NULL_VALUE, 60.0, false));
}

static void build_causal_attention(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_output(g, mica_nn_attend(g, in[0], in[1], in[2], MICA_NULL_VALUE, 0.7, true));
}

static void build_masked_attention(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_output(g, mica_nn_attend(g, in[0], in[1], in[2], in[3], 0.5, false));
}

static void build_steps(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value out[3];
    mica_nn_lstm_steps(g, in[0], in[1], in[2], in[3], false, out);
    for (int i = 0; i < 3; i++) mica_output(g, out[i]);
}

static void build_steps_reversed(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value out[3];
    mica_nn_lstm_steps(g, in[0], in[1], in[2], in[3], true, out);
    for (int i = 0; i < 3; i++) mica_output(g, out[i]);
}

/* The results `y` and the cotangents of x, with y itself for the cotangents. */
static void output_with_cotangents(mica_graph *g, mica_value *y, int32_t n_y, const mica_value *x,
                                   int32_t n_x) {
    mica_value out[MOST_OPERANDS];
    mica_vjp(g, y, y, n_y, x, n_x, out);
    for (int32_t i = 0; i < n_y; i++) mica_output(g, y[i]);
    for (int32_t i = 0; i < n_x; i++) mica_output(g, out[i]);
}

static void build_attention_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value y = mica_nn_attend(g, in[0], in[1], in[2], MICA_NULL_VALUE, 0.25, false);
    output_with_cotangents(g, &y, 1, in, 3);
}

static void build_causal_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value y = mica_nn_attend(g, in[0], in[1], in[2], MICA_NULL_VALUE, 0.25, true);
    output_with_cotangents(g, &y, 1, in, 3);
}

static void build_masked_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value y = mica_nn_attend(g, in[0], in[1], in[2], in[3], 0.25, false);
    output_with_cotangents(g, &y, 1, in, 3);
}

/* With ln sum e^score and its cotangent. */
static void build_sums_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value y = mica_nn_attend(g, in[0], in[1], in[2], MICA_NULL_VALUE, 0.25, true);
    mica_value both[] = {y, {y.node, 1}};
    output_with_cotangents(g, both, 2, in, 3);
}

/* A mask of bools, which hides all keys of the first query too. */
static void build_hidden_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    const mica_type *type = mica_value_type(in[3]);
    mica_ints dims = {type->dims, type->rank};
    mica_value query = mica_iota(g, dims, type->rank - 2, MICA_DTYPE_i32);
    mica_value first = mica_compare(g, query, mica_scalar(g, MICA_DTYPE_i32, 0), "eq");
    mica_value low = mica_compare(g, in[3], mica_scalar(g, dtype, 0), "lt");
    mica_value y = mica_nn_attend(g, in[0], in[1], in[2], mica_or(g, first, low), 0.25, true);
    output_with_cotangents(g, &y, 1, in, 3);
}

static void build_steps_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value out[3];
    mica_nn_lstm_steps(g, in[0], in[1], in[2], in[3], false, out);
    output_with_cotangents(g, out, 3, in, 4);
}

static void build_gated_steps(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value out[2];
    mica_nn_gru_steps(g, in[0], in[1], in[2], in[3], false, out);
    for (int i = 0; i < 2; i++) mica_output(g, out[i]);
}

static void build_gated_steps_reversed(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value out[2];
    mica_nn_gru_steps(g, in[0], in[1], in[2], in[3], true, out);
    for (int i = 0; i < 2; i++) mica_output(g, out[i]);
}

static void build_gated_steps_back(mica_graph *g, const mica_value *in, mica_dtype dtype) {
    (void)dtype;
    mica_value out[2];
    mica_nn_gru_steps(g, in[0], in[1], in[2], in[3], false, out);
    output_with_cotangents(g, out, 2, in, 4);
}

#define FLOATS "f32 f64"
#define CALL(name_, function, n_, more, ...)                                                       \
    {                                                                                              \
        .op = MICA_OP_call, .name = name_, .n_operands = n_, .operands = {__VA_ARGS__},            \
        .build = function, .dtypes = FLOATS, .flags = AS_ONE | (more)                              \
    }
/* Of numbers of 16 bits: kernels of a GPU, the parts on a CPU. */
#define NARROW(name_, function, n_, ...)                                                           \
    {                                                                                              \
        .op = MICA_OP_call, .name = name_, .n_operands = n_, .operands = {__VA_ARGS__},            \
        .build = function, .dtypes = "f16 bf16", .flags = LARGE | COARSE                           \
    }
#define WEIGHTS(...) SHAPED(VARIES, -0.3, 0.3, __VA_ARGS__)

static const op_case cases[] = {
    CALL("of attention", build_attention, 3, 0, OF(2, 3, 4), OF(2, 5, 4), OF(2, 5, 3)),
    CALL("of causal attention", build_causal_attention, 3, 0, OF(4, 3), OF(4, 3), OF(4, 2)),
    CALL("of masked attention", build_masked_attention, 4, 0, OF(2, 3, 4), OF(2, 5, 4), OF(2, 5, 3),
         OF(2, 3, 5)),
    CALL("of sharp attention", build_sharp_attention, 3, LARGE | COARSE, OF(3, 20, 8), OF(3, 45, 8),
         OF(3, 45, 5)),
    CALL("of attention, large", build_attention_back, 3, LARGE | COARSE, OF(2, 150, 40),
         OF(2, 141, 40), OF(2, 141, 24)),
    CALL("of causal attention, large", build_causal_back, 3, LARGE | COARSE, OF(2, 133, 33),
         OF(2, 133, 33), OF(2, 133, 17)),
    CALL("of masked attention, large", build_masked_back, 4, LARGE | COARSE, OF(3, 70, 20),
         OF(3, 91, 20), OF(3, 91, 31), OF(3, 70, 91)),
    NARROW("of narrow attention", build_attention_back, 3, OF(2, 3, 70, 24), OF(2, 3, 81, 24),
           OF(2, 3, 81, 24)),
    NARROW("of narrow causal attention", build_causal_back, 3, OF(133, 64), OF(70, 64), OF(70, 64)),
    NARROW("of narrow attention with sums", build_sums_back, 3, OF(2, 40, 32), OF(2, 50, 32),
           OF(2, 50, 32)),
    NARROW("of narrow masked attention", build_masked_back, 4, OF(3, 20, 16), OF(3, 31, 16),
           OF(3, 31, 16), OF(3, 20, 31)),
    NARROW("of narrow hidden attention", build_hidden_back, 4, OF(2, 3, 20, 16), OF(2, 3, 31, 16),
           OF(2, 3, 31, 16), OF(2, 1, 20, 31)),
    CALL("of recurrent steps", build_steps, 4, 0, OF(3, 2, 12), OF(2, 3), OF(2, 3), OF(12, 3)),
    CALL("of reversed recurrent steps", build_steps_reversed, 4, 0, OF(2, 2, 8), OF(2, 2), OF(2, 2),
         OF(8, 2)),
    CALL("of recurrent steps, large", build_steps_back, 4, LARGE | COARSE, OF(5, 37, 132),
         OF(37, 33), OF(37, 33), WEIGHTS(132, 33)),
    CALL("of gated steps", build_gated_steps, 4, 0, OF(3, 2, 9), OF(2, 3), OF(9, 3), OF(9)),
    CALL("of reversed gated steps", build_gated_steps_reversed, 4, 0, OF(2, 2, 6), OF(2, 2),
         OF(6, 2), OF(6)),
    CALL("of gated steps, large", build_gated_steps_back, 4, LARGE | COARSE, OF(5, 37, 99),
         OF(37, 33), WEIGHTS(99, 33), OF(99)),
};
const case_table composite_cases = {cases, sizeof cases / sizeof *cases};
