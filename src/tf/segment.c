/* Cutting a graph into steps: segments, which are lowered as a whole, and host ops.
 *
 * Nodes keep the order of the program. A host op ends the segment before it. So does an op with a
 * shape operand that neither folds nor comes from outside the segment: its value has to be
 * there before the op can be lowered. */
#include "tf/steps.h"

#include <string.h>

/* ---- what a graph is like ---------------------------------------------------------------------*/

void mica_tf_find_needed(const mica_tf_graph *g, bool *flags) {
    memset(flags, 0, (size_t)g->n_nodes);
    for (int32_t i = 0; i < g->n_outputs; i++) flags[g->outputs[i].node] = true;
    for (int32_t i = g->n_nodes; i-- > 0;) {
        const mica_tf_node *node = &g->nodes[i];
        if (node->operation && node->operation->info->has_effect) {
            /* An unused read has no effect. */
            flags[i] |= !mica_tf_is_a(node->operation, MICA_TF_CATEGORY_READ);
        }
        for (int32_t k = 0; flags[i] && k < node->n_inputs; k++) flags[node->inputs[k].node] = true;
    }
}

void mica_tf_find_foldable(const mica_tf_graph *g, bool *flags) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_tf_node *node = &g->nodes[i];
        flags[i] = node->operation && mica_tf_rows[node->operation->op].effect == MICA_TF_PURE &&
                   !node->operation->info->is_host && node->n_inputs <= 16 && node->n_results <= 16;
        for (int32_t k = 0; flags[i] && k < node->n_results; k++)
            flags[i] = mica_tf_is_core(node->dtypes[k]);
        if (mica_tf_is_a(node->operation, MICA_TF_CATEGORY_OF_SHAPE)) {
            for (int32_t k = 0; k < node->n_inputs; k++)
                flags[i] &= mica_tf_is_core(mica_tf_graph_type(g, node->inputs[k], NULL));
            continue;
        }
        for (int32_t k = 0; flags[i] && k < node->n_inputs; k++)
            flags[i] = flags[node->inputs[k].node];
    }
}

const mica_tf_operation *mica_tf_innermost(const mica_tf_operation *operation) {
    while (mica_tf_is_a(operation, MICA_TF_CATEGORY_DERIVATIVE))
        operation = operation->attrs[0].as.operation;
    return operation;
}

bool mica_tf_is_dynamic(const mica_tf_graph *g, const mica_tf_operation *operation,
                        const mica_tf_ref *inputs) {
    int64_t begin[MICA_MAX_RANK * 4], end[MICA_MAX_RANK * 4];
    int32_t n = MICA_MAX_RANK, n_end = MICA_MAX_RANK;
    const mica_tf_operation *slice = mica_tf_innermost(operation);
    if (slice->op != MICA_TF_StridedSlice) return false;
    bool known = g && mica_tf_graph_ints(g, inputs[1], begin, &n) &&
                 mica_tf_graph_ints(g, inputs[2], end, &n_end) && n == n_end;
    if (g && !known) {
        mica_tf_shape shape;
        mica_tf_graph_type(g, inputs[1], &shape);
        n = shape.rank == 1 && shape.dims[0] >= 0 && shape.dims[0] <= MICA_MAX_RANK * 2
                ? (int32_t)shape.dims[0]
                : MICA_MAX_RANK;
    }
    int64_t masks[5];
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    for (int32_t i = 0; i < 5; i++)
        masks[i] = mica_tf_attr_find(slice->info, slice->attrs, names[i])->as.integer;
    int64_t free_entries = masks[2] | masks[3] | masks[4] | (masks[0] & masks[1]);
    for (int32_t i = 0; i < n; i++) {
        if (free_entries >> i & 1) continue;
        if (!known || begin[i] == MICA_TF_UNKNOWN_INT || end[i] == MICA_TF_UNKNOWN_INT)
            return false;
    }
    return true;
}

bool mica_tf_needs_value(const mica_tf_graph *g, const mica_tf_node *node, int32_t i,
                         const bool *foldable) {
    char role = mica_tf_operation_role(node->operation, i);
    if (foldable[node->inputs[i].node] || (role != 's' && role != 'o')) return false;
    return role == 's' || !mica_tf_is_dynamic(g, node->operation, node->inputs);
}

static mica_tf_lowers lower_of(mica_tf_lowers a, mica_tf_lowers b) {
    return a < b ? a : b;
}

/* A Vmap whose function draws, in itself and not in regions inside, takes the draws of all slices
 * as an input. */
static bool draws_by_slices(const mica_tf_operation *o) {
    return o->op == MICA_TF_Vmap && !mica_tf_attr_find(o->info, o->attrs, "replicas")->as.integer &&
           mica_tf_graph_order(mica_tf_attr_find(o->info, o->attrs, "f")->as.function) ==
               MICA_TF_DRAWS;
}

/* What the bodies of an op allow; of a derivative, those of the op it is of. */
static mica_tf_lowers bodies_lower(const mica_tf_operation *o, bool is_derived) {
    mica_tf_lowers answer = MICA_TF_LOWERS;
    bool region = !mica_tf_is_a(o, MICA_TF_CATEGORY_CALL) && (is_derived || !draws_by_slices(o));
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        bool one = o->info->attrs[i].kind == MICA_TF_FUNCTION;
        bool many = o->info->attrs[i].kind == MICA_TF_FUNCTIONS;
        for (int32_t k = 0; k < (one ? 1 : many ? o->attrs[i].n : 0); k++) {
            mica_tf_graph *f = one ? o->attrs[i].as.function : o->attrs[i].as.functions[k];
            mica_tf_lowers inside = mica_tf_graph_lowers(f);
            if (region && inside != MICA_TF_LOWERS) return MICA_TF_STAYS_HOST;
            answer = lower_of(answer, inside);
        }
    }
    return answer;
}

mica_tf_lowers mica_tf_operation_lowers(const mica_tf_operation *operation) {
    const mica_tf_row *row = &mica_tf_rows[operation->op];
    const mica_tf_operation *of = mica_tf_innermost(operation);
    if (!row->lower || !mica_tf_rows[of->op].lower) return MICA_TF_STAYS_HOST;
    bool draws_or_assigns =
        (row->effect == MICA_TF_STATE && !mica_tf_is_a(operation, MICA_TF_CATEGORY_READ)) ||
        row->effect == MICA_TF_RANDOM; /* each iteration of a loop draws anew */
    return lower_of(draws_or_assigns ? MICA_TF_LOWERS_ASSIGNING : MICA_TF_LOWERS,
                    bodies_lower(of, of != operation));
}

mica_tf_lowers mica_tf_node_lowers(const mica_tf_node *node) {
    for (int32_t i = 0; i < node->n_results; i++)
        if (!mica_tf_is_core(node->dtypes[i]) && node->dtypes[i] != MICA_TF_resource)
            return MICA_TF_STAYS_HOST;
    return mica_tf_operation_lowers(node->operation);
}

/* An array op on strings runs on the host. */
static bool has_foreign_input(const mica_tf_graph *g, const mica_tf_node *node) {
    bool handles = node->operation->info->inputs[0].dtype == MICA_TF_resource;
    for (int32_t i = 0; i < node->n_inputs; i++) {
        mica_tf_dtype dtype = mica_tf_graph_type(g, node->inputs[i], NULL);
        if (dtype == MICA_TF_resource &&
            (handles || mica_tf_rows[node->operation->op].run == MICA_TF_BOTH))
            continue;
        if (!mica_tf_is_core(dtype)) return true;
    }
    return false;
}

static mica_tf_lowers decide(const mica_tf_graph *g) {
    mica_tf_lowers answer = MICA_TF_LOWERS;
    bool *foldable = mica_alloc(2 * (size_t)g->n_nodes + 2), *needed = foldable + g->n_nodes + 1;
    if (!foldable) return MICA_TF_STAYS_HOST;
    mica_tf_find_foldable(g, foldable);
    mica_tf_find_needed(g, needed);
    for (int32_t i = 0; i < g->n_nodes && answer != MICA_TF_STAYS_HOST; i++) {
        const mica_tf_node *node = &g->nodes[i];
        if (!needed[i] || !node->operation) continue;
        answer = lower_of(answer, mica_tf_node_lowers(node));
        if (has_foreign_input(g, node)) answer = MICA_TF_STAYS_HOST;
        for (int32_t k = 0; k < node->n_inputs; k++)
            if (mica_tf_needs_value(g, node, k, foldable)) answer = MICA_TF_STAYS_HOST;
    }
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (!mica_tf_is_core(mica_tf_graph_type(g, g->outputs[i], NULL)) &&
            mica_tf_node_of(g, g->outputs[i])->operation)
            answer = MICA_TF_STAYS_HOST;
    mica_free(foldable);
    return answer;
}

mica_tf_lowers mica_tf_graph_lowers(mica_tf_graph *g) {
    int8_t known = __atomic_load_n(&g->lowers, __ATOMIC_ACQUIRE);
    if (known) return (mica_tf_lowers)(known - 1);
    mica_tf_lowers answer = decide(g);
    __atomic_store_n(&g->lowers, (int8_t)(answer + 1), __ATOMIC_RELEASE);
    return answer;
}

bool mica_tf_graph_is_lowered(mica_tf_graph *g) {
    if (!g) return false;
    return mica_tf_graph_lowers(g) == MICA_TF_LOWERS;
}

bool mica_tf_is_disabled(void) {
    const char *text = mica_environment("TF_DISABLE_MLC");
    return text && *text && strcmp(text, "0") != 0;
}

/* ---- cutting ----------------------------------------------------------------------------------*/

typedef struct cutter {
    const mica_tf_graph *g;
    mica_tf_steps *steps;
    const bool *host_nodes; /* by node, or NULL: those that must run on the host */
    bool *needed, *foldable;
    int32_t *step_of; /* by node: the segment it is in, -1: none */
    int32_t open;     /* the segment being filled, or -1 */
    bool one_by_one;  /* TF_DISABLE_MLC: every op is a segment of its own */
} cutter;

static mica_tf_step *add_step(cutter *c) {
    mica_tf_steps *s = c->steps;
    if (s->n == s->capacity) {
        int32_t larger = s->capacity ? 2 * s->capacity : 8;
        mica_tf_step *block = mica_realloc(s->data, (size_t)larger * sizeof *block);
        if (!block) return NULL;
        s->data = block;
        s->capacity = larger;
    }
    mica_tf_step *step = &s->data[s->n++];
    memset(step, 0, sizeof *step);
    step->node = -1;
    return step;
}

static bool must_cut(const cutter *c, const mica_tf_node *node) {
    for (int32_t i = 0; i < node->n_inputs; i++)
        if (mica_tf_needs_value(c->g, node, i, c->foldable) && c->open >= 0 &&
            c->step_of[node->inputs[i].node] == c->open)
            return true;
    return false;
}

static mica_status assign_steps(cutter *c) {
    for (int32_t i = 0; i < c->g->n_nodes; i++) {
        const mica_tf_node *node = &c->g->nodes[i];
        c->step_of[i] = -1;
        if (!c->needed[i] || !node->operation) continue;
        bool on_host = (c->host_nodes && c->host_nodes[i]) ||
                       mica_tf_node_lowers(node) == MICA_TF_STAYS_HOST ||
                       has_foreign_input(c->g, node);
        if (on_host || c->one_by_one || must_cut(c, node)) c->open = -1;
        if (on_host || c->open < 0) {
            mica_tf_step *step = add_step(c);
            if (!step) return MICA_NO_MEMORY();
            step->node = on_host ? i : -1;
            if (!on_host) c->open = c->steps->n - 1;
        }
        c->step_of[i] = on_host ? c->steps->n - 1 : c->open;
    }
    return NULL;
}

static bool contains(const int32_t *list, int32_t n, int32_t entry) {
    for (int32_t i = 0; i < n; i++)
        if (list[i] == entry) return true;
    return false;
}

static mica_status append(mica_arena *arena, int32_t **list, int32_t *n, int32_t entry) {
    if ((*n & (*n - 1)) == 0) { /* full at powers of two */
        int32_t *larger = mica_arena_alloc(arena, sizeof **list * (size_t)(*n ? 2 * *n : 1));
        if (!larger) return MICA_NO_MEMORY();
        if (*n) memcpy(larger, *list, sizeof **list * (size_t)*n);
        *list = larger;
    }
    (*list)[(*n)++] = entry;
    return NULL;
}

enum { USED = 1, FOLDED = 2 }; /* what a segment does with a value */

/* A value that segment k uses: comes from outside unless it is made there or is a constant. */
static mica_status use_input(cutter *c, int32_t k, mica_tf_ref ref, uint8_t *seen) {
    mica_tf_step *step = &c->steps->data[k];
    const mica_tf_node *node = mica_tf_node_of(c->g, ref);
    int32_t slot = mica_tf_slot(c->g, ref);
    if (c->step_of[ref.node] == k || seen[slot] & USED) return NULL;
    if (node->operation && node->operation->op == MICA_TF_Const && c->foldable[ref.node])
        return NULL;
    seen[slot] |= USED;
    if (node->dtypes[ref.index] == MICA_TF_resource)
        return append(&c->steps->arena, &step->variables, &step->n_variables, slot);
    return append(&c->steps->arena, &step->inputs, &step->n_inputs, slot);
}

/* What folding a shape operand looks at: shapes of values, through nodes of any step. */
static mica_status use_folded(cutter *c, int32_t k, mica_tf_ref ref, uint8_t *seen, int32_t depth) {
    const mica_tf_node *node = mica_tf_node_of(c->g, ref);
    uint8_t *mark = &seen[mica_tf_slot(c->g, ref)];
    if (!node->operation || *mark & FOLDED || depth > 1000) return NULL;
    *mark |= FOLDED;
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (mica_tf_is_a(node->operation, MICA_TF_CATEGORY_OF_SHAPE))
            MICA_TRY(use_input(c, k, node->inputs[i], seen));
        else
            MICA_TRY(use_folded(c, k, node->inputs[i], seen, depth + 1));
    }
    return NULL;
}

static mica_status find_inputs(cutter *c, int32_t k, uint8_t *seen) {
    mica_tf_step *step = &c->steps->data[k];
    memset(seen, 0, (size_t)c->g->n_results + 1);
    for (int32_t i = 0; i < c->g->n_nodes; i++) {
        const mica_tf_node *node = &c->g->nodes[i];
        if (c->step_of[i] != k || !node->operation) continue;
        MICA_TRY(append(&c->steps->arena, &step->nodes, &step->n_nodes, i));
        for (int32_t j = 0; j < node->n_inputs; j++) {
            mica_tf_ref ref = node->inputs[j];
            char role = mica_tf_operation_role(node->operation, j);
            if ((role == 's' || role == 'o') && c->foldable[ref.node])
                MICA_TRY(use_folded(c, k, ref, seen, 0));
            MICA_TRY(use_input(c, k, ref, seen));
            int32_t slot = mica_tf_slot(c->g, ref);
            if (mica_tf_needs_value(c->g, node, j, c->foldable) &&
                !contains(step->values, step->n_values, slot))
                MICA_TRY(append(&c->steps->arena, &step->values, &step->n_values, slot));
        }
    }
    return NULL;
}

/* Slots that a later step or the caller reads become outputs of the segment that makes them. */
static mica_status find_outputs(cutter *c, uint8_t *read) {
    memset(read, 0, (size_t)c->g->n_results + 1);
    for (int32_t i = 0; i < c->g->n_outputs; i++) read[mica_tf_slot(c->g, c->g->outputs[i])] = 1;
    for (int32_t k = 0; k < c->steps->n; k++) {
        const mica_tf_step *step = &c->steps->data[k];
        for (int32_t i = 0; i < step->n_inputs; i++) read[step->inputs[i]] = 1;
        for (int32_t i = 0; i < step->n_values; i++) read[step->values[i]] = 1;
        const mica_tf_node *node = step->node < 0 ? NULL : &c->g->nodes[step->node];
        for (int32_t i = 0; node && i < node->n_inputs; i++)
            read[mica_tf_slot(c->g, node->inputs[i])] = 1;
    }
    for (int32_t i = 0; i < c->g->n_nodes; i++) {
        const mica_tf_node *node = &c->g->nodes[i];
        if (c->step_of[i] < 0 || c->steps->data[c->step_of[i]].node >= 0) continue;
        mica_tf_step *step = &c->steps->data[c->step_of[i]];
        for (int32_t k = 0; k < node->n_results; k++)
            if (read[node->first + k] && mica_tf_is_core(node->dtypes[k]))
                MICA_TRY(
                    append(&c->steps->arena, &step->outputs, &step->n_outputs, node->first + k));
    }
    return NULL;
}

/* After its last reader a value is let go. */
static mica_status find_releases(cutter *c, int32_t *last) {
    const mica_tf_graph *g = c->g;
    for (int32_t i = 0; i < g->n_results; i++) last[i] = -1;
    for (int32_t k = 0; k < c->steps->n; k++) {
        const mica_tf_step *step = &c->steps->data[k];
        for (int32_t i = 0; i < step->n_inputs; i++) last[step->inputs[i]] = k;
        for (int32_t i = 0; i < step->n_values; i++) last[step->values[i]] = k;
        for (int32_t i = 0; i < step->n_variables; i++) last[step->variables[i]] = k;
        const mica_tf_node *node = step->node < 0 ? NULL : &g->nodes[step->node];
        for (int32_t i = 0; node && i < node->n_inputs; i++)
            last[mica_tf_slot(g, node->inputs[i])] = k;
        for (int32_t i = 0; node && i < node->n_results; i++)
            if (last[node->first + i] < 0) last[node->first + i] = k;
    }
    for (int32_t i = 0; i < g->n_outputs; i++) last[mica_tf_slot(g, g->outputs[i])] = -1;
    for (int32_t i = 0; i < g->n_results; i++)
        if (last[i] >= 0) {
            mica_tf_step *step = &c->steps->data[last[i]];
            MICA_TRY(append(&c->steps->arena, &step->releases, &step->n_releases, i));
        }
    return NULL;
}

static mica_status cut(cutter *c, uint8_t *marks, int32_t *last) {
    mica_tf_find_needed(c->g, c->needed);
    mica_tf_find_foldable(c->g, c->foldable);
    MICA_TRY(assign_steps(c));
    for (int32_t k = 0; k < c->steps->n; k++)
        if (c->steps->data[k].node < 0) MICA_TRY(find_inputs(c, k, marks));
    MICA_TRY(find_outputs(c, marks));
    return find_releases(c, last);
}

mica_status mica_tf_steps_create(const mica_tf_graph *g, const bool *host_nodes,
                                 mica_tf_steps **out_steps) {
    size_t n = (size_t)g->n_nodes + 1, n_slots = (size_t)g->n_results + 1;
    mica_tf_steps *steps = mica_calloc(1, sizeof *steps);
    char *room = mica_calloc(n * (2 + sizeof(int32_t)) + n_slots * (1 + sizeof(int32_t)), 1);
    *out_steps = NULL;
    mica_status status = steps && room ? NULL : MICA_NO_MEMORY();
    if (steps) mica_arena_init(&steps->arena);
    if (!status) {
        int32_t *step_of = (int32_t *)room, *last = step_of + n;
        bool *needed = (bool *)(last + n_slots), *foldable = needed + n;
        uint8_t *marks = (uint8_t *)(foldable + n);
        cutter c = {.g = g,
                    .steps = steps,
                    .host_nodes = host_nodes,
                    .needed = needed,
                    .foldable = foldable,
                    .step_of = step_of,
                    .open = -1,
                    .one_by_one = mica_tf_is_disabled()};
        status = cut(&c, marks, last);
    }
    mica_free(room);
    if (status)
        mica_tf_steps_destroy(steps);
    else
        *out_steps = steps;
    return status;
}

void mica_tf_steps_destroy(mica_tf_steps *steps) {
    if (!steps) return;
    for (int32_t i = 0; i < steps->n; i++) mica_tf_programs_forget(&steps->data[i]);
    mica_tf_steps_destroy(steps->replaced);
    mica_arena_deinit(&steps->arena);
    mica_free(steps->data);
    mica_free(steps);
}
