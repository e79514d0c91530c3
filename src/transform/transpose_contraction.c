/* Transposes of dot and conv, which are linear in either operand: contractions of the cotangent
 * with the other operand. */
#include <string.h>

#include "ir/conv_layout.h"
#include "transform/rules.h"

/* ---- dot --------------------------------------------------------------------------------------
 * y = dot(a, b) has axes: batch, free axes of a, free axes of b. The cotangent of a is dot(dy, b)
 * over b's free axes, with axes batch, a's free, b's contracted in b's order; that of b is
 * dot(a, dy) over a's free axes, with axes batch, a's contracted in a's order, b's free. */

typedef struct dot_side {
    mica_ints contract, batch;
    int64_t free[MICA_MAX_RANK];
    int32_t n_free;
} dot_side;

static bool contains(mica_ints ints, int64_t value) {
    for (int32_t i = 0; i < ints.n; i++)
        if (ints.data[i] == value) return true;
    return false;
}

static dot_side side_of(const mica_node *n, int32_t k) {
    dot_side side = {.contract = mica_node_ints(n, k ? "rhs_contract" : "lhs_contract"),
                     .batch = mica_node_ints(n, k ? "rhs_batch" : "lhs_batch")};
    for (int32_t i = 0; i < mica_operand_type(n, k)->rank; i++)
        if (!contains(side.contract, i) && !contains(side.batch, i)) side.free[side.n_free++] = i;
    return side;
}

/* How many of `ints` lie below value: its place among them when they are sorted. */
static int32_t sorted_place(mica_ints ints, int64_t value) {
    int32_t place = 0;
    for (int32_t i = 0; i < ints.n; i++) place += ints.data[i] < value;
    return place;
}

/* The other operand stands on its own side, so that of a matrix product nothing is transposed. */
static mica_value dot_cotangent(mica_graph *g, const mica_node *n, mica_value dy, int32_t k) {
    dot_side self = side_of(n, k), other = side_of(n, 1 - k);
    int32_t n_batch = self.batch.n;
    int64_t batch[MICA_MAX_RANK], contract[MICA_MAX_RANK], permutation[MICA_MAX_RANK];
    for (int32_t i = 0; i < n_batch; i++) batch[i] = i;
    int32_t first = n_batch + (k == 0 ? self.n_free : 0); /* of the other's free axes in dy */
    for (int32_t i = 0; i < other.n_free; i++) contract[i] = first + i;
    mica_ints dy_contract = {contract, other.n_free}, dy_batch = {batch, n_batch};
    mica_ints other_contract = {other.free, other.n_free};
    mica_value x = n->operands[1 - k];
    mica_value product =
        k == 0 ? mica_dot(g, dy, x, dy_contract, other_contract, dy_batch, other.batch)
               : mica_dot(g, x, dy, other_contract, dy_contract, other.batch, dy_batch);
    int32_t free_place = n_batch + (k == 0 ? 0 : self.contract.n);
    int32_t contract_place = n_batch + (k == 0 ? self.n_free : 0);
    for (int32_t i = 0; i < n_batch; i++) permutation[self.batch.data[i]] = i;
    for (int32_t i = 0; i < self.n_free; i++) permutation[self.free[i]] = free_place + i;
    for (int32_t i = 0; i < self.contract.n; i++)
        permutation[self.contract.data[i]] =
            contract_place + sorted_place(other.contract, other.contract.data[i]);
    int32_t rank = mica_operand_type(n, k)->rank;
    bool in_order = true;
    for (int32_t i = 0; i < rank; i++) in_order &= permutation[i] == i;
    return in_order ? product : mica_transpose(g, product, (mica_ints){permutation, rank});
}

MICA_TRANSPOSE_RULE(dot) {
    (void)t;
    for (int32_t k = 0; k < 2; k++)
        if (linear[k]) out[k] = dot_cotangent(g, n, dy[0], k);
}

/* ---- conv -------------------------------------------------------------------------------------
 * With dilated sizes X = (x - 1) dx + 1 of the input, K of the kernel, Y of the result (by stride):
 * input cotangent:  the cotangent, dilated by the stride, convolved with the mirrored kernel, its
 *                   input and output channels exchanged; padded low by K - 1 - low.
 * kernel cotangent: the input convolved with the cotangent dilated by the stride, batch and
 * channels exchanged; padded low by low. */

typedef struct conv_parts {
    mica_conv_layout layout;
    mica_ints strides, low, high, lhs_dilation, rhs_dilation;
    int64_t groups, batch_groups;
} conv_parts;

static conv_parts parts_of(const mica_node *n) {
    conv_parts p = {.strides = mica_node_ints(n, "strides"),
                    .low = mica_node_ints(n, "low"),
                    .high = mica_node_ints(n, "high"),
                    .lhs_dilation = mica_node_ints(n, "lhs_dilation"),
                    .rhs_dilation = mica_node_ints(n, "rhs_dilation"),
                    .groups = mica_node_int(n, "groups"),
                    .batch_groups = mica_node_int(n, "batch_groups")};
    mica_conv_layout_parse(mica_node_string(n, "layout"), &p.layout);
    return p;
}

static int64_t dilated(int64_t size, int64_t dilation) {
    return size ? (size - 1) * dilation + 1 : 0;
}

/* One part of a layout: where two letters and the spatial digits stand. */
static void write_part(char *text, char first, int32_t first_axis, char second, int32_t second_axis,
                       const int32_t *spatial, int32_t n_spatial) {
    text[first_axis] = first;
    text[second_axis] = second;
    for (int32_t i = 0; i < n_spatial; i++) text[spatial[i]] = (char)('0' + i);
    text[n_spatial + 2] = 0;
}

typedef struct layout_text {
    char chars[3 * (MICA_CONV_AXES + 3)];
} layout_text;

static layout_text write_layout(const mica_conv_layout *l) {
    layout_text text;
    int32_t part = l->spatial + 3;
    write_part(text.chars, 'N', l->lhs_batch, 'C', l->lhs_channel, l->lhs_spatial, l->spatial);
    write_part(text.chars + part, 'I', l->rhs_input, 'O', l->rhs_output, l->rhs_spatial,
               l->spatial);
    write_part(text.chars + 2 * part, 'N', l->out_batch, 'C', l->out_channel, l->out_spatial,
               l->spatial);
    text.chars[part - 1] = text.chars[2 * part - 1] = ',';
    return text;
}

/* Moves `groups`, the outer part of axis `from`, to be the outer part of axis `to`. */
static mica_value move_groups(mica_graph *g, mica_value x, int32_t from, int32_t to,
                              int64_t groups) {
    const mica_type *type = mica_value_type(x);
    if (groups == 1 || !type) return x;
    int64_t split[MICA_MAX_RANK], permutation[MICA_MAX_RANK], joined[MICA_MAX_RANK];
    int32_t n = 0, rank = type->rank;
    if (rank == MICA_MAX_RANK) return x; /* conv has five axes at most */
    for (int32_t i = 0; i < rank; i++) { /* axis i stands at i, or i + 1 from `from` on */
        if (i == from)
            split[i] = groups, split[i + 1] = type->dims[i] / groups;
        else
            split[i < from ? i : i + 1] = type->dims[i];
        joined[i] = type->dims[i];
    }
    for (int32_t i = 0; i < rank; i++) {
        if (i == to) permutation[n++] = from;
        permutation[n++] = i < from ? i : i + 1;
    }
    joined[from] /= groups;
    joined[to] *= groups;
    mica_value moved = mica_reshape(g, x, (mica_ints){split, rank + 1});
    moved = mica_transpose(g, moved, (mica_ints){permutation, n});
    return mica_reshape(g, moved, (mica_ints){joined, rank});
}

static mica_value conv_input_cotangent(mica_graph *g, const mica_node *n, mica_value dy) {
    conv_parts p = parts_of(n);
    const mica_conv_layout *l = &p.layout;
    const mica_type *x = mica_operand_type(n, 0), *k = mica_operand_type(n, 1);
    int64_t low[MICA_CONV_AXES], high[MICA_CONV_AXES], mirrored[MICA_CONV_AXES];
    for (int32_t i = 0; i < l->spatial; i++) {
        int64_t input = dilated(x->dims[l->lhs_spatial[i]], p.lhs_dilation.data[i]);
        int64_t window = dilated(k->dims[l->rhs_spatial[i]], p.rhs_dilation.data[i]);
        int64_t result = dilated(n->results[0].dims[l->out_spatial[i]], p.strides.data[i]);
        low[i] = window - 1 - p.low.data[i];
        high[i] = input + window - 1 - result - low[i];
        mirrored[i] = l->rhs_spatial[i];
    }
    /* The cotangent's channels are in groups whichever way the forward conv was grouped. */
    int64_t groups = p.groups > 1 ? p.groups : p.batch_groups;
    mica_value kernel = move_groups(g, n->operands[1], l->rhs_output, l->rhs_input, groups);
    kernel = mica_reverse(g, kernel, (mica_ints){mirrored, l->spatial});
    mica_conv_layout swapped = *l;
    swapped.lhs_batch = l->out_batch, swapped.lhs_channel = l->out_channel;
    swapped.out_batch = l->lhs_batch, swapped.out_channel = l->lhs_channel;
    swapped.rhs_input = l->rhs_output, swapped.rhs_output = l->rhs_input;
    memcpy(swapped.lhs_spatial, l->out_spatial, sizeof l->out_spatial);
    memcpy(swapped.out_spatial, l->lhs_spatial, sizeof l->lhs_spatial);
    mica_value dx = mica_conv(g, dy, kernel, write_layout(&swapped).chars, p.lhs_dilation,
                              (mica_ints){low, l->spatial}, (mica_ints){high, l->spatial},
                              p.strides, p.rhs_dilation, groups, 1);
    return move_groups(g, dx, l->lhs_channel, l->lhs_batch, p.batch_groups);
}

static mica_value conv_kernel_cotangent(mica_graph *g, const mica_node *n, mica_value dy) {
    conv_parts p = parts_of(n);
    const mica_conv_layout *l = &p.layout;
    const mica_type *x = mica_operand_type(n, 0), *k = mica_operand_type(n, 1);
    int64_t high[MICA_CONV_AXES];
    for (int32_t i = 0; i < l->spatial; i++) {
        int64_t input = dilated(x->dims[l->lhs_spatial[i]], p.lhs_dilation.data[i]);
        int64_t window = dilated(k->dims[l->rhs_spatial[i]], p.rhs_dilation.data[i]);
        int64_t result = dilated(n->results[0].dims[l->out_spatial[i]], p.strides.data[i]);
        high[i] = result - input + window - p.low.data[i] - 1;
    }
    mica_conv_layout exchanged = *l;
    exchanged.lhs_batch = l->lhs_channel, exchanged.lhs_channel = l->lhs_batch;
    exchanged.rhs_input = l->out_batch, exchanged.rhs_output = l->out_channel;
    exchanged.out_batch = l->rhs_input, exchanged.out_channel = l->rhs_output;
    memcpy(exchanged.rhs_spatial, l->out_spatial, sizeof l->out_spatial);
    memcpy(exchanged.out_spatial, l->rhs_spatial, sizeof l->rhs_spatial);
    return mica_conv(g, n->operands[0], dy, write_layout(&exchanged).chars, p.rhs_dilation, p.low,
                     (mica_ints){high, l->spatial}, p.lhs_dilation, p.strides, p.batch_groups,
                     p.groups);
}

/* The memory of write_layout's text ends with the statement that uses it: builders copy it. */
MICA_TRANSPOSE_RULE(conv) {
    (void)t;
    if (linear[0]) out[0] = conv_input_cotangent(g, n, dy[0]);
    if (linear[1]) out[1] = conv_kernel_cotangent(g, n, dy[0]);
}
