/* conv: a contraction over the kernel's taps and input channels.
 *
 *     result[n, p, o] = sum over taps t, channels i of input[n, p stride + t dilation - low, i]
 *                                                      kernel[t, i, o]
 *
 * Seen from memory, an input element's place is a sum of strides of n, p, t and i, so that the
 * input need not be unfolded: packing for the contraction reads it in place. Padding would break
 * that; then the input is first copied into scratch, surrounded by zeros. The gradients are
 * convolutions of the same kind with other layouts.
 *
 * Where the input is dilated by d (the input gradient of a strided convolution), results whose
 * position has the same rest by d meet the same taps: each of these phases is a contraction of its
 * own, and nothing is computed in between. */
#include <string.h>

#include "device/cpu/contract.h"
#include "device/cpu/conv.h"
#include "device/cpu/winograd.h"
#include "device/cpu/write_c.h"

#define MOST_PHASES 256 /* more: conv_plain.c */

typedef struct conv_phase {
    cpu_contract contract;
    int64_t x, y, c; /* where its elements begin */
} conv_phase;

typedef struct conv_kernel {
    cpu_kernel base;
    bool pads, zeros; /* zeros: no phase writes some results */
    cpu_copy copy;    /* input into the padded input */
    int64_t x_offset, padded_offset, padded_n;
    size_t padded_bytes; /* of scratch; the contraction's follow */
    size_t contract_bytes, result_bytes;
    int32_t bytes;       /* of an element */
    mica_cpu_map narrow; /* of all phases together, from a wide result in scratch; or NULL */
    size_t wide_offset;
    int64_t wide_bytes, n;
    int32_t n_phases;
    conv_phase phases[];
} conv_kernel;

typedef struct conv_narrowing {
    const conv_kernel *kernel;
    const char *wide;
    char *result;
} conv_narrowing;

static void narrow_range(void *context, int64_t begin, int64_t end) {
    const conv_narrowing *n = context;
    const void *x = n->wide + begin * n->kernel->wide_bytes;
    n->kernel->narrow(&x, n->result + begin * n->kernel->bytes, end - begin);
}

static void run_conv_finished(const cpu_kernel *kernel, const void *const *operands,
                              void *const *results, void *scratch, const cpu_finish *finish) {
    const conv_kernel *k = (const conv_kernel *)kernel;
    const char *x = operands[0], *y = operands[1];
    char *c = k->narrow ? (char *)scratch + k->wide_offset : results[0];
    int64_t c_bytes = k->narrow ? k->wide_bytes : k->bytes;
    if (k->pads) {
        const uint64_t zero[2] = {0, 0}; /* as wide as any element */
        if (k->copy.n != k->padded_n) mica_cpu_fill(scratch, zero, (size_t)k->bytes, k->padded_n);
        mica_cpu_copy_run(&k->copy, x + k->x_offset * k->bytes,
                          (char *)scratch + k->padded_offset * k->bytes);
        x = scratch;
    }
    if (k->zeros) memset(c, 0, k->result_bytes);
    for (int32_t i = 0; i < k->n_phases; i++) {
        const conv_phase *phase = &k->phases[i];
        mica_cpu_contract_run(&phase->contract, x + phase->x * k->bytes, y + phase->y * k->bytes,
                              c + phase->c * c_bytes, (char *)scratch + k->padded_bytes, finish);
    }
    conv_narrowing last = {k, c, results[0]};
    if (k->narrow) mica_parallel_walk(k->n, 65536, narrow_range, &last);
}

static void run_conv(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    run_conv_finished(kernel, operands, results, scratch, NULL);
}

static mica_status write_conv(const cpu_kernel *kernel, const mica_node *node,
                              mica_kernel_text *out) {
    const conv_kernel *k = (const conv_kernel *)kernel;
    const char *type;
    MICA_TRY(mica_cpu_write_float(node, node->results[0].dtype, &type));
    out->scratch_bytes = k->padded_bytes;
    if (k->pads) {
        if (k->copy.n != k->padded_n)
            mica_text_printf(out->body, "    memset(scratch, 0, %zu);\n", k->padded_bytes);
        mica_cpu_write_copy(out, 0, &k->copy, "x[0]", k->x_offset, "scratch", k->padded_offset);
    }
    if (k->zeros) mica_text_printf(out->body, "    memset(y[0], 0, %zu);\n", k->result_bytes);
    for (int32_t i = 0; i < k->n_phases; i++) {
        const conv_phase *phase = &k->phases[i];
        MICA_TRY(mica_cpu_write_contraction(out, i, node, &phase->contract,
                                            k->pads ? "scratch" : "x[0]", phase->x, "x[1]",
                                            phase->y, phase->c, k->padded_bytes));
    }
    return NULL;
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
        .phases = 1,
        .tap_phases = 1,
    };
    if (a.result > 0 && a.taps > 0)
        a.reach = (a.result - 1) * a.stride + (a.taps - 1) * a.rhs_dilation + 1;
    return a;
}

/* ---- phases -----------------------------------------------------------------------------------*/

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Phase number `phase` of an axis, as an axis whose input is not dilated, with its own numbers of
 * results and taps, stride and dilation of taps. Result p and tap t meet where
 * p stride + t rhs_dilation - low is a multiple d of lhs_dilation. */
static conv_axis phase_of(const conv_axis *whole, int64_t phase) {
    conv_axis a = *whole;
    int64_t d = a.lhs_dilation;
    a.first = phase;
    a.tap_phases = d / common_divisor(d, a.rhs_dilation);
    a.first_tap = 0;
    while (a.first_tap < a.tap_phases && a.first_tap < a.taps &&
           (phase * a.stride + a.first_tap * a.rhs_dilation - a.low) % d != 0)
        a.first_tap++;
    bool meets = a.first_tap < a.tap_phases && a.first_tap < a.taps;
    a.result = a.result > phase ? cpu_ceil_div(a.result - phase, a.phases) : 0;
    a.taps = meets ? cpu_ceil_div(a.taps - a.first_tap, a.tap_phases) : 0;
    a.begin = (phase * a.stride + a.first_tap * a.rhs_dilation - a.low) / d;
    a.stride /= common_divisor(d, a.stride);
    a.rhs_dilation /= common_divisor(d, a.rhs_dilation);
    a.lhs_dilation = 1;
    return a;
}

/* Finds the phases of an axis; out_padded is the axis as the padded input sees it. */
static void find_phases(conv_axis *a, conv_axis *out_padded) {
    const int64_t most_step = INT64_MAX / (4 * MOST_PHASES); /* sums of steps stay in range */
    a->begin = -a->low;
    if (a->result <= 1) a->stride = 1;
    if (a->taps <= 1) a->rhs_dilation = 1;
    *out_padded = *a;
    if (a->lhs_dilation == 1 || a->reach == 0) return;
    if (a->stride > most_step || a->rhs_dilation > most_step) {
        a->phases = MOST_PHASES + 1;
        return;
    }
    a->phases = a->lhs_dilation / common_divisor(a->lhs_dilation, a->stride);
    if (a->phases > MOST_PHASES) return;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t i = 0; i < a->phases; i++) {
        conv_axis phase = phase_of(a, i);
        if (phase.taps == 0 || phase.result == 0) continue;
        least = cpu_min(least, phase.begin);
        most = cpu_max(most, phase.begin + (phase.result - 1) * phase.stride +
                                 (phase.taps - 1) * phase.rhs_dilation);
    }
    bool any = least <= most;
    out_padded->low = any ? -least : 0;
    out_padded->reach = any ? most - least + 1 : 0;
    out_padded->lhs_dilation = 1;
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
        int64_t first = cpu_max(0, -a->low);
        int64_t limit = cpu_min(a->input, cpu_max(0, a->reach - a->low));
        sizes[axis] = cpu_max(0, limit - first);
        k->x_offset += first * from[axis];
        k->padded_offset += (a->low + first) * to[axis];
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
        m[i + 1] = (conv_index){axes[i].result, step, axes[i].phases * r[l->out_spatial[i]]};
        k[i + 1] = (conv_index){axes[i].taps, tap, axes[i].tap_phases * y[l->rhs_spatial[i]]};
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

/* Adds the contraction of one phase; false when there is no such kernel. */
static bool add_phase(conv_kernel *k, const mica_node *node, const mica_conv_layout *l,
                      const conv_axis *axes, const conv_axis *padded, const int64_t *strides) {
    int64_t y[MICA_MAX_RANK], r[MICA_MAX_RANK];
    mica_cpu_strides(mica_operand_type(node, 1), y);
    mica_cpu_strides(&node->results[0], r);
    conv_phase *phase = &k->phases[k->n_phases];
    bool has_taps = true;
    for (int32_t i = 0; i < l->spatial; i++) {
        if (axes[i].result == 0) return true;
        has_taps = has_taps && axes[i].taps > 0;
        phase->x += (axes[i].begin + padded[i].low) * strides[l->lhs_spatial[i]];
        phase->y += axes[i].first_tap * y[l->rhs_spatial[i]];
        phase->c += axes[i].first * r[l->out_spatial[i]];
    }
    if (!has_taps) { /* no element of the input is met */
        *phase = (conv_phase){.x = 0};
        k->zeros = true;
        return true;
    }
    k->n_phases++;
    plan_contraction(&phase->contract, node, l, axes, strides);
    if (!mica_cpu_contract_init(&phase->contract, mica_operand_type(node, 0)->dtype)) return false;
    if (phase->contract.mode == CONTRACT_ZERO) { /* there are no channels */
        k->n_phases--;
        k->zeros = true;
    }
    if (phase->contract.scratch_bytes > k->contract_bytes)
        k->contract_bytes = phase->contract.scratch_bytes;
    return true;
}

/* Results of several phases lie between each other: they are narrowed together. */
static void plan_narrowing(conv_kernel *k, const mica_node *node) {
    if (k->n_phases == 0 || (k->n_phases == 1 && !k->zeros)) return;
    k->narrow = k->phases[0].contract.narrow;
    if (!k->narrow) return;
    k->wide_bytes = k->phases[0].contract.gemm.bytes;
    k->result_bytes = (size_t)(mica_type_elements(&node->results[0]) * k->wide_bytes);
    k->wide_offset = k->padded_bytes + cpu_align(k->contract_bytes);
    for (int32_t i = 0; i < k->n_phases; i++) k->phases[i].contract.narrow = NULL;
}

static bool add_phases(conv_kernel *k, const mica_node *node, const mica_conv_layout *l,
                       const conv_axis *axes, const conv_axis *padded, const int64_t *strides) {
    int64_t count = 1;
    for (int32_t i = 0; i < l->spatial; i++) count *= axes[i].phases;
    for (int64_t number = 0; number < count; number++) {
        conv_axis phase[MICA_CONV_AXES];
        int64_t rest = number;
        for (int32_t i = 0; i < l->spatial; i++) {
            bool is_dilated = axes[i].lhs_dilation > 1;
            phase[i] = is_dilated ? phase_of(&axes[i], rest % axes[i].phases) : axes[i];
            rest /= axes[i].phases;
        }
        if (!add_phase(k, node, l, phase, padded, strides)) return false;
    }
    return true;
}

mica_status mica_cpu_create_conv(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_conv_layout l;
    if (!mica_conv_layout_parse(mica_node_string(node, "layout"), &l))
        return MICA_INVALID("[conv] layout '%s' is not like 'N01C,01IO,N01C'",
                            mica_node_string(node, "layout"));
    conv_axis axes[MICA_CONV_AXES] = {{0}}, padded[MICA_CONV_AXES] = {{0}};
    bool is_empty = mica_type_elements(&node->results[0]) == 0, pads = false;
    int64_t count = 1;
    for (int32_t i = 0; i < l.spatial; i++) {
        axes[i] = read_axis(node, &l, i);
        is_empty |= axes[i].reach == 0;
        find_phases(&axes[i], &padded[i]);
        count = cpu_min(count * axes[i].phases, MOST_PHASES + 1);
        pads |= padded[i].low != 0 || padded[i].reach > padded[i].input;
    }
    pads &= !is_empty;
    if (!is_empty && mica_cpu_fits_winograd(node, &l, axes))
        return mica_cpu_create_winograd(node, &l, axes, out);
    if (!is_empty && mica_cpu_fits_winograd_taps(node, &l, axes))
        return mica_cpu_create_winograd_taps(node, &l, axes, out);
    if (count > MOST_PHASES || (pads && padding_is_absurd(node, &l, padded)))
        return mica_cpu_create_conv_plain(node, &l, axes, out);
    conv_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k + sizeof *k->phases * (size_t)count, run_conv, &k));
    int64_t strides[MICA_MAX_RANK];
    mica_cpu_strides(x, strides);
    k->base.write = write_conv;
    k->pads = pads;
    k->bytes = (int32_t)mica_dtype_bytes(x->dtype);
    k->result_bytes = mica_type_bytes(&node->results[0]);
    k->n = mica_type_elements(&node->results[0]);
    if (pads) plan_padding(k, x, &l, padded, strides);
    if (!add_phases(k, node, &l, axes, padded, strides)) {
        mica_free(k);
        return mica_cpu_unsupported(node, x->dtype);
    }
    if (k->n_phases == 1 && !k->zeros) k->base.run_finished = run_conv_finished;
    plan_narrowing(k, node);
    k->base.head.scratch_bytes =
        k->narrow ? k->wide_offset + k->result_bytes : k->padded_bytes + k->contract_bytes;
    *out = &k->base;
    return NULL;
}
