/* Loops over time. */
#include "nn/recurrent.h"

mica_value mica_nn_gate(mica_graph *g, mica_value x, int32_t axis, int32_t i, int64_t hidden) {
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

void mica_nn_loop_over_time(mica_graph *g, const mica_nn_loop *loop, const mica_value *operands,
                            mica_value *out) {
    mica_graph *body = NULL;
    mica_value in[12], results[8];
    int32_t fixed = loop->consts + loop->carries, n = fixed + loop->steps;
    for (int32_t i = 0; i < loop->results; i++) out[i] = MICA_NULL_VALUE;
    mica_status status = mica_graph_create(loop->name, &body);
    if (status) {
        mica_graph_fail(g, status);
        return;
    }
    for (int32_t i = 0; i < n; i++) in[i] = parameter_like(body, operands[i], i >= fixed);
    loop->build(body, in, mica_nn_type(operands[loop->consts]).dims[1], results);
    for (int32_t i = 0; i < loop->results; i++) mica_output(body, results[i]);
    status = mica_graph_take_error(body);
    if (status)
        mica_graph_fail(g, status);
    else
        mica_scan(g, body, operands, n, loop->consts, loop->carries,
                  mica_nn_type(operands[fixed]).dims[0], loop->reverse, out);
    mica_graph_release(body);
}

mica_value mica_nn_before_steps(mica_graph *g, mica_value first, mica_value steps, bool reverse) {
    mica_type type = mica_nn_type(steps);
    int64_t time = type.dims[0];
    first = mica_reshape(g, first, MICA_INTS(1, type.dims[1], type.dims[2]));
    if (time == 1) return first;
    mica_value rest = mica_nn_part(g, steps, 0, reverse ? 1 : 0, reverse ? time : time - 1);
    mica_value parts[2] = {reverse ? rest : first, reverse ? first : rest};
    return mica_concat(g, parts, 2, 0);
}
