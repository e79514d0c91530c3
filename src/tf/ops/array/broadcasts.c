/* What becomes of two shapes that are stretched to meet: the common shape, and the axes along which
 * each was stretched. Their sizes are integers that are known before anything is computed. */
#include <string.h>

#include "tf/host_rules.h"
#include "tf/lower_rules.h"
#include "tf/shape_rules.h"

typedef struct stretched {
    mica_tf_shape common;
    int64_t axes[2][MICA_MAX_RANK]; /* of size 1, both sizes being 1 included */
    int32_t counts[2];
} stretched;

static mica_status stretch(const char *op, const mica_tf_shape shapes[2], stretched *out) {
    *out = (stretched){.common = {.rank = 0}};
    for (int32_t i = 0; i < 2; i++)
        for (int32_t k = 0; k < shapes[i].rank; k++)
            if (shapes[i].dims[k] < 0)
                return MICA_INVALID("[%s] a size is negative: %lld", op,
                                    (long long)shapes[i].dims[k]);
    if (!mica_tf_shape_broadcast(&shapes[0], &shapes[1], &out->common))
        return MICA_INVALID("[%s] Incompatible shapes: %s vs. %s", op,
                            mica_tf_shape_text(&shapes[0]).chars,
                            mica_tf_shape_text(&shapes[1]).chars);
    for (int32_t i = 0; i < 2; i++)
        for (int32_t k = 0; k < out->common.rank; k++) {
            int32_t at = k - (out->common.rank - shapes[i].rank);
            if (at < 0 || shapes[i].dims[at] == 1) out->axes[i][out->counts[i]++] = k;
        }
    return NULL;
}

/* ---- while a graph is built -------------------------------------------------------------------*/

/* *out_known: both shapes are. */
static mica_status infer(mica_tf_inference *c, stretched *out, bool *out_known) {
    int64_t sizes[MICA_MAX_RANK * 4];
    mica_tf_shape shapes[2];
    *out_known = true;
    for (int32_t i = 0; i < 2; i++) {
        const mica_tf_shape *given = &c->inputs[i];
        if (given->rank >= 0 && given->rank != 1)
            return MICA_INVALID("[%s] %s must be a vector, got shape %s", c->info->name,
                                c->info->inputs[i].name, mica_tf_shape_text(given).chars);
        if (given->rank == 1 && given->dims[0] > MICA_MAX_RANK)
            return MICA_INVALID("[%s] a shape has rank %lld: at most %d is possible", c->info->name,
                                (long long)given->dims[0], MICA_MAX_RANK);
        if (!mica_tf_input_known(c, i, sizes, &shapes[i].rank) || shapes[i].rank > MICA_MAX_RANK) {
            *out_known = false;
            continue;
        }
        memcpy(shapes[i].dims, sizes, sizeof(int64_t) * (size_t)shapes[i].rank);
    }
    return *out_known ? stretch(c->info->name, shapes, out) : NULL;
}

mica_status tf_shape_broadcast_args(mica_tf_inference *c) {
    stretched s;
    bool known;
    MICA_TRY(infer(c, &s, &known));
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    int64_t a = c->inputs[0].rank < 0 ? -1 : c->inputs[0].dims[0];
    int64_t b = c->inputs[1].rank < 0 ? -1 : c->inputs[1].dims[0];
    if (a >= 0 && b >= 0) c->outputs[0].dims[0] = a > b ? a : b;
    return NULL;
}

mica_status tf_shape_broadcast_gradient_args(mica_tf_inference *c) {
    stretched s;
    bool known;
    MICA_TRY(infer(c, &s, &known));
    for (int32_t i = 0; i < 2; i++) {
        c->outputs[i] = mica_tf_unknown_of_rank(1);
        if (known) c->outputs[i].dims[0] = s.counts[i];
    }
    return NULL;
}

/* ---- lowering ---------------------------------------------------------------------------------*/

static bool read_constants(mica_tf_lowering *c, stretched *out) {
    int64_t sizes[MICA_MAX_RANK * 4];
    mica_tf_shape shapes[2];
    for (int32_t i = 0; i < 2; i++) {
        if (!mica_tf_constant_ints(c, i, sizes, &shapes[i].rank)) return false;
        memcpy(shapes[i].dims, sizes, sizeof(int64_t) * (size_t)shapes[i].rank);
    }
    mica_status status = stretch(c->info->name, shapes, out);
    if (status) mica_graph_fail(c->g, status);
    return !status;
}

static mica_value constant(mica_tf_lowering *c, const int64_t *ints, int32_t n) {
    mica_dtype dtype = mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "T"));
    mica_type type = mica_type_make(dtype, MICA_INTS(n));
    int32_t narrow[MICA_MAX_RANK];
    for (int32_t i = 0; i < n; i++) narrow[i] = (int32_t)ints[i];
    const void *data = dtype == MICA_DTYPE_i32 ? (const void *)narrow : ints;
    return mica_constant(c->g, (mica_data){&type, data});
}

void tf_lower_broadcast_args(mica_tf_lowering *c) {
    stretched s;
    if (read_constants(c, &s)) c->outputs[0] = constant(c, s.common.dims, s.common.rank);
}

void tf_lower_broadcast_gradient_args(mica_tf_lowering *c) {
    stretched s;
    if (!read_constants(c, &s)) return;
    for (int32_t i = 0; i < 2; i++) c->outputs[i] = constant(c, s.axes[i], s.counts[i]);
}

/* ---- on the host ------------------------------------------------------------------------------*/

static mica_status read_values(const mica_tf_host *c, stretched *out) {
    mica_tf_shape shapes[2];
    for (int32_t i = 0; i < 2; i++)
        MICA_TRY(mica_tf_tensor_ints(mica_tf_tensor(c->inputs[i]), shapes[i].dims, MICA_MAX_RANK,
                                     &shapes[i].rank));
    return stretch(c->info->name, shapes, out);
}

static mica_status give(mica_tf_host *c, int32_t i, const int64_t *ints, int32_t n) {
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tf_ints_tensor(c->device, mica_tf_dtype_core(c->output_dtypes[i]), ints, n, 1,
                                 &tensor));
    c->outputs[i] = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_host_broadcast_args(mica_tf_host *c) {
    stretched s;
    MICA_TRY(read_values(c, &s));
    return give(c, 0, s.common.dims, s.common.rank);
}

mica_status tf_host_broadcast_gradient_args(mica_tf_host *c) {
    stretched s;
    MICA_TRY(read_values(c, &s));
    for (int32_t i = 0; i < 2; i++) MICA_TRY(give(c, i, s.axes[i], s.counts[i]));
    return NULL;
}
