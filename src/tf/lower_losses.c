/* Losses whose gradient is TensorFlow's own.
 *
 * SoftmaxCrossEntropyWithLogits is -sum(y log softmax(x)). Its gradient by x is softmax(x) - y,
 * also where the labels y do not sum to 1, and that gradient counts as independent of y; its
 * gradient by y is -log softmax(x). Both are given as a graph of their own, which transforms read
 * instead of the function. */
#include "mica/nn.h"
#include "tf/lower_rules.h"

typedef struct operands {
    mica_value x, y; /* (rows, classes) */
} operands;

static operands parameters_like(mica_graph *g, const operands *o) {
    mica_value x = mica_parameter(g, mica_value_type(o->x));
    return (operands){x, mica_parameter(g, mica_value_type(o->y))};
}

static mica_value slope_of(mica_graph *g, operands o) {
    return mica_sub(g, mica_nn_softmax(g, o.x, 1), mica_nn_stop_gradient(g, o.y));
}

static void write_function(mica_graph *g, const operands *o) {
    operands of = parameters_like(g, o);
    mica_value terms = mica_mul(g, of.y, mica_nn_log_softmax(g, of.x, 1));
    mica_output(g, mica_neg(g, mica_reduce(g, terms, "sum", MICA_INTS(1))));
}

/* Parameters: x, y, the loss, its cotangent. */
static void write_gradient(mica_graph *g, const operands *o) {
    const mica_type *type = mica_value_type(o->x);
    mica_type rows = mica_type_make(type->dtype, MICA_INTS(type->dims[0]));
    operands of = parameters_like(g, o);
    mica_parameter(g, &rows);
    mica_value cotangent = mica_parameter(g, &rows);
    cotangent = mica_broadcast(g, cotangent, (mica_ints){type->dims, 2}, MICA_INTS(0));
    mica_output(g, mica_mul(g, cotangent, slope_of(g, of)));
    mica_output(g, mica_mul(g, cotangent, mica_neg(g, mica_nn_log_softmax(g, of.x, 1))));
}

static mica_graph *region(mica_tf_lowering *c, const char *name, const operands *o,
                          void (*write)(mica_graph *, const operands *)) {
    mica_graph *g = NULL;
    mica_status status = mica_graph_create(name, &g);
    if (!status) {
        write(g, o);
        status = mica_graph_check(g);
    }
    if (!status) return g;
    mica_graph_fail(c->g, status);
    mica_graph_release(g);
    return NULL;
}

void tf_lower_softmax_cross_entropy(mica_tf_lowering *c) {
    const mica_tf_shape *shape = &c->shapes[1];
    mica_tf_shape rows;
    if (!mica_tf_result_dims(c, &rows)) return;
    mica_ints dims = {shape->dims, shape->rank};
    operands o = {mica_broadcast_to(c->g, c->inputs[0], dims),
                  mica_broadcast_to(c->g, c->inputs[1], dims)};
    if (mica_value_is_null(o.x) || mica_value_is_null(o.y)) return;
    mica_graph *function = region(c, "softmax_cross_entropy", &o, write_function);
    mica_graph *gradient =
        function ? region(c, "softmax_cross_entropy_gradient", &o, write_gradient) : NULL;
    mica_value both[] = {o.x, o.y};
    if (gradient) mica_custom_gradient(c->g, function, gradient, both, 2, &c->outputs[0]);
    c->outputs[1] = slope_of(c->g, o);
    mica_graph_release(function);
    mica_graph_release(gradient);
}
