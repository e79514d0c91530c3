/* conv: a contraction over the kernel's taps and input channels.
 *
 *     result[n, p, o] = sum over taps t, channels i of input[n, p stride + t dilation - low, i]
 *                                                      kernel[t, i, o]
 *
 * Seen from memory, an input element's place is a sum of strides of n, p, t and i, so that the
 * input need not be unfolded: packing for the contraction reads it in place. Padding and lhs
 * dilation would break that; then the input is first copied into scratch, surrounded and
 * interleaved by zeros. The gradients are convolutions of the same kind with other layouts. */
#include <string.h>

#include "device/cpu/contract.h"
#include "device/cpu/conv.h"

typedef struct conv_kernel {
    cpu_kernel base;
    cpu_contract contract;
    bool pads;
    cpu_copy copy; /* input into the padded input */
    int64_t x_offset, padded_offset, padded_n;
    size_t padded_bytes; /* of scratch; the contraction's follows */
} conv_kernel;

static void run_conv_finished(const cpu_kernel *kernel, const void *const *operands,
                              void *const *results, void *scratch, const cpu_finish *finish) {
    const conv_kernel *k = (const conv_kernel *)kernel;
    const char *x = operands[0];
    if (k->pads) {
        int32_t bytes = k->copy.bytes;
        const uint64_t zero[2] = {0, 0}; /* as wide as any element */
        if (k->copy.n != k->padded_n) mica_cpu_fill(scratch, zero, (size_t)bytes, k->padded_n);
        mica_cpu_copy_run(&k->copy, x + k->x_offset * bytes,
                          (char *)scratch + k->padded_offset * bytes);
        x = scratch;
    }
    mica_cpu_contract_run(&k->contract, x, operands[1], results[0],
                          (char *)scratch + k->padded_bytes, finish);
}

static void run_conv(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    run_conv_finished(kernel, operands, results, scratch, NULL);
}

static conv_axis read_axis(const mica_node *node, const mica_conv_layout *l, int32_t i) {
    conv_axis a = {
        .input = mica_operand_type(node, 0)->dims[l->lhs_spatial[i]],
        .taps = mica_operand_type(node, 1)->dims[l->rhs_spatial[i]],
        .result = node->results[0].dims[l->out_spatial[i]],
        .stride = mica_node_ints(node, "strides").data[i],
        .low = mica_node_ints(node, "low").data[i],
        .lhs_dilation = mica_node_ints(node, "lhs_dilation").data[i],
        .rhs_dilation = mica_node_ints(node, "rhs_dilation").data[i],
    };
    if (a.result > 0 && a.taps > 0)
        a.reach = (a.result - 1) * a.stride + (a.taps - 1) * a.rhs_dilation + 1;
    return a;
}

/* Plans the copy into the padded input, whose spatial sizes are the axes' reach; its strides
 * replace x's. Only what results look at is copied. */
static void plan_padding(conv_kernel *k, const mica_type *x, const mica_conv_layout *l,
                         const conv_axis *axes, int64_t *strides) {
    mica_type padded = *x;
    int64_t sizes[MICA_MAX_RANK], from[MICA_MAX_RANK], to[MICA_MAX_RANK];
    memcpy(from, strides, sizeof from);
    memcpy(sizes, x->dims, sizeof sizes);
    for (int32_t i = 0; i < l->spatial; i++) padded.dims[l->lhs_spatial[i]] = axes[i].reach;
    mica_cpu_strides(&padded, strides);
    memcpy(to, strides, sizeof to);
    for (int32_t i = 0; i < l->spatial; i++) {
        const conv_axis *a = &axes[i];
        int32_t axis = l->lhs_spatial[i];
        int64_t first = a->low >= 0 ? 0 : cpu_ceil_div(-a->low, a->lhs_dilation);
        int64_t limit = a->reach <= a->low ? 0 : cpu_ceil_div(a->reach - a->low, a->lhs_dilation);
        limit = cpu_min(limit, a->input);
        sizes[axis] = cpu_max(0, limit - first);
        k->x_offset += first * from[axis];
        k->padded_offset += (a->low + first * a->lhs_dilation) * to[axis];
        to[axis] = sizes[axis] > 1 ? to[axis] * a->lhs_dilation : 0;
    }
    k->padded_n = mica_type_elements(&padded);
    mica_cpu_copy_init(&k->copy, mica_dtype_bytes(x->dtype), x->rank, sizes, from, to);
    if (k->copy.n == 0) k->x_offset = k->padded_offset = 0;
    k->padded_bytes = cpu_align((size_t)k->padded_n * mica_dtype_bytes(x->dtype));
}

/* An axis of m or k with its strides in the two arrays it belongs to. */
typedef struct conv_index {
    int64_t size, x, other;
} conv_index;

/* Sorts by the stride in one array, largest first, so that neighbours in memory end up inside.
 * The order of k decides the order of sums: it depends on shapes and layout alone. */
static void add_sorted(conv_index *index, int32_t n, bool by_x, cpu_space *x, cpu_space *other) {
    for (int32_t i = 1; i < n; i++)
        for (int32_t j = i; j > 0; j--) {
            int64_t here = by_x ? index[j].x : index[j].other;
            int64_t before = by_x ? index[j - 1].x : index[j - 1].other;
            if (here <= before) break;
            conv_index moved = index[j];
            index[j] = index[j - 1];
            index[j - 1] = moved;
        }
    for (int32_t i = 0; i < n; i++) {
        mica_cpu_space_add(x, index[i].size, index[i].x);
        mica_cpu_space_add(other, index[i].size, index[i].other);
    }
}

static void plan_contraction(cpu_contract *c, const mica_node *node, const mica_conv_layout *l,
                             const conv_axis *axes, const int64_t *x) {
    const mica_type *input = mica_operand_type(node, 0), *kernel = mica_operand_type(node, 1);
    int64_t y[MICA_MAX_RANK], r[MICA_MAX_RANK];
    mica_cpu_strides(kernel, y);
    mica_cpu_strides(&node->results[0], r);
    cpu_space *const spaces[] = {&c->x_batch, &c->x_m,     &c->x_k, &c->y_batch, &c->y_k,
                                 &c->y_n,     &c->c_batch, &c->c_m, &c->c_n};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) mica_cpu_space_init(spaces[i]);
    int64_t groups = mica_node_int(node, "groups");
    int64_t batch_groups = mica_node_int(node, "batch_groups"), all = groups * batch_groups;
    int64_t batch = input->dims[l->lhs_batch] / batch_groups;
    int64_t outputs = kernel->dims[l->rhs_output] / all, inputs = kernel->dims[l->rhs_input];
    /* One of the two counts is 1: a group is a part of the channels or of the batch. */
    int64_t x_group = groups > 1 ? inputs * x[l->lhs_channel] : batch * x[l->lhs_batch];
    mica_cpu_space_add(&c->x_batch, all, x_group);
    mica_cpu_space_add(&c->y_batch, all, outputs * y[l->rhs_output]);
    mica_cpu_space_add(&c->c_batch, all, outputs * r[l->out_channel]);
    conv_index m[MICA_CONV_AXES + 1] = {{batch, x[l->lhs_batch], r[l->out_batch]}};
    conv_index k[MICA_CONV_AXES + 1] = {{inputs, x[l->lhs_channel], y[l->rhs_input]}};
    for (int32_t i = 0; i < l->spatial; i++) {
        int64_t place = x[l->lhs_spatial[i]];
        /* Of an axis of one the stride, which may be any number, is never taken. */
        int64_t step = axes[i].result > 1 ? axes[i].stride * place : 0;
        int64_t tap = axes[i].taps > 1 ? axes[i].rhs_dilation * place : 0;
        m[i + 1] = (conv_index){axes[i].result, step, r[l->out_spatial[i]]};
        k[i + 1] = (conv_index){axes[i].taps, tap, y[l->rhs_spatial[i]]};
    }
    add_sorted(m, l->spatial + 1, false, &c->x_m, &c->c_m);
    add_sorted(k, l->spatial + 1, true, &c->x_k, &c->y_k);
    mica_cpu_space_add(&c->y_n, outputs, y[l->rhs_output]);
    mica_cpu_space_add(&c->c_n, outputs, r[l->out_channel]);
}

/* Beyond this many times what is really there, padding is no way to convolve. */
#define PADDING_LIMIT 32.0

static bool padding_is_absurd(const mica_node *node, const mica_conv_layout *l,
                              const conv_axis *axes) {
    const mica_type *x = mica_operand_type(node, 0);
    double padded = (double)x->dims[l->lhs_batch] * (double)x->dims[l->lhs_channel];
    for (int32_t i = 0; i < l->spatial; i++) padded *= (double)axes[i].reach;
    double real = (double)mica_type_elements(x) + (double)mica_type_elements(&node->results[0]);
    return padded > PADDING_LIMIT * (real + 4096);
}

mica_status mica_cpu_create_conv(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_conv_layout l;
    if (!mica_conv_layout_parse(mica_node_string(node, "layout"), &l))
        return MICA_INVALID("[conv] layout '%s' is not like 'N01C,01IO,N01C'",
                            mica_node_string(node, "layout"));
    conv_axis axes[MICA_CONV_AXES] = {{0}};
    bool is_empty = mica_type_elements(&node->results[0]) == 0, pads = false;
    for (int32_t i = 0; i < l.spatial; i++) {
        axes[i] = read_axis(node, &l, i);
        bool inside =
            axes[i].low == 0 && axes[i].lhs_dilation == 1 && axes[i].reach <= axes[i].input;
        pads |= !inside;
        is_empty |= axes[i].reach == 0;
    }
    pads &= !is_empty;
    if (pads && padding_is_absurd(node, &l, axes))
        return mica_cpu_create_conv_plain(node, &l, axes, out);
    conv_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_conv, &k));
    int64_t strides[MICA_MAX_RANK];
    mica_cpu_strides(x, strides);
    k->pads = pads;
    if (pads) plan_padding(k, x, &l, axes, strides);
    plan_contraction(&k->contract, node, &l, axes, strides);
    if (!mica_cpu_contract_init(&k->contract, x->dtype)) {
        mica_free(k);
        return mica_cpu_unsupported(node, x->dtype);
    }
    k->base.run_finished = run_conv_finished;
    k->base.head.scratch_bytes = k->padded_bytes + k->contract.scratch_bytes;
    *out = &k->base;
    return NULL;
}
