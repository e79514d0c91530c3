/* The recurrence of a GRU whose reset gate works on the product with the hidden state, as a
 * composite that a device can compute in one go: like that of an LSTM (lstm_steps.c).
 *
 * Besides outputs it returns the gates z, r and n and the hidden part of n, so that the backward
 * pass needs nothing but the results. The gradients of weights and bias are sums over all steps. */
#include "nn/recurrent.h"

enum { GATES = 3, KEPT = 4 };

/* ---- forward ----------------------------------------------------------------------------------*/

/* in: weights, bias, h, projected; out: h, then per step y, gates. */
static void forward_step(mica_graph *g, const mica_value *in, int64_t hidden, mica_value *out) {
    mica_value sums = mica_add(
        g, mica_dot(g, in[2], in[0], MICA_INTS(1), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS),
        in[1]);
    mica_value kept[KEPT];
    for (int32_t i = 0; i < 2; i++)
        kept[i] = mica_logistic(g, mica_add(g, mica_nn_gate(g, in[3], 1, i, hidden),
                                            mica_nn_gate(g, sums, 1, i, hidden)));
    kept[3] = mica_nn_gate(g, sums, 1, 2, hidden);
    kept[2] = mica_tanh(
        g, mica_add(g, mica_nn_gate(g, in[3], 1, 2, hidden), mica_mul(g, kept[1], kept[3])));
    mica_value rest = mica_sub(g, mica_nn_number(g, kept[0], 1), kept[0]);
    out[0] = out[1] = mica_add(g, mica_mul(g, kept[0], in[2]), mica_mul(g, rest, kept[2]));
    out[2] = mica_concat(g, kept, KEPT, 1);
}

/* ---- backward ---------------------------------------------------------------------------------*/

/* in: weights, dh, then of the step gates, h before, dy, dgates; out: dh of the step before, what
 * comes to the projected inputs, and to the product with the hidden state. */
static void backward_step(mica_graph *g, const mica_value *in, int64_t hidden, mica_value *out) {
    mica_value kept[KEPT], own[KEPT], d[KEPT];
    for (int32_t i = 0; i < KEPT; i++) {
        kept[i] = mica_nn_gate(g, in[2], 1, i, hidden);
        own[i] = mica_nn_gate(g, in[5], 1, i, hidden);
    }
    mica_value one = mica_nn_number(g, in[4], 1), dh = mica_add(g, in[4], in[1]);
    mica_value rest = mica_sub(g, one, kept[0]);
    d[0] = mica_add(g, mica_mul(g, dh, mica_sub(g, in[3], kept[2])), own[0]);
    d[2] = mica_add(g, mica_mul(g, dh, rest), own[2]);
    d[2] = mica_mul(g, d[2], mica_sub(g, one, mica_mul(g, kept[2], kept[2])));
    d[1] = mica_add(g, mica_mul(g, d[2], kept[3]), own[1]);
    d[3] = mica_add(g, mica_mul(g, d[2], kept[1]), own[3]);
    d[0] = mica_mul(g, d[0], mica_mul(g, kept[0], rest));
    d[1] = mica_mul(g, d[1], mica_mul(g, kept[1], mica_sub(g, one, kept[1])));
    out[1] = mica_concat(g, d, GATES, 1);
    out[2] = mica_concat(g, (const mica_value[]){d[0], d[1], d[3]}, GATES, 1);
    out[0] = mica_add(
        g, mica_dot(g, out[2], in[0], MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS),
        mica_mul(g, dh, kept[0]));
}

enum { GATES_IN, OUTPUTS, FIRST_HIDDEN, WEIGHTS, DY, DGATES, BACK_OPERANDS };

/* out: of the projected inputs and of the products (T, N, 3 H), and dh before the first step. */
static void loop_backward(mica_graph *g, const mica_value operands[BACK_OPERANDS], bool reverse,
                          mica_value out[3]) {
    mica_composite c;
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (!mica_composite_begin(&c, g, "mica.gru_steps.back", operands, BACK_OPERANDS)) return;
    mica_type state = mica_nn_type(c.in[FIRST_HIDDEN]);
    mica_value zero =
        mica_broadcast_to(c.body, mica_nn_number(c.body, c.in[DY], 0), mica_nn_dims(&state));
    mica_value before = mica_nn_before_steps(c.body, c.in[FIRST_HIDDEN], c.in[OUTPUTS], reverse);
    mica_value all[] = {c.in[WEIGHTS], zero, c.in[GATES_IN], before, c.in[DY], c.in[DGATES]};
    mica_value results[3];
    mica_nn_loop loop = {"gru_step", 1, 1, 4, 3, backward_step, !reverse};
    mica_nn_loop_over_time(c.body, &loop, all, results);
    mica_composite_result(&c, results[1]);
    mica_composite_result(&c, results[2]);
    mica_composite_result(&c, results[0]);
    mica_composite_end(&c, false, out, "reverse=%d", (int)reverse);
}

/* ---- the composite ----------------------------------------------------------------------------*/

enum { PROJECTED, HIDDEN, HIDDEN_WEIGHTS, HIDDEN_BIAS, OPERANDS };

static void build_vjp(mica_composite *c, bool reverse) {
    mica_graph *g = c->vjp;
    mica_value back[BACK_OPERANDS] = {c->vjp_out[1],       c->vjp_out[0],
                                      c->vjp_in[HIDDEN],   c->vjp_in[HIDDEN_WEIGHTS],
                                      c->vjp_cotangent[0], c->vjp_cotangent[1]};
    mica_value d[3];
    loop_backward(g, back, reverse, d);
    mica_composite_cotangent(c, d[0]);
    mica_composite_cotangent(c, d[2]);
    mica_value before = mica_nn_before_steps(g, c->vjp_in[HIDDEN], c->vjp_out[0], reverse);
    mica_composite_cotangent(
        c, mica_dot(g, d[1], before, MICA_INTS(0, 1), MICA_INTS(0, 1), MICA_NO_INTS, MICA_NO_INTS));
    mica_composite_cotangent(c, mica_sum(g, d[1], MICA_INTS(0, 1)));
}

static bool check_steps(mica_graph *g, const mica_value operands[OPERANDS]) {
    if (!mica_nn_check(g, "gru_steps", operands, OPERANDS, 0, true)) return false;
    mica_type x = mica_nn_type(operands[PROJECTED]), h = mica_nn_type(operands[HIDDEN]);
    mica_type w = mica_nn_type(operands[HIDDEN_WEIGHTS]), b = mica_nn_type(operands[HIDDEN_BIAS]);
    int64_t n = x.rank == 3 ? x.dims[1] : -1, size = h.rank == 2 ? h.dims[1] : -1;
    bool fits = n >= 0 && size >= 0 && h.dims[0] == n && x.dims[2] == GATES * size && w.rank == 2 &&
                w.dims[0] == GATES * size && w.dims[1] == size && b.rank == 1 &&
                b.dims[0] == GATES * size;
    if (!fits)
        MICA_NN_FAIL(g,
                     "[gru_steps] projected inputs %s must be (T, N, 3 H), the hidden state %s "
                     "(N, H), the weights %s (3 H, H), the bias %s (3 H)",
                     mica_nn_type_text(&x).chars, mica_nn_type_text(&h).chars,
                     mica_nn_type_text(&w).chars, mica_nn_type_text(&b).chars);
    return fits;
}

void mica_nn_gru_steps(mica_graph *g, mica_value projected, mica_value hidden, mica_value weights,
                       mica_value bias, bool reverse, mica_value out[2]) {
    MICA_GIVEN_TO(g, out);
    mica_value operands[OPERANDS] = {projected, hidden, weights, bias};
    mica_composite c;
    out[0] = out[1] = MICA_NULL_VALUE;
    if (!check_steps(g, operands)) return;
    if (!mica_composite_begin(&c, g, "mica.gru_steps", operands, OPERANDS)) return;
    mica_value all[] = {c.in[HIDDEN_WEIGHTS], c.in[HIDDEN_BIAS], c.in[HIDDEN], c.in[PROJECTED]};
    mica_value results[3];
    mica_nn_loop loop = {"gru_step", 2, 1, 1, 3, forward_step, reverse};
    mica_nn_loop_over_time(c.body, &loop, all, results);
    for (int32_t i = 0; i < 2; i++) mica_composite_result(&c, results[1 + i]);
    if (mica_nn_type(projected).dims[0] > 0 && mica_composite_begin_vjp(&c)) build_vjp(&c, reverse);
    mica_composite_end(&c, false, out, "reverse=%d", (int)reverse);
}
