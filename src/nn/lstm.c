/* LSTM: one composite per layer and direction, a loop over time inside.
 *
 * The products with the inputs of all steps are one contraction before the loop; what is left in
 * it is the product with the hidden state. Without peepholes, lengths and activations of another
 * kind the loop is mica_nn_lstm_steps, else a scan. */
#include "nn/compose.h"

#include <stdio.h>

#include "base/memory.h"

enum { GATES = 4 };

/* Operands of one layer's composite. */
enum {
    X,
    HIDDEN,
    CELL,
    LENGTHS,
    INPUT_WEIGHTS,
    HIDDEN_WEIGHTS = INPUT_WEIGHTS + GATES,
    PEEPHOLES = HIDDEN_WEIGHTS + GATES,
    BIASES = PEEPHOLES + GATES,
    OPERANDS = BIASES + GATES
};

/* Operands of the scan: constants, carry, what is read step by step. */
typedef struct step {
    mica_value hidden_weights, peepholes[GATES], hidden, cell, projected, active;
} step;

static const char where[] = "lstm";

/* ---- one step ---------------------------------------------------------------------------------*/

/* V c: element by element, or a matrix. */
static mica_value peep(mica_graph *g, mica_value before, mica_value v, mica_value cell) {
    if (mica_value_is_null(v)) return before;
    mica_value seen = mica_nn_type(v).rank == 2 ? mica_dot(g, cell, v, MICA_INTS(1), MICA_INTS(1),
                                                           MICA_NO_INTS, MICA_NO_INTS)
                                                : mica_mul(g, cell, v);
    return mica_add(g, before, seen);
}

static void lstm_step(mica_graph *g, const step *s, const mica_nn_lstm_options *o,
                      mica_value out[3]) {
    int64_t h = o->hidden_size;
    mica_value sums = mica_add(g, s->projected,
                               mica_dot(g, s->hidden, s->hidden_weights, MICA_INTS(1), MICA_INTS(1),
                                        MICA_NO_INTS, MICA_NO_INTS));
    mica_value gate[GATES];
    for (int32_t i = 0; i < 3; i++) {
        gate[i] = peep(g, mica_nn_part(g, sums, 1, i * h, (i + 1) * h), s->peepholes[i], s->cell);
        gate[i] = mica_nn_activate(g, gate[i], o->gates[i]);
    }
    mica_value cell = mica_add(g, mica_mul(g, gate[1], s->cell), mica_mul(g, gate[0], gate[2]));
    gate[3] = peep(g, mica_nn_part(g, sums, 1, 3 * h, 4 * h), s->peepholes[3], cell);
    gate[3] = mica_nn_activate(g, gate[3], o->gates[3]);
    mica_value hidden = mica_mul(g, gate[3], mica_nn_activate(g, cell, o->output));
    out[0] = hidden;
    out[1] = cell;
    out[2] = hidden;
    if (mica_value_is_null(s->active)) return;
    mica_type type = mica_nn_type(hidden);
    mica_value active = mica_broadcast_to(g, s->active, mica_nn_dims(&type));
    out[0] = mica_select(g, active, hidden, s->hidden);
    out[1] = mica_select(g, active, cell, s->cell);
    out[2] = mica_select(g, active, hidden, mica_nn_number(g, hidden, 0));
}

/* ---- the scan ---------------------------------------------------------------------------------*/

static mica_value parameter_of(mica_graph *body, mica_value value, bool steps) {
    if (mica_value_is_null(value)) return value;
    mica_type type = mica_nn_type(value);
    if (steps) {
        for (int32_t i = 1; i < type.rank; i++) type.dims[i - 1] = type.dims[i];
        type.dims[--type.rank] = 0;
    }
    return mica_parameter(body, &type);
}

/* Runs the steps over time; out: final hidden, final cell, outputs (T, N, H). */
static void scan_steps(mica_graph *g, const step *all, const mica_nn_lstm_options *o,
                       int64_t length, bool reverse, mica_value out[3]) {
    mica_graph *body = NULL;
    mica_value operands[GATES + 5], results[3];
    int32_t n = 0, n_consts;
    mica_status status = mica_graph_create("lstm_step", &body);
    if (status) {
        mica_graph_fail(g, status);
        return;
    }
    step inner = {.hidden_weights = parameter_of(body, all->hidden_weights, false)};
    operands[n++] = all->hidden_weights;
    for (int32_t i = 0; i < GATES; i++) {
        inner.peepholes[i] = parameter_of(body, all->peepholes[i], false);
        if (!mica_value_is_null(all->peepholes[i])) operands[n++] = all->peepholes[i];
    }
    n_consts = n;
    inner.hidden = parameter_of(body, operands[n++] = all->hidden, false);
    inner.cell = parameter_of(body, operands[n++] = all->cell, false);
    inner.projected = parameter_of(body, operands[n++] = all->projected, true);
    inner.active = parameter_of(body, all->active, true);
    if (!mica_value_is_null(all->active)) operands[n++] = all->active;
    lstm_step(body, &inner, o, results);
    for (int32_t i = 0; i < 3; i++) mica_output(body, results[i]);
    status = mica_graph_take_error(body);
    if (status)
        mica_graph_fail(g, status);
    else
        mica_scan(g, body, operands, n, n_consts, 2, length, reverse, out);
    mica_graph_release(body);
}

/* ---- one layer --------------------------------------------------------------------------------*/

/* Whether each step lies inside its sequence: bool (T, N, 1) */
static mica_value active_steps(mica_graph *g, mica_value lengths, int64_t time, int64_t batch) {
    if (mica_value_is_null(lengths)) return lengths;
    mica_dtype dtype = mica_nn_type(lengths).dtype;
    mica_value steps = mica_iota(g, MICA_INTS(time, batch, 1), 0, dtype);
    return mica_compare(g, steps, mica_reshape(g, lengths, MICA_INTS(1, batch, 1)), "lt");
}

/* What mica_nn_lstm_steps computes. */
static bool is_plain(const mica_composite *c, const mica_nn_lstm_options *o, int64_t time) {
    static const mica_nn_activation_kind kinds[GATES] = {MICA_NN_SIGMOID, MICA_NN_SIGMOID,
                                                         MICA_NN_TANH, MICA_NN_SIGMOID};
    for (int32_t i = 0; i < GATES; i++)
        if (o->gates[i].kind != kinds[i] || !mica_value_is_null(c->in[PEEPHOLES + i])) return false;
    const mica_nn_activation *bend[] = {&o->gates[2], &o->output};
    for (int32_t i = 0; i < 2; i++)
        if (bend[i]->kind != MICA_NN_TANH || bend[i]->a != 1 || bend[i]->b != 1) return false;
    return time > 0 && mica_value_is_null(c->in[LENGTHS]);
}

/* out: final hidden, final cell, outputs (T, N, H) */
static void plain_steps(mica_graph *g, const step *all, int64_t time, bool reverse,
                        mica_value out[3]) {
    mica_value steps[3];
    mica_type state = mica_nn_type(all->hidden);
    int64_t last = reverse ? 0 : time - 1;
    mica_nn_lstm_steps(g, all->projected, all->hidden, all->cell, all->hidden_weights, reverse,
                       steps);
    out[2] = steps[0];
    for (int32_t i = 0; i < 2; i++)
        out[i] =
            mica_reshape(g, mica_nn_part(g, steps[i], 0, last, last + 1), mica_nn_dims(&state));
}

static void build_layer(mica_composite *c, const mica_nn_lstm_options *o, bool reverse,
                        mica_value results[3]) {
    mica_graph *g = c->body;
    mica_type x = mica_nn_type(c->in[X]);
    mica_value steps = mica_transpose(g, c->in[X], MICA_INTS(1, 0, 2));
    mica_value projected = mica_dot(g, steps, mica_concat(g, &c->in[INPUT_WEIGHTS], GATES, 0),
                                    MICA_INTS(2), MICA_INTS(1), MICA_NO_INTS, MICA_NO_INTS);
    if (!mica_value_is_null(c->in[BIASES]))
        projected = mica_add(g, projected, mica_concat(g, &c->in[BIASES], GATES, 0));
    step all = {.hidden_weights = mica_concat(g, &c->in[HIDDEN_WEIGHTS], GATES, 0),
                .hidden = c->in[HIDDEN],
                .cell = c->in[CELL],
                .projected = projected,
                .active = active_steps(g, c->in[LENGTHS], x.dims[1], x.dims[0])};
    for (int32_t i = 0; i < GATES; i++) all.peepholes[i] = c->in[PEEPHOLES + i];
    mica_value out[3] = {MICA_NULL_VALUE, MICA_NULL_VALUE, MICA_NULL_VALUE};
    if (is_plain(c, o, x.dims[1]))
        plain_steps(g, &all, x.dims[1], reverse, out);
    else
        scan_steps(g, &all, o, x.dims[1], reverse, out);
    results[0] = mica_transpose(g, out[2], MICA_INTS(1, 0, 2));
    results[1] = out[0];
    results[2] = out[1];
}

/* out: outputs (N, T, H), hidden and cell (N, H) */
static void lstm_layer(mica_graph *g, const mica_value *operands, const mica_nn_lstm_options *o,
                       bool reverse, mica_value out[3]) {
    mica_composite c;
    mica_value results[3];
    char kinds[96];
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (!mica_composite_begin(&c, g, "lstm", operands, OPERANDS)) return;
    build_layer(&c, o, reverse, results);
    for (int32_t i = 0; i < 3; i++) mica_composite_result(&c, results[i]);
    snprintf(kinds, sizeof kinds, "%d,%d,%d,%d,%d", (int)o->gates[0].kind, (int)o->gates[1].kind,
             (int)o->gates[2].kind, (int)o->gates[3].kind, (int)o->output.kind);
    mica_composite_end(&c, false, out, "hidden=%lld reverse=%d activations=%s",
                       (long long)o->hidden_size, (int)reverse, kinds);
}

/* ---- checks -----------------------------------------------------------------------------------*/

typedef struct network {
    const mica_nn_lstm_weights *weights;
    const mica_nn_lstm_options *options;
    int64_t batch, time, hidden;
    int32_t layers, directions;
    mica_value initial_hidden, initial_cell, lengths, key;
} network;

static bool has_shape(mica_graph *g, const char *what, int32_t i, mica_value v, mica_ints shape) {
    mica_type type = mica_nn_type(v), wanted = mica_type_make(type.dtype, shape);
    if (!mica_value_is_null(v) && mica_type_equal(&type, &wanted)) return true;
    MICA_NN_FAIL(g, "[lstm] %s %d must have shape %s, not %s", what, (int)i,
                 mica_nn_ints_text(shape).chars,
                 mica_value_is_null(v) ? "null" : mica_nn_type_text(&type).chars);
    return false;
}

static bool check_state(mica_graph *g, const char *what, mica_value v, const network *net) {
    return mica_value_is_null(v) ||
           has_shape(g, what, 0, v,
                     MICA_INTS(net->layers, net->directions, net->batch, net->hidden));
}

static bool check_network(mica_graph *g, mica_value x, network *net) {
    const mica_nn_lstm_options *o = net->options;
    mica_type type = mica_nn_type(x);
    if (type.rank != 3 || o->hidden_size < 1 || o->layer_count < 1 || o->layer_count > 1 << 20 ||
        !net->weights->input || !net->weights->hidden) {
        MICA_NN_FAIL(g, "[lstm] input %s must be (N, T, F), with hidden size %lld and %lld layers",
                     mica_nn_type_text(&type).chars, (long long)o->hidden_size,
                     (long long)o->layer_count);
        return false;
    }
    net->batch = type.dims[0];
    net->time = type.dims[1];
    net->hidden = o->hidden_size;
    net->layers = (int32_t)o->layer_count;
    net->directions = o->bidirectional ? 2 : 1;
    if (!check_state(g, "the initial hidden state", net->initial_hidden, net) ||
        !check_state(g, "the initial cell state", net->initial_cell, net))
        return false;
    mica_type lengths = mica_nn_type(net->lengths);
    if (!mica_value_is_null(net->lengths) && mica_type_elements(&lengths) != net->batch) {
        MICA_NN_FAIL(g, "[lstm] sequence lengths %s must be one for each of %lld examples",
                     mica_nn_type_text(&lengths).chars, (long long)net->batch);
        return false;
    }
    if (!mica_value_is_null(net->lengths)) net->lengths = mica_nn_indices(g, where, net->lengths);
    return true;
}

/* Weights of H elements as (H); a peephole may also be (H, H). */
static mica_value vector_of(mica_graph *g, const char *what, int32_t i, mica_value v,
                            int64_t hidden, bool or_matrix) {
    mica_type type = mica_nn_type(v);
    if (mica_value_is_null(v) || (or_matrix && type.rank == 2 && type.dims[0] == hidden &&
                                  type.dims[1] == hidden && hidden > 1))
        return v;
    if (mica_type_elements(&type) == hidden) return mica_reshape(g, v, MICA_INTS(hidden));
    has_shape(g, what, i, v, MICA_INTS(hidden));
    return MICA_NULL_VALUE;
}

/* ---- the network ------------------------------------------------------------------------------*/

/* (layers, directions, N, H)[layer, direction], or zeros */
static mica_value state_of(mica_graph *g, mica_value states, const network *net, mica_value like,
                           int32_t layer, int32_t direction) {
    if (mica_value_is_null(states))
        return mica_broadcast_to(g, mica_nn_number(g, like, 0), MICA_INTS(net->batch, net->hidden));
    states = mica_nn_part(g, states, 0, layer, layer + 1);
    states = mica_nn_part(g, states, 1, direction, direction + 1);
    return mica_reshape(g, states, MICA_INTS(net->batch, net->hidden));
}

static bool gather_operands(mica_graph *g, const network *net, mica_value x, int32_t layer,
                            int32_t direction, mica_value operands[OPERANDS]) {
    int64_t features = mica_nn_type(x).dims[2], h = net->hidden;
    const mica_nn_lstm_weights *w = net->weights;
    operands[X] = x;
    operands[HIDDEN] = state_of(g, net->initial_hidden, net, x, layer, direction);
    operands[CELL] = state_of(g, net->initial_cell, net, x, layer, direction);
    operands[LENGTHS] = net->lengths;
    for (int32_t i = 0; i < GATES; i++) {
        int32_t k = (direction * net->layers + layer) * GATES + i;
        operands[INPUT_WEIGHTS + i] = w->input[k];
        operands[HIDDEN_WEIGHTS + i] = w->hidden[k];
        if (!has_shape(g, "input weights", k, w->input[k], MICA_INTS(h, features)) ||
            !has_shape(g, "hidden weights", k, w->hidden[k], MICA_INTS(h, h)))
            return false;
        mica_value none = MICA_NULL_VALUE;
        operands[PEEPHOLES + i] =
            vector_of(g, "peephole", k, w->peephole ? w->peephole[k] : none, h, true);
        operands[BIASES + i] = vector_of(g, "bias", k, w->bias ? w->bias[k] : none, h, false);
        if (w->bias && mica_value_is_null(operands[BIASES + i])) {
            MICA_NN_FAIL(g, "[lstm] bias %d is null: give all biases or none", (int)k);
            return false;
        }
    }
    return mica_nn_check(g, where, operands, LENGTHS, 0, true) &&
           mica_nn_check(g, where, operands + INPUT_WEIGHTS, OPERANDS - INPUT_WEIGHTS, ~0u, true);
}

/* All directions of a layer: its outputs side by side, its states into the lists. */
static mica_value run_layer(mica_graph *g, const network *net, mica_value x, int32_t layer,
                            mica_value *hidden, mica_value *cell) {
    mica_value operands[OPERANDS], results[3], outputs[2];
    for (int32_t d = 0; d < net->directions; d++) {
        if (!gather_operands(g, net, x, layer, d, operands)) return MICA_NULL_VALUE;
        lstm_layer(g, operands, net->options, d == 1, results);
        mica_ints shape = MICA_INTS(1, net->batch, net->hidden);
        outputs[d] = results[0];
        hidden[layer * net->directions + d] = mica_reshape(g, results[1], shape);
        cell[layer * net->directions + d] = mica_reshape(g, results[2], shape);
    }
    return net->directions == 1 ? outputs[0] : mica_concat(g, outputs, 2, 2);
}

/* The last outputs of the last layer's directions side by side: (N, directions H) */
static mica_value last_output(mica_graph *g, const network *net, const mica_value *hidden) {
    mica_value parts[2];
    for (int32_t d = 0; d < net->directions; d++)
        parts[d] = mica_reshape(g, hidden[(net->layers - 1) * net->directions + d],
                                MICA_INTS(net->batch, net->hidden));
    return net->directions == 1 ? parts[0] : mica_concat(g, parts, 2, 1);
}

static void run_network(mica_graph *g, const network *net, mica_value x, mica_value *hidden,
                        mica_value *cell, mica_value out[3]) {
    int32_t n = net->layers * net->directions;
    for (int32_t layer = 0; layer < net->layers; layer++) {
        if (layer && net->options->dropout > 0)
            x = mica_nn_dropout(g, x, net->options->dropout, net->key, layer);
        if (mica_value_is_null(x)) return;
        x = run_layer(g, net, x, layer, hidden, cell);
    }
    if (mica_value_is_null(x)) return;
    mica_ints shape = MICA_INTS(net->layers, net->directions, net->batch, net->hidden);
    out[0] = net->options->returns_sequences ? x : last_output(g, net, hidden);
    out[1] = mica_reshape(g, mica_concat(g, hidden, n, 0), shape);
    out[2] = mica_reshape(g, mica_concat(g, cell, n, 0), shape);
}

void mica_nn_lstm(mica_graph *g, mica_value x, const mica_nn_lstm_weights *weights,
                  mica_value initial_hidden, mica_value initial_cell, mica_value lengths,
                  mica_value key, const mica_nn_lstm_options *options, mica_value out[3]) {
    MICA_GIVEN_TO(g, out);
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (!mica_nn_check_options(g, where, options, sizeof *options) ||
        !mica_nn_check_options(g, where, weights, sizeof *weights) ||
        !mica_nn_check(g, where, &x, 1, 0, true))
        return;
    network net = {.weights = weights,
                   .options = options,
                   .initial_hidden = initial_hidden,
                   .initial_cell = initial_cell,
                   .lengths = lengths,
                   .key = key};
    if (!check_network(g, x, &net)) return;
    size_t n = (size_t)(net.layers * net.directions);
    mica_value *states = mica_calloc(2 * n, sizeof *states);
    if (!states) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return;
    }
    run_network(g, &net, x, states, states + n, out);
    mica_free(states);
}
