/* The recurrence of an LSTM: what is left when the products with the inputs are taken out of the
 * loop, as a composite that a device can compute in one go.
 *
 * Besides outputs and cells it returns the gates, so that the way back needs nothing but the
 * results. Its vjp is the loop backward, again a composite (mica.lstm_steps.back), and what can be
 * one product over all steps: the gradient of the weights. */
#include "nn/compose.h"

enum { GATES = 4 };

/* Elements of gate i of (..., 4 H). */
static mica_value gate_of(mica_graph *g, mica_value x, int32_t axis, int32_t i, int64_t hidden) {
    return mica_nn_part(g, x, axis, i * hidden, (i + 1) * hidden);
}

static mica_value parameter_like(mica_graph *body, mica_value value, bool steps) {
    mica_type type = mica_nn_type(value);
    if (steps) {
        for (int32_t i = 1; i < type.rank; i++) type.dims[i - 1] = type.dims[i];
        type.dims[--type.rank] = 0;
    }
    return mica_parameter(body, &type);
}

/* One step of a loop: builds in body from its parameters, writes results (carry first). */
typedef void (*step_builder)(mica_graph *body, const mica_value *in, int64_t hidden,
                             mica_value *out);

/* A scan over time with one constant, two carries and n_steps values read step by step. */
static void scan_over_time(mica_graph *g, const mica_value *operands, int32_t n_steps,
                           step_builder build, int32_t n_results, bool reverse, mica_value *out) {
    mica_graph *body = NULL;
    mica_value in[12], results[8];
    int32_t n = 3 + n_steps;
    for (int32_t i = 0; i < n_results; i++) out[i] = MICA_NULL_VALUE;
    mica_status status = mica_graph_create("lstm_step", &body);
    if (status) {
        mica_graph_fail(g, status);
        return;
    }
    for (int32_t i = 0; i < n; i++) in[i] = parameter_like(body, operands[i], i >= 3);
    build(body, in, mica_nn_type(operands[1]).dims[1], results);
    for (int32_t i = 0; i < n_results; i++) mica_output(body, results[i]);
    status = mica_graph_take_error(body);
    if (status)
        mica_graph_fail(g, status);
    else
        mica_scan(g, body, operands, n, 1, 2, mica_nn_type(operands[3]).dims[0], reverse, out);
    mica_graph_release(body);
}

/* ---- forward ----------------------------------------------------------------------------------*/

/* in: weights, h, c, projected; out: h, c, then per step y, c, gates. */
static void forward_step(mica_graph *g, const mica_value *in, int64_t hidden, mica_value *out) {
    mica_value sums =
        mica_add(g, in[3],
                 mica_dot(g, in[1], in[0], MICA_INTS(1), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS));
    mica_value gate[GATES];
    for (int32_t i = 0; i < GATES; i++) {
        gate[i] = gate_of(g, sums, 1, i, hidden);
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
        gate[i] = gate_of(g, in[3], 1, i, hidden);
        own[i] = gate_of(g, in[8], 1, i, hidden);
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

/* (1, N, H) before or after the steps, without the step at the other end: what each step began
 * with. */
static mica_value shifted(mica_graph *g, mica_value first, mica_value steps, bool reverse) {
    mica_type type = mica_nn_type(steps);
    int64_t time = type.dims[0];
    first = mica_reshape(g, first, MICA_INTS(1, type.dims[1], type.dims[2]));
    if (time == 1) return first;
    mica_value rest = mica_nn_part(g, steps, 0, reverse ? 1 : 0, reverse ? time : time - 1);
    mica_value parts[2] = {reverse ? rest : first, reverse ? first : rest};
    return mica_concat(g, parts, 2, 0);
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
        c.in[WEIGHTS],  zero,         zero,
        c.in[GATES_IN], c.in[CELLS],  shifted(c.body, c.in[FIRST_CELL], c.in[CELLS], reverse),
        c.in[DY],       c.in[DCELLS], c.in[DGATES]};
    mica_value results[3];
    scan_over_time(c.body, all, 6, backward_step, 3, !reverse, results);
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
    mica_value before = shifted(g, c->vjp_in[HIDDEN], c->vjp_out[0], reverse);
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
    mica_value operands[OPERANDS] = {projected, hidden, cell, weights};
    mica_composite c;
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (!check_steps(g, operands)) return;
    if (!mica_composite_begin(&c, g, "mica.lstm_steps", operands, OPERANDS)) return;
    mica_value all[] = {c.in[HIDDEN_WEIGHTS], c.in[HIDDEN], c.in[CELL], c.in[PROJECTED]};
    mica_value results[5];
    scan_over_time(c.body, all, 1, forward_step, 5, reverse, results);
    for (int32_t i = 0; i < 3; i++) mica_composite_result(&c, results[2 + i]);
    if (mica_nn_type(projected).dims[0] > 0 && mica_composite_begin_vjp(&c)) build_vjp(&c, reverse);
    mica_composite_end(&c, false, out, "reverse=%d", (int)reverse);
}
