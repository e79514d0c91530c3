/* Normalisations. Mean first, then the mean of squared differences: no cancellation. */
#include "nn/compose.h"

/* gamma (x - mean) / (variance + epsilon)^(1/2) + beta, gamma and beta of fitting shape or null */
static mica_value normalize(mica_graph *g, mica_value centered, mica_value variance,
                            mica_value gamma, mica_value beta, double epsilon) {
    mica_value root = mica_rsqrt(g, mica_add(g, variance, mica_nn_number(g, variance, epsilon)));
    mica_value y = mica_mul(g, centered, root);
    if (!mica_value_is_null(gamma)) y = mica_mul(g, y, gamma);
    return mica_value_is_null(beta) ? y : mica_add(g, y, beta);
}

/* x - mean and the variance over axes, which stay with size 1. */
static mica_value moments(mica_graph *g, mica_value x, mica_ints axes, mica_value *out_mean,
                          mica_value *out_variance) {
    *out_mean = mica_nn_mean_keep(g, x, axes);
    mica_value centered = mica_sub(g, x, *out_mean);
    *out_variance = mica_nn_mean_keep(g, mica_nn_square(g, centered), axes);
    return centered;
}

/* momentum running + (1 - momentum) batch, in the shape of running */
static mica_value average(mica_graph *g, mica_value running, mica_value batch, double momentum) {
    mica_type type = mica_nn_type(running);
    batch = mica_reshape(g, batch, mica_nn_dims(&type));
    return mica_add(g, mica_nn_scale(g, running, momentum), mica_nn_scale(g, batch, 1 - momentum));
}

/* n / (n - 1) of n values, 1 of one: from the mean square to the unbiased variance. */
static double unbiased(const mica_type *type, mica_ints axes) {
    double n = 1;
    for (int32_t i = 0; i < axes.n; i++) n *= (double)type->dims[axes.data[i]];
    return n > 1 ? n / (n - 1) : 1;
}

static mica_ints all_axes_but(int32_t rank, int32_t axis, int64_t *storage) {
    int32_t n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (i != axis) storage[n++] = i;
    return (mica_ints){storage, n};
}

static bool has_elements(mica_graph *g, const char *where, const char *name, mica_value v,
                         const mica_type *x, int32_t axis) {
    return mica_value_is_null(v) || !mica_value_is_null(mica_nn_along(g, where, name, v, x, axis));
}

/* ---- batch ------------------------------------------------------------------------------------*/

/* Checks the operands (x, mean, variance, gamma, beta) and gives gamma and beta the rank of x. */
static int32_t check_channels(mica_graph *g, const char *where, mica_value operands[5],
                              uint32_t optional, int64_t axis) {
    if (!mica_nn_check(g, where, operands, 5, optional, true)) return -1;
    mica_type x = mica_nn_type(operands[0]);
    int32_t along = mica_nn_axis(g, where, &x, axis);
    if (along < 0 || !has_elements(g, where, "mean", operands[1], &x, along) ||
        !has_elements(g, where, "variance", operands[2], &x, along) ||
        !has_elements(g, where, "gamma", operands[3], &x, along) ||
        !has_elements(g, where, "beta", operands[4], &x, along))
        return -1;
    operands[3] = mica_nn_along(g, where, "gamma", operands[3], &x, along);
    operands[4] = mica_nn_along(g, where, "beta", operands[4], &x, along);
    return along;
}

void mica_nn_batch_norm(mica_graph *g, mica_value x, mica_value mean, mica_value variance,
                        mica_value gamma, mica_value beta, int64_t axis, double epsilon,
                        double momentum, mica_value out[3]) {
    MICA_GIVEN_TO(g, out);
    mica_composite c;
    mica_value operands[5] = {x, mean, variance, gamma, beta};
    int64_t storage[MICA_MAX_RANK];
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    int32_t along = check_channels(g, "batch_norm", operands, 24, axis);
    if (along < 0 || !mica_composite_begin(&c, g, "batch_norm", operands, 5)) return;
    mica_type type = mica_nn_type(x);
    mica_ints axes = all_axes_but(type.rank, along, storage);
    mica_value batch_mean, batch_variance;
    mica_value centered = moments(c.body, c.in[0], axes, &batch_mean, &batch_variance);
    mica_composite_result(&c,
                          normalize(c.body, centered, batch_variance, c.in[3], c.in[4], epsilon));
    mica_composite_result(&c, average(c.body, c.in[1], batch_mean, momentum));
    batch_variance = mica_nn_scale(c.body, batch_variance, unbiased(&type, axes));
    mica_composite_result(&c, average(c.body, c.in[2], batch_variance, momentum));
    mica_composite_end(&c, false, out, "axis=%d epsilon=%.17g momentum=%.17g", (int)along, epsilon,
                       momentum);
}

mica_value mica_nn_batch_norm_inference(mica_graph *g, mica_value x, mica_value mean,
                                        mica_value variance, mica_value gamma, mica_value beta,
                                        int64_t axis, double epsilon) {
    mica_composite c;
    const char *name = "batch_norm_inference";
    mica_value operands[5] = {x, mean, variance, gamma, beta}, out = MICA_NULL_VALUE;
    int32_t along = check_channels(g, name, operands, 24, axis);
    if (along < 0) return out;
    mica_type type = mica_nn_type(x);
    operands[1] = mica_nn_along(g, name, "mean", mean, &type, along);
    operands[2] = mica_nn_along(g, name, "variance", variance, &type, along);
    if (!mica_composite_begin(&c, g, name, operands, 5)) return out;
    mica_value centered = mica_sub(c.body, c.in[0], c.in[1]);
    mica_composite_result(&c, normalize(c.body, centered, c.in[2], c.in[3], c.in[4], epsilon));
    mica_composite_end(&c, false, &out, "axis=%d epsilon=%.17g", (int)along, epsilon);
    return out;
}

/* ---- layer, group, instance -------------------------------------------------------------------*/

static mica_value with_shape(mica_graph *g, const char *name, mica_value v, mica_ints shape) {
    if (mica_value_is_null(v)) return v;
    mica_type type = mica_nn_type(v), wanted = mica_type_make(type.dtype, shape);
    if (mica_type_elements(&type) == mica_type_elements(&wanted)) return mica_reshape(g, v, shape);
    MICA_NN_FAIL(g, "[layer_norm] %s is %s, but the normalized shape is %s", name,
                 mica_nn_type_text(&type).chars, mica_nn_ints_text(shape).chars);
    return MICA_NULL_VALUE;
}

mica_value mica_nn_layer_norm(mica_graph *g, mica_value x, mica_value gamma, mica_value beta,
                              mica_ints shape, double epsilon) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE, mean, variance;
    if (!mica_nn_check(g, "layer_norm", (const mica_value[]){x, gamma, beta}, 3, 6, true))
        return out;
    mica_type type = mica_nn_type(x);
    int64_t axes[MICA_MAX_RANK];
    bool fits = shape.n >= 1 && shape.n <= type.rank && shape.data;
    for (int32_t i = 0; fits && i < shape.n; i++) {
        axes[i] = type.rank - shape.n + i;
        fits = type.dims[axes[i]] == shape.data[i];
    }
    if (!fits) {
        MICA_NN_FAIL(g, "[layer_norm] the normalized shape %s is not that of the last axes of %s",
                     shape.data && shape.n > 0 ? mica_nn_ints_text(shape).chars : "()",
                     mica_nn_type_text(&type).chars);
        return out;
    }
    gamma = with_shape(g, "gamma", gamma, shape);
    beta = with_shape(g, "beta", beta, shape);
    if (!mica_composite_begin(&c, g, "layer_norm", (const mica_value[]){x, gamma, beta}, 3))
        return out;
    mica_value centered = moments(c.body, c.in[0], (mica_ints){axes, shape.n}, &mean, &variance);
    mica_composite_result(&c, normalize(c.body, centered, variance, c.in[1], c.in[2], epsilon));
    mica_composite_end(&c, false, &out, "axes=%d epsilon=%.17g", (int)shape.n, epsilon);
    return out;
}

mica_value mica_nn_group_norm(mica_graph *g, mica_value x, mica_value gamma, mica_value beta,
                              int64_t groups, double epsilon) {
    mica_composite c;
    mica_value none = MICA_NULL_VALUE, out = none, mean, variance;
    mica_value operands[5] = {x, none, none, gamma, beta};
    if (check_channels(g, "group_norm", operands, 30, 1) < 0) return out;
    mica_type type = mica_nn_type(x);
    if (groups < 1 || type.dims[1] % groups) {
        MICA_NN_FAIL(g, "[group_norm] the %lld channels of %s do not make %lld groups",
                     (long long)type.dims[1], mica_nn_type_text(&type).chars, (long long)groups);
        return out;
    }
    if (!mica_composite_begin(&c, g, "group_norm", operands, 5)) return out;
    int64_t positions = type.dims[1] / groups;
    for (int32_t i = 2; i < type.rank; i++) positions *= type.dims[i];
    mica_value grouped = mica_reshape(c.body, c.in[0], MICA_INTS(type.dims[0], groups, positions));
    mica_value y = moments(c.body, grouped, MICA_INTS(2), &mean, &variance);
    y = normalize(c.body, y, variance, none, none, epsilon);
    y = mica_reshape(c.body, y, mica_nn_dims(&type));
    if (!mica_value_is_null(gamma)) y = mica_mul(c.body, y, c.in[3]);
    if (!mica_value_is_null(beta)) y = mica_add(c.body, y, c.in[4]);
    mica_composite_result(&c, y);
    mica_composite_end(&c, false, &out, "groups=%lld epsilon=%.17g", (long long)groups, epsilon);
    return out;
}

void mica_nn_instance_norm(mica_graph *g, mica_value x, mica_value mean, mica_value variance,
                           mica_value gamma, mica_value beta, double epsilon, double momentum,
                           mica_value out[3]) {
    MICA_GIVEN_TO(g, out);
    mica_composite c;
    mica_value operands[5] = {x, mean, variance, gamma, beta}, own_mean, own_variance;
    int64_t storage[MICA_MAX_RANK];
    out[0] = out[1] = out[2] = MICA_NULL_VALUE;
    if (check_channels(g, "instance_norm", operands, 30, 1) < 0) return;
    mica_type type = mica_nn_type(x);
    bool has_running = !mica_value_is_null(mean);
    if (has_running != !mica_value_is_null(variance) || type.rank < 3) {
        MICA_NN_FAIL(g,
                     "[instance_norm] the input %s must be (N, C, ...), with both running "
                     "statistics or none",
                     mica_nn_type_text(&type).chars);
        return;
    }
    if (!mica_composite_begin(&c, g, "instance_norm", operands, 5)) return;
    mica_ints axes = {storage, type.rank - 2};
    for (int32_t i = 2; i < type.rank; i++) storage[i - 2] = i;
    mica_value centered = moments(c.body, c.in[0], axes, &own_mean, &own_variance);
    mica_composite_result(&c, normalize(c.body, centered, own_variance, c.in[3], c.in[4], epsilon));
    if (has_running) {
        own_variance = mica_nn_scale(c.body, own_variance, unbiased(&type, axes));
        own_mean = mica_nn_mean_keep(c.body, own_mean, MICA_INTS(0));
        own_variance = mica_nn_mean_keep(c.body, own_variance, MICA_INTS(0));
        mica_composite_result(&c, average(c.body, c.in[1], own_mean, momentum));
        mica_composite_result(&c, average(c.body, c.in[2], own_variance, momentum));
    }
    mica_composite_end(&c, false, out, "epsilon=%.17g momentum=%.17g", epsilon, momentum);
}
