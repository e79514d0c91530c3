#include "compile/plan.h"

#include <math.h>
#include <string.h>

#include "base/plant.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "compile/planner.h"
#include "ir/contraction.h"

/* ---- memory of the planner --------------------------------------------------------------------*/

void *mica_planner_alloc(mica_planner *planner, size_t count, size_t bytes) {
    return mica_arena_alloc(&planner->plan->arena, count * bytes);
}

static bool grow(void **data, int32_t n, int32_t *capacity, size_t bytes) {
    if (n < *capacity) return true;
    int32_t more = *capacity ? *capacity * 2 : 64;
    void *grown = mica_realloc(*data, (size_t)more * bytes);
    if (!grown) return false;
    *data = grown;
    *capacity = more;
    return true;
}

int32_t mica_planner_storage(mica_planner *planner, int32_t list, size_t bytes, int32_t first,
                             int32_t last) {
    if (!grow((void **)&planner->storages, planner->n_storages, &planner->storages_capacity,
              sizeof *planner->storages))
        return -1;
    if (!planner->share) first = 0, last = INT32_MAX;
    planner->storages[planner->n_storages] = (mica_storage){.bytes = bytes,
                                                            .first = first,
                                                            .last = last,
                                                            .list = list,
                                                            .fixed = {MICA_BASE_NONE, 0},
                                                            .writable = true};
    return planner->n_storages++;
}

mica_storage *mica_planner_find(mica_planner *planner, mica_place place) {
    return place.base == MICA_BASE_STORAGE ? &planner->storages[place.offset] : NULL;
}

static mica_status add_kernel(mica_plan *plan, const mica_node *n, mica_prepared *prepared) {
    if (!grow((void **)&plan->kernels, plan->n_kernels, &plan->kernels_capacity,
              sizeof *plan->kernels))
        return MICA_NO_MEMORY();
    MICA_TRY(plan->target.prepare(plan->target.context, n, prepared));
    plan->kernels[plan->n_kernels++] = prepared->kernel;
    return NULL;
}

/* ---- values -----------------------------------------------------------------------------------*/

/* reshape and barrier give their operands' memory another name. */
static bool is_alias(const mica_node *n) {
    return n->op == MICA_OP_reshape || n->op == MICA_OP_barrier;
}

static void find_last_uses(mica_planning *p) {
    const mica_graph *g = p->g;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t r = 0; r < g->nodes[i]->n_results; r++) p->last_use[p->first_value[i] + r] = i;
    for (int32_t i = 0; i < g->n_outputs; i++)
        p->last_use[mica_planning_index(p, g->outputs[i])] = g->n_nodes;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const mica_node *n = g->nodes[i];
        for (int32_t k = 0; k < n->n_operands; k++) {
            int32_t *last = &p->last_use[mica_planning_index(p, n->operands[k])];
            int32_t use =
                is_alias(n) && !mica_is_planted("plan") ? p->last_use[p->first_value[i] + k] : i;
            if (use > *last) *last = use;
        }
    }
}

static mica_status begin_planning(mica_planning *p) {
    const mica_graph *g = p->g;
    size_t n_values = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) n_values += (size_t)g->nodes[i]->n_results;
    p->first_value = mica_alloc(sizeof *p->first_value * (size_t)g->n_nodes);
    p->places = mica_calloc(n_values, sizeof *p->places);
    p->last_use = mica_alloc(sizeof *p->last_use * n_values);
    p->out->capacity = g->n_nodes + g->n_outputs;
    p->out->data = mica_planner_alloc(p->planner, (size_t)p->out->capacity, sizeof(mica_command));
    p->out->outputs = mica_planner_alloc(p->planner, (size_t)g->n_outputs, sizeof(mica_place));
    if (!p->first_value || !p->places || !p->last_use || !p->out->data || !p->out->outputs)
        return MICA_NO_MEMORY();
    int32_t next = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        p->first_value[i] = next, next += g->nodes[i]->n_results;
    find_last_uses(p);
    return NULL;
}

static void end_planning(mica_planning *p) {
    mica_free(p->first_value);
    mica_free(p->places);
    mica_free(p->last_use);
}

mica_command *mica_plan_append(mica_planning *p, mica_command_kind kind, const mica_node *n) {
    mica_command *c = &p->out->data[p->out->n];
    *c = (mica_command){.kind = kind, .node = n, .scratch = {MICA_BASE_NONE, 0}};
    if (n) {
        c->n_operands = n->n_operands;
        c->n_results = n->n_results;
        c->operands = mica_planner_alloc(p->planner, (size_t)n->n_operands, sizeof(mica_place));
        c->results = mica_planner_alloc(p->planner, (size_t)n->n_results, sizeof(mica_place));
        if (!c->operands || !c->results) return NULL;
        for (int32_t i = 0; i < n->n_operands; i++)
            c->operands[i] = *mica_planning_place(p, n->operands[i]);
        for (int32_t i = 0; i < n->n_results; i++)
            c->results[i] = p->places[p->first_value[n->id] + i];
        mica_plan *plan = p->planner->plan;
        if (n->n_operands + n->n_results > plan->most_operands)
            plan->most_operands = n->n_operands + n->n_results;
    }
    p->out->n++;
    return c;
}

mica_status mica_plan_new_result(mica_planning *p, const mica_node *n, int32_t i) {
    int32_t value = p->first_value[n->id] + i;
    mica_place *place = &p->places[value];
    const mica_type *type = &n->results[i];
    if (type->kind == MICA_TOKEN) {
        *place = (mica_place){MICA_BASE_NONE, 0};
    } else if (type->kind == MICA_LIST) {
        *place = (mica_place){MICA_BASE_LIST, p->planner->plan->n_lists++};
        p->planner->plan->has_lists = true;
    } else if (mica_type_bytes(type) == 0) {
        *place = (mica_place){MICA_BASE_ARENA, 0};
    } else {
        int32_t s = mica_planner_storage(p->planner, p->list, mica_type_bytes(type), n->id,
                                         p->last_use[value]);
        if (s < 0) return MICA_NO_MEMORY();
        *place = (mica_place){MICA_BASE_STORAGE, s};
    }
    return NULL;
}

/* ---- launches ---------------------------------------------------------------------------------*/

static bool allows(const mica_in_place_set *set, int32_t result, int32_t operand) {
    if (result < MICA_PLAN_IN_PLACE && operand < 32 && (set->masks[result] >> operand & 1))
        return true;
    int32_t low = 0, high = set->n_pairs;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        mica_in_place pair = set->pairs[middle];
        if (pair.result < result || (pair.result == result && pair.operand < operand))
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n_pairs && set->pairs[low].result == result &&
           set->pairs[low].operand == operand;
}

/* Result r takes over an operand that dies here, if the kernel can work in place. */
static bool take_over_operand(mica_planning *p, const mica_node *n, int32_t r,
                              const mica_in_place_set *in_place) {
    if (!p->planner->share) return false;
    size_t bytes = mica_type_bytes(&n->results[r]);
    for (int32_t i = 0; i < n->n_operands; i++) {
        mica_place place = *mica_planning_place(p, n->operands[i]);
        mica_storage *s = mica_planner_find(p->planner, place);
        if (!s || s->list != p->list || !s->writable || s->bytes != bytes || s->last != n->id ||
            !allows(in_place, r, i))
            continue;
        bool alone = true;
        for (int32_t k = 0; k < n->n_operands; k++)
            if (mica_planner_find(p->planner, *mica_planning_place(p, n->operands[k])) == s &&
                !allows(in_place, r, k))
                alone = false;
        if (!alone) continue;
        int32_t value = p->first_value[n->id] + r;
        p->places[value] = place;
        s->last = p->last_use[value];
        return true;
    }
    return false;
}

/* A result that could be written over an input that dies here begins its life here instead of
 * taking over another operand: should it become an output, the input can then be donated to it. */
static bool may_overwrite_input(mica_planning *p, const mica_node *n, int32_t r,
                                const mica_in_place_set *in_place) {
    if (p->list != 0) return false;
    for (int32_t i = 0; i < n->n_operands; i++) {
        const mica_storage *s =
            mica_planner_find(p->planner, *mica_planning_place(p, n->operands[i]));
        if (s && !s->writable && s->last == n->id && s->bytes == mica_type_bytes(&n->results[r]) &&
            allows(in_place, r, i))
            return true;
    }
    return false;
}

static int64_t product(const mica_type *type, mica_ints axes) {
    int64_t result = 1;
    for (int32_t i = 0; i < axes.n; i++) result *= type->dims[axes.data[i]];
    return result;
}

/* Bytes touched, and multiplications where they dominate. */
static double estimate_work(const mica_node *n) {
    double work = 0;
    for (int32_t i = 0; i < n->n_operands; i++)
        work += (double)mica_type_bytes(mica_operand_type(n, i));
    for (int32_t i = 0; i < n->n_results; i++) work += (double)mica_type_bytes(&n->results[i]);
    double elements = (double)mica_type_elements(&n->results[0]);
    if (n->op == MICA_OP_dot)
        work +=
            elements * (double)product(mica_operand_type(n, 0), mica_node_ints(n, "lhs_contract"));
    else if (n->op == MICA_OP_conv)
        work += elements * (double)mica_type_elements(mica_operand_type(n, 1)) / 4;
    else if (mica_node_is_contraction(n))
        for (int32_t i = 0; i < n->regions[0]->n_nodes; i++)
            if (mica_op_class_of(n->regions[0]->nodes[i]->op) == MICA_CLASS_CONTRACTION)
                work += estimate_work(n->regions[0]->nodes[i]);
    return work;
}

static mica_status plan_launch(mica_planning *p, const mica_node *n) {
    size_t bytes = 0;
    for (int32_t i = 0; i < n->n_results; i++) bytes += mica_type_bytes(&n->results[i]);
    if (bytes == 0) {
        for (int32_t i = 0; i < n->n_results; i++) MICA_TRY(mica_plan_new_result(p, n, i));
        return NULL;
    }
    mica_prepared prepared = {0};
    MICA_TRY(add_kernel(p->planner->plan, n, &prepared));
    for (int32_t i = 0; i < n->n_results; i++) {
        if (may_overwrite_input(p, n, i, &prepared.in_place) ||
            !take_over_operand(p, n, i, &prepared.in_place))
            MICA_TRY(mica_plan_new_result(p, n, i));
    }
    mica_command *c = mica_plan_append(p, MICA_COMMAND_LAUNCH, n);
    if (!c) return MICA_NO_MEMORY();
    c->kernel = prepared.kernel;
    c->in_place = prepared.in_place;
    if (prepared.scratch_bytes) {
        int32_t s = mica_planner_storage(p->planner, p->list, prepared.scratch_bytes, n->id, n->id);
        if (s < 0) return MICA_NO_MEMORY();
        c->scratch = (mica_place){MICA_BASE_STORAGE, s};
    }
    p->work += estimate_work(n);
    return NULL;
}

/* ---- other nodes ------------------------------------------------------------------------------*/

/* The largest power of two that divides the size, between 64 and the planner's. */
static size_t constant_alignment(size_t bytes) {
    size_t power = bytes & (~bytes + 1);
    if (power < 64) return 64;
    return power < MICA_PLAN_ALIGNMENT ? power : MICA_PLAN_ALIGNMENT;
}

static mica_status plan_constant(mica_planning *p, const mica_node *n) {
    mica_plan *plan = p->planner->plan;
    size_t bytes = mica_type_bytes(&n->results[0]);
    if (n->results[0].kind == MICA_LIST) {
        MICA_TRY(mica_plan_new_result(p, n, 0));
        return mica_plan_append(p, MICA_COMMAND_LIST_EMPTY, n) ? NULL : MICA_NO_MEMORY();
    }
    if (n->results[0].kind == MICA_TOKEN || bytes == 0) return mica_plan_new_result(p, n, 0);
    size_t alignment = constant_alignment(bytes);
    size_t offset = (plan->constants_bytes + alignment - 1) / alignment * alignment;
    uint8_t *grown = mica_realloc(plan->constants, offset + bytes);
    if (!grown) return MICA_NO_MEMORY();
    memset(grown + plan->constants_bytes, 0, offset - plan->constants_bytes);
    memcpy(grown + offset, n->attrs[0].as.data.bytes, bytes);
    plan->constants = grown;
    plan->constants_bytes = offset + bytes;
    p->places[p->first_value[n->id]] = (mica_place){MICA_BASE_CONSTANTS, (int64_t)offset};
    return NULL;
}

static mica_status plan_list_op(mica_planning *p, const mica_node *n, mica_command_kind kind) {
    p->planner->plan->has_lists = true;
    for (int32_t i = 0; i < n->n_results; i++) MICA_TRY(mica_plan_new_result(p, n, i));
    mica_command *c = mica_plan_append(p, kind, n);
    if (!c) return MICA_NO_MEMORY();
    c->bytes =
        mica_type_bytes(kind == MICA_COMMAND_LIST_PUSH ? mica_operand_type(n, 1) : &n->results[1]);
    p->work += 1000 + (double)c->bytes;
    return NULL;
}

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* What the host does with values: a function of the caller's, or a collective. */
static mica_status plan_on_host(mica_planning *p, const mica_node *n, mica_command_kind kind) {
    mica_plan *plan = p->planner->plan;
    plan->has_callbacks = true;
    size_t bytes = 0;
    for (int32_t i = 0; i < n->n_operands; i++)
        bytes += rounded(mica_type_bytes(mica_operand_type(n, i)));
    for (int32_t i = 0; i < n->n_results; i++) {
        bytes += rounded(mica_type_bytes(&n->results[i]));
        MICA_TRY(mica_plan_new_result(p, n, i));
    }
    if (bytes > plan->host_bytes) plan->host_bytes = bytes;
    p->work = INFINITY;
    return mica_plan_append(p, kind, n) ? NULL : MICA_NO_MEMORY();
}

static mica_status plan_node(mica_planning *p, const mica_node *n) {
    if (mica_node_is_fused(n) || mica_node_is_claimed(n) || mica_node_is_contraction(n))
        return plan_launch(p, n);
    switch ((int)n->op) {
    case MICA_OP_PARAMETER: return NULL;
    case MICA_OP_constant: return plan_constant(p, n);
    case MICA_OP_reshape:
    case MICA_OP_barrier:
        for (int32_t i = 0; i < n->n_results; i++)
            p->places[p->first_value[n->id] + i] = *mica_planning_place(p, n->operands[i]);
        return NULL;
    case MICA_OP_cond:
    case MICA_OP_case:
    case MICA_OP_call:
    case MICA_OP_custom_gradient:
    case MICA_OP_remat:
    case MICA_OP_while:
    case MICA_OP_scan: return mica_plan_control(p, n);
    case MICA_OP_list_push: return plan_list_op(p, n, MICA_COMMAND_LIST_PUSH);
    case MICA_OP_list_pop: return plan_list_op(p, n, MICA_COMMAND_LIST_POP);
    case MICA_OP_callback: return plan_on_host(p, n, MICA_COMMAND_CALLBACK);
    default:
        if (mica_op_class_of(n->op) == MICA_CLASS_COLLECTIVE)
            return plan_on_host(p, n, MICA_COMMAND_COLLECTIVE);
        return plan_launch(p, n);
    }
}

/* ---- a whole list -----------------------------------------------------------------------------*/

static mica_status place_parameters(mica_planning *p, const mica_place *places,
                                    const bool *writable) {
    for (int32_t i = 0; i < p->g->n_parameters; i++) {
        int32_t value = mica_planning_index(p, p->g->parameters[i]);
        size_t bytes = mica_type_bytes(mica_value_type(p->g->parameters[i]));
        p->places[value] = places[i];
        if (bytes == 0) continue;
        int32_t s = mica_planner_storage(p->planner, p->list, bytes, -1, p->last_use[value]);
        if (s < 0) return MICA_NO_MEMORY();
        p->planner->storages[s].fixed = places[i];
        p->planner->storages[s].is_fixed = true;
        p->planner->storages[s].writable = writable && writable[i];
        p->places[value] = (mica_place){MICA_BASE_STORAGE, s};
    }
    return NULL;
}

static mica_status copy_output(mica_planning *p, mica_place source, mica_place target,
                               const mica_type *type) {
    mica_command_kind kind = type->kind == MICA_LIST ? MICA_COMMAND_LIST_COPY : MICA_COMMAND_COPY;
    mica_command *c = mica_plan_append(p, kind, NULL);
    c->n_operands = c->n_results = 1;
    c->operands = mica_planner_alloc(p->planner, 2, sizeof(mica_place));
    if (!c->operands) return MICA_NO_MEMORY();
    c->results = c->operands + 1;
    c->operands[0] = source;
    c->results[0] = target;
    c->bytes = mica_type_bytes(type);
    p->work += 2 * (double)c->bytes;
    return NULL;
}

/* Tries to let the output's storage be the target itself, or its home parameter's memory. */
static bool fix_output(mica_planning *p, mica_storage *s, mica_place *target, int32_t home) {
    mica_storage *parameter =
        home < 0 ? NULL
                 : mica_planner_find(p->planner, *mica_planning_place(p, p->g->parameters[home]));
    if (parameter && (!parameter->writable || !p->planner->share)) parameter = NULL;
    if (s == parameter) { /* written in place, or passed through */
        *target = s->fixed;
        return true;
    }
    if (s->is_fixed || s->list != p->list) return false;
    if (parameter && parameter->last < s->first && parameter->bytes == s->bytes) {
        parameter->last = INT32_MAX;
        *target = parameter->fixed;
    }
    s->fixed = *target;
    s->is_fixed = true;
    return true;
}

static mica_status place_outputs(mica_planning *p, mica_place *targets, const int32_t *homes) {
    for (int32_t i = 0; i < p->g->n_outputs; i++) {
        mica_place place = *mica_planning_place(p, p->g->outputs[i]);
        const mica_type *type = mica_value_type(p->g->outputs[i]);
        mica_storage *s = mica_planner_find(p->planner, place);
        p->out->outputs[i] = place;
        if (targets[i].base == MICA_BASE_NONE || type->kind == MICA_TOKEN) continue;
        if (type->kind == MICA_TENSOR && mica_type_bytes(type) == 0) continue;
        if (s && fix_output(p, s, &targets[i], homes ? homes[i] : -1)) continue;
        MICA_TRY(copy_output(p, place, targets[i], type));
        p->out->outputs[i] = targets[i];
    }
    return NULL;
}

static mica_status plan_all(mica_planning *p, const mica_place *parameters, const bool *writable,
                            mica_place *targets, const int32_t *homes, size_t *out_frame_bytes) {
    MICA_TRY(begin_planning(p));
    MICA_TRY(place_parameters(p, parameters, writable));
    for (int32_t i = 0; i < p->g->n_nodes; i++) MICA_TRY(plan_node(p, p->g->nodes[i]));
    MICA_TRY(place_outputs(p, targets, homes));
    MICA_TRY(mica_plan_layout(p->planner, p->list, out_frame_bytes));
    return NULL;
}

mica_status mica_plan_list(mica_planner *planner, const mica_graph *g, const mica_place *parameters,
                           const bool *writable, mica_place *targets, const int32_t *homes,
                           int32_t *out_list, size_t *out_frame_bytes, double *out_work,
                           mica_commands *out_commands) {
    if (!grow((void **)&planner->frames, planner->n_frames, &planner->frames_capacity,
              sizeof *planner->frames))
        return MICA_NO_MEMORY();
    *out_list = planner->n_frames++;
    planner->frames[*out_list] = -1;
    mica_planning p = {.planner = planner, .g = g, .list = *out_list, .out = out_commands};
    mica_status status = plan_all(&p, parameters, writable, targets, homes, out_frame_bytes);
    *out_work = p.work;
    end_planning(&p);
    return status;
}

/* ---- donation ---------------------------------------------------------------------------------*/

static const mica_command *command_of(const mica_plan *plan, int32_t time) {
    for (int32_t i = 0; i < plan->commands.n; i++)
        if (plan->commands.data[i].node && plan->commands.data[i].node->id == time)
            return &plan->commands.data[i];
    return NULL;
}

/* true when the command at `time` reads the input only through operands that its kernel may
 * overwrite with the result that is the output. */
static bool works_in_place(mica_planner *planner, int32_t time, int32_t input, int32_t output) {
    const mica_command *c = command_of(planner->plan, time);
    if (!c || c->kind != MICA_COMMAND_LAUNCH) return false;
    int32_t r = 0;
    while (r < c->n_results &&
           (c->results[r].base != MICA_BASE_STORAGE || c->results[r].offset != output))
        r++;
    if (r == c->n_results) return false;
    for (int32_t i = 0; i < c->n_operands; i++)
        if (c->operands[i].base == MICA_BASE_STORAGE && c->operands[i].offset == input &&
            !allows(&c->in_place, r, i))
            return false;
    return true;
}

/* An output may be written over an input that is dead when the output's memory is first written.
 * Inputs the last reader works on in place come first. Storages 0..n_parameters-1 may hold
 * parameters, in order, but parameters without bytes have none. */
static mica_status match_donations(mica_planner *planner) {
    mica_plan *plan = planner->plan;
    const mica_graph *g = plan->graph;
    plan->overwritten_by =
        mica_arena_alloc(&plan->arena, sizeof(int32_t) * (size_t)(g->n_parameters + 1));
    bool *taken = mica_calloc((size_t)g->n_outputs, sizeof *taken);
    if (!plan->overwritten_by || !taken) {
        mica_free(taken);
        return MICA_NO_MEMORY();
    }
    for (int32_t i = 0; i < g->n_parameters; i++) plan->overwritten_by[i] = -1;
    for (int pass = 0; pass < 2 && planner->share; pass++) {
        int32_t s = 0;
        for (int32_t i = 0; i < g->n_parameters; i++) {
            if (mica_type_bytes(mica_value_type(g->parameters[i])) == 0) continue;
            const mica_storage *input = &planner->storages[s];
            int32_t input_number = s++;
            for (int32_t k = 0; k < g->n_outputs && plan->overwritten_by[i] < 0; k++) {
                mica_storage *output = mica_planner_find(planner, plan->commands.outputs[k]);
                if (!output || taken[k] ||
                    output->fixed.base != MICA_BASE_FIRST + g->n_parameters + k ||
                    output->bytes != input->bytes)
                    continue;
                bool fits = pass == 0 ? input->last == output->first &&
                                            works_in_place(planner, output->first, input_number,
                                                           (int32_t)(output - planner->storages))
                                      : input->last < output->first;
                if (fits) plan->overwritten_by[i] = k, taken[k] = true;
            }
        }
    }
    mica_free(taken);
    return NULL;
}

/* ---- the plan ---------------------------------------------------------------------------------*/

static mica_status check_boundary(const mica_graph *g) {
    for (int32_t i = 0; i < g->n_parameters + g->n_outputs; i++) {
        bool is_parameter = i < g->n_parameters;
        mica_value v = is_parameter ? g->parameters[i] : g->outputs[i - g->n_parameters];
        if (mica_value_type(v)->kind != MICA_TENSOR)
            return MICA_INVALID(
                "[compile] %s %d of '%s' is a %s; only tensors enter or leave a run",
                is_parameter ? "parameter" : "output", is_parameter ? i : i - g->n_parameters,
                g->name, mica_value_type(v)->kind == MICA_LIST ? "list" : "token");
    }
    return NULL;
}

static mica_status plan_outermost(mica_planner *planner) {
    mica_plan *plan = planner->plan;
    const mica_graph *g = plan->graph;
    int32_t n = g->n_parameters + g->n_outputs, list;
    plan->n_bases = MICA_BASE_FIRST + n;
    mica_place *places = mica_planner_alloc(planner, (size_t)n, sizeof *places);
    if (!places) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) places[i] = (mica_place){MICA_BASE_FIRST + i, 0};
    MICA_TRY(mica_plan_list(planner, g, places, NULL, places + g->n_parameters, NULL, &list,
                            &plan->arena_bytes, &plan->work, &plan->commands));
    MICA_TRY(match_donations(planner));
    mica_plan_resolve(planner, &plan->commands);
    return NULL;
}

mica_status mica_plan_create(mica_graph *g, const mica_plan_target *target, bool share,
                             mica_plan **out_plan) {
    *out_plan = NULL;
    MICA_TRY(check_boundary(g));
    mica_plan *plan = mica_calloc(1, sizeof *plan);
    if (!plan) return MICA_NO_MEMORY();
    mica_arena_init(&plan->arena);
    plan->target = *target;
    mica_graph_retain(g);
    plan->graph = g;
    mica_planner planner = {.plan = plan, .share = share};
    mica_status status = plan_outermost(&planner);
    mica_free(planner.storages);
    mica_free(planner.frames);
    if (status)
        mica_plan_destroy(plan);
    else
        *out_plan = plan;
    return status;
}

void mica_plan_destroy(mica_plan *plan) {
    if (!plan) return;
    for (int32_t i = 0; i < plan->n_kernels; i++)
        plan->target.discard(plan->target.context, plan->kernels[i]);
    mica_free(plan->kernels);
    mica_free(plan->constants);
    mica_arena_deinit(&plan->arena);
    mica_graph_release(plan->graph);
    mica_free(plan);
}
