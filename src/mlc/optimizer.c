/* Optimizers: what they are; mica/nn.h has their mathematics. */
#include "mlc/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_number(float x, float low, float high) { /* NaN is not */
    return x >= low && x <= high;
}

static mica_status check(const mlc_optimizer_descriptor *d, const mlc_optimizer *o) {
    static const char *const names[] = {"SGD", "Adam", "AdamW", "RMSProp"};
    const char *name = names[o->kind];
    if (d->size != sizeof *d)
        return MICA_INVALID("[%s] the descriptor's size is %zu, expected %zu", name, d->size,
                            sizeof *d);
    if (!is_number(d->learning_rate, 0, INFINITY) || !isfinite(d->gradient_rescale))
        return MICA_INVALID("[%s] learning rate %g, gradient rescale %g: the rate must be at least "
                            "0, and both finite",
                            name, (double)d->learning_rate, (double)d->gradient_rescale);
    if (!mlc_regularization_type_description(d->regularization) ||
        !mlc_gradient_clipping_type_description(d->clipping))
        return MICA_INVALID(
            "[%s] regularization type %d or clipping type %d is no member of its enum", name,
            (int)d->regularization, (int)d->clipping);
    if (!(d->gradient_clip_min <= d->gradient_clip_max) || !(d->maximum_clipping_norm > 0) ||
        !(d->custom_global_norm >= 0))
        return MICA_INVALID(
            "[%s] clipping to [%g, %g], maximum norm %g, custom norm %g: the lower bound must be "
            "at most the upper one, the maximum norm above 0, the custom norm at least 0",
            name, (double)d->gradient_clip_min, (double)d->gradient_clip_max,
            (double)d->maximum_clipping_norm, (double)d->custom_global_norm);
    if (!is_number(o->beta1, 0, 1) || !is_number(o->beta2, 0, 1) || !is_number(o->alpha, 0, 1) ||
        !is_number(o->epsilon, 0, INFINITY) || !isfinite(o->momentum) || o->time_step < 1)
        return MICA_INVALID("[%s] beta1 %g, beta2 %g, alpha %g, epsilon %g, momentum %g, time step "
                            "%lld: betas and alpha must be 0 to 1, epsilon at least 0, the "
                            "momentum finite, the time step at least 1",
                            name, (double)o->beta1, (double)o->beta2, (double)o->alpha,
                            (double)o->epsilon, (double)o->momentum, (long long)o->time_step);
    return NULL;
}

static mica_status make(const mlc_optimizer_descriptor *descriptor, mlc_optimizer start,
                        mlc_optimizer **out_optimizer) {
    *out_optimizer = NULL;
    if (!descriptor) return MICA_INVALID("[optimizer] the descriptor is NULL");
    MICA_TRY(check(descriptor, &start));
    mlc_optimizer *o = mica_alloc(sizeof *o);
    if (!o) return MICA_NO_MEMORY();
    *o = start;
    o->descriptor = *descriptor;
    mica_refcount_init(&o->references);
    *out_optimizer = o;
    return NULL;
}

mica_status mlc_sgd_optimizer_create(const mlc_optimizer_descriptor *descriptor,
                                     float momentum_scale, bool uses_nesterov_momentum,
                                     mlc_optimizer **out_optimizer) {
    MICA_GIVEN(out_optimizer);
    return make(descriptor,
                (mlc_optimizer){.kind = MLC_SGD_OPTIMIZER,
                                .momentum = momentum_scale,
                                .nesterov = uses_nesterov_momentum,
                                .time_step = 1},
                out_optimizer);
}

mica_status mlc_sgd_optimizer_create_default(const mlc_optimizer_descriptor *descriptor,
                                             mlc_optimizer **out_optimizer) {
    return mlc_sgd_optimizer_create(descriptor, 0, false, out_optimizer);
}

mica_status mlc_adam_optimizer_create(const mlc_optimizer_descriptor *descriptor, float beta1,
                                      float beta2, float epsilon, bool uses_amsgrad,
                                      int64_t time_step, mlc_optimizer **out_optimizer) {
    MICA_GIVEN(out_optimizer);
    return make(descriptor,
                (mlc_optimizer){.kind = MLC_ADAM_OPTIMIZER,
                                .beta1 = beta1,
                                .beta2 = beta2,
                                .epsilon = epsilon,
                                .amsgrad = uses_amsgrad,
                                .time_step = time_step},
                out_optimizer);
}

mica_status mlc_adam_optimizer_create_default(const mlc_optimizer_descriptor *descriptor,
                                              mlc_optimizer **out_optimizer) {
    return mlc_adam_optimizer_create(descriptor, 0.9f, 0.999f, 1e-8f, false, 1, out_optimizer);
}

mica_status mlc_adamw_optimizer_create(const mlc_optimizer_descriptor *descriptor, float beta1,
                                       float beta2, float epsilon, bool uses_amsgrad,
                                       int64_t time_step, mlc_optimizer **out_optimizer) {
    MICA_GIVEN(out_optimizer);
    return make(descriptor,
                (mlc_optimizer){.kind = MLC_ADAMW_OPTIMIZER,
                                .beta1 = beta1,
                                .beta2 = beta2,
                                .epsilon = epsilon,
                                .amsgrad = uses_amsgrad,
                                .time_step = time_step},
                out_optimizer);
}

mica_status mlc_adamw_optimizer_create_default(const mlc_optimizer_descriptor *descriptor,
                                               mlc_optimizer **out_optimizer) {
    return mlc_adamw_optimizer_create(descriptor, 0.9f, 0.999f, 1e-8f, false, 1, out_optimizer);
}

mica_status mlc_rmsprop_optimizer_create(const mlc_optimizer_descriptor *descriptor,
                                         float momentum_scale, float alpha, float epsilon,
                                         bool is_centered, mlc_optimizer **out_optimizer) {
    MICA_GIVEN(out_optimizer);
    return make(descriptor,
                (mlc_optimizer){.kind = MLC_RMSPROP_OPTIMIZER,
                                .momentum = momentum_scale,
                                .alpha = alpha,
                                .epsilon = epsilon,
                                .centered = is_centered,
                                .time_step = 1},
                out_optimizer);
}

mica_status mlc_rmsprop_optimizer_create_default(const mlc_optimizer_descriptor *descriptor,
                                                 mlc_optimizer **out_optimizer) {
    return mlc_rmsprop_optimizer_create(descriptor, 0, 0.99f, 1e-8f, false, out_optimizer);
}

mica_status mlc_optimizer_copy(const mlc_optimizer *optimizer, mlc_optimizer **out_optimizer) {
    MICA_GIVEN(optimizer, out_optimizer);
    *out_optimizer = NULL;
    mlc_optimizer *o = mica_alloc(sizeof *o);
    if (!o) return MICA_NO_MEMORY();
    mlc_lock();
    *o = *optimizer;
    mlc_unlock();
    mica_refcount_init(&o->references);
    *out_optimizer = o;
    return NULL;
}

void mlc_optimizer_retain(mlc_optimizer *optimizer) {
    if (!optimizer) return;
    mica_refcount_retain(&optimizer->references);
}

void mlc_optimizer_release(mlc_optimizer *optimizer) {
    if (optimizer && mica_refcount_release(&optimizer->references)) mica_free(optimizer);
}

/* ---- in a graph -------------------------------------------------------------------------------*/

/* 0.9f means 0.9, not 0.899999976: what is computed from it (1 - beta) is then right too. */
static double decimal(float x) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)x);
    return strtod(text, NULL);
}

mica_nn_optimizer mlc_optimizer_mathematics(const mlc_optimizer *o) {
    const mlc_optimizer_descriptor *d = &o->descriptor;
    mica_nn_optimizer n = MICA_NN_OPTIMIZER;
    n.kind = (mica_nn_optimizer_kind)o->kind;
    n.gradient_rescale = decimal(d->gradient_rescale);
    n.clips = d->applies_gradient_clipping;
    n.clipping = (mica_nn_clipping_kind)d->clipping;
    n.clip_min = d->gradient_clip_min;
    n.clip_max = d->gradient_clip_max;
    n.maximum_norm = d->maximum_clipping_norm;
    n.custom_global_norm = d->custom_global_norm;
    n.regularization = (mica_nn_regularization_kind)d->regularization;
    n.regularization_scale = decimal(d->regularization_scale);
    n.momentum = decimal(o->momentum);
    n.nesterov = o->nesterov;
    n.beta1 = decimal(o->beta1);
    n.beta2 = decimal(o->beta2);
    n.amsgrad = o->amsgrad;
    n.alpha = decimal(o->alpha);
    n.centered = o->centered;
    n.epsilon = decimal(o->epsilon);
    return n;
}

int32_t mlc_optimizer_state_count(const mlc_optimizer *optimizer) {
    if (!optimizer) return 0;
    mica_nn_optimizer n = mlc_optimizer_mathematics(optimizer);
    return mica_nn_optimizer_state_count(&n);
}

/* ---- properties -------------------------------------------------------------------------------
 * Those that may change are read and written under the lock, as executions read them there. */

mlc_optimizer_kind mlc_optimizer_kind_of(const mlc_optimizer *o) {
    if (!o) return (mlc_optimizer_kind)0;
    return o->kind;
}

float mlc_optimizer_learning_rate(const mlc_optimizer *o) {
    if (!o) return 0;
    mlc_lock();
    float rate = o->descriptor.learning_rate;
    mlc_unlock();
    return rate;
}

void mlc_optimizer_set_learning_rate(mlc_optimizer *o, float learning_rate) {
    if (!o) return;
    mlc_lock();
    o->descriptor.learning_rate = learning_rate;
    mlc_unlock();
}

bool mlc_optimizer_applies_gradient_clipping(const mlc_optimizer *o) {
    if (!o) return false;
    mlc_lock();
    bool applies = o->descriptor.applies_gradient_clipping;
    mlc_unlock();
    return applies;
}

void mlc_optimizer_set_applies_gradient_clipping(mlc_optimizer *o, bool applies) {
    if (!o) return;
    mlc_lock();
    o->descriptor.applies_gradient_clipping = applies;
    mlc_unlock();
}

int64_t mlc_optimizer_time_step(const mlc_optimizer *o) {
    if (!o) return 0;
    mlc_lock();
    int64_t step = o->time_step;
    mlc_unlock();
    return step;
}

float mlc_optimizer_gradient_rescale(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->descriptor.gradient_rescale;
}

float mlc_optimizer_gradient_clip_max(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->descriptor.gradient_clip_max;
}

float mlc_optimizer_gradient_clip_min(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->descriptor.gradient_clip_min;
}

float mlc_optimizer_regularization_scale(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->descriptor.regularization_scale;
}

mlc_regularization_type mlc_optimizer_regularization(const mlc_optimizer *o) {
    if (!o) return (mlc_regularization_type)0;
    return o->descriptor.regularization;
}

mlc_gradient_clipping_type mlc_optimizer_clipping(const mlc_optimizer *o) {
    if (!o) return (mlc_gradient_clipping_type)0;
    return o->descriptor.clipping;
}

float mlc_optimizer_maximum_clipping_norm(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->descriptor.maximum_clipping_norm;
}

float mlc_optimizer_custom_global_norm(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->descriptor.custom_global_norm;
}

float mlc_optimizer_momentum_scale(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->momentum;
}

bool mlc_optimizer_uses_nesterov_momentum(const mlc_optimizer *o) {
    if (!o) return false;
    return o->nesterov;
}

float mlc_optimizer_beta1(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->beta1;
}

float mlc_optimizer_beta2(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->beta2;
}

float mlc_optimizer_epsilon(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->epsilon;
}

bool mlc_optimizer_uses_amsgrad(const mlc_optimizer *o) {
    if (!o) return false;
    return o->amsgrad;
}

float mlc_optimizer_alpha(const mlc_optimizer *o) {
    if (!o) return 0;
    return o->alpha;
}

bool mlc_optimizer_is_centered(const mlc_optimizer *o) {
    if (!o) return false;
    return o->centered;
}
