/* conv by definition, one element of the result at a time, in f64: for convolutions whose padded
 * input would be absurdly larger than what is in it (huge paddings, strides or dilations). */
#include <math.h>
#include <string.h>

#include "device/cpu/contract.h"
#include "device/cpu/conv.h"
#include "ir/scalar.h"

#define GRAIN 64

typedef struct plain_kernel {
    cpu_kernel base;
    mica_dtype dtype;
    mica_conv_layout layout;
    conv_axis axes[MICA_CONV_AXES];
    int64_t groups, batch_groups, inputs, outputs, batch; /* per group */
    mica_type result;
    int64_t x[MICA_MAX_RANK], y[MICA_MAX_RANK]; /* strides */
    mica_cpu_map narrow;                        /* c128 to the dtype */
} plain_kernel;

typedef struct plain_run {
    const plain_kernel *kernel;
    const void *x, *y;
    char *result;
} plain_run;

static mica_c128 load(const void *x, mica_dtype dtype, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_f16: return mica_make_c128(mica_convert_f16_f64(((const uint16_t *)x)[i]), 0);
    case MICA_DTYPE_bf16: return mica_make_c128(mica_convert_bf16_f64(((const uint16_t *)x)[i]), 0);
    case MICA_DTYPE_f32: return mica_make_c128(((const float *)x)[i], 0);
    case MICA_DTYPE_c64: return mica_widen_c64(((const mica_c64 *)x)[i]);
    case MICA_DTYPE_c128: return ((const mica_c128 *)x)[i];
    default: return mica_make_c128(((const double *)x)[i], 0);
    }
}

/* sum + a b; real numbers leave no trace in the imaginary part, and it none in the real one. */
static mica_c128 multiply_add(mica_c128 a, mica_c128 b, mica_c128 sum, bool is_complex) {
    sum.real = __builtin_fma(a.real, b.real, sum.real);
    if (!is_complex) return sum;
    sum.real = __builtin_fma(-a.imaginary, b.imaginary, sum.real);
    sum.imaginary = __builtin_fma(a.real, b.imaginary, sum.imaginary);
    sum.imaginary = __builtin_fma(a.imaginary, b.real, sum.imaginary);
    return sum;
}

/* Adds the products of one tap over all channels; outside the input they are with zeros. */
static mica_c128 add_tap(const plain_run *run, int64_t from, int64_t tap, mica_c128 sum) {
    const plain_kernel *k = run->kernel;
    bool is_complex = k->dtype >= MICA_DTYPE_c64;
    for (int64_t i = 0; i < k->inputs; i++) {
        mica_c128 y = load(run->y, k->dtype, tap + i * k->y[k->layout.rhs_input]);
        mica_c128 x = mica_make_c128(0, 0);
        if (from >= 0) x = load(run->x, k->dtype, from + i * k->x[k->layout.lhs_channel]);
        sum = multiply_add(x, y, sum, is_complex);
    }
    return sum;
}

#define OUTSIDE (-1)

/* The sum over taps of spatial axis d and those after it. */
static mica_c128 add_axis(const plain_run *run, const int64_t *at, int32_t d, int64_t from,
                          int64_t tap, mica_c128 sum) {
    const plain_kernel *k = run->kernel;
    if (d == k->layout.spatial) return add_tap(run, from, tap, sum);
    const conv_axis *a = &k->axes[d];
    for (int64_t t = 0; t < a->taps; t++) {
        int64_t place = at[k->layout.out_spatial[d]] * a->stride + t * a->rhs_dilation - a->low;
        int64_t next = OUTSIDE;
        if (place % a->lhs_dilation != 0) continue; /* between elements there is nothing */
        if (from >= 0 && place >= 0 && place / a->lhs_dilation < a->input)
            next = from + place / a->lhs_dilation * k->x[k->layout.lhs_spatial[d]];
        sum = add_axis(run, at, d + 1, next, tap + t * k->y[k->layout.rhs_spatial[d]], sum);
    }
    return sum;
}

static void run_range(void *context, int64_t begin, int64_t end) {
    const plain_run *run = context;
    const plain_kernel *k = run->kernel;
    const mica_conv_layout *l = &k->layout;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[MICA_MAX_RANK], rest = i;
        for (int32_t d = k->result.rank - 1; d >= 0; d--) {
            at[d] = rest % k->result.dims[d];
            rest /= k->result.dims[d];
        }
        int64_t output = at[l->out_channel], group = output / k->outputs;
        int64_t n = at[l->out_batch] + (k->batch_groups > 1 ? group * k->batch : 0);
        int64_t channel = k->groups > 1 ? group * k->inputs : 0;
        int64_t from = n * k->x[l->lhs_batch] + channel * k->x[l->lhs_channel];
        mica_c128 sum =
            add_axis(run, at, 0, from, output * k->y[l->rhs_output], mica_make_c128(0, 0));
        const void *value = &sum;
        k->narrow(&value, run->result + i * (int64_t)mica_dtype_bytes(k->dtype), 1);
    }
}

static void run_plain(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                      void *scratch) {
    (void)scratch;
    const plain_kernel *k = (const plain_kernel *)kernel;
    plain_run run = {k, operands[0], operands[1], results[0]};
    mica_parallel_for(mica_type_elements(&k->result), GRAIN, run_range, &run);
}

mica_status mica_cpu_create_conv_plain(const mica_node *node, const mica_conv_layout *layout,
                                       const conv_axis *axes, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0), *y = mica_operand_type(node, 1);
    mica_cpu_map narrow = mica_cpu_isa_current()->elementwise->convert[MICA_DTYPE_c128][x->dtype];
    if (!narrow || !mica_op_takes(MICA_OP_conv, x->dtype))
        return mica_cpu_unsupported(node, x->dtype);
    plain_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_plain, &k));
    k->narrow = narrow;
    k->dtype = x->dtype;
    k->layout = *layout;
    memcpy(k->axes, axes, sizeof k->axes);
    k->groups = mica_node_int(node, "groups");
    k->batch_groups = mica_node_int(node, "batch_groups");
    k->inputs = y->dims[layout->rhs_input];
    k->outputs = y->dims[layout->rhs_output] / (k->groups * k->batch_groups);
    k->batch = x->dims[layout->lhs_batch] / k->batch_groups;
    k->result = node->results[0];
    mica_cpu_strides(x, k->x);
    mica_cpu_strides(y, k->y);
    *out = &k->base;
    return NULL;
}
