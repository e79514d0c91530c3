/* Planning of control flow: nested lists of commands whose parameters are bound to the places of
 * the operands, or to registers that loops move. */
#include <math.h>

#include "compile/planner.h"

/* Memory for the frames of nested lists: one at a time is in use. */
static mica_status add_frame(mica_planning *p, mica_command *c, const int32_t *lists,
                             int32_t n_lists, size_t bytes) {
    if (!bytes) return NULL;
    int32_t s = mica_planner_storage(p->planner, p->list, bytes, c->node->id, c->node->id);
    if (s < 0) return MICA_NO_MEMORY();
    c->scratch = (mica_place){MICA_BASE_STORAGE, s};
    for (int32_t i = 0; i < n_lists; i++) p->planner->frames[lists[i]] = s;
    return NULL;
}

static mica_place new_register(mica_planning *p) {
    return (mica_place){p->planner->plan->n_bases++, 0};
}

/* ---- cond, case, call -------------------------------------------------------------------------*/

static mica_status plan_branches(mica_planning *p, const mica_node *n, int32_t n_regions,
                                 int32_t first_argument) {
    for (int32_t i = 0; i < n->n_results; i++) MICA_TRY(mica_plan_new_result(p, n, i));
    mica_command *c = mica_plan_append(p, MICA_COMMAND_BRANCH, n);
    if (!c) return MICA_NO_MEMORY();
    c->n_regions = n_regions;
    c->regions = mica_planner_alloc(p->planner, (size_t)n_regions, sizeof *c->regions);
    int32_t *lists = mica_planner_alloc(p->planner, (size_t)n_regions, sizeof *lists);
    mica_place *targets = mica_planner_alloc(p->planner, (size_t)n->n_results, sizeof *targets);
    if (!c->regions || !lists || !targets) return MICA_NO_MEMORY();
    size_t most = 0;
    double work = 0;
    if (first_argument > 0) p->planner->plan->has_branches = true;
    for (int32_t i = 0; i < n_regions; i++) {
        size_t bytes;
        double region_work;
        for (int32_t k = 0; k < n->n_results; k++) targets[k] = c->results[k];
        MICA_TRY(mica_plan_list(p->planner, n->regions[i], c->operands + first_argument, NULL,
                                targets, NULL, &lists[i], &bytes, &region_work, &c->regions[i]));
        if (bytes > most) most = bytes;
        if (region_work > work) work = region_work;
    }
    p->work += 1000 + work;
    return add_frame(p, c, lists, n_regions, most);
}

/* ---- loops ------------------------------------------------------------------------------------*/

/* The result of a carry takes over the initial value's memory when that dies here. */
static bool take_over_initial(mica_planning *p, const mica_node *n, int32_t operand,
                              int32_t result) {
    mica_place place = *mica_planning_place(p, n->operands[operand]);
    mica_storage *s = mica_planner_find(p->planner, place);
    if (!p->planner->share || !s || s->list != p->list || !s->writable || s->last != n->id)
        return false;
    if (s->bytes != mica_type_bytes(&n->results[result])) return false;
    for (int32_t i = 0; i < n->n_operands; i++)
        if (i != operand &&
            mica_planner_find(p->planner, *mica_planning_place(p, n->operands[i])) == s)
            return false;
    int32_t value = p->first_value[n->id] + result;
    p->places[value] = place;
    s->last = p->last_use[value];
    return true;
}

typedef struct loop {
    int32_t n_consts, n_carries, n_xs, n_ys;
    mica_place *parameters; /* of the body */
    bool *writable;
    mica_place *targets;
    int32_t *homes;
} loop;

static mica_status allocate_loop(mica_planning *p, mica_command *c, loop *l) {
    size_t n_in = (size_t)(l->n_consts + l->n_carries + l->n_xs);
    size_t n_out = (size_t)(l->n_carries + l->n_ys);
    l->parameters = mica_planner_alloc(p->planner, n_in, sizeof *l->parameters);
    l->writable = mica_planner_alloc(p->planner, n_in, sizeof *l->writable);
    l->targets = mica_planner_alloc(p->planner, n_out, sizeof *l->targets);
    l->homes = mica_planner_alloc(p->planner, n_out, sizeof *l->homes);
    c->n_carries = l->n_carries;
    c->n_xs = l->n_xs;
    c->n_ys = l->n_ys;
    c->carries = mica_planner_alloc(p->planner, (size_t)l->n_carries, sizeof *c->carries);
    c->xs = mica_planner_alloc(p->planner, (size_t)l->n_xs, sizeof *c->xs);
    c->ys = mica_planner_alloc(p->planner, (size_t)l->n_ys, sizeof *c->ys);
    c->n_regions = c->node->n_regions;
    c->regions = mica_planner_alloc(p->planner, (size_t)c->n_regions, sizeof *c->regions);
    if (!l->parameters || !l->writable || !l->targets || !l->homes || !c->carries || !c->xs ||
        !c->ys || !c->regions)
        return MICA_NO_MEMORY();
    for (int32_t i = 0; i < l->n_consts; i++) l->parameters[i] = c->operands[i];
    return NULL;
}

static void bind_carries(mica_planning *p, mica_command *c, loop *l) {
    for (int32_t i = 0; i < l->n_carries; i++) {
        mica_carry *carry = &c->carries[i];
        const mica_type *type = &c->node->results[i];
        int32_t k = l->n_consts + i;
        *carry = (mica_carry){.kind = type->kind,
                              .bytes = mica_type_bytes(type),
                              .initial = c->operands[k],
                              .result = c->results[i],
                              .spare = {MICA_BASE_NONE, 0}};
        l->homes[i] = k;
        l->targets[i] = l->parameters[k] = (mica_place){MICA_BASE_NONE, 0};
        if (type->kind == MICA_LIST) {
            carry->current = p->planner->plan->n_lists++;
            carry->spare = (mica_place){MICA_BASE_LIST, p->planner->plan->n_lists++};
            l->parameters[k] = (mica_place){MICA_BASE_LIST, carry->current};
        } else if (carry->bytes) {
            l->parameters[k] = new_register(p);
            l->targets[i] = new_register(p);
            carry->current = l->parameters[k].base;
            carry->next = l->targets[i].base;
            l->writable[k] = true;
        } else if (type->kind == MICA_TENSOR) {
            l->parameters[k] = l->targets[i] = (mica_place){MICA_BASE_ARENA, 0};
        }
    }
}

static void bind_slices(mica_planning *p, mica_command *c, loop *l, const mica_graph *body) {
    for (int32_t i = 0; i < l->n_xs; i++) {
        int32_t k = l->n_consts + l->n_carries + i;
        size_t bytes = mica_type_bytes(mica_value_type(body->parameters[k]));
        l->parameters[k] = bytes ? new_register(p) : (mica_place){MICA_BASE_ARENA, 0};
        c->xs[i] = (mica_scan_slice){c->operands[k], l->parameters[k].base, bytes};
    }
    for (int32_t i = 0; i < l->n_ys; i++) {
        int32_t k = l->n_carries + i;
        size_t bytes = mica_type_bytes(mica_value_type(body->outputs[k]));
        l->targets[k] = bytes ? new_register(p) : (mica_place){MICA_BASE_ARENA, 0};
        l->homes[k] = -1;
        c->ys[i] = (mica_scan_slice){c->results[k], l->targets[k].base, bytes};
    }
}

/* After the body is planned: which carries were written in place. */
static mica_status settle_carries(mica_planning *p, mica_command *c, const loop *l,
                                  const mica_commands *body) {
    for (int32_t i = 0; i < l->n_carries; i++) {
        mica_carry *carry = &c->carries[i];
        if (carry->kind == MICA_LIST) {
            carry->next = (int32_t)body->outputs[i].offset;
        } else if (carry->bytes && l->targets[i].base != carry->current) {
            int32_t s =
                mica_planner_storage(p->planner, p->list, carry->bytes, c->node->id, c->node->id);
            if (s < 0) return MICA_NO_MEMORY();
            carry->exchange = true;
            carry->spare = (mica_place){MICA_BASE_STORAGE, s};
        }
    }
    return NULL;
}

static mica_status plan_loop(mica_planning *p, const mica_node *n, mica_command_kind kind) {
    loop l = {.n_consts = (int32_t)mica_node_int(n, "consts")};
    bool is_while = kind == MICA_COMMAND_WHILE;
    l.n_carries = is_while ? n->n_results : (int32_t)mica_node_int(n, "carry");
    l.n_xs = n->n_operands - l.n_consts - l.n_carries;
    l.n_ys = n->n_results - l.n_carries;
    for (int32_t i = 0; i < n->n_results; i++)
        if (i >= l.n_carries || n->results[i].kind != MICA_TENSOR ||
            !take_over_initial(p, n, l.n_consts + i, i))
            MICA_TRY(mica_plan_new_result(p, n, i));
    mica_command *c = mica_plan_append(p, kind, n);
    if (!c) return MICA_NO_MEMORY();
    MICA_TRY(allocate_loop(p, c, &l));
    const mica_graph *body = n->regions[n->n_regions - 1];
    bind_carries(p, c, &l);
    bind_slices(p, c, &l, body);
    int32_t lists[2] = {0};
    size_t bytes[2] = {0};
    double work[2] = {0};
    if (is_while) {
        mica_place anywhere = {MICA_BASE_NONE, 0};
        MICA_TRY(mica_plan_list(p->planner, n->regions[0], l.parameters, NULL, &anywhere, NULL,
                                &lists[1], &bytes[1], &work[1], &c->regions[0]));
        p->planner->plan->has_branches = true;
    }
    MICA_TRY(mica_plan_list(p->planner, body, l.parameters, l.writable, l.targets, l.homes,
                            &lists[0], &bytes[0], &work[0], &c->regions[n->n_regions - 1]));
    MICA_TRY(settle_carries(p, c, &l, &c->regions[n->n_regions - 1]));
    p->work += is_while ? INFINITY : (work[0] + 100) * (double)mica_node_int(n, "length");
    return add_frame(p, c, lists, is_while ? 2 : 1, bytes[0] > bytes[1] ? bytes[0] : bytes[1]);
}

mica_status mica_plan_control(mica_planning *p, const mica_node *n) {
    switch ((int)n->op) {
    case MICA_OP_cond:
    case MICA_OP_case: return plan_branches(p, n, n->n_regions, 1);
    case MICA_OP_while: return plan_loop(p, n, MICA_COMMAND_WHILE);
    case MICA_OP_scan: return plan_loop(p, n, MICA_COMMAND_SCAN);
    default: return plan_branches(p, n, 1, 0);
    }
}
