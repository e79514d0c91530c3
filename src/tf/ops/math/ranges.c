/* Lowerings of ops that choose, clip, divide and space numbers as TensorFlow 1 did. */
#include "mica/nn.h"
#include "tf/lower_rules.h"

void tf_lower_select_rows(mica_tf_lowering *c) {
    mica_value condition = c->inputs[0];
    mica_type type = *mica_tf_type(c, 1);
    if (mica_tf_type(c, 0)->rank == 1 && type.rank > 1)
        condition =
            mica_broadcast(c->g, condition, (mica_ints){type.dims, type.rank}, MICA_INTS(0));
    c->outputs[0] = mica_select(c->g, condition, c->inputs[1], c->inputs[2]);
}

void tf_lower_old_div(mica_tf_lowering *c) {
    mica_dtype_kind kind = mica_dtype_kind_of(mica_tf_type(c, 0)->dtype);
    if (kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX)
        c->outputs[0] = mica_div(c->g, c->inputs[0], c->inputs[1]);
    else
        tf_lower_truncate_div(c);
}

/* The lower bound comes first; where t meets a bound the gradient is t's. */
void tf_lower_clip_by_value(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value t = c->inputs[0], low = c->inputs[1], high = c->inputs[2];
    mica_value y = mica_select(g, mica_compare(g, t, high, "gt"), high, t);
    c->outputs[0] = mica_select(g, mica_compare(g, t, low, "lt"), low, y);
}

void tf_lower_l2_loss(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    int64_t axes[MICA_MAX_RANK];
    int32_t rank = mica_tf_type(c, 0)->rank;
    for (int32_t i = 0; i < rank; i++) axes[i] = i;
    mica_value sum = mica_sum(g, mica_mul(g, c->inputs[0], c->inputs[0]), (mica_ints){axes, rank});
    c->outputs[0] = mica_mul(g, sum, mica_full_like(g, sum, 0.5));
}

/* Entry i of vectors along the last axis, which has three. */
static mica_value entry(mica_graph *g, mica_value x, int64_t i) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_type type = *mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, stride[MICA_MAX_RANK];
    for (int32_t k = 0; k < type.rank; k++) stride[k] = 1;
    low[type.rank - 1] = i;
    type.dims[type.rank - 1] = i + 1;
    return mica_slice(g, x, (mica_ints){low, type.rank}, (mica_ints){type.dims, type.rank},
                      (mica_ints){stride, type.rank});
}

void tf_lower_cross(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value a[3], b[3], parts[3];
    for (int32_t i = 0; i < 3; i++)
        a[i] = entry(g, c->inputs[0], i), b[i] = entry(g, c->inputs[1], i);
    for (int32_t i = 0; i < 3; i++) {
        int32_t j = (i + 1) % 3, k = (i + 2) % 3;
        parts[i] = mica_sub(g, mica_mul(g, a[j], b[k]), mica_mul(g, a[k], b[j]));
    }
    c->outputs[0] = mica_concat(g, parts, 3, mica_tf_type(c, 0)->rank - 1);
}

/* start + i (stop - start) / (num - 1), and the last is stop. */
void tf_lower_linspace(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_shape shape;
    mica_dtype dtype = mica_tf_type(c, 0)->dtype;
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_ints dims = {shape.dims, 1};
    mica_value start = mica_broadcast_to(g, c->inputs[0], dims);
    if (shape.dims[0] == 1) {
        c->outputs[0] = start;
        return;
    }
    mica_value stop = mica_broadcast_to(g, c->inputs[1], dims);
    mica_value steps = mica_full_like(g, start, (double)(shape.dims[0] - 1));
    mica_value delta = mica_div(g, mica_sub(g, stop, start), steps);
    mica_value place = mica_iota(g, dims, 0, MICA_DTYPE_i64);
    mica_value last = mica_full_like(g, place, (double)(shape.dims[0] - 1));
    mica_value y = mica_add(g, start, mica_mul(g, delta, mica_convert(g, place, dtype)));
    c->outputs[0] = mica_select(g, mica_compare(g, place, last, "eq"), stop, y);
}
