/* Derivatives of while, whose trip count is unknown.
 *
 * Backward: the loop pushes its residuals on lists, one per residual, and with them its own
 * predicate; it counts its iterations. Lists and count are carries at the end, the bookkeeping. The
 * tangent op is a linear call on
 *     (count, predicates, lists, invariants, tangents of constants, tangents of carry):
 * region 0 turns the lists over and runs the tangents forward, region 1 pops them as they are and
 * runs cotangents backward. The predicate is true throughout, except where vmap made one loop out
 * of loops that end at different times: there it is false for those that have ended, and their
 * tangents pass unchanged. */
#include <string.h>

#include "transform/partial.h"
#include "transform/rules.h"

typedef struct linear_while {
    mica_transform *t;
    mica_graph *g;
    mica_node *n;
    int32_t consts, carry, bookkeeping; /* before it was extended */
    bool *active;                       /* per operand */
    mica_split split;
    int32_t n_listed, n_invariant; /* residuals of either kind */
    int32_t n_dconsts, n_dcarry;   /* tangents */
    mica_graph *step;              /* (invariants, listed, dconsts, dcarry) -> dcarry */
} linear_while;

/* i < count, for a loop whose carry ends with i; count is constant 0. */
static mica_graph *counting_condition(mica_graph *g, const mica_value *operands, int32_t n) {
    mica_graph *region = mica_region_create(g, "condition");
    mica_value count = MICA_NULL_VALUE, i = MICA_NULL_VALUE;
    for (int32_t k = 0; region && k < n; k++) {
        i = mica_parameter(region, mica_value_type(operands[k]));
        if (k == 0) count = i;
    }
    if (region) mica_output(region, mica_compare(region, i, count, "lt"));
    if (mica_region_check(g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

static mica_value next(mica_graph *g, mica_value i) {
    return mica_add(g, i, mica_scalar(g, MICA_DTYPE_i32, 1));
}

/* ---- the primal loop --------------------------------------------------------------------------*/

/* The condition with n more parameters, which it does not look at. */
static mica_graph *wider_condition(linear_while *l, const mica_value *operands, int32_t n) {
    const mica_graph *old = l->n->regions[0];
    mica_graph *region = mica_region_create(l->g, old->name);
    mica_value *parameters = mica_transform_alloc(l->t, l->g, (size_t)n + 1, sizeof *parameters);
    if (region && parameters) {
        mica_value predicate;
        mica_region_parameters(region, operands, n, parameters);
        mica_inline(region, old, parameters, old->n_parameters, &predicate);
        mica_output(region, predicate);
    }
    if (mica_region_check(l->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

/* The body also pushes residuals and its predicate, and counts. */
static bool extend_body(linear_while *l) {
    mica_split *s = &l->split;
    mica_graph *p = s->primal;
    mica_value predicate;
    mica_type boolean = mica_type_scalar(MICA_DTYPE_bool),
              counter = mica_type_scalar(MICA_DTYPE_i32);
    mica_inline(p, l->n->regions[0], p->parameters, s->n_parameters, &predicate);
    mica_type type = mica_type_list_of(&boolean);
    mica_output(p, mica_list_push(p, mica_parameter(p, &type), predicate));
    for (int32_t i = 0; i < s->n_residuals && !p->error; i++) {
        if (s->residuals[i].invariant) continue;
        type = mica_type_list_of(mica_value_type(s->residuals[i].value));
        mica_output(p, mica_list_push(p, mica_parameter(p, &type), s->residuals[i].value));
    }
    mica_output(p, next(p, mica_parameter(p, &counter)));
    return mica_split_end(s);
}

/* Empty lists and a count of zero, just before the loop. Extended results: predicates, lists,
 * count. */
static bool extend_while(linear_while *l) {
    mica_graph *g = l->g;
    mica_node *n = l->n;
    const mica_split *s = &l->split;
    int32_t n_old = n->n_operands, n_new = n_old + l->n_listed + 2, first = g->n_nodes;
    mica_value *operands = mica_transform_alloc(l->t, g, (size_t)n_new, sizeof *operands);
    mica_type boolean = mica_type_scalar(MICA_DTYPE_bool);
    if (!operands || !extend_body(l)) return false;
    memcpy(operands, n->operands, (size_t)n_old * sizeof *operands);
    int32_t k = n_old;
    operands[k++] = mica_list_empty(g, &boolean);
    for (int32_t i = 0; i < s->n_residuals; i++)
        if (!s->residuals[i].invariant)
            operands[k++] = mica_list_empty(g, mica_value_type(s->residuals[i].value));
    operands[k++] = mica_scalar(g, MICA_DTYPE_i32, 0);
    if (g->error) return false;
    mica_move_before(g, first, n);
    mica_graph *regions[] = {wider_condition(l, operands, n_new), s->primal};
    mica_attr attrs[] = {mica_attr_int(l->consts), mica_attr_int(l->bookkeeping + l->n_listed + 2)};
    if (regions[0]) mica_node_extend(n, operands, n_new, attrs, regions, 2);
    mica_graph_release(regions[0]);
    return !g->error;
}

/* ---- the tangent loops ------------------------------------------------------------------------
 * Both regions of the linear call take (count, predicates, lists, invariants, ...). */

/* One step of tangents, as a graph of its own. */
static bool make_step(linear_while *l) {
    mica_split *s = &l->split;
    size_t room = (size_t)(s->n_residuals + s->n_parameters + s->n_outputs) + 1;
    mica_value *residuals = mica_transform_alloc(l->t, l->g, room, sizeof *residuals);
    l->step = residuals ? mica_region_create(l->g, s->primal->name) : NULL;
    if (!l->step) return false;
    mica_value *tangents = residuals + s->n_residuals, *out = tangents + s->n_parameters;
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < s->n_residuals; i++)
            if (s->residuals[i].invariant == (pass == 0))
                residuals[i] = mica_parameter(l->step, mica_value_type(s->residuals[i].value));
    for (int32_t i = 0; i < s->n_parameters; i++)
        if (l->active[i])
            tangents[i] = mica_parameter(l->step, mica_value_type(s->primal->parameters[i]));
    mica_split_tangent(s, l->step, residuals, tangents, out);
    for (int32_t i = 0; i < l->carry; i++)
        if (l->active[l->consts + i])
            mica_output(l->step,
                        mica_or_zeros(l->step, out[i], mica_operand_type(l->n, l->consts + i)));
    return mica_region_check(l->g, l->step);
}

/* Where predicate holds, a; else b. Lists are never masked: their loops end together. */
static mica_value masked(mica_graph *g, mica_value predicate, mica_value a, mica_value b) {
    const mica_type *type = mica_value_type(a);
    if (!type || type->kind == MICA_LIST) return a;
    if (type->rank)
        predicate = mica_broadcast(g, predicate, (mica_ints){type->dims, type->rank}, MICA_NO_INTS);
    return mica_select(g, predicate, a, b);
}

/* A loop that runs count times over `first` carries, the stacks (predicates, lists) and i. */
typedef struct stack_loop {
    mica_graph *g, *body;
    mica_value *operands, *parameters; /* count, other constants, carries, stacks, i */
    int32_t consts, carries, stacks, n;
} stack_loop;

static bool stack_loop_init(stack_loop *loop, mica_transform *t, mica_graph *g, mica_value count,
                            const mica_value *consts, int32_t n_consts, const mica_value *carries,
                            int32_t n_carries, const mica_value *stacks, int32_t n_stacks) {
    *loop = (stack_loop){.g = g,
                         .consts = 1 + n_consts,
                         .carries = n_carries,
                         .stacks = n_stacks,
                         .n = n_consts + n_carries + n_stacks + 2};
    loop->operands = mica_transform_alloc(t, g, 2 * (size_t)loop->n, sizeof *loop->operands);
    loop->body = loop->operands ? mica_region_create(g, "body") : NULL;
    if (!loop->body) return false;
    loop->parameters = loop->operands + loop->n;
    mica_value *operands = loop->operands;
    *operands++ = count;
    for (int32_t i = 0; i < n_consts; i++) *operands++ = consts[i];
    for (int32_t i = 0; i < n_carries; i++) *operands++ = carries[i];
    for (int32_t i = 0; i < n_stacks; i++) *operands++ = stacks[i];
    *operands = mica_scalar(g, MICA_DTYPE_i32, 0);
    if (g->error) return false;
    mica_region_parameters(loop->body, loop->operands, loop->n, loop->parameters);
    return true;
}

static mica_value *loop_stacks(const stack_loop *loop) {
    return loop->parameters + loop->consts + loop->carries;
}

/* The body's outputs are set but for i. The lists and i are bookkeeping: of the carries, `tensors`
 * are not. */
static mica_node *stack_loop_emit(stack_loop *loop, int32_t tensors) {
    mica_output(loop->body, next(loop->body, loop->parameters[loop->n - 1]));
    if (!mica_region_check(loop->g, loop->body)) return NULL;
    mica_graph *condition = counting_condition(loop->g, loop->operands, loop->n);
    mica_node *n = NULL;
    if (condition)
        n = mica_make_while(loop->g, condition, loop->body, loop->operands, loop->n, loop->consts,
                            loop->n - loop->consts - tensors);
    mica_graph_release(condition);
    return n;
}

static void stack_loop_deinit(stack_loop *loop) {
    mica_graph_release(loop->body);
}

/* Lists turned over: popped from one, pushed on another, count times. */
static bool turn_over(mica_transform *t, mica_graph *g, mica_value count, mica_value *stacks,
                      int32_t n) {
    stack_loop loop = {.g = g};
    mica_value *empty = mica_transform_alloc(t, g, 3 * (size_t)n, sizeof *empty);
    if (!empty) return false;
    mica_value *rest = empty + n, *turned = rest + n;
    for (int32_t i = 0; i < n; i++) empty[i] = mica_zeros(g, mica_value_type(stacks[i]));
    mica_node *done = NULL;
    if (!g->error && stack_loop_init(&loop, t, g, count, NULL, 0, empty, n, stacks, n)) {
        for (int32_t i = 0; i < n; i++) {
            mica_value element;
            mica_list_pop(loop.body, loop_stacks(&loop)[i], &rest[i], &element);
            turned[i] = mica_list_push(loop.body, loop.parameters[1 + i], element);
        }
        mica_region_output(loop.body, turned, n);
        mica_region_output(loop.body, rest, n);
        done = stack_loop_emit(&loop, 0);
    }
    stack_loop_deinit(&loop);
    for (int32_t i = 0; done && i < n; i++) stacks[i] = mica_node_result(done, i);
    return done != NULL;
}

/* The parameters of both regions, taken apart. */
typedef struct tangent_region {
    mica_graph *region;
    mica_value count, *stacks, *invariants, *linear;
} tangent_region;

static bool tangent_region_init(linear_while *l, tangent_region *r, const mica_value *operands,
                                int32_t n_fixed, const mica_type *linear, int32_t n_linear) {
    *r = (tangent_region){.region = mica_region_create(l->g, l->split.primal->name)};
    mica_value *p = mica_transform_alloc(l->t, l->g, (size_t)(n_fixed + n_linear) + 1, sizeof *p);
    if (!r->region || !p) return false;
    mica_region_parameters(r->region, operands, n_fixed, p);
    r->count = p[0];
    r->stacks = p + 1;
    r->invariants = r->stacks + 1 + l->n_listed;
    r->linear = p + n_fixed;
    for (int32_t i = 0; i < n_linear; i++) r->linear[i] = mica_parameter(r->region, &linear[i]);
    return !r->region->error;
}

/* Pops every stack in the body; rest and tops (predicate first). */
static void pop_all(const stack_loop *loop, mica_value *rest, mica_value *tops) {
    for (int32_t i = 0; i < loop->stacks; i++)
        mica_list_pop(loop->body, loop_stacks(loop)[i], &rest[i], &tops[i]);
}

/* Orders carries so that tensors come before lists: order[i] is the place of carry i. */
static int32_t tensors_first(const mica_value *values, int32_t n, int32_t *order) {
    int32_t tensors = 0, place = 0;
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = mica_value_type(values[i]);
        tensors += type && type->kind == MICA_TENSOR;
    }
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = mica_value_type(values[i]);
        if (type && type->kind == MICA_TENSOR) order[i] = place++;
    }
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = mica_value_type(values[i]);
        if (!type || type->kind != MICA_TENSOR) order[i] = place++;
    }
    return tensors;
}

/* One step inside a loop: `step` on (invariants, tops, first, second) gives n results. */
static bool inline_step(linear_while *l, stack_loop *loop, const mica_graph *step,
                        const mica_value *invariants, const mica_value *tops,
                        const mica_value *more, int32_t n_more, mica_value *out) {
    int32_t n = l->n_invariant + l->n_listed + n_more;
    mica_value *operands = mica_transform_alloc(l->t, l->g, (size_t)n + 1, sizeof *operands);
    if (!operands) return false;
    memcpy(operands, invariants, (size_t)l->n_invariant * sizeof *operands);
    memcpy(operands + l->n_invariant, tops, (size_t)l->n_listed * sizeof *operands);
    memcpy(operands + l->n_invariant + l->n_listed, more, (size_t)n_more * sizeof *operands);
    mica_inline(loop->body, step, operands, n, out);
    return true;
}

/* A loop over the stacks whose step maps carries to carries; `sums` of them, the last, get what the
 * step gives added. Constants: `consts` (the invariants first). */
static mica_graph *make_tangent_loop(linear_while *l, tangent_region *r, const mica_graph *step,
                                     const mica_value *consts, int32_t n_consts,
                                     const mica_value *carries, int32_t n_carries, int32_t sums) {
    int32_t n_stacks = 1 + l->n_listed;
    size_t room = 2 * (size_t)n_stacks + 4 * (size_t)(n_carries + n_consts) + 1;
    mica_value *rest = mica_transform_alloc(l->t, l->g, room, sizeof *rest);
    int32_t *order = mica_transform_alloc(l->t, l->g, (size_t)n_carries + 1, sizeof *order);
    stack_loop loop = {.g = r->region};
    if (!rest || !order) return NULL;
    mica_value *tops = rest + n_stacks, *placed = tops + n_stacks, *more = placed + n_carries;
    mica_value *results = more + n_consts + n_carries, *outputs = results + n_carries;
    int32_t tensors = tensors_first(carries, n_carries, order);
    for (int32_t i = 0; i < n_carries; i++) placed[order[i]] = carries[i];
    mica_node *done = NULL;
    if (!r->region->error && stack_loop_init(&loop, l->t, r->region, r->count, consts, n_consts,
                                             placed, n_carries, r->stacks, n_stacks)) {
        const mica_value *inside = loop.parameters + loop.consts;
        int32_t n_more = 0;
        pop_all(&loop, rest, tops);
        for (int32_t i = l->n_invariant; i < n_consts; i++) more[n_more++] = loop.parameters[1 + i];
        for (int32_t i = 0; i < n_carries - sums; i++) more[n_more++] = inside[order[i]];
        if (inline_step(l, &loop, step, loop.parameters + 1, tops + 1, more, n_more, results)) {
            for (int32_t i = 0; i < n_carries; i++) {
                mica_value old = inside[order[i]], new = results[i];
                if (i >= n_carries - sums) new = mica_sum_of(loop.body, old, new);
                outputs[order[i]] = masked(loop.body, tops[0], new, old);
            }
            mica_region_output(loop.body, outputs, n_carries);
            mica_region_output(loop.body, rest, n_stacks);
            done = stack_loop_emit(&loop, tensors);
        }
        if (mica_region_check(r->region, loop.body))
            for (int32_t i = 0; done && i < n_carries; i++)
                mica_output(r->region, mica_node_result(done, order[i]));
    }
    stack_loop_deinit(&loop);
    return done ? r->region : NULL;
}

/* Region 0: (..., dconsts, dcarry) -> dcarry */
static mica_graph *forward_region(linear_while *l, const mica_value *operands, int32_t n_fixed,
                                  const mica_type *types) {
    tangent_region r;
    int32_t n_consts = l->n_invariant + l->n_dconsts;
    mica_value *consts = mica_transform_alloc(l->t, l->g, (size_t)n_consts + 1, sizeof *consts);
    bool fine = tangent_region_init(l, &r, operands, n_fixed, types, l->n_dconsts + l->n_dcarry) &&
                consts && turn_over(l->t, r.region, r.count, r.stacks, 1 + l->n_listed);
    if (fine) {
        memcpy(consts, r.invariants, (size_t)l->n_invariant * sizeof *consts);
        memcpy(consts + l->n_invariant, r.linear, (size_t)l->n_dconsts * sizeof *consts);
        fine = make_tangent_loop(l, &r, l->step, consts, n_consts, r.linear + l->n_dconsts,
                                 l->n_dcarry, 0) != NULL;
    }
    if (mica_region_check(l->g, r.region) && fine) return r.region;
    mica_graph_release(r.region);
    return NULL;
}

/* The step transposed: (invariants, listed, cotangents of carry) -> cotangents of carry, then of
 * constants. */
static mica_graph *transposed_step(linear_while *l) {
    int32_t n = l->step->n_parameters, fixed = l->n_invariant + l->n_listed;
    bool *linear = mica_transform_alloc(l->t, l->g, (size_t)(n + l->n_dcarry) + 1, sizeof *linear);
    mica_value *back = mica_transform_alloc(l->t, l->g, (size_t)n + 1, sizeof *back);
    if (!linear || !back) return NULL;
    bool *given = linear + n;
    for (int32_t i = fixed; i < n; i++) linear[i] = true;
    for (int32_t i = 0; i < l->n_dcarry; i++) given[i] = true;
    mica_graph *region = mica_transpose_graph(l->t, l->g, l->step, linear, given, back);
    for (int32_t k = 0; region && k < n - fixed; k++) {
        int32_t i = k < l->n_dcarry ? l->n_dconsts + k : k - l->n_dcarry;
        mica_output(region, mica_or_zeros(region, back[i],
                                          mica_value_type(l->step->parameters[fixed + i])));
    }
    if (mica_region_check(l->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

/* Region 1: (..., cotangents of carry) -> cotangents of constants, of carry */
static mica_graph *backward_region(linear_while *l, const mica_value *operands, int32_t n_fixed,
                                   const mica_type *types) {
    tangent_region r;
    mica_graph *step = transposed_step(l), *loop = NULL;
    int32_t n_carries = l->n_dcarry + l->n_dconsts;
    mica_value *carries = mica_transform_alloc(l->t, l->g, (size_t)n_carries + 1, sizeof *carries);
    bool fine =
        tangent_region_init(l, &r, operands, n_fixed, types + l->n_dconsts, l->n_dcarry) && step;
    if (fine && carries) {
        memcpy(carries, r.linear, (size_t)l->n_dcarry * sizeof *carries);
        for (int32_t i = 0; i < l->n_dconsts; i++)
            carries[l->n_dcarry + i] = mica_zeros(r.region, &types[i]);
        loop = make_tangent_loop(l, &r, step, r.invariants, l->n_invariant, carries, n_carries,
                                 l->n_dconsts);
    }
    mica_graph_release(step);
    if (loop && mica_region_check(l->g, loop)) {
        /* the loop gives carry first, the transpose gives constants first */
        memcpy(carries, loop->outputs, (size_t)n_carries * sizeof *carries);
        for (int32_t i = 0; i < n_carries; i++)
            loop->outputs[i] = carries[i < l->n_dconsts ? l->n_dcarry + i : i - l->n_dconsts];
        return loop;
    }
    mica_region_check(l->g, r.region);
    mica_graph_release(r.region);
    return NULL;
}

/* ---- together ---------------------------------------------------------------------------------*/

static bool linear_while_init(linear_while *l, mica_tangent_pass *pass, mica_node *n,
                              const mica_value *dx) {
    *l = (linear_while){.t = pass->t,
                        .g = pass->g,
                        .n = n,
                        .consts = (int32_t)mica_node_int(n, "consts"),
                        .carry = n->n_results,
                        .bookkeeping = (int32_t)mica_node_int(n, "bookkeeping")};
    l->active = mica_transform_alloc(l->t, l->g, (size_t)n->n_operands + 1, sizeof *l->active);
    bool *results = mica_transform_alloc(l->t, l->g, (size_t)n->n_results + 1, sizeof *results);
    if (!l->active || !results) return false;
    for (int32_t i = 0; i < n->n_operands; i++) l->active[i] = !mica_is_zero(dx[i]);
    if (!mica_find_active(l->t, l->g, n->regions[1], l->active, l->consts, l->carry, results))
        return false;
    for (int32_t i = 0; i < l->consts; i++) l->n_dconsts += l->active[i];
    for (int32_t i = 0; i < l->carry; i++) l->n_dcarry += l->active[l->consts + i];
    return true;
}

static bool split_while(linear_while *l) {
    bool *invariant =
        mica_transform_alloc(l->t, l->g, (size_t)l->n->n_operands + 1, sizeof *invariant);
    if (!invariant) return false;
    for (int32_t i = 0; i < l->consts; i++) invariant[i] = true;
    if (!mica_split_begin(&l->split, MICA_SPLIT_LOOP, l->t, l->g, l->n->regions[1], l->active,
                          invariant, NULL))
        return false;
    for (int32_t i = 0; i < l->split.n_residuals; i++)
        l->n_invariant += l->split.residuals[i].invariant;
    l->n_listed = l->split.n_residuals - l->n_invariant;
    return make_step(l);
}

/* Operands of the linear call: count, predicates, lists, invariants; then the tangents. */
static int32_t call_operands(linear_while *l, const mica_value *hoisted, const mica_value *dx,
                             mica_value *operands) {
    int32_t n = 0, first = l->carry;
    operands[n++] = mica_node_result(l->n, first + 1 + l->n_listed);
    for (int32_t i = 0; i < 1 + l->n_listed; i++) operands[n++] = mica_node_result(l->n, first + i);
    for (int32_t i = 0; i < l->n_invariant; i++) operands[n++] = hoisted[i];
    int32_t n_fixed = n;
    for (int32_t i = 0; i < l->consts + l->carry; i++)
        if (l->active[i]) operands[n++] = mica_or_zeros(l->g, dx[i], mica_operand_type(l->n, i));
    return n_fixed;
}

static void emit_tangent_call(linear_while *l, const mica_value *hoisted, const mica_value *dx,
                              mica_value *dy) {
    int32_t n_linear = l->n_dconsts + l->n_dcarry;
    size_t room = (size_t)(2 + l->n_listed + l->n_invariant + n_linear + l->n_dcarry);
    mica_value *operands = mica_transform_alloc(l->t, l->g, room, sizeof *operands);
    mica_type *types = mica_transform_alloc(l->t, l->g, (size_t)n_linear + 1, sizeof *types);
    if (!operands || !types) return;
    int32_t n_fixed = call_operands(l, hoisted, dx, operands);
    if (l->g->error) return;
    for (int32_t i = 0; i < n_linear; i++) types[i] = *mica_value_type(operands[n_fixed + i]);
    mica_value *results = operands + n_fixed + n_linear;
    mica_graph *regions[] = {forward_region(l, operands, n_fixed, types), NULL};
    if (regions[0]) regions[1] = backward_region(l, operands, n_fixed, types);
    if (regions[1]) {
        mica_make_call(l->g, "while.jvp", "while.vjp", "", n_linear, regions, 2, operands,
                       n_fixed + n_linear, results);
        for (int32_t i = 0, k = 0; i < l->carry; i++)
            if (l->active[l->consts + i]) dy[i] = results[k++];
    }
    mica_graph_release(regions[0]);
    mica_graph_release(regions[1]);
}

static void linearize_while(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                            mica_value *dy) {
    linear_while l;
    if (!linear_while_init(&l, pass, n, dx) || !l.n_dcarry) return;
    bool fine = split_while(&l);
    mica_value *hoisted =
        mica_transform_alloc(l.t, l.g, (size_t)l.n_invariant + 1, sizeof *hoisted);
    for (int32_t i = 0, k = 0; fine && hoisted && i < l.split.n_residuals; i++)
        if (l.split.residuals[i].invariant)
            hoisted[k++] = mica_split_hoist(&l.split, i, n->operands);
    if (fine && hoisted && !l.g->error && extend_while(&l)) emit_tangent_call(&l, hoisted, dx, dy);
    mica_split_deinit(&l.split);
    mica_graph_release(l.step);
}

/* ---- forward mode -----------------------------------------------------------------------------
 * One loop whose constants are followed by their tangents, and whose carries are preceded by
 * theirs: first the ordinary carries, then the bookkeeping, which so stays at the end. */

/* The places of values in the joint loop: order[i] of operand i, tangents[i] of its tangent.
 * Returns how many there are. */
static int32_t joint_order(const linear_while *l, int32_t *order, int32_t *tangents) {
    const int32_t ends[] = {l->consts + l->carry - l->bookkeeping, l->consts + l->carry};
    int32_t place = 0, start = l->consts;
    for (int32_t i = 0; i < l->consts; i++) order[i] = place++;
    for (int32_t i = 0; i < l->consts; i++)
        if (l->active[i]) tangents[i] = place++;
    for (int32_t group = 0; group < 2; start = ends[group++]) {
        for (int32_t i = start; i < ends[group]; i++)
            if (l->active[i]) tangents[i] = place++;
        for (int32_t i = start; i < ends[group]; i++) order[i] = place++;
    }
    return place;
}

static mica_graph *joint_region(linear_while *l, const mica_graph *old, bool is_body,
                                const mica_value *like, int32_t n_joint, const int32_t *order,
                                const int32_t *tangents) {
    int32_t n = l->consts + l->carry, count = n;
    mica_graph *region = mica_region_create(l->g, old->name);
    mica_graph *jvp =
        is_body ? mica_jvp_graph(l->t, l->g, old, l->active, l->active + l->consts, true) : NULL;
    size_t room = 3 * (size_t)n_joint + 2 * (size_t)l->carry + 1;
    mica_value *parameters = mica_transform_alloc(l->t, l->g, room, sizeof *parameters);
    if (region && parameters && (jvp || !is_body)) {
        mica_value *operands = parameters + n_joint, *placed = operands + n_joint;
        mica_value *outputs = placed + n_joint;
        mica_region_parameters(region, like, n_joint, parameters);
        for (int32_t i = 0; i < n; i++) operands[i] = parameters[order[i]];
        for (int32_t i = 0; i < n && is_body; i++)
            if (l->active[i]) operands[count++] = parameters[tangents[i]];
        mica_inline(region, is_body ? jvp : old, operands, count, outputs);
        int32_t n_consts = l->consts + l->n_dconsts, k = l->carry;
        for (int32_t i = 0; i < l->carry && is_body; i++) {
            placed[order[l->consts + i]] = outputs[i];
            if (l->active[l->consts + i]) placed[tangents[l->consts + i]] = outputs[k++];
        }
        if (is_body)
            mica_region_output(region, placed + n_consts, n_joint - n_consts);
        else
            mica_output(region, outputs[0]);
    }
    mica_graph_release(jvp);
    if (mica_region_check(l->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

static void joint_while(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                        mica_value *dy) {
    linear_while l;
    if (!linear_while_init(&l, pass, n, dx) || !l.n_dcarry) return;
    size_t n_operands = (size_t)n->n_operands;
    mica_value *operands = mica_transform_alloc(l.t, l.g, 2 * n_operands, sizeof *operands);
    int32_t *order = mica_transform_alloc(l.t, l.g, 2 * n_operands, sizeof *order);
    if (!operands || !order) return;
    int32_t *tangents = order + n_operands, bookkeeping = l.bookkeeping;
    int32_t count = joint_order(&l, order, tangents), n_consts = l.consts + l.n_dconsts;
    for (int32_t i = 0; i < n->n_operands; i++) {
        operands[order[i]] = n->operands[i];
        if (!l.active[i]) continue;
        operands[tangents[i]] = mica_or_zeros(l.g, dx[i], mica_operand_type(n, i));
        bookkeeping += i >= n->n_operands - l.bookkeeping;
    }
    if (l.g->error) return;
    mica_graph *condition =
        joint_region(&l, n->regions[0], false, operands, count, order, tangents);
    mica_graph *body =
        condition ? joint_region(&l, n->regions[1], true, operands, count, order, tangents) : NULL;
    mica_node *loop = NULL;
    if (body) loop = mica_make_while(l.g, condition, body, operands, count, n_consts, bookkeeping);
    for (int32_t i = 0; loop && i < l.carry; i++)
        if (l.active[l.consts + i])
            dy[i] = mica_node_result(loop, tangents[l.consts + i] - n_consts);
    mica_graph_release(condition);
    mica_graph_release(body);
}

MICA_JVP_RULE(while) {
    if (pass->joint && !mica_node_has_effects(n))
        joint_while(pass, n, dx, dy);
    else
        linearize_while(pass, n, dx, dy);
}
