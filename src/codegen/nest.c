#include "codegen/nest.h"

#include <string.h>

/* ---- roles ------------------------------------------------------------------------------------*/

static bool is_real(mica_dtype dtype) {
    return mica_dtype_kind_of(dtype) != MICA_KIND_COMPLEX;
}

static bool has_elements(const mica_node *n) {
    return n->n_results == 1 && n->results[0].kind == MICA_TENSOR &&
           mica_type_elements(&n->results[0]) > 0;
}

static uint32_t reduced_axes(const mica_node *n) {
    mica_ints axes = mica_node_ints(n, "axes");
    uint32_t mask = 0;
    for (int32_t i = 0; i < axes.n; i++) mask |= 1u << axes.data[i];
    return mask;
}

/* The built-in kernel looks at axes longer than 1 only, and so does this: rows when those reduced
 * are the last ones, columns when they are the first ones. */
static mica_nest_role role_of_reduce(const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0);
    if (x->dtype < MICA_DTYPE_f16 || x->dtype > MICA_DTYPE_f64 || mica_type_elements(x) == 0)
        return MICA_ROLE_NONE;
    uint32_t reduced = reduced_axes(n);
    int32_t changes = 0;
    bool last = false, first = true, any = false, first_is_reduced = false;
    for (int32_t i = 0; i < x->rank; i++) {
        if (x->dims[i] == 1) continue;
        bool is_reduced = reduced >> i & 1;
        if (first) first_is_reduced = is_reduced;
        changes += !first && is_reduced != last;
        first = false;
        last = is_reduced;
        any = any || is_reduced;
    }
    if (!any || changes > 1) return MICA_ROLE_NONE;
    if (changes == 0) return MICA_ROLE_ROW;
    return first_is_reduced ? MICA_ROLE_COLUMN : MICA_ROLE_ROW;
}

int32_t mica_nest_leading(const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0);
    uint32_t reduced = reduced_axes(n);
    bool column = role_of_reduce(n) == MICA_ROLE_COLUMN;
    int32_t leading = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] != 1 && (reduced >> i & 1) == column) leading = i + 1;
    return leading;
}

/* The same elements with axes of size 1 added or taken away. */
static bool is_squeeze(const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0), *y = &n->results[0];
    int32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < x->rank && x->dims[i] == 1) i++;
        while (k < y->rank && y->dims[k] == 1) k++;
        if (i == x->rank || k == y->rank) return i == x->rank && k == y->rank;
        if (x->dims[i] != y->dims[k]) return false;
    }
}

static bool is_splat(const mica_node *n) {
    return n->op == MICA_OP_constant && mica_type_elements(&n->results[0]) == 1;
}

/* Reading along the last axis stays reading neighbours. */
/* From half precision: what is read is smaller than what would be kept. */
static bool is_widening(const mica_node *n) {
    mica_dtype from = mica_operand_type(n, 0)->dtype;
    return (from == MICA_DTYPE_f16 || from == MICA_DTYPE_bf16) &&
           mica_dtype_kind_of(n->results[0].dtype) == MICA_KIND_FLOAT &&
           mica_dtype_bytes(n->results[0].dtype) > mica_dtype_bytes(from);
}

static bool keeps_last_axis(const mica_node *n) {
    int32_t rank = n->results[0].rank;
    if (rank == 0) return true;
    if (n->op == MICA_OP_transpose)
        return mica_node_ints(n, "permutation").data[rank - 1] == rank - 1;
    if (n->op == MICA_OP_slice) {
        mica_ints stride = mica_node_ints(n, "stride");
        return stride.n == 0 || stride.data[rank - 1] == 1;
    }
    return true;
}

mica_nest_role mica_nest_role_of(const mica_node *n) {
    if (n->op >= MICA_OP_COUNT || !has_elements(n) || !is_real(n->results[0].dtype))
        return MICA_ROLE_NONE;
    for (int32_t i = 0; i < n->n_operands; i++)
        if (mica_operand_type(n, i)->kind != MICA_TENSOR ||
            !is_real(mica_operand_type(n, i)->dtype))
            return MICA_ROLE_NONE;
    switch (n->op) {
    case MICA_OP_igamma:
        return MICA_ROLE_NONE; /* its loops would be all there is, many times over */
    case MICA_OP_compare:
    case MICA_OP_select:
    case MICA_OP_is_finite: return MICA_ROLE_MAP;
    case MICA_OP_convert: return is_widening(n) ? MICA_ROLE_FREE : MICA_ROLE_MAP;
    case MICA_OP_constant: return is_splat(n) ? MICA_ROLE_FREE : MICA_ROLE_NONE;
    case MICA_OP_iota:
    case MICA_OP_broadcast: return MICA_ROLE_FREE;
    case MICA_OP_reshape: return is_squeeze(n) ? MICA_ROLE_FREE : MICA_ROLE_NONE;
    case MICA_OP_transpose:
    case MICA_OP_slice: return keeps_last_axis(n) ? MICA_ROLE_FREE : MICA_ROLE_NONE;
    case MICA_OP_reduce: return role_of_reduce(n);
    default: return mica_op_class_of(n->op) == MICA_CLASS_MAP ? MICA_ROLE_MAP : MICA_ROLE_NONE;
    }
}

bool mica_nest_is_costly(const mica_node *n) {
    static const mica_op cheap[] = {
        MICA_OP_neg,   MICA_OP_abs,  MICA_OP_add,  MICA_OP_sub, MICA_OP_mul, MICA_OP_max,
        MICA_OP_min,   MICA_OP_and,  MICA_OP_or,   MICA_OP_xor, MICA_OP_not, MICA_OP_clamp,
        MICA_OP_floor, MICA_OP_ceil, MICA_OP_sign, MICA_OP_shl, MICA_OP_shr, MICA_OP_sar};
    if (mica_op_class_of(n->op) != MICA_CLASS_MAP) return false;
    for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++)
        if (n->op == cheap[i]) return false;
    return true;
}

/* ---- uses -------------------------------------------------------------------------------------*/

static mica_status refuse(const mica_node *n, const char *why) {
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] %s", mica_op_name(n->op), why);
}

static bool same_map(const mica_axis_map *a, const mica_axis_map *b, int32_t rank) {
    for (int32_t i = 0; i < rank; i++)
        if (a[i].loop != b[i].loop || a[i].step != b[i].step || a[i].start != b[i].start)
            return false;
    return true;
}

static mica_status add_use(mica_nest *nest, const mica_use *use, int32_t *out) {
    if (nest->n_uses == nest->capacity) {
        int32_t more = nest->capacity ? 2 * nest->capacity : 64;
        mica_use *grown = mica_realloc(nest->uses, sizeof *grown * (size_t)more);
        if (!grown) return MICA_NO_MEMORY();
        nest->uses = grown;
        nest->capacity = more;
    }
    *out = nest->n_uses;
    nest->uses[nest->n_uses++] = *use;
    return NULL;
}

static mica_status expand(mica_nest *nest, mica_value v, const mica_axis_map *map, int32_t *out);

/* An axis of size 1 has one index, whatever the loops do. */
static void settle(const mica_type *type, mica_axis_map *map) {
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] == 1) map[i] = (mica_axis_map){-1, 0, 0};
}

static void map_broadcast(const mica_node *n, const mica_axis_map *y, mica_axis_map *x) {
    mica_ints axes = mica_node_ints(n, "axes");
    for (int32_t i = 0; i < axes.n; i++) x[i] = y[axes.data[i]];
}

static void map_reshape(const mica_node *n, const mica_axis_map *y, mica_axis_map *x) {
    const mica_type *from = mica_operand_type(n, 0), *to = &n->results[0];
    int32_t k = 0;
    for (int32_t i = 0; i < from->rank; i++) {
        if (from->dims[i] == 1) continue;
        while (to->dims[k] == 1) k++;
        x[i] = y[k++];
    }
}

static void map_slice(const mica_node *n, const mica_axis_map *y, mica_axis_map *x) {
    mica_ints start = mica_node_ints(n, "start"), stride = mica_node_ints(n, "stride");
    for (int32_t i = 0; i < n->results[0].rank; i++) {
        int64_t s = stride.n ? stride.data[i] : 1;
        x[i] = (mica_axis_map){y[i].loop, y[i].step * s, y[i].start * s + start.data[i]};
    }
}

/* Rows: kept axes come from the result, reduced ones are the inner loops. */
static void map_reduce(const mica_nest *nest, const mica_node *n, const mica_axis_map *y,
                       mica_axis_map *x) {
    const mica_type *type = mica_operand_type(n, 0);
    uint32_t reduced = reduced_axes(n);
    int32_t k = 0;
    for (int32_t i = 0; i < type->rank; i++) {
        if (reduced >> i & 1)
            x[i] = (mica_axis_map){i, 1, 0};
        else
            x[i] = y[k++];
    }
    (void)nest;
}

/* The operand's map where it is not the result's. */
static void map_operand(const mica_nest *nest, const mica_node *n, const mica_axis_map *y,
                        mica_axis_map *x) {
    switch (n->op) {
    case MICA_OP_broadcast: map_broadcast(n, y, x); break;
    case MICA_OP_reshape: map_reshape(n, y, x); break;
    case MICA_OP_slice: map_slice(n, y, x); break;
    case MICA_OP_reduce: map_reduce(nest, n, y, x); break;
    case MICA_OP_transpose: {
        mica_ints permutation = mica_node_ints(n, "permutation");
        for (int32_t i = 0; i < permutation.n; i++) x[permutation.data[i]] = y[i];
        break;
    }
    default: memcpy(x, y, sizeof *x * (size_t)n->results[0].rank); break;
    }
    settle(mica_operand_type(n, 0), x);
}

/* A row's reduction must run over exactly the inner loops of the nest. */
static mica_status check_reduce(const mica_nest *nest, const mica_node *n, const mica_axis_map *x) {
    const mica_type *type = mica_operand_type(n, 0);
    if (nest->kind == MICA_NEST_LOOP) return refuse(n, "is inside a nest without rows");
    if (mica_nest_role_of(n) != MICA_ROLE_ROW || nest->kind != MICA_NEST_ROWS)
        return refuse(n, "does not reduce the last axes");
    if (type->rank != nest->rank || mica_nest_leading(n) > nest->inner)
        return refuse(n, "reduces other axes than the nest");
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] != nest->sizes[i]) return refuse(n, "is of another shape than the nest");
        bool is_loop = x[i].loop == i && x[i].step == 1 && x[i].start == 0;
        if (type->dims[i] != 1 && !is_loop) return refuse(n, "is not read in the nest's order");
    }
    return NULL;
}

static mica_status expand_operands(mica_nest *nest, const mica_node *n, mica_use *use) {
    for (int32_t i = 0; i < n->n_operands; i++) {
        mica_axis_map map[MICA_MAX_RANK] = {{0}};
        map_operand(nest, n, use->map, map);
        if (n->op == MICA_OP_reduce) MICA_TRY(check_reduce(nest, n, map));
        MICA_TRY(expand(nest, n->operands[i], map, &use->operands[i]));
        const mica_use *x = &nest->uses[use->operands[i]];
        if (n->op == MICA_OP_reduce) {
            use->pass = x->pass + 1;
            continue;
        }
        if (x->pass > use->pass) use->pass = x->pass;
        use->varies = use->varies || x->varies;
    }
    return NULL;
}

static void find_steps(const mica_nest *nest, mica_use *use) {
    const mica_node *n = use->value.node;
    const mica_type *type = mica_value_type(use->value);
    int64_t stride = 1;
    for (int32_t i = type->rank - 1; i >= 0; stride *= type->dims[i--]) {
        if (n->op == MICA_OP_iota) stride = i == mica_node_int(n, "axis");
        use->offset += use->map[i].start * stride;
        if (use->map[i].loop >= 0) use->steps[use->map[i].loop] += use->map[i].step * stride;
    }
    for (int32_t l = nest->inner; l < nest->rank; l++)
        use->varies = use->varies || use->steps[l] != 0;
}

static mica_status expand(mica_nest *nest, mica_value v, const mica_axis_map *map, int32_t *out) {
    const mica_type *type = mica_value_type(v);
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *u = &nest->uses[i];
        if (mica_value_same(u->value, v) && same_map(u->map, map, type->rank)) {
            *out = i;
            return NULL;
        }
    }
    mica_node *n = v.node;
    if (n->op != MICA_OP_PARAMETER && mica_nest_role_of(n) == MICA_ROLE_NONE)
        return refuse(n, "is not computed element by element");
    mica_use use = {.value = v};
    memcpy(use.map, map, sizeof *map * (size_t)type->rank);
    if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_iota)
        find_steps(nest, &use);
    else
        MICA_TRY(expand_operands(nest, n, &use));
    nest->is_costly = nest->is_costly || (n->op != MICA_OP_PARAMETER && mica_nest_is_costly(n));
    return add_use(nest, &use, out);
}

/* ---- the nest's loops -------------------------------------------------------------------------*/

static const mica_node *find_reduce(const mica_graph *body, mica_nest_role *out_role) {
    *out_role = MICA_ROLE_NONE;
    for (int32_t i = 0; i < body->n_nodes; i++)
        if (body->nodes[i]->op == MICA_OP_reduce) {
            *out_role = mica_nest_role_of(body->nodes[i]);
            return body->nodes[i];
        }
    return NULL;
}

static mica_status choose_loops(mica_nest *nest) {
    const mica_graph *body = nest->body;
    mica_nest_role role;
    const mica_node *reduce = find_reduce(body, &role);
    const mica_type *type =
        reduce ? mica_operand_type(reduce, 0) : mica_value_type(body->outputs[0]);
    if (reduce && role == MICA_ROLE_NONE)
        return refuse(reduce, "is neither of rows nor of columns");
    nest->kind = !reduce                 ? MICA_NEST_LOOP
                 : role == MICA_ROLE_ROW ? MICA_NEST_ROWS
                                         : MICA_NEST_COLUMNS;
    nest->rank = type->rank;
    memcpy(nest->sizes, type->dims, sizeof *nest->sizes * (size_t)type->rank);
    nest->inner = reduce ? mica_nest_leading(reduce) : type->rank > 0 ? type->rank - 1 : 0;
    return NULL;
}

/* The map of an output whose axes are the nest's loops, all or the outer ones only. Axes of size 1
 * may be missing or added. */
static mica_status map_output(const mica_nest *nest, const mica_type *type, int32_t first,
                              int32_t last, mica_axis_map *map) {
    int32_t loop = first;
    for (int32_t i = 0; i < type->rank; i++) {
        map[i] = (mica_axis_map){-1, 0, 0};
        if (type->dims[i] == 1) continue;
        while (loop < last && nest->sizes[loop] == 1) loop++;
        if (loop == last || nest->sizes[loop] != type->dims[i])
            return MICA_ERROR(MICA_UNSUPPORTED, "[fused] an output %s does not follow the loops",
                              mica_type_text(type).chars);
        map[i] = (mica_axis_map){loop++, 1, 0};
    }
    while (loop < last && nest->sizes[loop] == 1) loop++;
    if (loop < last)
        return MICA_ERROR(MICA_UNSUPPORTED, "[fused] an output %s is smaller than the loops",
                          mica_type_text(type).chars);
    return NULL;
}

static void find_store_steps(const mica_type *type, const mica_axis_map *map, mica_store *store) {
    int64_t stride = 1;
    for (int32_t i = type->rank - 1; i >= 0; stride *= type->dims[i--])
        if (map[i].loop >= 0) store->steps[map[i].loop] += stride;
}

/* A column reduction is the output itself: its operand is what the nest computes. */
static mica_status expand_column(mica_nest *nest, mica_value v, mica_store *store) {
    const mica_node *n = v.node;
    const mica_type *type = mica_operand_type(n, 0);
    if (n->op != MICA_OP_reduce || mica_nest_role_of(n) != MICA_ROLE_COLUMN)
        return refuse(n, "is an output beside a reduction of columns");
    if (type->rank != nest->rank || mica_nest_leading(n) != nest->inner)
        return refuse(n, "reduces other axes than the nest");
    mica_axis_map map[MICA_MAX_RANK] = {{0}};
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] != nest->sizes[i]) return refuse(n, "is of another shape than the nest");
        map[i] = (mica_axis_map){i, 1, 0};
    }
    settle(type, map);
    mica_use use = {.value = v, .varies = true};
    MICA_TRY(expand(nest, n->operands[0], map, &use.operands[0]));
    MICA_TRY(add_use(nest, &use, &store->use));
    mica_axis_map result[MICA_MAX_RANK] = {{0}};
    MICA_TRY(map_output(nest, &n->results[0], nest->inner, nest->rank, result));
    find_store_steps(&n->results[0], result, store);
    return NULL;
}

static mica_status expand_output(mica_nest *nest, int32_t i) {
    mica_value v = nest->body->outputs[i];
    if (nest->kind == MICA_NEST_COLUMNS) return expand_column(nest, v, &nest->stores[i]);
    const mica_type *type = mica_value_type(v);
    mica_axis_map map[MICA_MAX_RANK] = {{0}};
    bool is_row_value = false;
    mica_status status = map_output(nest, type, 0, nest->rank, map);
    if (status && nest->kind == MICA_NEST_ROWS) {
        mica_status_release(status);
        status = map_output(nest, type, 0, nest->inner, map);
        is_row_value = true;
    }
    if (status) return status;
    MICA_TRY(expand(nest, v, map, &nest->stores[i].use));
    if (is_row_value && nest->uses[nest->stores[i].use].varies)
        return MICA_ERROR(MICA_UNSUPPORTED, "[fused] an output per row varies along it");
    find_store_steps(type, map, &nest->stores[i]);
    return NULL;
}

/* ---- merging loops ----------------------------------------------------------------------------*/

static bool merges(const mica_nest *nest, const int64_t *steps, int32_t l) {
    return steps[l] == steps[l + 1] * nest->sizes[l + 1];
}

static bool may_merge(const mica_nest *nest, int32_t l) {
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (!merges(nest, nest->uses[i].steps, l)) return false;
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        if (!merges(nest, nest->stores[i].steps, l)) return false;
    return true;
}

static void drop_loop(int64_t *values, int32_t l, int32_t rank) {
    memmove(values + l, values + l + 1, sizeof *values * (size_t)(rank - l - 1));
    values[rank - 1] = 0;
}

/* Takes loop l away: it has one turn, or its turns are those of loop l + 1. */
static void remove_loop(mica_nest *nest, int32_t l) {
    for (int32_t i = 0; i < nest->n_uses; i++) drop_loop(nest->uses[i].steps, l, nest->rank);
    for (int32_t i = 0; i < nest->body->n_outputs; i++)
        drop_loop(nest->stores[i].steps, l, nest->rank);
    drop_loop(nest->sizes, l, nest->rank);
    nest->rank--;
    if (l < nest->inner) nest->inner--;
}

static void merge_loops(mica_nest *nest) {
    for (int32_t l = nest->rank - 1; l >= 0; l--)
        if (nest->sizes[l] == 1) remove_loop(nest, l);
    /* In a plain loop any loop may become the inner one. */
    if (nest->kind == MICA_NEST_LOOP) nest->inner = 0;
    for (int32_t l = nest->rank - 2; l >= 0; l--) {
        if (l + 1 == nest->inner || !may_merge(nest, l)) continue;
        nest->sizes[l + 1] *= nest->sizes[l];
        remove_loop(nest, l);
    }
    if (nest->kind == MICA_NEST_LOOP) nest->inner = nest->rank > 0 ? nest->rank - 1 : 0;
}

/* With the loops settled: what varies along the inner ones. */
static void find_variation(mica_nest *nest) {
    for (int32_t i = 0; i < nest->n_uses; i++) {
        mica_use *u = &nest->uses[i];
        const mica_node *n = u->value.node;
        if (n->op == MICA_OP_reduce) {
            u->varies = nest->kind == MICA_NEST_COLUMNS;
            continue;
        }
        u->varies = false;
        for (int32_t l = nest->inner; l < nest->rank; l++)
            u->varies = u->varies || u->steps[l] != 0;
        if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_iota) continue;
        for (int32_t k = 0; k < n->n_operands; k++)
            u->varies = u->varies || nest->uses[u->operands[k]].varies;
    }
}

/* ---- what is kept between passes --------------------------------------------------------------*/

#define KEPT_BYTES 65536 /* of a row, on the stack */

/* A costly value that a later pass needs is kept when the row is short. */
static void keep_values(mica_nest *nest) {
    int64_t room = KEPT_BYTES;
    for (int32_t i = 0; i < nest->n_uses; i++) {
        const mica_use *user = &nest->uses[i];
        const mica_node *n = user->value.node;
        if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_iota) continue;
        for (int32_t k = 0; k < n->n_operands; k++) {
            mica_use *x = &nest->uses[user->operands[k]];
            int32_t pass = n->op == MICA_OP_reduce ? user->pass - 1 : user->pass;
            const mica_node *made = x->value.node;
            int64_t bytes =
                nest->inner_turns * (int64_t)mica_dtype_bytes(mica_value_type(x->value)->dtype);
            if (!x->varies || x->is_kept || pass <= x->pass || made->op == MICA_OP_PARAMETER ||
                !mica_nest_is_costly(made) || bytes > room)
                continue;
            x->is_kept = true;
            room -= bytes;
        }
    }
}

/* ---- all of it --------------------------------------------------------------------------------*/

static mica_status build(mica_nest *nest) {
    const mica_graph *body = nest->body;
    if (body->n_outputs == 0) return MICA_ERROR(MICA_UNSUPPORTED, "[fused] nothing is computed");
    MICA_TRY(choose_loops(nest));
    nest->stores = mica_calloc((size_t)body->n_outputs, sizeof *nest->stores);
    if (!nest->stores) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < body->n_outputs; i++) MICA_TRY(expand_output(nest, i));
    merge_loops(nest);
    find_variation(nest);
    nest->outer_turns = nest->inner_turns = 1;
    for (int32_t l = 0; l < nest->rank; l++)
        *(l < nest->inner ? &nest->outer_turns : &nest->inner_turns) *= nest->sizes[l];
    for (int32_t i = 0; i < nest->n_uses; i++)
        if (nest->uses[i].pass >= nest->n_passes) nest->n_passes = nest->uses[i].pass + 1;
    if (nest->kind == MICA_NEST_ROWS) keep_values(nest);
    return NULL;
}

mica_status mica_nest_create(const mica_graph *body, mica_nest **out_nest) {
    *out_nest = NULL;
    mica_nest *nest = mica_calloc(1, sizeof *nest);
    if (!nest) return MICA_NO_MEMORY();
    nest->body = body;
    nest->streams = true;
    mica_status status = build(nest);
    if (status)
        mica_nest_destroy(nest);
    else
        *out_nest = nest;
    return status;
}

void mica_nest_destroy(mica_nest *nest) {
    if (!nest) return;
    mica_free(nest->uses);
    mica_free(nest->stores);
    mica_free(nest);
}
