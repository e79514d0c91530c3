/* Shape functions of arithmetic, comparisons, contractions and reductions. */
#include "tf/shape_rules.h"

static mica_status unequal(const mica_tf_inference *c, int64_t a, int64_t b) {
    return MICA_INVALID("[%s] Dimensions must be equal, but are %lld and %lld", c->info->name,
                        (long long)a, (long long)b);
}

/* While a graph is built the sizes are named, else the shapes: as TensorFlow does. */
static mica_status incompatible(const mica_tf_inference *c, const mica_tf_shape *a,
                                const mica_tf_shape *b) {
    for (int32_t i = 1; c->graph && i <= a->rank && i <= b->rank; i++) {
        int64_t x = a->dims[a->rank - i], y = b->dims[b->rank - i];
        if (x != y && x > 1 && y > 1) return unequal(c, x, y);
    }
    return MICA_INVALID("[%s] Incompatible shapes: %s vs. %s", c->info->name,
                        mica_tf_shape_text(a).chars, mica_tf_shape_text(b).chars);
}

mica_status tf_shape_broadcast(mica_tf_inference *c) {
    if (mica_tf_shape_broadcast(&c->inputs[0], &c->inputs[1], &c->outputs[0])) return NULL;
    return incompatible(c, &c->inputs[0], &c->inputs[1]);
}

mica_status tf_shape_select(mica_tf_inference *c) {
    mica_tf_shape both;
    if (!mica_tf_shape_broadcast(&c->inputs[1], &c->inputs[2], &both))
        return incompatible(c, &c->inputs[1], &c->inputs[2]);
    if (!mica_tf_shape_broadcast(&c->inputs[0], &both, &c->outputs[0]))
        return incompatible(c, &c->inputs[0], &both);
    return NULL;
}

mica_status tf_shape_add_n(mica_tf_inference *c) {
    mica_tf_shape shape = mica_tf_unknown();
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (!mica_tf_shape_merge(&shape, &c->inputs[i], &shape))
            return MICA_INVALID(
                "[AddN] Inputs to operation AddN must have the same size and shape. "
                " Input 0: %s != input %d: %s",
                mica_tf_shape_text(&c->inputs[0]).chars, i,
                mica_tf_shape_text(&c->inputs[i]).chars);
    c->outputs[0] = shape;
    return NULL;
}

static mica_status inner_sizes_differ(const mica_tf_inference *c, int64_t a, int64_t b) {
    if (c->graph && a != b) return unequal(c, a, b);
    return MICA_INVALID("[%s] Matrix size-incompatible: In[0]: %s, In[1]: %s", c->info->name,
                        mica_tf_shape_text(&c->inputs[0]).chars,
                        mica_tf_shape_text(&c->inputs[1]).chars);
}

mica_status tf_shape_matmul(mica_tf_inference *c) {
    mica_tf_shape a = c->inputs[0], b = c->inputs[1];
    if (a.rank < 0) a = mica_tf_unknown_of_rank(2);
    if (b.rank < 0) b = mica_tf_unknown_of_rank(2);
    if (a.rank != 2 || b.rank != 2)
        return MICA_INVALID("[MatMul] In[0] and In[1] must be matrices, not of shapes %s and %s",
                            mica_tf_shape_text(&a).chars, mica_tf_shape_text(&b).chars);
    int32_t ta = mica_tf_inference_int(c, "transpose_a") != 0;
    int32_t tb = mica_tf_inference_int(c, "transpose_b") != 0;
    int64_t inner_a = a.dims[1 - ta], inner_b = b.dims[tb];
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b)
        return inner_sizes_differ(c, inner_a, inner_b);
    c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {a.dims[ta], b.dims[1 - tb]}};
    return NULL;
}

mica_status tf_shape_batch_matmul(mica_tf_inference *c) {
    mica_tf_shape a = c->inputs[0], b = c->inputs[1], batch;
    if (a.rank < 0 || b.rank < 0) return NULL;
    if (a.rank < 2 || b.rank < 2)
        return MICA_INVALID("[%s] the operands must have at least rank 2: %s and %s", c->info->name,
                            mica_tf_shape_text(&a).chars, mica_tf_shape_text(&b).chars);
    int32_t ta = mica_tf_inference_int(c, "adj_x") != 0,
            tb = mica_tf_inference_int(c, "adj_y") != 0;
    int64_t rows = a.dims[a.rank - 2 + ta], inner_a = a.dims[a.rank - 1 - ta];
    int64_t columns = b.dims[b.rank - 1 - tb], inner_b = b.dims[b.rank - 2 + tb];
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b)
        return inner_sizes_differ(c, inner_a, inner_b);
    a.rank -= 2;
    b.rank -= 2;
    if (!mica_tf_shape_broadcast(&a, &b, &batch)) return inner_sizes_differ(c, 0, 0);
    batch.dims[batch.rank] = rows;
    batch.dims[batch.rank + 1] = columns;
    batch.rank += 2;
    c->outputs[0] = batch;
    return NULL;
}

mica_status tf_shape_reduce(mica_tf_inference *c) {
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *x = &c->inputs[0];
    bool keep = mica_tf_inference_int(c, "keep_dims") != 0;
    if (!mica_tf_input_known(c, 1, axes, &n)) {
        if (keep && x->rank >= 0) c->outputs[0] = mica_tf_unknown_of_rank(x->rank);
        return NULL;
    }
    if (x->rank < 0) return NULL;
    uint32_t reduced = 0;
    for (int32_t i = 0; i < n; i++) {
        if (axes[i] < -x->rank || axes[i] >= x->rank)
            return MICA_INVALID("[%s] Invalid reduction dimension (%lld for input with %d "
                                "dimension(s)",
                                c->info->name, (long long)axes[i], x->rank);
        reduced |= UINT32_C(1) << (axes[i] < 0 ? axes[i] + x->rank : axes[i]);
    }
    mica_tf_shape shape = {.rank = 0};
    for (int32_t i = 0; i < x->rank; i++) {
        if (!(reduced >> i & 1))
            shape.dims[shape.rank++] = x->dims[i];
        else if (keep)
            shape.dims[shape.rank++] = 1;
    }
    c->outputs[0] = shape;
    return NULL;
}

/* Batches of one shape: nothing is stretched. */
mica_status tf_shape_batch_matmul_equal(mica_tf_inference *c) {
    mica_tf_shape a = c->inputs[0], b = c->inputs[1], both;
    if (a.rank >= 2 && b.rank >= 2) {
        a.rank -= 2;
        b.rank -= 2;
        if (!mica_tf_shape_merge(&a, &b, &both))
            return MICA_INVALID("[%s] the batches must be of one shape: %s vs %s", c->info->name,
                                mica_tf_shape_text(&c->inputs[0]).chars,
                                mica_tf_shape_text(&c->inputs[1]).chars);
    }
    return tf_shape_batch_matmul(c);
}

/* One condition for all, one for each row, or one for each element. */
mica_status tf_shape_select_rows(mica_tf_inference *c) {
    const mica_tf_shape *condition = &c->inputs[0];
    mica_tf_shape both;
    if (!mica_tf_shape_merge(&c->inputs[1], &c->inputs[2], &both))
        return incompatible(c, &c->inputs[1], &c->inputs[2]);
    c->outputs[0] = both;
    if (condition->rank <= 0 || both.rank < 0) return NULL;
    const mica_tf_shape rows = {.rank = 1, .dims = {both.rank > 0 ? both.dims[0] : 0}};
    mica_tf_shape merged;
    bool by_row = condition->rank == 1 && both.rank > 1;
    if (mica_tf_shape_merge(condition, by_row ? &rows : &both, &merged)) return NULL;
    return incompatible(c, condition, &both);
}

mica_status tf_shape_clip_by_value(mica_tf_inference *c) {
    c->outputs[0] = c->inputs[0];
    for (int32_t i = 1; i < 3; i++) {
        mica_tf_shape both;
        if (c->inputs[i].rank == 0 || mica_tf_shape_merge(&c->inputs[0], &c->inputs[i], &both))
            continue;
        return MICA_INVALID("[%s] clip_value_min and clip_value_max must be either of the same "
                            "shape as input, or a scalar. input shape: %s, %s shape: %s",
                            c->info->name, mica_tf_shape_text(&c->inputs[0]).chars,
                            c->info->inputs[i].name, mica_tf_shape_text(&c->inputs[i]).chars);
    }
    return NULL;
}

mica_status tf_shape_cross(mica_tf_inference *c) {
    if (!mica_tf_shape_merge(&c->inputs[0], &c->inputs[1], &c->outputs[0]))
        return MICA_INVALID("[%s] Both inputs must be of same shape: %s vs. %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[0]).chars,
                            mica_tf_shape_text(&c->inputs[1]).chars);
    const mica_tf_shape *x = &c->outputs[0];
    if (x->rank < 0) return NULL;
    if (x->rank == 0)
        return MICA_INVALID("[%s] Input must be at least 1D: %s", c->info->name,
                            mica_tf_shape_text(x).chars);
    if (x->dims[x->rank - 1] >= 0 && x->dims[x->rank - 1] != 3)
        return MICA_ERROR(c->graph ? MICA_INVALID_ARGUMENT : MICA_FAILED_PRECONDITION,
                          "[%s] Cross-products are only defined for 3-element vectors: %s",
                          c->info->name, mica_tf_shape_text(x).chars);
    return NULL;
}

mica_status tf_shape_linspace(mica_tf_inference *c) {
    int64_t n;
    bool known;
    for (int32_t i = 0; i < 2; i++)
        if (c->inputs[i].rank > 0)
            return MICA_INVALID("[%s] %s must be a scalar, got shape %s", c->info->name,
                                c->info->inputs[i].name, mica_tf_shape_text(&c->inputs[i]).chars);
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    MICA_TRY(mica_tf_input_number(c, 2, &n, &known));
    if (!known) return NULL;
    if (n <= 0) return MICA_INVALID("[%s] Requires num > 0: %lld", c->info->name, (long long)n);
    c->outputs[0].dims[0] = n;
    return NULL;
}
