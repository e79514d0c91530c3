/* The builders that come out of ops.def. Elementwise rows broadcast their operands first. */
#include <string.h>

#include "ir/graph.h"
#include "ir/shape.h"

/* ---- broadcasting ---------------------------------------------------------------------------*/

/* numpy's rule: shapes are aligned at the last axis, size 1 stretches. */
static mica_status common_shape(mica_op op, const mica_type *const *types, int32_t n_types,
                                mica_type *out_type) {
    *out_type = *types[0];
    for (int32_t i = 1; i < n_types; i++) {
        const mica_type *longer = types[i]->rank > out_type->rank ? types[i] : out_type;
        const mica_type *shorter = longer == out_type ? types[i] : out_type;
        mica_type merged = *longer;
        int32_t offset = longer->rank - shorter->rank;
        for (int32_t k = 0; k < shorter->rank; k++) {
            int64_t *size = &merged.dims[k + offset];
            if (*size == 1)
                *size = shorter->dims[k];
            else if (shorter->dims[k] != 1 && shorter->dims[k] != *size)
                return MICA_INVALID("[%s] shapes do not broadcast: %s and %s", mica_op_name(op),
                                    mica_dims_text(out_type).chars, mica_dims_text(types[i]).chars);
        }
        *out_type = merged;
    }
    return NULL;
}

static mica_value stretch(mica_graph *g, mica_value x, const mica_type *shape) {
    const mica_type *type = mica_value_type(x);
    if (type->rank == shape->rank &&
        memcmp(type->dims, shape->dims, (size_t)type->rank * sizeof *type->dims) == 0)
        return x;
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) axes[i] = shape->rank - type->rank + i;
    return mica_broadcast(g, x, (mica_ints){shape->dims, shape->rank},
                          (mica_ints){axes, type->rank});
}

static mica_value elementwise(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                              const mica_attr *attrs) {
    const mica_type *types[3] = {NULL};
    mica_value stretched[3];
    mica_type shape;
    if (!mica_operands_check(g, mica_op_name(op), operands, n)) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < n; i++) types[i] = mica_value_type(operands[i]);
    mica_status status = shape_elementwise_dtypes(op, types, n);
    if (!status) status = common_shape(op, types, n, &shape);
    if (status) {
        mica_graph_fail(g, status);
        return MICA_NULL_VALUE;
    }
    for (int32_t i = 0; i < n; i++) stretched[i] = stretch(g, operands[i], &shape);
    mica_node *node = mica_node_create(g, op, stretched, n, attrs, NULL, 0);
    return node ? mica_node_result(node, 0) : MICA_NULL_VALUE;
}

static mica_value plain(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                        const mica_attr *attrs) {
    mica_node *node = mica_node_create(g, op, operands, n, attrs, NULL, 0);
    return node ? mica_node_result(node, 0) : MICA_NULL_VALUE;
}

/* After an error the results are null; the shape rule does not say how many there would have been,
 * so the row's builder does. */
static void several(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                    const mica_attr *attrs, int32_t n_results, mica_value *out) {
    mica_node *node = mica_node_create(g, op, operands, n, attrs, NULL, 0);
    for (int32_t i = 0; i < n_results; i++)
        out[i] = node ? mica_node_result(node, i) : MICA_NULL_VALUE;
}

mica_value mica_build(mica_graph *g, mica_op op, const mica_value *operands, int32_t n,
                      const mica_attr *attrs) {
    mica_op_class class = mica_op_class_of(op);
    bool broadcasts = class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE;
    return (broadcasts && n <= 3 ? elementwise : plain)(g, op, operands, n, attrs);
}

/* ---- out of the table -----------------------------------------------------------------------*/

/* A type that every check rejects, in place of a null address. */
static mica_type type_or_invalid(const mica_type *type) {
    return type ? *type : (mica_type){.kind = MICA_TENSOR, .rank = -1};
}

#define FROM_INT(x) {.kind = MICA_ATTR_INT, .as.integer = x},
#define FROM_INTS(x) {.kind = MICA_ATTR_INTS, .as.ints = x},
#define FROM_STRING(x) {.kind = MICA_ATTR_STRING, .as.string = x},
#define FROM_DTYPE(x) {.kind = MICA_ATTR_DTYPE, .as.integer = (int64_t)x},
#define FROM_DATA(x) {.kind = MICA_ATTR_DATA, .as.data = {type_or_invalid(x.type), x.bytes}},
#define COLLECT_A0()
#define COLLECT_A1(k, n) FROM_##k(n)
#define COLLECT_A2(k, n, ...) FROM_##k(n) COLLECT_A1(__VA_ARGS__)
#define COLLECT_A3(k, n, ...) FROM_##k(n) COLLECT_A2(__VA_ARGS__)
#define COLLECT_A4(k, n, ...) FROM_##k(n) COLLECT_A3(__VA_ARGS__)
#define COLLECT_A5(k, n, ...) FROM_##k(n) COLLECT_A4(__VA_ARGS__)
#define COLLECT_A6(k, n, ...) FROM_##k(n) COLLECT_A5(__VA_ARGS__)
#define COLLECT_A7(k, n, ...) FROM_##k(n) COLLECT_A6(__VA_ARGS__)
#define COLLECT_A8(k, n, ...) FROM_##k(n) COLLECT_A7(__VA_ARGS__)

#define OPERANDS_0 NULL, 0
#define OPERANDS_1 (const mica_value[]){a}, 1
#define OPERANDS_2 (const mica_value[]){a, b}, 2
#define OPERANDS_3 (const mica_value[]){a, b, c}, 3
#define OPERANDS_N operands, n

#define BUILD(make, name, arity, attributes)                                                       \
    mica_value mica_##name(MICA_BUILDER_OPERANDS_##arity MICA_BUILDER_ATTRIBUTES_##attributes) {   \
        const mica_attr attrs[] = {COLLECT_##attributes{.kind = MICA_ATTR_INT}};                   \
        return make(g, MICA_OP_##name, OPERANDS_##arity, attrs);                                   \
    }
#define BUILD_MAP(...) BUILD(elementwise, __VA_ARGS__)
#define BUILD_ELEMENTWISE(...) BUILD(elementwise, __VA_ARGS__)
#define BUILD_SHAPE(...) BUILD(plain, __VA_ARGS__)
#define BUILD_CONTRACTION(...) BUILD(plain, __VA_ARGS__)
#define BUILD_REDUCTION(...) BUILD(plain, __VA_ARGS__)
#define BUILD_RANDOM(...) BUILD(plain, __VA_ARGS__)
#define BUILD_COLLECTIVE(...) BUILD(plain, __VA_ARGS__)
/* Results of rows of class SEVERAL. */
#define RESULTS_sort (n < 0 ? 0 : n)
#define RESULTS_top_k 2
#define RESULTS_lu 3
#define RESULTS_qr 2
#define RESULTS_eigh 2
#define RESULTS_svd 3
#define RESULTS_eig 2
#define BUILD_SEVERAL(name, arity, attributes)                                                     \
    void mica_##name(MICA_BUILDER_OPERANDS_##arity MICA_BUILDER_ATTRIBUTES_##attributes,           \
                     mica_value *out) {                                                            \
        const mica_attr attrs[] = {COLLECT_##attributes{.kind = MICA_ATTR_INT}};                   \
        several(g, MICA_OP_##name, OPERANDS_##arity, attrs, RESULTS_##name, out);                  \
    }
#define BUILD_CONTROL(name, arity, attributes)
#define BUILD_HOST(name, arity, attributes)
#define MICA_OP(name, arity, class, dtypes, attributes, ...) BUILD_##class(name, arity, attributes)
#include "mica/ops.def"
#undef MICA_OP
