/* Optimizers: clipping, and one step as a function of parameter, gradient and state. The formulas
 * are in mica/nn.h. */
#include "nn/compose.h"

#include <math.h>
#include <string.h>

/* Operands of an update. */
enum { RATE, TIME, PARAMETER, GRADIENT, STATE, OPERANDS = STATE + MICA_NN_MAX_STATE };

static bool is_adam(const mica_nn_optimizer *o) {
    return o->kind == MICA_NN_ADAM || o->kind == MICA_NN_ADAMW;
}

int32_t mica_nn_optimizer_state_count(const mica_nn_optimizer *o) {
    if (!o) return 0;
    if (is_adam(o)) return o->amsgrad ? 3 : 2;
    if (o->kind == MICA_NN_SGD) return o->momentum != 0;
    return 1 + o->centered + (o->momentum != 0);
}

/* ---- clipping ---------------------------------------------------------------------------------*/

static mica_value sum_of_squares(mica_graph *g, mica_value x) {
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < MICA_MAX_RANK; i++) axes[i] = i;
    return mica_reduce(g, mica_nn_square(g, x), "sum", (mica_ints){axes, mica_nn_type(x).rank});
}

/* x maximum / max(norm, maximum) */
static mica_value limited(mica_graph *g, mica_value x, mica_value norm, double maximum) {
    mica_value limit = mica_nn_number(g, norm, maximum);
    mica_value factor = mica_div(g, limit, mica_max(g, norm, limit));
    mica_dtype dtype = mica_nn_type(x).dtype;
    if (mica_nn_type(factor).dtype != dtype) factor = mica_convert(g, factor, dtype);
    return mica_mul(g, x, factor);
}

/* The norm of all gradients together; of differing dtypes in f32. */
static mica_value global_norm(mica_graph *g, const mica_nn_optimizer *o, const mica_value *d,
                              int32_t n) {
    mica_dtype dtype = mica_nn_type(d[0]).dtype;
    for (int32_t i = 1; i < n; i++)
        if (mica_nn_type(d[i]).dtype != dtype) dtype = MICA_DTYPE_f32;
    if (o->custom_global_norm != 0) return mica_scalar(g, dtype, o->custom_global_norm);
    mica_value sum = mica_scalar(g, dtype, 0);
    for (int32_t i = 0; i < n; i++) {
        mica_value part = sum_of_squares(g, d[i]);
        if (mica_nn_type(part).dtype != dtype) part = mica_convert(g, part, dtype);
        sum = mica_add(g, sum, part);
    }
    return mica_sqrt(g, sum);
}

void mica_nn_clip_gradients(mica_graph *g, const mica_nn_optimizer *o, const mica_value *gradients,
                            int32_t n, mica_value *out) {
    MICA_GIVEN_TO(g, MICA_MANY(gradients, n), MICA_MANY(out, n));
    if (!mica_nn_check_options(g, "clip_gradients", o, sizeof *o)) return;
    for (int32_t i = 0; i < n; i++)
        if (!mica_nn_check(g, "clip_gradients", &gradients[i], 1, 0, true)) return;
    if (out != gradients) memmove(out, gradients, (size_t)n * sizeof *out);
    if (!o->clips || n == 0) return;
    mica_value norm = MICA_NULL_VALUE;
    if (o->clipping == MICA_NN_CLIP_BY_GLOBAL_NORM) norm = global_norm(g, o, gradients, n);
    for (int32_t i = 0; i < n; i++) {
        mica_value d = out[i];
        if (o->clipping == MICA_NN_CLIP_BY_VALUE)
            out[i] = mica_clamp(g, d, mica_nn_number(g, d, o->clip_min),
                                mica_nn_number(g, d, o->clip_max));
        else if (o->clipping == MICA_NN_CLIP_BY_NORM)
            out[i] = limited(g, d, mica_sqrt(g, sum_of_squares(g, d)), o->maximum_norm);
        else
            out[i] = limited(g, d, norm, o->maximum_norm);
    }
}

/* ---- one step ---------------------------------------------------------------------------------*/

/* decay a + (1 - decay) b */
static mica_value average(mica_graph *g, mica_value a, mica_value b, double decay) {
    return mica_add(g, mica_nn_scale(g, a, decay), mica_nn_scale(g, b, 1 - decay));
}

/* scale p, or scale sign(p); null for none */
static mica_value regularization(mica_graph *g, const mica_nn_optimizer *o, mica_value p) {
    if (o->regularization == MICA_NN_REGULARIZATION_NONE || o->regularization_scale == 0)
        return MICA_NULL_VALUE;
    if (o->regularization == MICA_NN_REGULARIZATION_L1) p = mica_sign(g, p);
    return mica_nn_scale(g, p, o->regularization_scale);
}

static mica_value minus(mica_graph *g, mica_value p, mica_value rate, mica_value direction) {
    return mica_sub(g, p, mica_mul(g, rate, direction));
}

static mica_value sgd(mica_composite *c, const mica_nn_optimizer *o, mica_value d,
                      mica_value *state) {
    mica_graph *g = c->body;
    if (o->momentum == 0) return minus(g, c->in[PARAMETER], c->in[RATE], d);
    mica_value m = mica_add(g, mica_nn_scale(g, c->in[STATE], o->momentum), d);
    state[0] = m;
    if (o->nesterov) m = mica_add(g, d, mica_nn_scale(g, m, o->momentum));
    return minus(g, c->in[PARAMETER], c->in[RATE], m);
}

/* 1 - beta^t = -(e^(t ln beta) - 1): exact to rounding also where beta^t is near 1 */
static mica_value correction(mica_graph *g, mica_value time, double beta) {
    if (beta <= 0) return mica_nn_number(g, time, 1);
    return mica_neg(g, mica_expm1(g, mica_nn_scale(g, time, log(beta))));
}

static mica_value adam(mica_composite *c, const mica_nn_optimizer *o, mica_value d,
                       mica_value *state) {
    mica_graph *g = c->body;
    mica_value p = c->in[PARAMETER], rate = c->in[RATE], time = c->in[TIME];
    mica_value decay = o->kind == MICA_NN_ADAMW ? regularization(g, o, p) : MICA_NULL_VALUE;
    if (!mica_value_is_null(decay)) p = minus(g, p, rate, decay);
    state[0] = average(g, c->in[STATE], d, o->beta1);
    state[1] = average(g, c->in[STATE + 1], mica_nn_square(g, d), o->beta2);
    mica_value v = state[1];
    if (o->amsgrad) v = state[2] = mica_max(g, c->in[STATE + 2], v);
    mica_value root = mica_sqrt(g, correction(g, time, o->beta2));
    mica_value below = mica_div(g, mica_sqrt(g, v), root);
    below = mica_add(g, below, mica_nn_number(g, v, o->epsilon));
    mica_value step = mica_div(g, rate, correction(g, time, o->beta1));
    return mica_sub(g, p, mica_mul(g, step, mica_div(g, state[0], below)));
}

static mica_value rmsprop(mica_composite *c, const mica_nn_optimizer *o, mica_value d,
                          mica_value *state) {
    mica_graph *g = c->body;
    int32_t n = 1;
    mica_value u = state[0] = average(g, c->in[STATE], mica_nn_square(g, d), o->alpha);
    if (o->centered) {
        state[n] = average(g, c->in[STATE + n], d, o->alpha);
        u = mica_sub(g, u, mica_nn_square(g, state[n]));
        /* rounding may take it below 0, where no variance is */
        u = mica_max(g, u, mica_nn_number(g, u, 0));
        n++;
    }
    mica_value below = mica_add(g, mica_sqrt(g, u), mica_nn_number(g, u, o->epsilon));
    mica_value step = mica_div(g, d, below);
    if (o->momentum != 0)
        step = state[n] = mica_add(g, mica_nn_scale(g, c->in[STATE + n], o->momentum), step);
    return minus(g, c->in[PARAMETER], c->in[RATE], step);
}

/* ---- the update -------------------------------------------------------------------------------*/

static const char *const names[] = {"sgd", "adam", "adamw", "rmsprop"};

static bool check_update(mica_graph *g, const mica_nn_optimizer *o, mica_value *operands,
                         int32_t n_state) {
    const char *where = names[o->kind];
    mica_value rate = operands[RATE], time = operands[TIME];
    if (!mica_nn_check(g, where, operands + PARAMETER, 2 + n_state, 0, true) ||
        !mica_nn_check(g, where, operands, 2, is_adam(o) ? 0 : 2, false))
        return false;
    mica_type type = mica_nn_type(operands[PARAMETER]);
    for (int32_t i = GRADIENT; i < STATE + n_state; i++) {
        mica_type other = mica_nn_type(operands[i]);
        if (mica_type_equal(&type, &other)) continue;
        MICA_NN_FAIL(g, "[%s] parameter %s, but %s %s", where, mica_nn_type_text(&type).chars,
                     i == GRADIENT ? "gradient" : "state", mica_nn_type_text(&other).chars);
        return false;
    }
    mica_type rate_type = mica_nn_type(rate), time_type = mica_nn_type(time);
    if (mica_type_elements(&rate_type) != 1 ||
        (!mica_value_is_null(time) && mica_type_elements(&time_type) != 1)) {
        MICA_NN_FAIL(g, "[%s] learning rate %s and time step %s must be scalars", where,
                     mica_nn_type_text(&rate_type).chars, mica_nn_type_text(&time_type).chars);
        return false;
    }
    operands[RATE] = mica_reshape(g, mica_convert(g, rate, type.dtype), MICA_NO_INTS);
    if (is_adam(o))
        operands[TIME] = mica_reshape(g, mica_convert(g, time, type.dtype), MICA_NO_INTS);
    else
        operands[TIME] = MICA_NULL_VALUE;
    return true;
}

static bool check_optimizer(mica_graph *g, const mica_nn_optimizer *o) {
    if (!mica_nn_check_options(g, "optimizer", o, sizeof *o)) return false;
    if ((unsigned)o->kind <= MICA_NN_RMSPROP &&
        (unsigned)o->regularization <= MICA_NN_REGULARIZATION_L2)
        return true;
    MICA_NN_FAIL(g, "[optimizer] there is no kind %d with regularization %d", (int)o->kind,
                 (int)o->regularization);
    return false;
}

void mica_nn_optimizer_update(mica_graph *g, const mica_nn_optimizer *o, mica_value rate,
                              mica_value time_step, mica_value parameter, mica_value gradient,
                              const mica_value *state, mica_value *out) {
    MICA_GIVEN_TO(g, out);
    mica_composite c;
    mica_value operands[OPERANDS] = {rate, time_step, parameter, gradient};
    mica_value next[MICA_NN_MAX_STATE], updated;
    if (!check_optimizer(g, o)) {
        out[0] = MICA_NULL_VALUE;
        return;
    }
    int32_t n = mica_nn_optimizer_state_count(o);
    for (int32_t i = 0; i < n; i++) operands[STATE + i] = state ? state[i] : MICA_NULL_VALUE;
    for (int32_t i = 0; i <= n; i++) out[i] = MICA_NULL_VALUE;
    if (!check_update(g, o, operands, n)) return;
    if (!mica_composite_begin(&c, g, names[o->kind], operands, STATE + n)) return;
    mica_value d = mica_nn_scale(c.body, c.in[GRADIENT], o->gradient_rescale);
    mica_value more =
        o->kind == MICA_NN_ADAMW ? MICA_NULL_VALUE : regularization(c.body, o, c.in[PARAMETER]);
    if (!mica_value_is_null(more)) d = mica_add(c.body, d, more);
    switch (o->kind) {
    case MICA_NN_SGD: updated = sgd(&c, o, d, next); break;
    case MICA_NN_RMSPROP: updated = rmsprop(&c, o, d, next); break;
    default: updated = adam(&c, o, d, next);
    }
    mica_composite_result(&c, updated);
    for (int32_t i = 0; i < n; i++) mica_composite_result(&c, next[i]);
    mica_composite_end(&c, false, out, "rescale=%.17g regularization=%d,%.17g", o->gradient_rescale,
                       (int)o->regularization, o->regularization_scale);
}
