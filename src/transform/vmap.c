/* The batching walk, and what rules share. */
#include "transform/vmap.h"

#include <string.h>

#include "transform/rules.h"

mica_type mica_mapped_type(const mica_batch_pass *pass, const mica_type *type) {
    mica_type mapped = *type;
    if (type->kind == MICA_TOKEN) return mapped;
    if (type->rank == MICA_MAX_RANK) {
        mapped.rank = -1; /* rejected by whoever makes a value of it */
        return mapped;
    }
    memmove(mapped.dims + 1, type->dims, (size_t)type->rank * sizeof *type->dims);
    mapped.dims[0] = pass->size;
    mapped.rank = type->rank + 1;
    return mapped;
}

/* A list cannot be given a batch axis, but what is known to make it can be done again with one. */
static mica_value mapped_list(mica_batch_pass *pass, mica_value list, const mica_type *mapped) {
    const mica_node *n = list.node;
    mica_value result = MICA_NULL_VALUE, top;
    if (n->op == MICA_OP_constant) return mica_zeros(pass->g, mapped);
    if (n->op == MICA_OP_list_push) {
        mica_value rest = mica_mapped(pass, (mica_batched){n->operands[0], false});
        top = mica_mapped(pass, (mica_batched){n->operands[1], false});
        return mica_list_push(pass->g, rest, top);
    }
    if (n->op == MICA_OP_list_pop) {
        mica_value whole = mica_mapped(pass, (mica_batched){n->operands[0], false});
        mica_list_pop(pass->g, whole, &result, &top);
        return result;
    }
    mica_graph_fail(
        pass->g, MICA_ERROR(MICA_UNSUPPORTED,
                            "[vmap] a %s that is the same for all examples is used together with "
                            "mapped ones",
                            mica_type_text(mica_value_type(list)).chars));
    return result;
}

mica_value mica_mapped(mica_batch_pass *pass, mica_batched x) {
    const mica_type *type = mica_value_type(x.value);
    if (x.mapped || !type || type->kind == MICA_TOKEN) return x.value;
    mica_type mapped = mica_mapped_type(pass, type);
    if (type->kind == MICA_LIST) return mapped_list(pass, x.value, &mapped);
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i + 1;
    return mica_broadcast(pass->g, x.value, (mica_ints){mapped.dims, mapped.rank},
                          (mica_ints){axes, type->rank});
}

mica_value mica_move_axis(mica_graph *g, mica_value x, int32_t from, int32_t to) {
    const mica_type *type = mica_value_type(x);
    int64_t permutation[MICA_MAX_RANK];
    if (from == to || !type) return x;
    for (int32_t i = 0, k = 0; i < type->rank; i++) {
        if (i == to) {
            permutation[i] = from;
            continue;
        }
        if (k == from) k++;
        permutation[i] = k++;
    }
    return mica_transpose(g, x, (mica_ints){permutation, type->rank});
}

/* ---- the walk ---------------------------------------------------------------------------------*/

/* The op does something about the axis even when no operand is mapped. */
static bool uses_axis(const mica_batch_pass *pass, const mica_node *n);

static bool region_uses_axis(const mica_batch_pass *pass, mica_graph *f) {
    const bool flags[1] = {false};
    mica_made *made = mica_made_find(pass->t, MICA_MADE_USES_AXIS, f, flags, 0);
    if (made && made->integers) return made->integers[0] != 0;
    bool uses = false;
    for (int32_t i = 0; i < f->n_nodes && !uses; i++) uses = uses_axis(pass, f->nodes[i]);
    made = mica_made_add(pass->t, pass->g, MICA_MADE_USES_AXIS, f, flags, 0, NULL, NULL);
    if (made) made->integers = mica_transform_alloc(pass->t, pass->g, 1, sizeof(int32_t));
    if (made && made->integers) made->integers[0] = uses;
    return uses;
}

static bool uses_axis(const mica_batch_pass *pass, const mica_node *n) {
    if (n->op == MICA_OP_callback) return true;
    if (n->op < MICA_OP_COUNT && mica_op_class_of(n->op) == MICA_CLASS_COLLECTIVE)
        return pass->axis_name && !strcmp(mica_node_string(n, "axis"), pass->axis_name);
    for (int32_t i = 0; i < n->n_regions; i++)
        if (region_uses_axis(pass, n->regions[i])) return true;
    return false;
}

/* images has a row of results per node of f. */
static bool batch_node(mica_batch_pass *pass, const mica_node *n, mica_batched **images) {
    mica_graph *g = pass->g;
    mica_batched *x =
        mica_transform_alloc(pass->t, g, (size_t)(n->n_operands + n->n_results) + 1, sizeof *x);
    if (!x) return false;
    bool any = false;
    for (int32_t k = 0; k < n->n_operands; k++) {
        x[k] = images[n->operands[k].node->id][n->operands[k].index];
        any |= x[k].mapped;
    }
    mica_batched *y = images[n->id] = x + n->n_operands;
    if (any || uses_axis(pass, n)) {
        mica_vmap_rules[n->op](pass, n, x, y);
        return !g->error;
    }
    mica_value *operands =
        mica_transform_alloc(pass->t, g, (size_t)n->n_operands + 1, sizeof *operands);
    if (!operands) return false;
    for (int32_t k = 0; k < n->n_operands; k++) operands[k] = x[k].value;
    mica_node *copy = mica_node_clone(g, n, operands);
    for (int32_t k = 0; copy && k < n->n_results; k++) y[k].value = mica_node_result(copy, k);
    return copy != NULL;
}

/* Batches f's nodes into pass->g. */
static bool batch_graph(mica_batch_pass *pass, const mica_graph *f, const mica_batched *parameters,
                        mica_batched *outputs) {
    mica_batched **images =
        mica_transform_alloc(pass->t, pass->g, (size_t)f->n_nodes + 1, sizeof *images);
    mica_batched *copies =
        mica_transform_alloc(pass->t, pass->g, (size_t)f->n_parameters + 1, sizeof *copies);
    if (!images || !copies) return false;
    for (int32_t i = 0; i < f->n_parameters; i++) {
        copies[i] = parameters[i];
        images[f->parameters[i].node->id] = &copies[i];
    }
    for (int32_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i]->op != MICA_OP_PARAMETER && !batch_node(pass, f->nodes[i], images))
            return false;
    for (int32_t i = 0; i < f->n_outputs; i++)
        outputs[i] = images[f->outputs[i].node->id][f->outputs[i].index];
    return true;
}

/* ---- regions ----------------------------------------------------------------------------------*/

static mica_value sum_over_batch(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (type && type->kind == MICA_LIST) {
        mica_graph_fail(g,
                        MICA_ERROR(MICA_UNSUPPORTED,
                                   "[vmap] the cotangents of a %s that all examples share cannot "
                                   "be added",
                                   mica_type_text(type).chars));
        return MICA_NULL_VALUE;
    }
    return mica_reduce(g, x, "sum", MICA_INTS(0));
}

static mica_graph *make_region(mica_batch_pass *pass, const mica_graph *f, const bool *mapped,
                               const bool *want, const bool *sum, bool *out_mapped) {
    mica_batch_pass inside = *pass;
    size_t room = (size_t)(f->n_parameters + f->n_outputs) + 1;
    mica_batched *parameters = mica_transform_alloc(pass->t, pass->g, room, sizeof *parameters);
    inside.g = parameters ? mica_region_create(pass->g, f->name) : NULL;
    if (!inside.g) return NULL;
    mica_batched *outputs = parameters + f->n_parameters;
    for (int32_t i = 0; i < f->n_parameters; i++) {
        mica_type type = *mica_value_type(f->parameters[i]);
        if (mapped[i]) type = mica_mapped_type(pass, &type);
        parameters[i] = (mica_batched){mica_parameter(inside.g, &type), mapped[i]};
    }
    if (!inside.g->error && batch_graph(&inside, f, parameters, outputs)) {
        for (int32_t i = 0; i < f->n_outputs; i++) {
            mica_batched y = outputs[i];
            if (sum && sum[i] && y.mapped)
                y = (mica_batched){sum_over_batch(inside.g, y.value), false};
            if (want && want[i]) y = (mica_batched){mica_mapped(&inside, y), true};
            out_mapped[i] = y.mapped;
            mica_output(inside.g, y.value);
        }
    }
    if (mica_region_check(pass->g, inside.g)) return inside.g;
    mica_graph_release(inside.g);
    return NULL;
}

mica_graph *mica_vmap_region(mica_batch_pass *pass, mica_graph *f, const bool *mapped,
                             const bool *want, const bool *sum, bool *out_mapped) {
    int32_t n_parameters = f->n_parameters, n_outputs = f->n_outputs;
    int32_t n_flags = n_parameters + 2 * n_outputs;
    bool *flags = mica_transform_alloc(pass->t, pass->g, (size_t)n_flags + 1, sizeof *flags);
    if (!flags) return NULL;
    memcpy(flags, mapped, (size_t)n_parameters * sizeof *flags);
    for (int32_t i = 0; i < n_outputs; i++) {
        flags[n_parameters + i] = want && want[i];
        flags[n_parameters + n_outputs + i] = sum && sum[i];
    }
    mica_made *made = mica_made_find(pass->t, MICA_MADE_VMAP, f, flags, n_flags);
    if (!made || !made->integers) {
        mica_graph *region = make_region(pass, f, mapped, want, sum, out_mapped);
        if (!region) return NULL;
        made = mica_made_add(pass->t, pass->g, MICA_MADE_VMAP, f, flags, n_flags, region, NULL);
        int32_t *integers =
            made ? mica_transform_alloc(pass->t, pass->g, (size_t)n_outputs + 1, sizeof *integers)
                 : NULL;
        if (!integers) return NULL;
        for (int32_t i = 0; i < n_outputs; i++) integers[i] = out_mapped[i];
        made->integers = integers;
    }
    for (int32_t i = 0; i < n_outputs; i++) out_mapped[i] = made->integers[i];
    mica_graph_retain(made->graph);
    return made->graph;
}

/* ---- one after the other ----------------------------------------------------------------------*/

/* Operands by their part in the scan: constants, carried tokens, mapped ones as xs. */
typedef enum scan_part { SCAN_CONST, SCAN_TOKEN, SCAN_XS } scan_part;

static scan_part part_of(const mica_node *n, int32_t i, const mica_batched *x) {
    if (mica_operand_type(n, i)->kind == MICA_TOKEN) return SCAN_TOKEN;
    return x[i].mapped ? SCAN_XS : SCAN_CONST;
}

/* The body: the node itself on one example. Carried tokens come out first. */
static mica_graph *one_example(mica_batch_pass *pass, const mica_node *n, const mica_batched *x) {
    mica_graph *body = mica_region_create(pass->g, mica_op_name(n->op));
    mica_value *operands =
        mica_transform_alloc(pass->t, pass->g, (size_t)n->n_operands + 1, sizeof *operands);
    if (body && operands) {
        for (scan_part part = SCAN_CONST; part <= SCAN_XS; part++)
            for (int32_t i = 0; i < n->n_operands; i++)
                if (part_of(n, i, x) == part)
                    operands[i] = mica_parameter(body, mica_operand_type(n, i));
        mica_node *copy = mica_node_clone(body, n, operands);
        for (int32_t pass_tokens = 1; copy && pass_tokens >= 0; pass_tokens--)
            for (int32_t i = 0; i < n->n_results; i++)
                if ((n->results[i].kind == MICA_TOKEN) == (pass_tokens == 1))
                    mica_output(body, mica_node_result(copy, i));
    }
    if (mica_region_check(pass->g, body)) return body;
    mica_graph_release(body);
    return NULL;
}

void mica_vmap_by_scan(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                       mica_batched *y) {
    mica_graph *g = pass->g, *body = one_example(pass, n, x);
    mica_value *operands =
        mica_transform_alloc(pass->t, g, (size_t)n->n_operands + 1, sizeof *operands);
    if (!body || !operands) {
        mica_graph_release(body);
        return;
    }
    int32_t counts[3] = {0}, count = 0;
    for (scan_part part = SCAN_CONST; part <= SCAN_XS; part++)
        for (int32_t i = 0; i < n->n_operands; i++) {
            if (part_of(n, i, x) != part) continue;
            operands[count++] = x[i].value;
            counts[part]++;
        }
    mica_attr attrs[] = {mica_attr_int(counts[SCAN_CONST]), mica_attr_int(counts[SCAN_TOKEN]),
                         mica_attr_int(pass->size), mica_attr_int(0)};
    mica_node *scan = mica_node_create(g, MICA_OP_scan, operands, count, attrs, &body, 1);
    mica_graph_release(body);
    int32_t token = 0, stacked = counts[SCAN_TOKEN];
    for (int32_t i = 0; scan && i < n->n_results; i++) {
        bool is_token = n->results[i].kind == MICA_TOKEN;
        y[i] = (mica_batched){mica_node_result(scan, is_token ? token++ : stacked++), !is_token};
    }
}

/* ---- mica_vmap --------------------------------------------------------------------------------*/

/* `axis` is to be an axis of the batched value, which has one more than f's. */
static mica_status check_axis(const mica_graph *f, const char *what, int32_t i, int32_t axis,
                              mica_value value) {
    const mica_type *type = mica_value_type(value);
    if (axis == MICA_UNMAPPED) return NULL;
    if (type->kind == MICA_TENSOR && axis >= 0 && axis <= type->rank) return NULL;
    return MICA_INVALID("[vmap] %s %d of '%s' is %s and cannot be mapped along axis %d", what, i,
                        f->name, mica_type_text(type).chars, axis);
}

static mica_status check_arguments(const mica_graph *f, const int32_t *in_axes,
                                   const int32_t *out_axes, int64_t size) {
    if (!f) return MICA_INVALID("[vmap] there is no function");
    if (f->error) return mica_graph_check(f);
    if (size < 0)
        return MICA_INVALID("[vmap] the size must be at least 0, not %lld", (long long)size);
    for (int32_t i = 0; i < f->n_parameters; i++)
        MICA_TRY(check_axis(f, "parameter", i, in_axes[i], f->parameters[i]));
    for (int32_t i = 0; i < f->n_outputs; i++)
        MICA_TRY(check_axis(f, "output", i, out_axes[i], f->outputs[i]));
    return NULL;
}

static mica_batched take_parameter(mica_batch_pass *pass, const mica_type *type, int32_t axis) {
    if (axis == MICA_UNMAPPED) return (mica_batched){mica_parameter(pass->g, type), false};
    mica_type outside = *type;
    if (type->rank == MICA_MAX_RANK)
        outside.rank = -1;
    else {
        memmove(outside.dims + axis + 1, outside.dims + axis,
                (size_t)(type->rank - axis) * sizeof *outside.dims);
        outside.dims[axis] = pass->size;
        outside.rank++;
    }
    return (mica_batched){mica_move_axis(pass->g, mica_parameter(pass->g, &outside), axis, 0),
                          true};
}

static void give_output(mica_batch_pass *pass, int32_t i, mica_batched y, int32_t axis) {
    if (axis == MICA_UNMAPPED && y.mapped) {
        mica_graph_fail(
            pass->g,
            MICA_INVALID("[vmap] output %d varies over the batch and is to be unmapped", i));
        return;
    }
    if (axis != MICA_UNMAPPED) y.value = mica_move_axis(pass->g, mica_mapped(pass, y), 0, axis);
    mica_output(pass->g, y.value);
}

mica_status mica_vmap(const mica_graph *function, const int32_t *in_axes, const int32_t *out_axes,
                      int64_t size, const char *axis_name, mica_graph **out_graph) {
    MICA_GIVEN(in_axes, out_axes, out_graph);
    const mica_graph *f = function;
    *out_graph = NULL;
    MICA_TRY(check_arguments(f, in_axes, out_axes, size));
    mica_transform t;
    mica_batch_pass pass = {.t = &t, .size = size, .axis_name = axis_name};
    MICA_TRY(mica_graph_create(f->name, &pass.g));
    mica_transform_init(&t);
    size_t n = (size_t)(f->n_parameters + f->n_outputs);
    mica_batched *parameters = mica_transform_alloc(&t, pass.g, n + 1, sizeof *parameters);
    if (parameters) {
        mica_batched *outputs = parameters + f->n_parameters;
        for (int32_t i = 0; i < f->n_parameters; i++)
            parameters[i] = take_parameter(&pass, mica_value_type(f->parameters[i]), in_axes[i]);
        if (!pass.g->error && batch_graph(&pass, f, parameters, outputs))
            for (int32_t i = 0; i < f->n_outputs; i++)
                give_output(&pass, i, outputs[i], out_axes[i]);
    }
    mica_transform_deinit(&t);
    mica_status status = mica_graph_check(pass.g);
    if (status)
        mica_graph_release(pass.g);
    else
        *out_graph = pass.g;
    return status;
}
