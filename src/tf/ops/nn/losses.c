/* Losses whose gradient is TensorFlow's own: the cross entropy of softmax(x), with labels y as
 * probabilities or as numbers of classes.
 *
 * Both are -sum(y log softmax(x)), as log(total) - (x - top) with the largest of a row and the sum
 * of e^(x - top). These two are results of the function as well, so that the gradient computes
 * neither again; nothing changes with what is subtracted, so top counts as constant there. The
 * gradient by x is softmax(x) - y, also where the labels y do not sum to 1, and it counts as
 * independent of y; the gradient by y is -log softmax(x). */
#include <math.h>

#include "mica/nn.h"
#include "tf/lower_rules.h"

enum { LOSS, TOP, TOTAL, RESULTS };

typedef struct operands {
    mica_value x, y; /* (rows, classes); y may be (rows) of class numbers */
} operands;

static bool is_sparse(const operands *o) {
    return mica_value_type(o->y)->rank == 1;
}

static mica_ints dims_of(const operands *o) {
    const mica_type *type = mica_value_type(o->x);
    return (mica_ints){type->dims, type->rank};
}

/* One number per row, for each of its elements. */
static mica_value stretch(mica_graph *g, const operands *o, mica_value rows) {
    return mica_broadcast(g, rows, dims_of(o), MICA_INTS(0));
}

static mica_value below_top(mica_graph *g, const operands *o, mica_value top) {
    return mica_sub(g, o->x, stretch(g, o, top));
}

/* Where an element is that of its row's class. */
static mica_value is_class(mica_graph *g, const operands *o) {
    mica_value number = mica_iota(g, dims_of(o), 1, mica_value_type(o->y)->dtype);
    return mica_compare(g, number, stretch(g, o, o->y), "eq");
}

static mica_value sum_rows(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(1));
}

/* softmax(x) - y */
static mica_value slope_of(mica_graph *g, const operands *o, mica_value powers, mica_value total) {
    mica_value y = is_sparse(o) ? mica_convert(g, is_class(g, o), mica_value_type(o->x)->dtype)
                                : mica_nn_stop_gradient(g, o->y);
    return mica_sub(g, mica_div(g, powers, stretch(g, o, total)), y);
}

/* Rows whose class number is one. */
static mica_value is_valid(mica_graph *g, const operands *o) {
    mica_dtype dtype = mica_value_type(o->y)->dtype;
    mica_value classes = mica_scalar(g, dtype, (double)mica_value_type(o->x)->dims[1]);
    return mica_and(g, mica_compare(g, o->y, mica_scalar(g, dtype, 0), "ge"),
                    mica_compare(g, o->y, classes, "lt"));
}

static mica_value sparse_loss(mica_graph *g, const operands *o, mica_value below,
                              mica_value log_total) {
    mica_dtype dtype = mica_value_type(o->x)->dtype;
    mica_value chosen = mica_select(g, is_class(g, o), below, mica_scalar(g, dtype, 0));
    mica_value loss = mica_sub(g, log_total, sum_rows(g, chosen));
    return mica_select(g, is_valid(g, o), loss, mica_scalar(g, dtype, (double)NAN));
}

static operands parameters_like(mica_graph *g, const operands *o) {
    mica_value x = mica_parameter(g, mica_value_type(o->x));
    return (operands){x, mica_parameter(g, mica_value_type(o->y))};
}

static void write_function(mica_graph *g, const operands *given) {
    operands o = parameters_like(g, given);
    if (mica_value_is_null(o.x) || mica_value_is_null(o.y)) return;
    mica_value top = mica_reduce(g, o.x, "max", MICA_INTS(1)), below = below_top(g, &o, top);
    mica_value total = sum_rows(g, mica_exp(g, below)), log_total = mica_log(g, total);
    if (is_sparse(&o)) {
        mica_output(g, sparse_loss(g, &o, below, log_total));
    } else {
        mica_value terms = mica_sub(g, stretch(g, &o, log_total), below);
        mica_output(g, sum_rows(g, mica_mul(g, o.y, terms)));
    }
    mica_output(g, top);
    mica_output(g, total);
}

/* Parameters: x, y, the results, their cotangents. */
static void write_gradient(mica_graph *g, const operands *given) {
    operands o = parameters_like(g, given);
    if (mica_value_is_null(o.x) || mica_value_is_null(o.y)) return;
    mica_type rows = *mica_value_type(o.x);
    mica_value results[RESULTS], d[RESULTS];
    rows.dims[--rows.rank] = 0;
    for (int32_t i = 0; i < RESULTS; i++) results[i] = mica_parameter(g, &rows);
    for (int32_t i = 0; i < RESULTS; i++) d[i] = mica_parameter(g, &rows);
    if (is_sparse(&o))
        d[LOSS] = mica_select(g, is_valid(g, &o), d[LOSS],
                              mica_scalar(g, mica_value_type(o.x)->dtype, 0));
    mica_value loss = stretch(g, &o, d[LOSS]), below = below_top(g, &o, results[TOP]);
    mica_value powers = mica_exp(g, below);
    mica_value dx = mica_mul(g, loss, slope_of(g, &o, powers, results[TOTAL]));
    mica_output(g, mica_add(g, dx, mica_mul(g, powers, stretch(g, &o, d[TOTAL]))));
    if (is_sparse(&o)) return;
    mica_value log_total = stretch(g, &o, mica_log(g, results[TOTAL]));
    mica_output(g, mica_mul(g, loss, mica_sub(g, log_total, below)));
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

static void lower_cross_entropy(mica_tf_lowering *c, const operands *o) {
    static const char *const name = "softmax_cross_entropy";
    if (mica_value_is_null(o->x) || mica_value_is_null(o->y)) return;
    mica_graph *function = region(c, name, o, write_function);
    mica_graph *gradient =
        function ? region(c, "softmax_cross_entropy_gradient", o, write_gradient) : NULL;
    mica_value both[] = {o->x, o->y}, results[RESULTS] = {{NULL, 0}};
    /* Forward mode is of the function where that is differentiable as it is written. */
    if (gradient && is_sparse(o))
        mica_call(c->g, name, "", function, "", gradient, both, 2, results);
    else if (gradient)
        mica_custom_gradient(c->g, function, gradient, both, 2, results);
    c->outputs[0] = results[LOSS];
    if (gradient) {
        mica_value powers = mica_exp(c->g, below_top(c->g, o, results[TOP]));
        c->outputs[1] = slope_of(c->g, o, powers, results[TOTAL]);
    }
    mica_graph_release(function);
    mica_graph_release(gradient);
}

void tf_lower_softmax_cross_entropy(mica_tf_lowering *c) {
    const mica_tf_shape *shape = &c->shapes[1];
    mica_tf_shape rows;
    if (!mica_tf_result_dims(c, &rows)) return;
    mica_ints dims = {shape->dims, shape->rank};
    operands o = {mica_broadcast_to(c->g, c->inputs[0], dims),
                  mica_broadcast_to(c->g, c->inputs[1], dims)};
    lower_cross_entropy(c, &o);
}

void tf_lower_sparse_softmax_cross_entropy(mica_tf_lowering *c) {
    operands o = {c->inputs[0], c->inputs[1]};
    lower_cross_entropy(c, &o);
}
