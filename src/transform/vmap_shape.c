/* Batching of elementwise and shape ops, contractions and reductions. Batch axes come
 * first, so most rules shift the op's own axes by one. */
#include <string.h>

#include "ir/conv_layout.h"
#include "transform/rules.h"
#include "transform/vmap.h"

/* No operands, nothing to map. */
MICA_VMAP_RULE(constant) {
    (void)x;
    y[0] = (mica_batched){mica_like(pass->g, n, NULL), false};
}

/* The same op on operands that all have the batch axis. */
MICA_VMAP_RULE(elementwise) {
    mica_value operands[3];
    for (int32_t k = 0; k < n->n_operands; k++) operands[k] = mica_mapped(pass, x[k]);
    y[0] = (mica_batched){mica_like(pass->g, n, operands), true};
}

/* (first, ints + shift) */
typedef struct longer {
    int64_t data[MICA_MAX_RANK + 1];
} longer;
static longer prepend(int64_t first, mica_ints ints, int64_t shift) {
    longer result;
    result.data[0] = first;
    for (int32_t i = 0; i < ints.n && i < MICA_MAX_RANK; i++)
        result.data[i + 1] = ints.data[i] + shift;
    return result;
}

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

MICA_VMAP_RULE(broadcast) {
    longer shape = prepend(pass->size, dims_of(&n->results[0]), 0);
    longer axes = prepend(0, mica_node_ints(n, "axes"), 1);
    y[0].value =
        mica_broadcast(pass->g, x[0].value, (mica_ints){shape.data, n->results[0].rank + 1},
                       (mica_ints){axes.data, mica_operand_type(n, 0)->rank + 1});
    y[0].mapped = true;
}

MICA_VMAP_RULE(reshape) {
    longer shape = prepend(pass->size, dims_of(&n->results[0]), 0);
    y[0].value = mica_reshape(pass->g, x[0].value, (mica_ints){shape.data, n->results[0].rank + 1});
    y[0].mapped = true;
}

MICA_VMAP_RULE(transpose) {
    mica_ints permutation = mica_node_ints(n, "permutation");
    longer shifted = prepend(0, permutation, 1);
    y[0].value = mica_transpose(pass->g, x[0].value, (mica_ints){shifted.data, permutation.n + 1});
    y[0].mapped = true;
}

MICA_VMAP_RULE(slice) {
    int32_t rank = mica_operand_type(n, 0)->rank + 1;
    longer start = prepend(0, mica_node_ints(n, "start"), 0);
    longer limit = prepend(pass->size, mica_node_ints(n, "limit"), 0);
    longer stride = prepend(1, mica_node_ints(n, "stride"), 0);
    y[0].value = mica_slice(pass->g, x[0].value, (mica_ints){start.data, rank},
                            (mica_ints){limit.data, rank}, (mica_ints){stride.data, rank});
    y[0].mapped = true;
}

/* A padding that differs between examples is selected in where x is not. */
MICA_VMAP_RULE(pad) {
    mica_graph *g = pass->g;
    const mica_type *type = mica_operand_type(n, 0);
    int32_t rank = type->rank + 1;
    longer low = prepend(0, mica_node_ints(n, "low"), 0);
    longer high = prepend(0, mica_node_ints(n, "high"), 0);
    longer interior = prepend(0, mica_node_ints(n, "interior"), 0);
    mica_value operand = mica_mapped(pass, x[0]);
    mica_value padding = x[1].mapped ? mica_scalar(g, type->dtype, 0) : x[1].value;
    mica_value padded = mica_pad(g, operand, padding, (mica_ints){low.data, rank},
                                 (mica_ints){high.data, rank}, (mica_ints){interior.data, rank});
    if (x[1].mapped && mica_value_type(padded)) {
        mica_type flags = *type;
        flags.dtype = MICA_DTYPE_bool;
        mica_value yes = mica_scalar(g, MICA_DTYPE_bool, 1),
                   no = mica_scalar(g, MICA_DTYPE_bool, 0);
        mica_value inside = mica_broadcast(g, yes, dims_of(&flags), MICA_NO_INTS);
        inside = mica_pad(g, inside, no, mica_node_ints(n, "low"), mica_node_ints(n, "high"),
                          mica_node_ints(n, "interior"));
        inside = mica_mapped(pass, (mica_batched){inside, false});
        mica_ints shape = dims_of(mica_value_type(padded));
        padded = mica_select(g, inside, padded, mica_broadcast(g, x[1].value, shape, MICA_INTS(0)));
    }
    y[0] = (mica_batched){padded, true};
}

MICA_VMAP_RULE(concat) {
    mica_value *operands =
        mica_transform_alloc(pass->t, pass->g, (size_t)n->n_operands, sizeof *operands);
    if (!operands) return;
    for (int32_t k = 0; k < n->n_operands; k++) operands[k] = mica_mapped(pass, x[k]);
    y[0].value = mica_concat(pass->g, operands, n->n_operands, mica_node_int(n, "axis") + 1);
    y[0].mapped = true;
}

MICA_VMAP_RULE(reverse) {
    mica_ints axes = mica_node_ints(n, "axes");
    longer shifted = prepend(0, axes, 1);
    y[0].value = mica_reverse(pass->g, x[0].value, (mica_ints){shifted.data + 1, axes.n});
    y[0].mapped = true;
}

/* A start for one more axis, where the slice begins at 0. */
static mica_value start_with_zero(mica_graph *g, mica_value start) {
    const mica_type *type = mica_value_type(start);
    if (!type) return MICA_NULL_VALUE;
    mica_value zero = mica_reshape(g, mica_scalar(g, type->dtype, 0), MICA_INTS(1));
    mica_value parts[] = {zero, start};
    return mica_concat(g, parts, 2, 0);
}

MICA_VMAP_RULE(dynamic_slice) {
    if (x[1].mapped) {
        mica_vmap_slices(pass, n, x, y);
        return;
    }
    mica_ints sizes = mica_node_ints(n, "sizes");
    longer more = prepend(pass->size, sizes, 0);
    y[0].value = mica_dynamic_slice(pass->g, x[0].value, start_with_zero(pass->g, x[1].value),
                                    (mica_ints){more.data, sizes.n + 1});
    y[0].mapped = true;
}

MICA_VMAP_RULE(dynamic_update_slice) {
    if (x[2].mapped) {
        mica_vmap_slice_updates(pass, n, x, y);
        return;
    }
    y[0].value =
        mica_dynamic_update_slice(pass->g, mica_mapped(pass, x[0]), mica_mapped(pass, x[1]),
                                  start_with_zero(pass->g, x[2].value));
    y[0].mapped = true;
}

MICA_VMAP_RULE(reduce) {
    mica_ints axes = mica_node_ints(n, "axes");
    longer shifted = prepend(0, axes, 1);
    y[0].value = mica_reduce(pass->g, x[0].value, mica_node_string(n, "kind"),
                             (mica_ints){shifted.data + 1, axes.n});
    y[0].mapped = true;
}

MICA_VMAP_RULE(argmax) {
    mica_dtype dtype = (mica_dtype)mica_node_int(n, "dtype");
    int64_t axis = mica_node_int(n, "axis") + 1;
    y[0].value = n->op == MICA_OP_argmax ? mica_argmax(pass->g, x[0].value, axis, dtype)
                                         : mica_argmin(pass->g, x[0].value, axis, dtype);
    y[0].mapped = true;
}

/* ---- contractions -----------------------------------------------------------------------------*/

/* Both mapped: one more batch axis. One mapped: its batch axis is a free axis of that side. */
MICA_VMAP_RULE(dot) {
    mica_graph *g = pass->g;
    mica_ints contract[] = {mica_node_ints(n, "lhs_contract"), mica_node_ints(n, "rhs_contract")};
    mica_ints batch[] = {mica_node_ints(n, "lhs_batch"), mica_node_ints(n, "rhs_batch")};
    longer contracted[2], batched[2];
    bool both = x[0].mapped && x[1].mapped;
    int32_t n_batch = batch[0].n;
    int32_t free_a = mica_operand_type(n, 0)->rank - n_batch - contract[0].n;
    for (int32_t k = 0; k < 2; k++) {
        contracted[k] = prepend(0, contract[k], x[k].mapped);
        batched[k] = prepend(0, batch[k], x[k].mapped);
        contract[k].data = contracted[k].data + 1;
        batch[k].data = batched[k].data + !both;
        batch[k].n += both;
    }
    y[0].value = mica_dot(g, x[0].value, x[1].value, contract[0], contract[1], batch[0], batch[1]);
    y[0].mapped = true;
    int32_t place = both ? 0 : x[0].mapped ? n_batch : n_batch + free_a;
    y[0].value = mica_move_axis(g, y[0].value, place, 0);
}

/* Folds the batch axis of x (first) into another axis, which is made of `groups` outer parts: the
 * axis becomes (groups, batch, rest). */
static mica_value fold(mica_graph *g, mica_value x, int32_t axis, int64_t groups) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t split[MICA_MAX_RANK], joined[MICA_MAX_RANK], batch = type->dims[0];
    int32_t rank = type->rank;
    for (int32_t i = 0; i < rank; i++) split[i <= axis + 1 ? i : i + 1] = type->dims[i];
    split[axis + 1] = groups;
    split[axis + 2] = type->dims[axis + 1] / groups;
    for (int32_t i = 1; i < rank; i++) joined[i - 1] = type->dims[i];
    joined[axis] *= batch;
    mica_value parts = mica_reshape(g, x, (mica_ints){split, rank + 1});
    parts = mica_move_axis(g, parts, 0, axis + 1); /* behind the groups */
    return mica_reshape(g, parts, (mica_ints){joined, rank - 1});
}

/* The opposite: an axis (groups, batch, rest) gives its batch axis to the front. */
static mica_value unfold(mica_graph *g, mica_value x, int32_t axis, int64_t groups, int64_t batch) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t split[MICA_MAX_RANK], joined[MICA_MAX_RANK];
    int32_t rank = type->rank;
    for (int32_t i = 0; i < rank; i++) {
        split[i < axis ? i : i + 2] = type->dims[i];
        joined[i + 1] = type->dims[i];
    }
    int64_t rest = batch && groups ? type->dims[axis] / groups / batch : 0;
    split[axis] = groups;
    split[axis + 1] = batch;
    split[axis + 2] = rest;
    joined[0] = batch;
    joined[axis + 1] = groups * rest;
    mica_value parts = mica_reshape(g, x, (mica_ints){split, rank + 2});
    parts = mica_move_axis(g, parts, axis + 1, 0);
    return mica_reshape(g, parts, (mica_ints){joined, rank + 1});
}

static mica_value conv_with(mica_graph *g, const mica_node *n, mica_value lhs, mica_value rhs,
                            int64_t groups) {
    return mica_conv(g, lhs, rhs, mica_node_string(n, "layout"), mica_node_ints(n, "strides"),
                     mica_node_ints(n, "low"), mica_node_ints(n, "high"),
                     mica_node_ints(n, "lhs_dilation"), mica_node_ints(n, "rhs_dilation"), groups,
                     mica_node_int(n, "batch_groups"));
}

/* Mapped input: more batch. Mapped kernel: more output channels. Both: every example is a group of
 * its own (one after the other where the batch is grouped already, or there are no examples). */
MICA_VMAP_RULE(conv) {
    mica_graph *g = pass->g;
    mica_conv_layout l;
    int64_t groups = mica_node_int(n, "groups"), batch_groups = mica_node_int(n, "batch_groups");
    mica_conv_layout_parse(mica_node_string(n, "layout"), &l);
    bool both = x[0].mapped && x[1].mapped;
    if (pass->size == 0 || (both && batch_groups > 1)) {
        mica_vmap_by_scan(pass, n, x, y);
        return;
    }
    mica_value out;
    if (both) {
        mica_value lhs = fold(g, x[0].value, l.lhs_channel, 1);
        mica_value rhs = fold(g, x[1].value, l.rhs_output, 1);
        out = conv_with(g, n, lhs, rhs, groups * pass->size);
        out = unfold(g, out, l.out_channel, 1, pass->size);
    } else if (x[0].mapped) {
        mica_value lhs = fold(g, x[0].value, l.lhs_batch, batch_groups);
        out = conv_with(g, n, lhs, x[1].value, groups);
        out = unfold(g, out, l.out_batch, 1, pass->size);
    } else {
        int64_t parts = groups * batch_groups;
        mica_value rhs = fold(g, x[1].value, l.rhs_output, parts);
        out = conv_with(g, n, x[0].value, rhs, groups);
        out = unfold(g, out, l.out_channel, parts, pass->size);
    }
    y[0] = (mica_batched){out, true};
}

/* Ops whose leading axes are a batch already. */
MICA_VMAP_RULE(leading) {
    mica_value operands[3];
    for (int32_t k = 0; k < n->n_operands; k++) operands[k] = mica_mapped(pass, x[k]);
    mica_node *node = mica_node_clone(pass->g, n, operands);
    for (int32_t i = 0; node && i < node->n_results; i++)
        y[i] = (mica_batched){mica_node_result(node, i), true};
}
