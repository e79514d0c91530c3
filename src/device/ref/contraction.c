/* dot and conv: sums of products, in double for floats, modulo 2^64 for integers. */
#include <string.h>

#include "device/ref/value.h"

/* Adds x times y. */
static void accumulate(mica_dtype dtype, ref_number *sum, ref_number x, ref_number y) {
    *sum = ref_sum(*sum, ref_product(dtype, x, y));
}

static bool contains(mica_ints list, int64_t axis) {
    for (int32_t i = 0; i < list.n; i++)
        if (list.data[i] == axis) return true;
    return false;
}

/* How far apart in row-major order neighbours along an axis are. */
static int64_t step_of(const mica_type *type, int64_t axis) {
    int64_t step = 1;
    for (int64_t k = axis + 1; k < type->rank; k++) step *= type->dims[k];
    return step;
}

/* The position of an operand's element from its batch axes and, for the rest in order, the result's
 * axes from `next` on; contracted axes are at 0. */
static int64_t dot_position(const mica_type *type, mica_ints batch, mica_ints contract,
                            const int64_t *result, int32_t next) {
    int64_t index[MICA_MAX_RANK] = {0};
    for (int32_t k = 0; k < batch.n; k++) index[batch.data[k]] = result[k];
    for (int32_t k = 0; k < type->rank; k++)
        if (!contains(batch, k) && !contains(contract, k)) index[k] = result[next++];
    return ref_position(type, index);
}

mica_status ref_dot(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints lhs_contract = mica_node_ints(n, "lhs_contract");
    mica_ints rhs_contract = mica_node_ints(n, "rhs_contract");
    mica_ints lhs_batch = mica_node_ints(n, "lhs_batch");
    mica_ints rhs_batch = mica_node_ints(n, "rhs_batch");
    const mica_type *a = &operands[0]->type, *b = &operands[1]->type, *y = &results[0]->type;
    mica_type inner_type = {.kind = MICA_TENSOR, .rank = lhs_contract.n};
    int64_t a_steps[MICA_MAX_RANK], b_steps[MICA_MAX_RANK];
    for (int32_t k = 0; k < lhs_contract.n; k++) {
        inner_type.dims[k] = a->dims[lhs_contract.data[k]];
        a_steps[k] = step_of(a, lhs_contract.data[k]);
        b_steps[k] = step_of(b, rhs_contract.data[k]);
    }
    int32_t rhs_rest = a->rank - lhs_contract.n; /* where the rest of b begins in the result */
    int64_t result[MICA_MAX_RANK] = {0}, terms = mica_type_elements(&inner_type);
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++, ref_advance(y, result)) {
        ref_number sum = {0};
        int64_t inner[MICA_MAX_RANK] = {0};
        int64_t a_first = dot_position(a, lhs_batch, lhs_contract, result, lhs_batch.n);
        int64_t b_first = dot_position(b, rhs_batch, rhs_contract, result, rhs_rest);
        for (int64_t j = 0; j < terms; j++, ref_advance(&inner_type, inner)) {
            int64_t ai = a_first, bi = b_first;
            for (int32_t k = 0; k < inner_type.rank; k++) {
                ai += inner[k] * a_steps[k];
                bi += inner[k] * b_steps[k];
            }
            accumulate(a->dtype, &sum, ref_load(a->dtype, operands[0]->data, ai),
                       ref_load(b->dtype, operands[1]->data, bi));
        }
        ref_store(y->dtype, results[0]->data, i, sum);
    }
    return NULL;
}

/* Which axis of an array each letter of a layout such as "N01C" names. */
typedef struct axes {
    int32_t batch, channels; /* of the kernel: O, I */
    int32_t spatial[MICA_MAX_RANK];
    int32_t n_spatial;
} axes;

static const char *read_layout(const char *text, axes *out) {
    *out = (axes){0};
    for (int32_t k = 0; *text && *text != ','; k++, text++) {
        if (*text == 'N' || *text == 'O')
            out->batch = k;
        else if (*text == 'C' || *text == 'I')
            out->channels = k;
        else if (*text >= '0' && *text <= '9') {
            out->spatial[*text - '0'] = k;
            out->n_spatial++;
        }
    }
    return *text == ',' ? text + 1 : text;
}

typedef struct conv_plan {
    axes x, kernel, y;
    mica_ints strides, low, lhs_dilation, rhs_dilation;
    const mica_type *x_type;
} conv_plan;

/* false: a result and a kernel index meet between elements that are dilated, where there is nothing
 * to multiply with. */
static bool conv_meets(const conv_plan *p, const int64_t *place) {
    for (int32_t s = 0; s < p->x.n_spatial; s++)
        if (place[s] % p->lhs_dilation.data[s] != 0) return false;
    return true;
}

/* The input's spatial index; false: it falls on padding, where the input counts as zero. */
static bool conv_source(const conv_plan *p, const int64_t *place, int64_t *source) {
    for (int32_t s = 0; s < p->x.n_spatial; s++) {
        int32_t axis = p->x.spatial[s];
        source[axis] = place[s] / p->lhs_dilation.data[s];
        if (place[s] < 0 || source[axis] >= p->x_type->dims[axis]) return false;
    }
    return true;
}

/* Channel o of the result belongs to group o / (channels / groups) of the input's channels, and
 * to group o / (channels / batch_groups) of the input's batch. */
mica_status ref_conv(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const mica_type *x = &operands[0]->type, *k = &operands[1]->type, *y = &results[0]->type;
    conv_plan p = {.strides = mica_node_ints(n, "strides"),
                   .low = mica_node_ints(n, "low"),
                   .lhs_dilation = mica_node_ints(n, "lhs_dilation"),
                   .rhs_dilation = mica_node_ints(n, "rhs_dilation"),
                   .x_type = x};
    int64_t groups = mica_node_int(n, "groups"), batch_groups = mica_node_int(n, "batch_groups");
    read_layout(read_layout(read_layout(mica_node_string(n, "layout"), &p.x), &p.kernel), &p.y);
    int64_t channels = y->dims[p.y.channels], group_inputs = k->dims[p.kernel.channels];
    int64_t group_batch = x->dims[p.x.batch] / batch_groups;
    int64_t channel_step = step_of(k, p.kernel.batch);
    mica_type taps = *k; /* the part of the kernel that belongs to one channel of the result */
    taps.dims[p.kernel.batch] = 1;
    int64_t result[MICA_MAX_RANK] = {0};
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++, ref_advance(y, result)) {
        ref_number sum = {0};
        int64_t o = result[p.y.channels];
        int64_t group = o / (channels / groups), batch_group = o / (channels / batch_groups);
        int64_t kernel[MICA_MAX_RANK] = {0}, source[MICA_MAX_RANK] = {0};
        for (int64_t j = 0, j_end = mica_type_elements(&taps); j < j_end;
             j++, ref_advance(&taps, kernel)) {
            ref_number at = {0};
            int64_t place[MICA_MAX_RANK]; /* in the dilated input */
            for (int32_t s = 0; s < p.x.n_spatial; s++)
                place[s] = result[p.y.spatial[s]] * p.strides.data[s] +
                           kernel[p.kernel.spatial[s]] * p.rhs_dilation.data[s] - p.low.data[s];
            if (!conv_meets(&p, place)) continue;
            source[p.x.batch] = batch_group * group_batch + result[p.y.batch];
            source[p.x.channels] = group * group_inputs + kernel[p.kernel.channels];
            if (conv_source(&p, place, source))
                at = ref_load(x->dtype, operands[0]->data, ref_position(x, source));
            int64_t tap = ref_position(k, kernel) + o * channel_step;
            accumulate(x->dtype, &sum, at, ref_load(k->dtype, operands[1]->data, tap));
        }
        ref_store(y->dtype, results[0]->data, i, sum);
    }
    return NULL;
}
