/* mica/graph.h: graphs of primitives.
 *
 * A graph is a function: parameters, nodes in the order they were made, outputs. A value is a
 * node's result. Builders never return a status: the first error sticks to the graph, later
 * builders do nothing and return the null value, and the error comes out of mica_graph_check,
 * mica_executable_create or any transform. So expressions nest. A graph belongs to one thread.
 *
 * Elementwise builders broadcast like numpy (they insert `broadcast` nodes); dtypes must be equal.
 *
 * @example
 *     mica_graph *g = NULL;
 *     mica_status status = mica_graph_create("affine", &g);
 *     mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3));
 *     mica_type row = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
 *     mica_value x = mica_parameter(g, &matrix);
 *     mica_value b = mica_parameter(g, &row);
 *     mica_output(g, mica_tanh(g, mica_add(g, x, b)));
 *     if (!status) status = mica_graph_check(g);
 *     mica_graph_release(g);
 * @end
 */
#ifndef MICA_GRAPH_H
#define MICA_GRAPH_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_graph mica_graph;
typedef struct mica_node mica_node;

/* The null value {NULL, 0} stands for "no value": after an error, or a symbolic zero. */
typedef struct mica_value {
    mica_node *node;
    int32_t index;
} mica_value;

#define MICA_NULL_VALUE ((mica_value){NULL, 0})

typedef enum mica_op {
#define MICA_OP(name, ...) MICA_OP_##name,
#include "ops.def"
#undef MICA_OP
    MICA_OP_COUNT,
    MICA_OP_PARAMETER = MICA_OP_COUNT /* a graph's parameter; not a primitive */
} mica_op;

/* ---- graphs ---------------------------------------------------------------------------------*/

MICA_API MICA_MUST_CHECK mica_status mica_graph_create(const char *name, mica_graph **out_graph);
MICA_API void mica_graph_retain(mica_graph *g);
MICA_API void mica_graph_release(mica_graph *g); /* NULL is allowed */

MICA_API mica_value mica_parameter(mica_graph *g, const mica_type *type);
MICA_API void mica_output(mica_graph *g, mica_value value); /* appends one output */
MICA_API const char *mica_graph_name(const mica_graph *g);
MICA_API int32_t mica_graph_parameter_count(const mica_graph *g);
MICA_API mica_value mica_graph_parameter(const mica_graph *g, int32_t i);
MICA_API int32_t mica_graph_output_count(const mica_graph *g);
MICA_API mica_value mica_graph_output(const mica_graph *g, int32_t i);
MICA_API int32_t mica_graph_node_count(const mica_graph *g);

/* The sticky error, or NULL. The graph keeps its own: the caller owns the returned copy. */
MICA_API MICA_MUST_CHECK mica_status mica_graph_check(const mica_graph *g);
/* Takes the sticky error away (NULL when there is none): values made before stay valid, and the
 * graph can be built on. For front ends whose users may catch an error and go on. */
MICA_API MICA_MUST_CHECK mica_status mica_graph_take_error(mica_graph *g);
/* Makes an error stick, for builders of composites. Takes ownership; the first one stays. */
MICA_API void mica_graph_fail(mica_graph *g, mica_status status);
/* Checks every invariant of the graph and of its regions: operand order, types, attributes. */
MICA_API MICA_MUST_CHECK mica_status mica_graph_verify(const mica_graph *g);

/* Type of a value; of the null value: NULL. */
MICA_API const mica_type *mica_value_type(mica_value value);
static inline bool mica_value_is_null(mica_value value) {
    return value.node == NULL;
}

/* Copies the nodes of `function` into g with its parameters replaced by operands; writes
 * mica_graph_output_count(function) results. */
MICA_API void mica_inline(mica_graph *g, const mica_graph *function, const mica_value *operands,
                          int32_t n_operands, mica_value *out_results);

/* ---- text and bytes -------------------------------------------------------------------------*/

/* The printed graph, regions first, each once. The caller frees it with mica_string_free. */
MICA_API MICA_MUST_CHECK mica_status mica_graph_print(const mica_graph *g, char **out_text);
MICA_API MICA_MUST_CHECK mica_status mica_graph_parse(const char *text, mica_graph **out_graph);
MICA_API void mica_string_free(char *text);

#define MICA_GRAPH_FORMAT_VERSION 1
MICA_API MICA_MUST_CHECK mica_status mica_graph_serialize(const mica_graph *g, uint8_t **out_bytes,
                                                          size_t *out_size);
MICA_API MICA_MUST_CHECK mica_status mica_graph_deserialize(const uint8_t *bytes, size_t size,
                                                            mica_graph **out_graph);
MICA_API void mica_bytes_free(uint8_t *bytes);

/* ---- primitives -----------------------------------------------------------------------------
 * One builder per row of ops.def (its meaning is there), with the operands first and then the
 * attributes: mica_value mica_transpose(mica_graph *, mica_value a, mica_ints permutation);
 * dtypes are mica_dtype, INT is int64_t, STRING is const char *. Rows with a varying number of
 * operands take (const mica_value *operands, int32_t n). CONTROL and HOST rows are below. */

#define MICA_PARAM_INT(name) int64_t name
#define MICA_PARAM_INTS(name) mica_ints name
#define MICA_PARAM_STRING(name) const char *name
#define MICA_PARAM_DTYPE(name) mica_dtype name
#define MICA_PARAM_DATA(name) mica_data name
#define MICA_PARAM_TYPES(name) mica_types name

/* A constant's type and its bytes, row-major; borrowed, the graph copies it. */
typedef struct mica_data {
    const mica_type *type;
    const void *bytes;
} mica_data;

typedef struct mica_types {
    const mica_type *data;
    int32_t n;
} mica_types;

#define MICA_BUILDER_OPERANDS_0 mica_graph *g
#define MICA_BUILDER_OPERANDS_1 mica_graph *g, mica_value a
#define MICA_BUILDER_OPERANDS_2 mica_graph *g, mica_value a, mica_value b
#define MICA_BUILDER_OPERANDS_3 mica_graph *g, mica_value a, mica_value b, mica_value c
#define MICA_BUILDER_OPERANDS_N mica_graph *g, const mica_value *operands, int32_t n
#define MICA_BUILDER_ATTRIBUTES_A0()
#define MICA_BUILDER_ATTRIBUTES_A1(k, n) , MICA_PARAM_##k(n)
#define MICA_BUILDER_ATTRIBUTES_A2(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A1(__VA_ARGS__)
#define MICA_BUILDER_ATTRIBUTES_A3(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A2(__VA_ARGS__)
#define MICA_BUILDER_ATTRIBUTES_A4(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A3(__VA_ARGS__)
#define MICA_BUILDER_ATTRIBUTES_A5(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A4(__VA_ARGS__)
#define MICA_BUILDER_ATTRIBUTES_A6(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A5(__VA_ARGS__)
#define MICA_BUILDER_ATTRIBUTES_A7(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A6(__VA_ARGS__)
#define MICA_BUILDER_ATTRIBUTES_A8(k, n, ...)                                                      \
    , MICA_PARAM_##k(n) MICA_BUILDER_ATTRIBUTES_A7(__VA_ARGS__)

#define MICA_DECLARE_BUILDER(name, arity, attributes)                                              \
    MICA_API mica_value mica_##name(                                                               \
        MICA_BUILDER_OPERANDS_##arity MICA_BUILDER_ATTRIBUTES_##attributes);
#define MICA_DECLARE_MAP(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_ELEMENTWISE(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_SHAPE(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_CONTRACTION(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_REDUCTION(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_RANDOM(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_COLLECTIVE(...) MICA_DECLARE_BUILDER(__VA_ARGS__)
#define MICA_DECLARE_SEVERAL(name, arity, attributes)                                              \
    MICA_API void mica_##name(MICA_BUILDER_OPERANDS_##arity MICA_BUILDER_ATTRIBUTES_##attributes,  \
                              mica_value *out);
#define MICA_DECLARE_CONTROL(name, arity, attributes)
#define MICA_DECLARE_HOST(name, arity, attributes)
#define MICA_OP(name, arity, class, dtypes, attributes, ...)                                       \
    MICA_DECLARE_##class(name, arity, attributes)
#pragma push_macro("complex") /* which <complex.h> defines */
#undef complex
#include "ops.def"
#pragma pop_macro("complex")
#undef MICA_OP

/* ---- control --------------------------------------------------------------------------------
 * Regions are graphs, isolated: all they use comes in as operands. They are retained and
 * shared; changing one afterwards is an error. `out` receives as many results as the op has, and
 * may be the array of the operands. */

MICA_API void mica_cond(mica_graph *g, mica_value predicate, mica_graph *then_region,
                        mica_graph *else_region, const mica_value *arguments, int32_t n,
                        mica_value *out);
MICA_API void mica_case(mica_graph *g, mica_value index, mica_graph *const *branches,
                        int32_t n_branches, const mica_value *arguments, int32_t n,
                        mica_value *out);
/* operands: consts, then carry; out: the final carry. */
MICA_API void mica_while(mica_graph *g, mica_graph *condition, mica_graph *body,
                         const mica_value *operands, int32_t n, int64_t n_consts, mica_value *out);
/* operands: consts, carry, xs; out: carry, ys. */
MICA_API void mica_scan(mica_graph *g, mica_graph *body, const mica_value *operands, int32_t n,
                        int64_t n_consts, int64_t n_carry, int64_t length, bool reverse,
                        mica_value *out);
/* A composite. `vjp` may be NULL: (operands, results, cotangents of the results of float dtype) ->
 * cotangents of the operands of float dtype, in order. `config` is free text that tells composites
 * of one name apart. */
MICA_API void mica_call(mica_graph *g, const char *name, const char *config, mica_graph *body,
                        const char *vjp_name, mica_graph *vjp, const mica_value *operands,
                        int32_t n, mica_value *out);
MICA_API void mica_custom_gradient(mica_graph *g, mica_graph *function, mica_graph *vjp,
                                   const mica_value *operands, int32_t n, mica_value *out);
MICA_API void mica_remat(mica_graph *g, mica_graph *body, const mica_value *operands, int32_t n,
                         mica_value *out);
MICA_API void mica_barrier(mica_graph *g, const mica_value *operands, int32_t n, mica_value *out);
MICA_API mica_value mica_token(mica_graph *g); /* the first token of a graph */
MICA_API mica_value mica_list_empty(mica_graph *g, const mica_type *element);
MICA_API mica_value mica_list_push(mica_graph *g, mica_value list, mica_value element);
MICA_API void mica_list_pop(mica_graph *g, mica_value list, mica_value *out_list,
                            mica_value *out_element);

/* A host function: reads n_inputs arrays, fills n_outputs arrays whose memory it is given.
 * It may call the library. A status it returns fails the run. */
typedef mica_status (*mica_host_function)(void *context, const void *const *inputs,
                                          const mica_type *input_types, int32_t n_inputs,
                                          void *const *outputs, const mica_type *output_types,
                                          int32_t n_outputs);
/* Registers a function for use in graphs; returns its number (0 when out of memory). */
MICA_API int64_t mica_host_function_register(mica_host_function function, void *context);
MICA_API void mica_host_function_unregister(int64_t number);
/* Calls it in the order of tokens; out[0] is the next token, then results of the given types. */
MICA_API void mica_callback(mica_graph *g, const char *name, int64_t function, mica_value token,
                            const mica_value *operands, int32_t n, mica_types results,
                            mica_value *out);

/* ---- short forms, composed of primitives ------------------------------------------------------*/

MICA_API mica_value mica_scalar(mica_graph *g, mica_dtype dtype, double value); /* rank 0 */
MICA_API mica_value mica_full_like(mica_graph *g, mica_value x, double value);
MICA_API mica_value mica_zeros_like(mica_graph *g, mica_value x);
MICA_API mica_value mica_broadcast_to(mica_graph *g, mica_value x,
                                      mica_ints shape);                     /* numpy's rule */
MICA_API mica_value mica_matmul(mica_graph *g, mica_value a, mica_value b); /* numpy's rule */
MICA_API mica_value mica_relu(mica_graph *g, mica_value x);                 /* max(x, 0) */
MICA_API mica_value mica_sum(mica_graph *g, mica_value x, mica_ints axes);
MICA_API mica_value mica_mean(mica_graph *g, mica_value x, mica_ints axes); /* halves: in f32 */
MICA_API mica_value mica_log_softmax(mica_graph *g, mica_value x, int64_t axis);

/* ---- the table, for tools ---------------------------------------------------------------------*/

typedef struct mica_op_info {
    const char *name;
    int32_t arity; /* -1 when it varies */
    const char *op_class, *dtypes;
    int32_t n_attributes;
    const char *const *attribute_names;
    const char *const *attribute_kinds; /* "INT", "INTS", ... */
    const char *shape_rule, *jvp_rule, *transpose_rule, *vmap_rule;
    const char *expression; /* NULL for NONE */
    const char *meaning;
} mica_op_info;
MICA_API const mica_op_info *mica_op_describe(mica_op op); /* NULL outside the table */
MICA_API bool mica_op_parse(const char *name, mica_op *out_op);
/* Whether the row's dtypes column has it: what operands may be, as far as the table says. */
MICA_API bool mica_op_takes(mica_op op, mica_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
