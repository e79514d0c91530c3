/* Derivatives of regions with effects: whatever is derived, an effect happens once. */
#include "calculus.h"

static int n_heard;
static mica_status hear(void *context, const void *const *inputs, const mica_type *input_types,
                        int32_t n_inputs, void *const *outputs, const mica_type *output_types,
                        int32_t n_outputs) {
    (void)context, (void)input_types, (void)n_inputs, (void)output_types, (void)n_outputs;
    n_heard++;
    *(double *)outputs[0] = 3 * *(const double *)inputs[0];
    return NULL;
}

/* token, x -> token, 3 x on the host, which is a constant to derivatives */
static mica_value tell(mica_graph *g, int64_t function, mica_value *token, mica_value x) {
    mica_type type = mica_type_scalar(MICA_DTYPE_f64);
    mica_value out[2];
    mica_callback(g, "hear", function, *token, &x, 1, (mica_types){&type, 1}, out);
    *token = out[0];
    return out[1];
}

static mica_value token_parameter(mica_graph *g) {
    mica_type type = mica_type_token();
    return mica_parameter(g, &type);
}

/* (w, token, x) -> (token, w x h / (3 x)), h heard: x is multiplied by w */
static mica_graph *loud_step(int64_t function) {
    mica_graph *g = new_graph("loud");
    mica_value w = scalar_parameter(g), token = token_parameter(g), x = scalar_parameter(g);
    mica_value three_x = tell(g, function, &token, x);
    mica_value ratio = mica_div(g, three_x, mica_mul(g, number(g, 3), x)); /* 1, with d/dx = -1/x */
    mica_output(g, token);
    mica_output(g, mica_mul(g, mica_mul(g, w, x), ratio));
    return g;
}

typedef enum loud_op { LOUD_SCAN, LOUD_WHILE, LOUD_COND, LOUD_CALL } loud_op;

/* y of the op; with the ratio's derivative x falls out of it: y = w h / 3 for one step, so that
 * after n steps dy/dw is y_n / w with everything heard held fixed. */
static mica_graph *loud_graph(loud_op op, int64_t function, mica_value *w, mica_value *y) {
    mica_graph *g = new_graph("loud"), *step = loud_step(function), *quiet = new_graph("quiet");
    *w = scalar_parameter(g);
    mica_value operands[] = {*w, mica_token(g), number(g, 2)}, out[2] = {{0}};
    mica_value q[] = {scalar_parameter(quiet), token_parameter(quiet), scalar_parameter(quiet)};
    if (op == LOUD_SCAN) mica_scan(g, step, operands, 3, 1, 2, 3, false, out);
    if (op == LOUD_CALL) mica_call(g, "loud", "", step, NULL, NULL, operands, 3, out);
    if (op == LOUD_COND) {
        mica_output(quiet, q[1]);
        mica_output(quiet, q[2]);
        mica_value yes = mica_compare(g, *w, number(g, 0), "gt");
        mica_cond(g, yes, step, quiet, operands, 3, out);
    }
    if (op == LOUD_WHILE) {
        mica_output(quiet, mica_compare(quiet, q[2], number(quiet, 9), "lt"));
        mica_while(g, quiet, step, operands, 3, 1, out);
    }
    *y = out[1];
    mica_output(g, out[0]);
    mica_graph_release(step);
    mica_graph_release(quiet);
    return g;
}

TEST(effects_happen_once_in_every_mode) {
    const int steps[] = {3, 3, 1, 1};
    int64_t function = mica_host_function_register(hear, NULL);
    for (loud_op op = LOUD_SCAN; op <= LOUD_CALL; op++)
        for (int mode = 0; mode < 4; mode++) {
            mica_value w, y;
            mica_graph *g = loud_graph(op, function, &w, &y);
            mica_value one = number(g, 1), d = y;
            if (mode == 1) d = gradient(g, y, w);
            if (mode == 2) d = tangent(g, y, w, one);
            if (mode == 3) d = gradient(g, gradient(g, y, w), w);
            mica_output(g, d);
            double at = 2, got = NAN, value = 2 * pow(at, steps[op]);
            const void *in[] = {&at};
            void *out[] = {NULL, &got};
            n_heard = 0;
            EVALUATE(g, in, out);
            CHECK(n_heard == steps[op]);
            /* y = w h / 3 in every step, h heard: the last step's w alone counts */
            double want[] = {value, value / at, value / at, 0};
            CHECK_NEAR(got, want[mode], 1e-12);
            mica_graph_release(g);
        }
    mica_host_function_unregister(function);
}

TEST(a_loud_loop_inside_a_loop_cannot_be_run_again_and_says_so) {
    int64_t function = mica_host_function_register(hear, NULL);
    mica_graph *g = new_graph("outer"), *body = new_graph("body"), *step = loud_step(function);
    mica_graph *below = new_graph("below");
    mica_value q[] = {scalar_parameter(below), token_parameter(below), scalar_parameter(below)};
    mica_output(below, mica_compare(below, q[2], number(below, 9), "lt"));
    mica_value p[] = {scalar_parameter(body), token_parameter(body), scalar_parameter(body)},
               out[2];
    mica_while(body, below, step, p, 3, 1, out);
    mica_output(body, out[0]);
    mica_output(body, mica_tanh(body, out[1]));
    mica_value w = scalar_parameter(g), operands[] = {w, mica_token(g), number(g, 2)};
    mica_scan(g, body, operands, 3, 1, 2, 2, false, out);
    mica_output(g, gradient(g, out[1], w));
    CHECK_FAILS(mica_graph_check(g), MICA_UNSUPPORTED, "[vjp] the backward pass of a loop");
    mica_graph_release(below);
    mica_graph_release(step);
    mica_graph_release(body);
    mica_graph_release(g);
    mica_host_function_unregister(function);
}

TEST(remat_with_effects_is_refused) {
    int64_t function = mica_host_function_register(hear, NULL);
    mica_graph *g = new_graph("g"), *step = loud_step(function);
    mica_value w = scalar_parameter(g), operands[] = {w, mica_token(g), number(g, 2)}, out[2];
    mica_remat(g, step, operands, 3, out);
    mica_output(g, gradient(g, out[1], w));
    CHECK_FAILS(mica_graph_check(g), MICA_UNSUPPORTED, "[remat] 'loud' has effects");
    mica_graph_release(step);
    mica_graph_release(g);
    mica_host_function_unregister(function);
}
