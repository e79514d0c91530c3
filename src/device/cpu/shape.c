/* Shape ops: each is one or several copies (copy.c) with the right strides. They move bits, so
 * every dtype is served. */
#include <stdio.h>
#include <string.h>

#include "device/cpu/write_c.h"

typedef struct shape_kernel {
    cpu_kernel base;
    cpu_copy copy;
    int64_t x_offset, y_offset; /* in elements */
    int64_t n;                  /* elements of the result */
    /* Dynamic slices: the largest allowed start and the stride of every axis, in the large array.
     */
    int32_t rank;
    mica_dtype start_dtype;
    int64_t last_start[MICA_MAX_RANK], strides[MICA_MAX_RANK];
} shape_kernel;

/* pad: what x does not cover, as blocks of the result; or all of it. */
typedef struct pad_kernel {
    shape_kernel shape;
    int32_t n_fills;
    struct {
        cpu_copy copy;
        int64_t offset;
    } fills[2 * MICA_MAX_RANK];
} pad_kernel;

typedef struct concat_kernel {
    cpu_kernel base;
    int32_t n;
    struct {
        cpu_copy copy;
        int64_t offset;
    } parts[];
} concat_kernel;

typedef struct constant_kernel {
    cpu_kernel base;
    size_t bytes;
    char data[];
} constant_kernel;

/* ---- running
 * -----------------------------------------------------------------------------------*/

static void run_copy(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    (void)scratch;
    const shape_kernel *k = (const shape_kernel *)kernel;
    mica_cpu_copy_run(&k->copy, (const char *)operands[0] + k->x_offset * k->copy.bytes,
                      (char *)results[0] + k->y_offset * k->copy.bytes);
}

static void run_reshape(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                        void *scratch) {
    if (operands[0] != results[0]) run_copy(kernel, operands, results, scratch);
}

static void run_pad(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    const pad_kernel *k = (const pad_kernel *)kernel;
    for (int32_t i = 0; i < k->n_fills; i++)
        mica_cpu_copy_run(&k->fills[i].copy, operands[1],
                          (char *)results[0] + k->fills[i].offset * k->shape.copy.bytes);
    run_copy(kernel, operands, results, scratch);
}

static void run_concat(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                       void *scratch) {
    (void)scratch;
    const concat_kernel *k = (const concat_kernel *)kernel;
    for (int32_t i = 0; i < k->n; i++)
        mica_cpu_copy_run(&k->parts[i].copy, operands[i],
                          (char *)results[0] + k->parts[i].offset * k->parts[i].copy.bytes);
}

static void run_constant(const cpu_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch) {
    (void)operands, (void)scratch;
    const constant_kernel *k = (const constant_kernel *)kernel;
    memcpy(results[0], k->data, k->bytes);
}

/* Entry i of an integer vector, clamped to 0..last. */
static int64_t read_start(const void *start, mica_dtype dtype, int32_t i, int64_t last) {
    int64_t value;
    switch (dtype) {
    case MICA_DTYPE_i8: value = ((const int8_t *)start)[i]; break;
    case MICA_DTYPE_i16: value = ((const int16_t *)start)[i]; break;
    case MICA_DTYPE_i32: value = ((const int32_t *)start)[i]; break;
    case MICA_DTYPE_i64: value = ((const int64_t *)start)[i]; break;
    case MICA_DTYPE_u8: value = ((const uint8_t *)start)[i]; break;
    case MICA_DTYPE_u16: value = ((const uint16_t *)start)[i]; break;
    case MICA_DTYPE_u32: value = ((const uint32_t *)start)[i]; break;
    default: {
        uint64_t wide = ((const uint64_t *)start)[i];
        value = wide > (uint64_t)last ? last : (int64_t)wide;
    }
    }
    return cpu_max(0, cpu_min(value, last));
}

static int64_t start_position(const shape_kernel *k, const void *start) {
    int64_t position = 0;
    for (int32_t i = 0; i < k->rank; i++)
        position += read_start(start, k->start_dtype, i, k->last_start[i]) * k->strides[i];
    return position;
}

static void run_dynamic_slice(const cpu_kernel *kernel, const void *const *operands,
                              void *const *results, void *scratch) {
    (void)scratch;
    const shape_kernel *k = (const shape_kernel *)kernel;
    if (k->copy.n == 0) return;
    int64_t position = start_position(k, operands[1]);
    mica_cpu_copy_run(&k->copy, (const char *)operands[0] + position * k->copy.bytes, results[0]);
}

static void run_dynamic_update_slice(const cpu_kernel *kernel, const void *const *operands,
                                     void *const *results, void *scratch) {
    (void)scratch;
    const shape_kernel *k = (const shape_kernel *)kernel;
    if (k->n == 0) return;
    if (results[0] != operands[0]) {
        cpu_copy all;
        int64_t one = 1;
        mica_cpu_copy_init(&all, (size_t)k->copy.bytes, 1, &k->n, &one, &one);
        mica_cpu_copy_run(&all, operands[0], results[0]);
    }
    if (k->copy.n == 0) return;
    int64_t position = start_position(k, operands[2]);
    mica_cpu_copy_run(&k->copy, operands[1], (char *)results[0] + position * k->copy.bytes);
}

/* ---- as C -------------------------------------------------------------------------------------*/

static mica_status write_copy(const cpu_kernel *kernel, const mica_node *node,
                              mica_kernel_text *out) {
    const shape_kernel *k = (const shape_kernel *)kernel;
    (void)node;
    mica_cpu_write_copy(out, 0, &k->copy, "x[0]", k->x_offset, "y[0]", k->y_offset);
    return NULL;
}

static mica_status write_reshape(const cpu_kernel *kernel, const mica_node *node,
                                 mica_kernel_text *out) {
    (void)kernel;
    mica_text_printf(out->body, "    if (y[0] != x[0]) memcpy(y[0], x[0], %zu);\n",
                     mica_type_bytes(&node->results[0]));
    return NULL;
}

static mica_status write_pad(const cpu_kernel *kernel, const mica_node *node,
                             mica_kernel_text *out) {
    const pad_kernel *k = (const pad_kernel *)kernel;
    for (int32_t i = 0; i < k->n_fills; i++)
        mica_cpu_write_copy(out, i + 1, &k->fills[i].copy, "x[1]", 0, "y[0]", k->fills[i].offset);
    return write_copy(kernel, node, out);
}

static mica_status write_concat(const cpu_kernel *kernel, const mica_node *node,
                                mica_kernel_text *out) {
    const concat_kernel *k = (const concat_kernel *)kernel;
    (void)node;
    for (int32_t i = 0; i < k->n; i++) {
        char source[16];
        snprintf(source, sizeof source, "x[%d]", i);
        mica_cpu_write_copy(out, i, &k->parts[i].copy, source, 0, "y[0]", k->parts[i].offset);
    }
    return NULL;
}

/* Where a dynamic slice begins, in elements: `start`. */
static void write_start(const shape_kernel *k, mica_kernel_text *out, int32_t operand) {
    bool is_signed = mica_dtype_kind_of(k->start_dtype) == MICA_KIND_SIGNED;
    mica_text_append(out->body, "    int64_t start = 0;\n");
    for (int32_t i = 0; i < k->rank; i++)
        mica_text_printf(out->body,
                         "    start += mica_host_start(x[%d], %d, %d, %d, %lld) * %lld;\n", operand,
                         i, (int)mica_dtype_bytes(k->start_dtype), is_signed,
                         (long long)k->last_start[i], (long long)k->strides[i]);
}

static mica_status write_dynamic_slice(const cpu_kernel *kernel, const mica_node *node,
                                       mica_kernel_text *out) {
    const shape_kernel *k = (const shape_kernel *)kernel;
    char source[64];
    (void)node;
    write_start(k, out, 1);
    snprintf(source, sizeof source, "x[0] + start * %d", k->copy.bytes);
    mica_cpu_write_copy(out, 0, &k->copy, source, 0, "y[0]", 0);
    return NULL;
}

static mica_status write_dynamic_update_slice(const cpu_kernel *kernel, const mica_node *node,
                                              mica_kernel_text *out) {
    const shape_kernel *k = (const shape_kernel *)kernel;
    char target[64];
    MICA_TRY(write_reshape(kernel, node, out));
    write_start(k, out, 2);
    snprintf(target, sizeof target, "y[0] + start * %d", k->copy.bytes);
    mica_cpu_write_copy(out, 0, &k->copy, "x[1]", 0, target, 0);
    return NULL;
}

/* ---- creating
 * ----------------------------------------------------------------------------------*/

/* What a copy-like op fills in: sizes and strides per axis, and offsets. */
typedef struct shape_plan {
    int32_t rank;
    int64_t sizes[MICA_MAX_RANK], x[MICA_MAX_RANK], y[MICA_MAX_RANK];
    int64_t x_offset, y_offset;
} shape_plan;

static void plan_broadcast(const mica_node *node, shape_plan *p) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_ints axes = mica_node_ints(node, "axes");
    int64_t strides[MICA_MAX_RANK];
    mica_cpu_strides(x, strides);
    for (int32_t i = 0; i < p->rank; i++) p->x[i] = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != 1) p->x[axes.data[i]] = strides[i];
}

static void plan_transpose(const mica_node *node, shape_plan *p) {
    mica_ints permutation = mica_node_ints(node, "permutation");
    int64_t strides[MICA_MAX_RANK];
    mica_cpu_strides(mica_operand_type(node, 0), strides);
    for (int32_t i = 0; i < p->rank; i++) p->x[i] = strides[permutation.data[i]];
}

static void plan_slice(const mica_node *node, shape_plan *p) {
    mica_ints start = mica_node_ints(node, "start"), stride = mica_node_ints(node, "stride");
    mica_cpu_strides(mica_operand_type(node, 0), p->x);
    for (int32_t i = 0; i < p->rank; i++) {
        p->x_offset += start.data[i] * p->x[i];
        /* One element needs no stride, and a huge stride could overflow. */
        p->x[i] = p->sizes[i] > 1 ? p->x[i] * stride.data[i] : 0;
    }
}

static void plan_reverse(const mica_node *node, shape_plan *p) {
    mica_ints axes = mica_node_ints(node, "axes");
    mica_cpu_strides(mica_operand_type(node, 0), p->x);
    for (int32_t i = 0; i < axes.n; i++) {
        int64_t axis = axes.data[i];
        p->x_offset += (p->sizes[axis] - 1) * p->x[axis];
        p->x[axis] = -p->x[axis];
    }
}

/* Element i of x lands at low + i step; only those inside the result are copied. Low and interior
 * may be any numbers, so the arithmetic is wider; what lies inside fits. */
static void plan_pad(const mica_node *node, shape_plan *p) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_ints low = mica_node_ints(node, "low"), interior = mica_node_ints(node, "interior");
    mica_cpu_strides(x, p->x);
    for (int32_t i = 0; i < p->rank; i++) {
        __int128 step = (__int128)interior.data[i] + 1, place = low.data[i], size = p->sizes[i];
        __int128 first = place >= 0 ? 0 : (-place + step - 1) / step;
        __int128 limit = size <= place ? 0 : (size - place + step - 1) / step;
        if (limit > x->dims[i]) limit = x->dims[i];
        p->sizes[i] = limit > first ? (int64_t)(limit - first) : 0;
        if (p->sizes[i] == 0) continue;
        p->x_offset += (int64_t)first * p->x[i];
        p->y_offset += (int64_t)(place + first * step) * p->y[i];
        p->y[i] = p->sizes[i] > 1 ? p->y[i] * (int64_t)step : 0;
    }
}

static void add_fill(pad_kernel *k, const mica_type *type, const int64_t *sizes, int64_t offset) {
    int64_t zeros[MICA_MAX_RANK] = {0}, y[MICA_MAX_RANK];
    mica_cpu_strides(type, y);
    cpu_copy *copy = &k->fills[k->n_fills].copy;
    mica_cpu_copy_init(copy, mica_dtype_bytes(type->dtype), type->rank, sizes, zeros, y);
    k->fills[k->n_fills].offset = offset;
    if (copy->n > 0) k->n_fills++;
}

/* Without gaps inside, what is before and after x along an axis, where x is along the axes before
 * it, and all along those behind. */
static void plan_fills(const mica_node *node, const shape_plan *p, pad_kernel *k) {
    const mica_type *type = &node->results[0];
    mica_ints low = mica_node_ints(node, "low"), interior = mica_node_ints(node, "interior");
    int64_t sizes[MICA_MAX_RANK], strides[MICA_MAX_RANK], offset = 0;
    mica_cpu_strides(type, strides);
    memcpy(sizes, type->dims, sizeof sizes);
    bool whole = false;
    for (int32_t i = 0; i < type->rank; i++)
        whole = whole || p->sizes[i] == 0 || interior.data[i] != 0;
    if (whole) {
        add_fill(k, type, sizes, 0);
        return;
    }
    for (int32_t i = 0; i < type->rank; i++) {
        int64_t first = cpu_max(0, low.data[i]), end = first + p->sizes[i], size = type->dims[i];
        sizes[i] = first;
        add_fill(k, type, sizes, offset);
        sizes[i] = size - end;
        add_fill(k, type, sizes, offset + end * strides[i]);
        sizes[i] = p->sizes[i];
        offset += first * strides[i];
    }
}

/* The small array lies in the large one at a start known when the kernel runs. */
static void plan_dynamic(const mica_node *node, shape_kernel *k, shape_plan *p) {
    bool update = node->op == MICA_OP_dynamic_update_slice;
    const mica_type *large = mica_operand_type(node, 0);
    const mica_type *small = update ? mica_operand_type(node, 1) : &node->results[0];
    k->rank = large->rank;
    k->start_dtype = mica_operand_type(node, update ? 2 : 1)->dtype;
    mica_cpu_strides(large, k->strides);
    for (int32_t i = 0; i < large->rank; i++) {
        k->last_start[i] = large->dims[i] - small->dims[i];
        p->sizes[i] = small->dims[i];
    }
    mica_cpu_strides(update ? small : large, p->x);
    mica_cpu_strides(update ? large : small, p->y);
    if (update) k->base.head.in_place_operands = 1;
}

static mica_status create_copy(const mica_node *node, cpu_kernel **out) {
    const mica_type *type = &node->results[0];
    shape_kernel *k;
    size_t bytes = node->op == MICA_OP_pad ? sizeof(pad_kernel) : sizeof *k;
    MICA_TRY(mica_cpu_kernel_new(bytes, run_copy, &k));
    k->base.write = write_copy;
    shape_plan p = {.rank = type->rank};
    memcpy(p.sizes, type->dims, sizeof p.sizes);
    mica_cpu_strides(type, p.y);
    switch (node->op) {
    case MICA_OP_broadcast: plan_broadcast(node, &p); break;
    case MICA_OP_transpose: plan_transpose(node, &p); break;
    case MICA_OP_slice: plan_slice(node, &p); break;
    case MICA_OP_reverse: plan_reverse(node, &p); break;
    case MICA_OP_pad:
        plan_pad(node, &p);
        plan_fills(node, &p, (pad_kernel *)k);
        k->base.run = run_pad;
        k->base.write = write_pad;
        break;
    case MICA_OP_dynamic_slice:
        plan_dynamic(node, k, &p);
        k->base.run = run_dynamic_slice;
        k->base.write = write_dynamic_slice;
        break;
    case MICA_OP_dynamic_update_slice:
        plan_dynamic(node, k, &p);
        k->base.run = run_dynamic_update_slice;
        k->base.write = write_dynamic_update_slice;
        break;
    default: /* reshape, bitcast */
        mica_cpu_strides(type, p.x);
        k->base.run = run_reshape;
        k->base.write = write_reshape;
        k->base.head.in_place_operands = 1;
    }
    k->n = mica_type_elements(type);
    k->x_offset = p.x_offset;
    k->y_offset = p.y_offset;
    mica_cpu_copy_init(&k->copy, mica_dtype_bytes(type->dtype), p.rank, p.sizes, p.x, p.y);
    if (k->copy.n == 0) k->x_offset = k->y_offset = 0;
    *out = &k->base;
    return NULL;
}

static mica_status create_concat(const mica_node *node, cpu_kernel **out) {
    const mica_type *type = &node->results[0];
    int64_t axis = mica_node_int(node, "axis"), offset = 0, y[MICA_MAX_RANK];
    concat_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k + (size_t)node->n_operands * sizeof k->parts[0],
                                 run_concat, &k));
    k->base.write = write_concat;
    mica_cpu_strides(type, y);
    k->n = node->n_operands;
    for (int32_t i = 0; i < k->n; i++) {
        const mica_type *part = mica_operand_type(node, i);
        int64_t x[MICA_MAX_RANK];
        mica_cpu_strides(part, x);
        mica_cpu_copy_init(&k->parts[i].copy, mica_dtype_bytes(type->dtype), type->rank, part->dims,
                           x, y);
        k->parts[i].offset = offset;
        offset += part->dims[axis] * y[axis];
    }
    *out = &k->base;
    return NULL;
}

static mica_status create_constant(const mica_node *node, cpu_kernel **out) {
    const mica_attr *value = mica_node_attr(node, "value");
    size_t bytes = mica_type_bytes(&node->results[0]);
    constant_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k + bytes, run_constant, &k));
    k->bytes = bytes;
    if (bytes) memcpy(k->data, value->as.data.bytes, bytes);
    *out = &k->base;
    return NULL;
}

mica_status mica_cpu_create_shape(const mica_node *node, cpu_kernel **out) {
    if (node->op == MICA_OP_constant) return create_constant(node, out);
    if (node->op == MICA_OP_concat) return create_concat(node, out);
    if (node->op == MICA_OP_gather || node->op == MICA_OP_scatter)
        return mica_cpu_create_index(node, out);
    return create_copy(node, out);
}
