/* Builders of control flow, composites, lists and host calls, and the registry of host functions.
 */
#include "base/platform.h"
#include "ir/graph.h"

#define INT(x)                                                                                     \
    { .kind = MICA_ATTR_INT, .as.integer = (x) }
#define STRING(x)                                                                                  \
    { .kind = MICA_ATTR_STRING, .as.string = (x) }

/* The results, or n null values when there is no node. It comes last: `out` may be the array that
 * the operands were read from. */
static void give_results(const mica_node *node, int64_t n, mica_value *out) {
    if (node) n = node->n_results;
    for (int64_t i = 0; out && i < n; i++)
        out[i] = node ? mica_node_result(node, (int32_t)i) : MICA_NULL_VALUE;
}

/* A node whose first operand comes from elsewhere than the rest. */
static const mica_node *create_with_first(mica_graph *g, mica_op op, mica_value first,
                                          const mica_value *rest, int32_t n, const mica_attr *attrs,
                                          mica_graph *const *regions, int32_t n_regions) {
    if (!mica_operands_check(g, mica_op_name(op), &first, 1) ||
        !mica_operands_check(g, mica_op_name(op), rest, n))
        return NULL;
    mica_value *operands = mica_calloc((size_t)n + 1, sizeof *operands);
    if (!operands) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return NULL;
    }
    operands[0] = first;
    for (int32_t i = 0; i < n; i++) operands[i + 1] = rest[i];
    const mica_node *node = mica_node_create(g, op, operands, n + 1, attrs, regions, n_regions);
    mica_free(operands);
    return node;
}

static void build_branches(mica_graph *g, mica_op op, mica_value selector,
                           mica_graph *const *regions, int32_t n_regions,
                           const mica_value *arguments, int32_t n, mica_value *out) {
    const mica_graph *first = n_regions > 0 && regions ? regions[0] : NULL;
    give_results(create_with_first(g, op, selector, arguments, n, NULL, regions, n_regions),
                 mica_graph_output_count(first), out);
}

void mica_cond(mica_graph *g, mica_value predicate, mica_graph *then_region,
               mica_graph *else_region, const mica_value *arguments, int32_t n, mica_value *out) {
    mica_graph *regions[] = {then_region, else_region};
    build_branches(g, MICA_OP_cond, predicate, regions, 2, arguments, n, out);
}

void mica_case(mica_graph *g, mica_value index, mica_graph *const *branches, int32_t n_branches,
               const mica_value *arguments, int32_t n, mica_value *out) {
    build_branches(g, MICA_OP_case, index, branches, n_branches, arguments, n, out);
}

void mica_while(mica_graph *g, mica_graph *condition, mica_graph *body, const mica_value *operands,
                int32_t n, int64_t n_consts, mica_value *out) {
    const mica_attr attrs[] = {INT(n_consts), INT(0)};
    mica_graph *regions[] = {condition, body};
    give_results(mica_node_create(g, MICA_OP_while, operands, n, attrs, regions, 2),
                 n_consts >= 0 ? n - n_consts : 0, out);
}

void mica_scan(mica_graph *g, mica_graph *body, const mica_value *operands, int32_t n,
               int64_t n_consts, int64_t n_carry, int64_t length, bool reverse, mica_value *out) {
    const mica_attr attrs[] = {INT(n_consts), INT(n_carry), INT(length), INT(reverse)};
    give_results(mica_node_create(g, MICA_OP_scan, operands, n, attrs, &body, 1),
                 mica_graph_output_count(body), out);
}

void mica_call(mica_graph *g, const char *name, const char *config, mica_graph *body,
               const char *vjp_name, mica_graph *vjp, const mica_value *operands, int32_t n,
               mica_value *out) {
    const mica_attr attrs[] = {STRING(name), STRING(vjp_name), INT(0), STRING(config)};
    mica_graph *regions[] = {body, vjp};
    give_results(mica_node_create(g, MICA_OP_call, operands, n, attrs, regions, vjp ? 2 : 1),
                 mica_graph_output_count(body), out);
}

void mica_custom_gradient(mica_graph *g, mica_graph *function, mica_graph *vjp,
                          const mica_value *operands, int32_t n, mica_value *out) {
    mica_graph *regions[] = {function, vjp};
    give_results(mica_node_create(g, MICA_OP_custom_gradient, operands, n, NULL, regions, 2),
                 mica_graph_output_count(function), out);
}

void mica_remat(mica_graph *g, mica_graph *body, const mica_value *operands, int32_t n,
                mica_value *out) {
    give_results(mica_node_create(g, MICA_OP_remat, operands, n, NULL, &body, 1),
                 mica_graph_output_count(body), out);
}

void mica_barrier(mica_graph *g, const mica_value *operands, int32_t n, mica_value *out) {
    give_results(mica_node_create(g, MICA_OP_barrier, operands, n, NULL, NULL, 0), n, out);
}

static mica_value constant_of(mica_graph *g, const mica_type *type) {
    return mica_constant(g, (mica_data){type, NULL});
}

mica_value mica_token(mica_graph *g) {
    mica_type type = mica_type_token();
    return constant_of(g, &type);
}

mica_value mica_list_empty(mica_graph *g, const mica_type *element) {
    if (!element) return constant_of(g, NULL);
    if (element->kind != MICA_TENSOR) {
        mica_graph_fail(g, MICA_INVALID("[list_empty] a list holds tensors, not %s",
                                        mica_type_text(element).chars));
        return MICA_NULL_VALUE;
    }
    mica_type type = mica_type_list_of(element);
    return constant_of(g, &type);
}

mica_value mica_list_push(mica_graph *g, mica_value list, mica_value element) {
    mica_value operands[] = {list, element};
    const mica_node *n = mica_node_create(g, MICA_OP_list_push, operands, 2, NULL, NULL, 0);
    return n ? mica_node_result(n, 0) : MICA_NULL_VALUE;
}

void mica_list_pop(mica_graph *g, mica_value list, mica_value *out_list, mica_value *out_element) {
    const mica_node *n = mica_node_create(g, MICA_OP_list_pop, &list, 1, NULL, NULL, 0);
    *out_list = n ? mica_node_result(n, 0) : MICA_NULL_VALUE;
    *out_element = n ? mica_node_result(n, 1) : MICA_NULL_VALUE;
}

void mica_callback(mica_graph *g, const char *name, int64_t function, mica_value token,
                   const mica_value *operands, int32_t n, mica_types results, mica_value *out) {
    const mica_attr attrs[] = {
        STRING(name), INT(function), {.kind = MICA_ATTR_TYPES, .as.types = results}};
    give_results(create_with_first(g, MICA_OP_callback, token, operands, n, attrs, NULL, 0),
                 (int64_t)results.n + 1, out);
}

/* ---- host functions -------------------------------------------------------------------------
 * Numbers are never used twice, so a stale graph cannot call somebody else's function. The array
 * is freed when the last function leaves. */

typedef struct registered {
    int64_t number;
    mica_host_function function;
    void *context;
} registered;

static mica_mutex registry_mutex;
static registered *registry;
static int32_t n_registered, registry_capacity;
static int64_t last_number;

int64_t mica_host_function_register(mica_host_function function, void *context) {
    if (!function) return 0;
    int64_t number = 0;
    mica_mutex_lock(&registry_mutex);
    if (n_registered == registry_capacity) {
        int32_t grown = registry_capacity ? registry_capacity * 2 : 8;
        registered *moved = mica_realloc(registry, (size_t)grown * sizeof *moved);
        if (moved) registry = moved, registry_capacity = grown;
    }
    if (n_registered < registry_capacity) {
        number = ++last_number;
        registry[n_registered++] = (registered){number, function, context};
    }
    mica_mutex_unlock(&registry_mutex);
    return number;
}

static registered *find(int64_t number) {
    for (int32_t i = 0; i < n_registered; i++)
        if (registry[i].number == number) return &registry[i];
    return NULL;
}

void mica_host_function_unregister(int64_t number) {
    mica_mutex_lock(&registry_mutex);
    registered *entry = find(number);
    if (entry) *entry = registry[--n_registered];
    if (n_registered == 0) {
        mica_free(registry);
        registry = NULL;
        registry_capacity = 0;
    }
    mica_mutex_unlock(&registry_mutex);
}

bool mica_host_function_find(int64_t number, mica_host_function *out_function, void **out_context) {
    mica_mutex_lock(&registry_mutex);
    registered *entry = find(number);
    if (entry) {
        *out_function = entry->function;
        *out_context = entry->context;
    }
    mica_mutex_unlock(&registry_mutex);
    return entry != NULL;
}
