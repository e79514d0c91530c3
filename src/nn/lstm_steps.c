/* The recurrence of an LSTM: what is left when the products with the inputs are taken out of the
 * loop, as a composite that a device can compute in one go.
 *
 * Besides outputs and cells it returns the gates, so that the backward pass needs nothing but the
 * results. Its vjp is the loop backward, again a composite (mica.lstm_steps.back), and what can be
 * one product over all steps: the gradient of the weights. */
#include "nn/recurrent.h"

enum { GATES = 4 };

/* ---- forward ----------------------------------------------------------------------------------*/

/* in: weights, h, c, projected; out: h, c, then per step y, c, gates. */
static void forward_step(mica_graph *g, const mica_value *in, int64_t hidden, mica_value *out) {
    mica_value sums =
        mica_add(g, in[3],
                 mica_dot(g, in[1], in[0], MICA_INTS(1), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS));
    mica_value gate[GATES];
    for (int32_t i = 0; i < GATES; i++) {
        gate[i] = mica_nn_gate(g, sums, 1, i, hidden);
        gate[i] = i == 2 ? mica_tanh(g, gate[i]) : mica_logistic(g, gate[i]);
    }
    mica_value cell = mica_add(g, mica_mul(g, gate[1], in[2]), mica_mul(g, gate[0], gate[2]));
    out[0] = out[2] = mica_mul(g, gate[3], mica_tanh(g, cell));
    out[1] = out[3] = cell;
    out[4] = mica_concat(g, gate, GATES, 1);
}

/* ---- backward ---------------------------------------------------------------------------------*/

/* in: weights, dh, dc, then of the step gates, cell, cell before, dy, dcell, dgates;
 * out: dh, dc of the step before, dz. */
static void backward_step(mica_graph *g, const mica_value *in, int64_t hidden, mica_value *out) {
    mica_value gate[GATES], d[GATES], own[GATES];
    for (int32_t i = 0; i < GATES; i++) {
        gate[i] = mica_nn_gate(g, in[3], 1, i, hidden);
        own[i] = mica_nn_gate(g, in[8], 1, i, hidden);
    }
    mica_value one = mica_nn_number(g, in[4], 1);
    mica_value dh = mica_add(g, in[6], in[1]), bent = mica_tanh(g, in[4]);
    mica_value slope = mica_sub(g, one, mica_mul(g, bent, bent));
    mica_value dc = mica_mul(g, mica_mul(g, dh, gate[3]), slope);
    dc = mica_add(g, mica_add(g, dc, in[7]), in[2]);
    d[0] = mica_mul(g, dc, gate[2]);
    d[1] = mica_mul(g, dc, in[5]);
    d[2] = mica_mul(g, dc, gate[0]);
    d[3] = mica_mul(g, dh, bent);
    for (int32_t i = 0; i < GATES; i++) {
        mica_value rest = mica_sub(g, one, i == 2 ? mica_mul(g, gate[i], gate[i]) : gate[i]);
        if (i != 2) rest = mica_mul(g, gate[i], rest);
        d[i] = mica_mul(g, mica_add(g, d[i], own[i]), rest);
    }
    out[2] = mica_concat(g, d, GATES, 1);
    out[0] = mica_dot(g, out[2], in[0], MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS);
    out[1] = mica_mul(g, dc, gate[1]);
}

enum { GATES_IN, CELLS, FIRST_CELL, WEIGHTS, DY, DCELLS, DGATES, BACK_OPERANDS };

/* out: dz (T, N, 4 H), then dh and dc of what came before the first step. */
static void loop_backward(mica_graph *g, const mica_value operands[BACK_OPERANDS], bool reverse,
                          mica_value out[3]) {
    mica_composite c;
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (!mica_composite_begin(&c, g, "mica.lstm_steps.back", operands, BACK_OPERANDS)) return;
    mica_type state = mica_nn_type(c.in[FIRST_CELL]);
    mica_value zero =
        mica_broadcast_to(c.body, mica_nn_number(c.body, c.in[DY], 0), mica_nn_dims(&state));
    mica_value all[] = {
        c.in[WEIGHTS], zero,
        zero,          c.in[GATES_IN],
        c.in[CELLS],   mica_nn_before_steps(c.body, c.in[FIRST_CELL], c.in[CELLS], reverse),
        c.in[DY],      c.in[DCELLS],
        c.in[DGATES]};
    mica_value results[3];
    mica_nn_loop loop = {"lstm_step", 1, 2, 6, 3, backward_step, !reverse};
    mica_nn_loop_over_time(c.body, &loop, all, results);
    mica_composite_result(&c, results[2]);
    mica_composite_result(&c, results[0]);
    mica_composite_result(&c, results[1]);
    mica_composite_end(&c, false, out, "reverse=%d", (int)reverse);
}

/* ---- the composite ----------------------------------------------------------------------------*/

enum { PROJECTED, HIDDEN, CELL, HIDDEN_WEIGHTS, OPERANDS };

static void build_vjp(mica_composite *c, bool reverse) {
    mica_graph *g = c->vjp;
    mica_value back[BACK_OPERANDS] = {
        c->vjp_out[2],       c->vjp_out[1],       c->vjp_in[CELL],    c->vjp_in[HIDDEN_WEIGHTS],
        c->vjp_cotangent[0], c->vjp_cotangent[1], c->vjp_cotangent[2]};
    mica_value d[3];
    loop_backward(g, back, reverse, d);
    for (int32_t i = 0; i < 3; i++) mica_composite_cotangent(c, d[i]);
    mica_value before = mica_nn_before_steps(g, c->vjp_in[HIDDEN], c->vjp_out[0], reverse);
    mica_composite_cotangent(
        c, mica_dot(g, d[0], before, MICA_INTS(0, 1), MICA_INTS(0, 1), MICA_NO_INTS, MICA_NO_INTS));
}

static bool check_steps(mica_graph *g, const mica_value operands[OPERANDS]) {
    if (!mica_nn_check(g, "lstm_steps", operands, OPERANDS, 0, true)) return false;
    mica_type x = mica_nn_type(operands[PROJECTED]), h = mica_nn_type(operands[HIDDEN]);
    mica_type c = mica_nn_type(operands[CELL]), w = mica_nn_type(operands[HIDDEN_WEIGHTS]);
    int64_t n = x.rank == 3 ? x.dims[1] : -1, size = h.rank == 2 ? h.dims[1] : -1;
    bool fits = n >= 0 && size >= 0 && h.dims[0] == n && x.dims[2] == GATES * size &&
                mica_type_equal(&h, &c) && w.rank == 2 && w.dims[0] == GATES * size &&
                w.dims[1] == size;
    if (!fits)
        MICA_NN_FAIL(
            g,
            "[lstm_steps] projected inputs %s must be (T, N, 4 H), the hidden state %s and "
            "the cell %s (N, H), the weights %s (4 H, H)",
            mica_nn_type_text(&x).chars, mica_nn_type_text(&h).chars, mica_nn_type_text(&c).chars,
            mica_nn_type_text(&w).chars);
    return fits;
}

void mica_nn_lstm_steps(mica_graph *g, mica_value projected, mica_value hidden, mica_value cell,
                        mica_value weights, bool reverse, mica_value out[3]) {
    MICA_GIVEN_TO(g, out);
    mica_value operands[OPERANDS] = {projected, hidden, cell, weights};
    mica_composite c;
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (!check_steps(g, operands)) return;
    if (!mica_composite_begin(&c, g, "mica.lstm_steps", operands, OPERANDS)) return;
    mica_value all[] = {c.in[HIDDEN_WEIGHTS], c.in[HIDDEN], c.in[CELL], c.in[PROJECTED]};
    mica_value results[5];
    mica_nn_loop loop = {"lstm_step", 1, 2, 1, 5, forward_step, reverse};
    mica_nn_loop_over_time(c.body, &loop, all, results);
    for (int32_t i = 0; i < 3; i++) mica_composite_result(&c, results[2 + i]);
    if (mica_nn_type(projected).dims[0] > 0 && mica_composite_begin_vjp(&c)) build_vjp(&c, reverse);
    mica_composite_end(&c, false, out, "reverse=%d", (int)reverse);
}
