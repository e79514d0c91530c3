/* Losses, with the formulas of tf.compat.v1.losses. */
#include "nn/compose.h"

static const char where[] = "loss";

/* Kinds that sum over the class axis. */
static bool is_over_classes(mica_nn_loss_kind kind) {
    return kind == MICA_NN_SOFTMAX_CROSS_ENTROPY || kind == MICA_NN_CATEGORICAL_CROSS_ENTROPY ||
           kind == MICA_NN_COSINE_DISTANCE;
}

static bool is_cross_entropy(mica_nn_loss_kind kind) {
    return kind == MICA_NN_SOFTMAX_CROSS_ENTROPY || kind == MICA_NN_CATEGORICAL_CROSS_ENTROPY;
}

/* ---- labels -----------------------------------------------------------------------------------*/

/* Class numbers -> 1 at the class, 0 elsewhere; labels lack the class axis or have size 1 there. */
static mica_value one_hot(mica_graph *g, mica_value labels, const mica_type *x, int32_t axis) {
    mica_type type = *x, given = mica_nn_type(labels);
    type.dims[axis] = 1;
    labels = mica_reshape(g, labels, mica_nn_dims(&type));
    mica_value classes = mica_iota(g, mica_nn_dims(x), axis, given.dtype);
    return mica_convert(g, mica_compare(g, classes, labels, "eq"), x->dtype);
}

static bool is_class_number(const mica_type *labels, const mica_type *x, int32_t axis) {
    mica_dtype_kind kind = mica_dtype_kind_of(labels->dtype);
    mica_type without = mica_type_make(labels->dtype, MICA_NO_INTS), with_one = *x;
    with_one.dtype = labels->dtype;
    with_one.dims[axis] = 1;
    for (int32_t i = 0; i < x->rank; i++)
        if (i != axis) without.dims[without.rank++] = x->dims[i];
    return (kind == MICA_KIND_SIGNED || kind == MICA_KIND_UNSIGNED) &&
           (mica_type_equal(labels, &without) || mica_type_equal(labels, &with_one));
}

/* Labels as numbers of the predictions' type, or null with an error. */
static mica_value prepare_labels(mica_graph *g, mica_value labels, const mica_type *x,
                                 const mica_nn_loss_options *o, int32_t axis) {
    mica_type type = mica_nn_type(labels), wanted = *x;
    wanted.dtype = type.dtype;
    if (is_cross_entropy(o->kind) && is_class_number(&type, x, axis))
        labels = one_hot(g, labels, x, axis);
    else if (!mica_type_equal(&type, &wanted)) {
        MICA_NN_FAIL(g, "[loss] labels %s do not fit predictions %s",
                     mica_nn_type_text(&type).chars, mica_nn_type_text(x).chars);
        return MICA_NULL_VALUE;
    } else if (type.dtype != x->dtype)
        labels = mica_convert(g, labels, x->dtype);
    double s = o->label_smoothing, classes = (double)o->class_count;
    if (s == 0) return labels;
    if (o->kind == MICA_NN_SIGMOID_CROSS_ENTROPY)
        classes = 2;
    else if (!is_cross_entropy(o->kind))
        return labels;
    else if (o->class_count < 2)
        classes = (double)x->dims[axis];
    return mica_add(g, mica_nn_scale(g, labels, 1 - s), mica_scalar(g, x->dtype, s / classes));
}

/* ---- kinds ------------------------------------------------------------------------------------*/

/* -sum over classes of t l; where t is 0, an infinite l counts as 0. */
static mica_value cross_entropy(mica_graph *g, mica_value t, mica_value l, int32_t axis) {
    mica_value is_idle =
        mica_and(g, mica_nn_test(g, t, "eq", 0), mica_not(g, mica_is_finite(g, l)));
    l = mica_select(g, is_idle, mica_nn_number(g, l, 0), l);
    return mica_neg(g, mica_nn_reduce_keep(g, mica_mul(g, t, l), "sum", MICA_INTS(axis)));
}

static mica_value softmax_cross_entropy(mica_graph *g, mica_value x, mica_value t, int32_t axis) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_composite_begin(&c, g, "softmax_cross_entropy", (const mica_value[]){x, t}, 2))
        return out;
    mica_value logs = mica_nn_log_softmax(c.body, c.in[0], axis);
    mica_composite_result(&c, cross_entropy(c.body, c.in[1], logs, axis));
    if (mica_composite_begin_vjp(&c)) {
        /* (softmax sum t - t) dy and -log softmax dy */
        mica_graph *v = c.vjp;
        mica_value labels = c.vjp_in[1], dy = c.vjp_cotangent[0];
        mica_value all = mica_nn_reduce_keep(v, labels, "sum", MICA_INTS(axis));
        mica_value slope = mica_mul(v, mica_nn_softmax(v, c.vjp_in[0], axis), all);
        mica_composite_cotangent(&c, mica_mul(v, mica_sub(v, slope, labels), dy));
        logs = mica_nn_log_softmax(v, c.vjp_in[0], axis);
        mica_composite_cotangent(&c, mica_mul(v, mica_neg(v, logs), dy));
    }
    mica_composite_end(&c, false, &out, "axis=%d", (int)axis);
    return out;
}

static mica_value categorical_cross_entropy(mica_graph *g, mica_value x, mica_value t, int32_t axis,
                                            double epsilon) {
    mica_value inside =
        mica_clamp(g, x, mica_nn_number(g, x, epsilon), mica_nn_number(g, x, 1 - epsilon));
    return cross_entropy(g, t, mica_log(g, inside), axis);
}

/* ln(1 + e^x) - x t, which is the textbook's form with the maximum in it */
static mica_value sigmoid_cross_entropy(mica_graph *g, mica_value x, mica_value t) {
    mica_value total = mica_nn_activate(g, x, mica_nn_activation_make(MICA_NN_SOFT_PLUS));
    return mica_sub(g, total, mica_mul(g, x, t));
}

static mica_value hinge(mica_graph *g, mica_value x, mica_value t) {
    mica_value sign = mica_sub(g, mica_nn_scale(g, t, 2), mica_nn_number(g, t, 1));
    mica_value margin = mica_sub(g, mica_nn_number(g, x, 1), mica_mul(g, sign, x));
    return mica_nn_activate(g, margin, mica_nn_activation_make(MICA_NN_RELU));
}

static mica_value huber(mica_graph *g, mica_value error, double delta) {
    mica_value size = mica_abs(g, error);
    mica_value near = mica_nn_scale(g, mica_nn_square(g, error), 0.5);
    mica_value far =
        mica_sub(g, mica_nn_scale(g, size, delta), mica_nn_number(g, error, 0.5 * delta * delta));
    return mica_select(g, mica_nn_test(g, size, "le", delta), near, far);
}

static mica_value cosine_distance(mica_graph *g, mica_value x, mica_value t, int32_t axis) {
    mica_value product = mica_nn_reduce_keep(g, mica_mul(g, x, t), "sum", MICA_INTS(axis));
    return mica_sub(g, mica_nn_number(g, x, 1), product);
}

static mica_value log_loss(mica_graph *g, mica_value x, mica_value t, double epsilon) {
    mica_value one = mica_nn_number(g, x, 1), more = mica_nn_number(g, x, epsilon);
    mica_value rest = mica_add(g, mica_sub(g, one, x), more);
    mica_value yes = mica_mul(g, t, mica_log(g, mica_add(g, x, more)));
    mica_value no = mica_mul(g, mica_sub(g, one, t), mica_log(g, rest));
    return mica_neg(g, mica_add(g, yes, no));
}

static mica_value losses_of(mica_graph *g, mica_value x, mica_value t, int32_t axis,
                            const mica_nn_loss_options *o) {
    switch (o->kind) {
    case MICA_NN_MEAN_ABSOLUTE_ERROR: return mica_abs(g, mica_sub(g, x, t));
    case MICA_NN_MEAN_SQUARED_ERROR: return mica_nn_square(g, mica_sub(g, x, t));
    case MICA_NN_SOFTMAX_CROSS_ENTROPY: return softmax_cross_entropy(g, x, t, axis);
    case MICA_NN_SIGMOID_CROSS_ENTROPY: return sigmoid_cross_entropy(g, x, t);
    case MICA_NN_CATEGORICAL_CROSS_ENTROPY:
        return categorical_cross_entropy(g, x, t, axis, o->epsilon);
    case MICA_NN_HINGE: return hinge(g, x, t);
    case MICA_NN_HUBER: return huber(g, mica_sub(g, x, t), o->delta);
    case MICA_NN_COSINE_DISTANCE: return cosine_distance(g, x, t, axis);
    default: return log_loss(g, x, t, o->epsilon);
    }
}

/* ---- weights and reduction --------------------------------------------------------------------*/

static mica_value weighted(mica_graph *g, mica_value losses, mica_value weights, int32_t axis,
                           bool over_classes) {
    if (mica_value_is_null(weights)) return losses;
    mica_type tl = mica_nn_type(losses), tw = mica_nn_type(weights);
    int64_t shape[MICA_MAX_RANK];
    bool fits = tw.rank <= tl.rank;
    bool inserts = over_classes && tw.rank == tl.rank - 1 && tw.rank > 0;
    for (int32_t i = 0, k = 0; fits && i < tl.rank; i++) {
        bool stays = k < tw.rank && !(inserts && i == axis);
        shape[i] = stays ? tw.dims[k++] : 1;
        fits = shape[i] == 1 || shape[i] == tl.dims[i];
    }
    if (!fits) {
        MICA_NN_FAIL(g, "[loss] weights %s do not fit the losses %s", mica_nn_type_text(&tw).chars,
                     mica_nn_type_text(&tl).chars);
        return MICA_NULL_VALUE;
    }
    if (tw.dtype != tl.dtype) weights = mica_convert(g, weights, tl.dtype);
    return mica_mul(g, losses, mica_reshape(g, weights, (mica_ints){shape, tl.rank}));
}

static mica_value reduced(mica_graph *g, mica_value losses, mica_nn_reduction_kind kind) {
    int64_t axes[MICA_MAX_RANK];
    mica_ints all = {axes, mica_nn_type(losses).rank};
    for (int32_t i = 0; i < MICA_MAX_RANK; i++) axes[i] = i;
    switch (kind) {
    case MICA_NN_REDUCE_SUM: return mica_reduce(g, losses, "sum", all);
    case MICA_NN_REDUCE_MEAN:
        return mica_reshape(g, mica_nn_mean_keep(g, losses, all), MICA_NO_INTS);
    case MICA_NN_REDUCE_MAX: return mica_reduce(g, losses, "max", all);
    case MICA_NN_REDUCE_MIN: return mica_reduce(g, losses, "min", all);
    default: return losses;
    }
}

mica_value mica_nn_loss(mica_graph *g, mica_value predictions, mica_value labels,
                        mica_value weights, const mica_nn_loss_options *options) {
    mica_value none = MICA_NULL_VALUE, all[] = {predictions, labels, weights};
    if (!mica_nn_check_options(g, where, options, sizeof *options) ||
        !mica_nn_check(g, where, all, 1, 0, true) || !mica_nn_check(g, where, all, 3, 4, false))
        return none;
    if ((unsigned)options->kind >= MICA_NN_LOSS_COUNT ||
        (unsigned)options->reduction > MICA_NN_REDUCE_MIN) {
        MICA_NN_FAIL(g, "[loss] there is no kind %d with reduction %d", (int)options->kind,
                     (int)options->reduction);
        return none;
    }
    mica_type type = mica_nn_type(predictions);
    bool over_classes = is_over_classes(options->kind);
    int32_t axis = over_classes ? mica_nn_axis(g, where, &type, options->axis) : 0;
    if (axis < 0) return none;
    labels = prepare_labels(g, labels, &type, options, axis);
    if (mica_value_is_null(labels)) return none;
    mica_value losses = losses_of(g, predictions, labels, axis, options);
    losses = weighted(g, mica_nn_scale(g, losses, options->weight), weights, axis, over_classes);
    return mica_value_is_null(losses) ? none : reduced(g, losses, options->reduction);
}
