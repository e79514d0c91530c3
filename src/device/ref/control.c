/* CONTROL, COLLECTIVE and HOST rows. They make their own results. */
#include <string.h>

#include "device/ref/value.h"
#include "dist/nodes.h"

mica_status ref_cond(const mica_node *n, ref_value *const *operands, ref_value **results) {
    bool predicate = ref_load(MICA_DTYPE_bool, operands[0]->data, 0).bits;
    return ref_run_graph(n->regions[predicate ? 0 : 1], operands + 1, results);
}

mica_status ref_case(const mica_node *n, ref_value *const *operands, ref_value **results) {
    int64_t index = (int64_t)ref_load(operands[0]->type.dtype, operands[0]->data, 0).bits;
    if (index < 0 || index >= n->n_regions) index = n->n_regions - 1;
    return ref_run_graph(n->regions[index], operands + 1, results);
}

/* `arguments` holds consts and carry; the carry's references are owned. */
static mica_status run_while(const mica_node *n, ref_value **arguments, ref_value **results,
                             int32_t n_consts) {
    for (;;) {
        ref_value *predicate;
        MICA_TRY(ref_run_graph(n->regions[0], arguments, &predicate));
        bool again = ref_load(MICA_DTYPE_bool, predicate->data, 0).bits;
        ref_value_release(predicate);
        if (!again) break;
        MICA_TRY(ref_run_graph(n->regions[1], arguments, results));
        for (int32_t k = 0; k < n->n_results; k++) {
            ref_value_release(arguments[n_consts + k]);
            arguments[n_consts + k] = results[k];
            results[k] = NULL;
        }
    }
    for (int32_t k = 0; k < n->n_results; k++)
        results[k] = ref_value_retain(arguments[n_consts + k]);
    return NULL;
}

mica_status ref_while(const mica_node *n, ref_value *const *operands, ref_value **results) {
    ref_value **arguments = mica_calloc((size_t)n->n_operands + 1, sizeof *arguments);
    if (!arguments) return MICA_NO_MEMORY();
    for (int32_t k = 0; k < n->n_operands; k++) arguments[k] = ref_value_retain(operands[k]);
    mica_status status = run_while(n, arguments, results, (int32_t)mica_node_int(n, "consts"));
    for (int32_t k = 0; k < n->n_operands; k++) ref_value_release(arguments[k]);
    mica_free(arguments);
    return status;
}

/* A scan's body takes (consts, carry, x) and gives (carry, y); `arguments` and `produced` have
 * room for those and own what they hold. */
typedef struct scan_run {
    const mica_node *n;
    int32_t n_consts, n_carry;
    ref_value **arguments, **produced;
    int32_t n_arguments, n_produced;
} scan_run;

static mica_status scan_step(scan_run *s, ref_value *const *operands, ref_value **results,
                             int64_t step) {
    const mica_graph *body = s->n->regions[0];
    int32_t first_x = s->n_consts + s->n_carry;
    for (int32_t k = first_x; k < s->n_arguments; k++) {
        ref_value_release(s->arguments[k]);
        s->arguments[k] = NULL;
        MICA_TRY(ref_value_create(mica_value_type(body->parameters[k]), &s->arguments[k]));
        size_t bytes = mica_type_bytes(&s->arguments[k]->type);
        memcpy(s->arguments[k]->data, (char *)operands[k]->data + (size_t)step * bytes, bytes);
    }
    MICA_TRY(ref_run_graph(body, s->arguments, s->produced));
    for (int32_t k = 0; k < s->n_carry; k++) {
        ref_value_release(s->arguments[s->n_consts + k]);
        s->arguments[s->n_consts + k] = s->produced[k];
        s->produced[k] = NULL;
    }
    for (int32_t k = s->n_carry; k < s->n_produced; k++) {
        size_t bytes = mica_type_bytes(&s->produced[k]->type);
        memcpy((char *)results[k]->data + (size_t)step * bytes, s->produced[k]->data, bytes);
        ref_value_release(s->produced[k]);
        s->produced[k] = NULL;
    }
    return NULL;
}

static mica_status run_scan(scan_run *s, ref_value *const *operands, ref_value **results) {
    int64_t length = mica_node_int(s->n, "length");
    bool reverse = mica_node_int(s->n, "reverse") != 0;
    for (int32_t k = 0; k < s->n_consts + s->n_carry; k++)
        s->arguments[k] = ref_value_retain(operands[k]);
    for (int32_t k = s->n_carry; k < s->n_produced; k++)
        MICA_TRY(ref_value_create(&s->n->results[k], &results[k]));
    for (int64_t i = 0; i < length; i++)
        MICA_TRY(scan_step(s, operands, results, reverse ? length - 1 - i : i));
    for (int32_t k = 0; k < s->n_carry; k++)
        results[k] = ref_value_retain(s->arguments[s->n_consts + k]);
    return NULL;
}

mica_status ref_scan(const mica_node *n, ref_value *const *operands, ref_value **results) {
    scan_run s = {.n = n,
                  .n_consts = (int32_t)mica_node_int(n, "consts"),
                  .n_carry = (int32_t)mica_node_int(n, "carry"),
                  .n_arguments = n->n_operands,
                  .n_produced = n->n_results};
    size_t count = (size_t)n->n_operands + (size_t)n->n_results;
    s.arguments = mica_calloc(count + 1, sizeof *s.arguments);
    if (!s.arguments) return MICA_NO_MEMORY();
    s.produced = s.arguments + n->n_operands;
    mica_status status = run_scan(&s, operands, results);
    for (size_t k = 0; k < count; k++) ref_value_release(s.arguments[k]);
    mica_free(s.arguments);
    return status;
}

mica_status ref_call(const mica_node *n, ref_value *const *operands, ref_value **results) {
    return ref_run_graph(n->regions[0], operands, results);
}

mica_status ref_custom_gradient(const mica_node *n, ref_value *const *operands,
                                ref_value **results) {
    return ref_run_graph(n->regions[0], operands, results);
}

mica_status ref_remat(const mica_node *n, ref_value *const *operands, ref_value **results) {
    return ref_run_graph(n->regions[0], operands, results);
}

mica_status ref_barrier(const mica_node *n, ref_value *const *operands, ref_value **results) {
    for (int32_t k = 0; k < n->n_operands; k++) results[k] = ref_value_retain(operands[k]);
    return NULL;
}

mica_status ref_list_push(const mica_node *n, ref_value *const *operands, ref_value **results) {
    MICA_TRY(ref_value_create(&n->results[0], &results[0]));
    results[0]->below = ref_value_retain(operands[0]);
    results[0]->top = ref_value_retain(operands[1]);
    return NULL;
}

mica_status ref_list_pop(const mica_node *n, ref_value *const *operands, ref_value **results) {
    ref_value *list = operands[0];
    if (!ref_list_is_empty(list)) {
        results[0] = ref_value_retain(list->below);
        results[1] = ref_value_retain(list->top);
        return NULL;
    }
    results[0] = ref_value_retain(list);
    MICA_TRY(ref_value_create(&n->results[1], &results[1]));
    memset(results[1]->data, 0, mica_type_bytes(&n->results[1]));
    return NULL;
}

/* Over the ranks that the graph is bound to; there is one participant else. */
static mica_status over_ranks(const mica_node *n, ref_value *const *operands, ref_value **results) {
    dist_axis axis = dist_bound();
    MICA_TRY(dist_check_node(&axis, n));
    MICA_TRY(ref_value_create(&n->results[0], &results[0]));
    return dist_run_node(&axis, n, n->n_operands ? operands[0]->data : NULL, results[0]->data);
}

#define COLLECTIVE(name)                                                                           \
    mica_status ref_##name(const mica_node *n, ref_value *const *operands, ref_value **results) {  \
        return over_ranks(n, operands, results);                                                   \
    }
COLLECTIVE(axis_index)
COLLECTIVE(all_reduce)
COLLECTIVE(all_gather)
COLLECTIVE(reduce_scatter)
COLLECTIVE(permute)
COLLECTIVE(broadcast_from)

mica_status ref_callback(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_host_function function;
    void *context;
    int64_t number = mica_node_int(n, "function");
    if (!mica_host_function_find(number, &function, &context))
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[callback] '%s': no host function is registered as number %lld",
                          mica_node_string(n, "name"), (long long)number);
    for (int32_t k = 0; k < n->n_results; k++)
        MICA_TRY(ref_value_create(&n->results[k], &results[k]));
    int32_t n_inputs = n->n_operands - 1, n_outputs = n->n_results - 1;
    size_t count = (size_t)(n_inputs + n_outputs);
    void **arrays = mica_calloc(count + 1, sizeof *arrays);
    mica_type *types = mica_calloc(count + 1, sizeof *types);
    mica_status status = arrays && types ? NULL : MICA_NO_MEMORY();
    for (int32_t k = 0; !status && k < n_inputs + n_outputs; k++) {
        const ref_value *value = k < n_inputs ? operands[k + 1] : results[k - n_inputs + 1];
        arrays[k] = value->data;
        types[k] = value->type;
    }
    if (!status)
        status = function(context, (const void *const *)arrays, types, n_inputs, arrays + n_inputs,
                          types + n_inputs, n_outputs);
    mica_free(arrays);
    mica_free(types);
    return status;
}
