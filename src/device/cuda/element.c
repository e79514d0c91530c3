/* Element by element: one node as a nest of one loop, written by codegen's writer.
 *
 * Whatever the shape of its operands, an element-by-element node is computed by one loop over their
 * elements, so the text depends on the op, its attributes and the dtypes alone. Functions that cost
 * little are compiled together, all of a dtype at once: the compiler spends its time on the
 * prelude.
 */
#include <stdio.h>
#include <string.h>

#include "codegen/write.h"
#include "device/cuda/parts.h"

enum { MOST_ARITY = 3, SOME_ELEMENTS = 16 };

typedef struct element_kernel {
    cuda_kernel base;
    CUfunction function;
    int32_t arity;
    int64_t n, blocks;
} element_kernel;

static mica_status launch_element(const cuda_kernel *kernel, cuda_stream *stream,
                                  const mica_address *operands, const mica_address *results,
                                  mica_address scratch) {
    const element_kernel *k = (const element_kernel *)kernel;
    /* As codegen's writer lays it out: operands, result, scratch memory, two counts. */
    uint64_t argument[MOST_ARITY + 4] = {0};
    int32_t n = 0;
    for (int32_t i = 0; i < k->arity; i++) argument[n++] = operands[i];
    argument[n++] = results[0];
    argument[n++] = scratch;
    argument[n] = (uint64_t)k->n;
    return cuda_launch_function(stream, k->function, k->blocks, CUDA_THREADS, argument);
}

/* ---- texts ------------------------------------------------------------------------------------*/

/* What tells the functions of a module apart: the op, and what an attribute says of it. */
static void name_of(const mica_node *node, char *name, size_t capacity) {
    const char *direction = node->op == MICA_OP_compare ? mica_node_string(node, "direction") : "";
    const char *to = node->op == MICA_OP_convert ? mica_dtype_name(node->results[0].dtype) : "";
    snprintf(name, capacity, "element_%s%s%s", mica_op_name(node->op), direction, to);
}

/* One more kernel, for this node's op on arrays of one axis. */
static mica_status write_node(mica_text *text, const mica_graph *body, const char *name) {
    mica_nest *nest = NULL;
    MICA_TRY(mica_graph_check(body));
    MICA_TRY(mica_nest_create(body, &nest));
    mica_nest_prepare_gpu(nest);
    mica_text_printf(text, "#define ENTRY %s\n", name);
    mica_write_gpu_kernel(text, nest);
    mica_text_append(text, "#undef ENTRY\n");
    mica_nest_destroy(nest);
    return NULL;
}

static mica_status write_op(mica_text *text, mica_op op, const mica_dtype *dtypes, int32_t n,
                            const mica_attr *attrs) {
    mica_graph *body = NULL;
    mica_value operands[MOST_ARITY];
    char name[64];
    MICA_TRY(mica_graph_create("element", &body));
    for (int32_t i = 0; i < n; i++) {
        mica_type type = mica_type_make(dtypes[i], MICA_INTS(SOME_ELEMENTS));
        operands[i] = mica_parameter(body, &type);
    }
    mica_node *node = mica_node_create(body, op, operands, n, attrs, NULL, 0);
    if (node) mica_output(body, mica_node_result(node, 0));
    mica_status status = mica_graph_check(body);
    if (!status) {
        name_of(node, name, sizeof name);
        status = write_node(text, body, name);
    }
    mica_graph_release(body);
    return status;
}

static mica_status write_compares(mica_text *text, mica_dtype dtype) {
    static const char *const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    mica_dtype dtypes[] = {dtype, dtype};
    for (int i = 0; i < 6; i++) {
        mica_attr attr = {.kind = MICA_ATTR_STRING, .as.string = directions[i]};
        MICA_TRY(write_op(text, MICA_OP_compare, dtypes, 2, &attr));
    }
    return NULL;
}

static bool is_cheap_map(mica_op op, mica_dtype dtype) {
    mica_node probe = {.op = op};
    return mica_op_class_of(op) == MICA_CLASS_MAP && mica_op_takes(op, dtype) &&
           !mica_nest_is_costly(&probe);
}

/* All cheap functions of a dtype: one module. */
static mica_status write_cheap(mica_text *text, mica_dtype dtype) {
    mica_dtype dtypes[] = {dtype, dtype, dtype}, of_select[] = {MICA_DTYPE_bool, dtype, dtype};
    for (int op = 0; op < MICA_OP_COUNT; op++)
        if (is_cheap_map((mica_op)op, dtype))
            MICA_TRY(
                write_op(text, (mica_op)op, dtypes, mica_op_describe((mica_op)op)->arity, NULL));
    MICA_TRY(write_compares(text, dtype));
    MICA_TRY(write_op(text, MICA_OP_select, of_select, 3, NULL));
    if (mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT)
        MICA_TRY(write_op(text, MICA_OP_is_finite, dtypes, 1, NULL));
    return NULL;
}

/* To every other dtype: one module. */
static mica_status write_converts(mica_text *text, mica_dtype from) {
    for (int to = 0; to < MICA_DTYPE_COUNT; to++) {
        if (mica_dtype_kind_of((mica_dtype)to) == MICA_KIND_COMPLEX) continue;
        mica_attr attr = {.kind = MICA_ATTR_DTYPE, .as.integer = to};
        MICA_TRY(write_op(text, MICA_OP_convert, &from, 1, &attr));
    }
    return NULL;
}

static mica_status write_module(mica_text *text, const mica_node *node, mica_dtype dtype) {
    mica_dtype dtypes[] = {dtype, dtype, dtype};
    mica_write_prelude(text, MICA_DIALECT_CUDA);
    if (node->op == MICA_OP_convert) return write_converts(text, dtype);
    if (mica_op_class_of(node->op) != MICA_CLASS_MAP || !mica_nest_is_costly(node))
        return write_cheap(text, dtype);
    return write_op(text, node->op, dtypes, node->n_operands, NULL);
}

/* ---- kernels ----------------------------------------------------------------------------------*/

static bool is_real_array(const mica_type *type, int64_t n) {
    return type->kind == MICA_TENSOR && mica_type_elements(type) == n &&
           mica_dtype_kind_of(type->dtype) != MICA_KIND_COMPLEX;
}

/* igamma is made of loops, which the writer leaves to others. */
bool cuda_element_takes(const mica_node *node) {
    bool is_other = node->op == MICA_OP_compare || node->op == MICA_OP_select ||
                    node->op == MICA_OP_is_finite || node->op == MICA_OP_convert;
    if (node->op >= MICA_OP_COUNT || node->op == MICA_OP_igamma ||
        (mica_op_class_of(node->op) != MICA_CLASS_MAP && !is_other) ||
        node->n_operands > MOST_ARITY || node->results[0].kind != MICA_TENSOR)
        return false;
    int64_t n = mica_type_elements(&node->results[0]);
    bool real = is_real_array(&node->results[0], n);
    for (int32_t i = 0; i < node->n_operands; i++)
        real = real && is_real_array(mica_operand_type(node, i), n);
    return real;
}

mica_status cuda_element_create(cuda_device *device, const mica_node *node,
                                cuda_kernel **out_kernel) {
    mica_dtype dtype = mica_operand_type(node, node->op == MICA_OP_select)->dtype;
    element_kernel *k;
    char *source = NULL, name[64];
    mica_text text;
    mica_text_init(&text);
    mica_status status = write_module(&text, node, dtype);
    if (status) {
        mica_text_deinit(&text);
        return status;
    }
    MICA_TRY(mica_text_finish(&text, &source));
    name_of(node, name, sizeof name);
    status = cuda_kernel_new(sizeof *k, &k);
    if (!status) status = cuda_module_get(device, source, name, &k->base.module);
    if (!status) status = cuda_module_function(device, k->base.module, name, &k->function);
    mica_free(source);
    if (status) {
        if (k) cuda_kernel_destroy(&device->base, &k->base.base);
        return status;
    }
    k->base.launch = launch_element;
    k->arity = node->n_operands;
    k->n = mica_type_elements(&node->results[0]);
    k->blocks = cuda_blocks(device, k->n);
    for (int32_t i = 0; i < node->n_operands; i++)
        if (mica_dtype_bytes(mica_operand_type(node, i)->dtype) ==
            mica_dtype_bytes(node->results[0].dtype))
            k->base.base.in_place_operands |= 1u << i;
    *out_kernel = &k->base;
    return NULL;
}
