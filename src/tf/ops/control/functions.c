/* Functions, branches and loops: as regions inside a segment, or on the host. */
#include <string.h>

#include "tf/host_rules.h"
#include "tf/lower_rules.h"
#include "tf/recurrence.h"

static mica_tf_graph *function_attr(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                                    const char *name) {
    return mica_tf_attr_find(info, attrs, name)->as.function;
}

/* ---- lowering ---------------------------------------------------------------------------------*/

void tf_lower_call(mica_tf_lowering *c) {
    mica_tf_lower_body(c, function_attr(c->info, c->attrs, "f"), c->inputs, c->variables, 0, c->g,
                       c->outputs);
}

/* Operands of a region: the op's tensors from `first` on, and after them the values of variables
 * whose handles are among the inputs. */
typedef struct region_operands {
    mica_value *values;
    int32_t n_tensors, n;
    int32_t first;
    int32_t *parameter; /* by input: its place among the operands, or -1 */
} region_operands;

static bool gather_region_operands(mica_tf_lowering *c, int32_t first, region_operands *r) {
    size_t n = (size_t)(c->n_inputs + 1);
    r->values = mica_arena_alloc(&c->session->arena, 2 * n * sizeof *r->values);
    r->parameter = mica_arena_alloc(&c->session->arena, n * sizeof *r->parameter);
    if (!r->values || !r->parameter) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return false;
    }
    r->first = first;
    r->n = 0;
    for (int32_t i = first; i < c->n_inputs; i++) {
        r->parameter[i] = c->inputs[i].node ? r->n : -1;
        if (c->inputs[i].node) r->values[r->n++] = c->inputs[i];
    }
    r->n_tensors = r->n;
    for (int32_t i = first; i < c->n_inputs; i++)
        if (c->variables[i] >= 0 && c->session->variables[c->variables[i]].value.node) {
            r->parameter[i] = r->n;
            r->values[r->n++] = c->session->variables[c->variables[i]].value;
        }
    return true;
}

/* A region: the body on parameters of the operands' types; variables read as parameters. Values
 * that are to be checked come with it. */
static mica_graph *lower_region(mica_tf_lowering *c, mica_tf_graph *body, const region_operands *r,
                                int32_t fold_from, const char *name, mica_tf_check **out_checks) {
    mica_graph *region = NULL;
    mica_status status = mica_graph_create(name, &region);
    size_t n = (size_t)(c->n_inputs + 1);
    mica_value *parameters =
        mica_arena_alloc(&c->session->arena, (size_t)(r->n + 1) * sizeof *parameters);
    mica_value *operands = mica_arena_alloc(&c->session->arena, n * sizeof *operands);
    mica_value *kept = mica_arena_alloc(&c->session->arena, n * sizeof *kept);
    mica_value *results =
        mica_arena_alloc(&c->session->arena, (size_t)(body->n_outputs + 1) * sizeof *results);
    if (!status && (!parameters || !operands || !kept || !results)) status = MICA_NO_MEMORY();
    if (status) {
        mica_graph_fail(c->g, status);
        mica_graph_release(region);
        return NULL;
    }
    for (int32_t i = 0; i < r->n; i++)
        parameters[i] = mica_parameter(region, mica_value_type(r->values[i]));
    for (int32_t i = r->first; i < c->n_inputs; i++) {
        if (c->variables[i] < 0) {
            if (r->parameter[i] >= 0) operands[i - r->first] = parameters[r->parameter[i]];
            continue;
        }
        mica_tf_variable_slot *slot = &c->session->variables[c->variables[i]];
        kept[i] = slot->value;
        if (r->parameter[i] >= 0) slot->value = parameters[r->parameter[i]];
    }
    mica_tf_lower_body(c, body, operands, c->variables + r->first, fold_from, region, results);
    *out_checks = mica_tf_take_checks(c->session, region);
    for (int32_t i = c->n_inputs; i-- > r->first;)
        if (c->variables[i] >= 0) c->session->variables[c->variables[i]].value = kept[i];
    bool is_loop =
        r->first == 0; /* whose handles stay outside: the body returns them as they came */
    for (int32_t i = 0; i < body->n_outputs; i++)
        if (!is_loop || mica_tf_is_core(mica_tf_graph_type(body, body->outputs[i], NULL)))
            mica_output(region, results[i]);
    status = mica_graph_check(region);
    if (!status) return region;
    mica_graph_fail(c->g, status);
    mica_graph_release(region);
    return NULL;
}

/* Not the same types: the op must run on the host. */
static bool check_results(mica_tf_lowering *c, const mica_graph *a, const mica_graph *b) {
    for (int32_t i = 0; i < mica_graph_output_count(a); i++) {
        if (mica_type_equal(mica_value_type(mica_graph_output(a, i)),
                            mica_value_type(mica_graph_output(b, i))))
            continue;
        c->session->region_varies = true;
        MICA_TF_FAIL(c, "[%s] result %d differs in shape between branches", c->info->name, i);
        return false;
    }
    return true;
}

static mica_value predicate_of(mica_tf_lowering *c, mica_graph *g, mica_value x) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_type type = *mica_value_type(x);
    if (type.rank != 0) {
        mica_type truth = mica_type_scalar(MICA_DTYPE_bool);
        uint8_t is_true = mica_type_elements(&type) > 0;
        return mica_constant(g, (mica_data){&truth, &is_true});
    }
    (void)c;
    return type.dtype == MICA_DTYPE_bool ? x : mica_convert(g, x, MICA_DTYPE_bool);
}

enum { MOST_BRANCHES = 64 };

/* What each branch checks becomes a result of all. How many there are. */
static int32_t output_checks(mica_graph **regions, mica_tf_check **checks, int32_t n) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        for (const mica_tf_check *check = checks[i]; check; check = check->next, count++)
            for (int32_t k = 0; k < n; k++)
                mica_output(regions[k],
                            k == i ? check->value : mica_tf_check_neutral(regions[k], check));
    return count;
}

static void make_branches(mica_tf_lowering *c, const region_operands *r, mica_graph **regions,
                          mica_tf_check **checks, int32_t n) {
    int32_t n_results = c->n_outputs + output_checks(regions, checks, n);
    mica_value *results =
        mica_arena_alloc(&c->session->arena, ((size_t)n_results + 1) * sizeof *results);
    if (!results) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return;
    }
    if (mica_tf_attr_find(c->info, c->attrs, "branches")->n)
        mica_case(c->g, mica_convert(c->g, c->inputs[0], MICA_DTYPE_i32), regions, n, r->values,
                  r->n, results);
    else
        mica_cond(c->g, predicate_of(c, c->g, c->inputs[0]), regions[0], regions[1], r->values,
                  r->n, results);
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = results[i];
    int32_t at = c->n_outputs;
    for (int32_t i = 0; i < n; i++)
        for (const mica_tf_check *check = checks[i]; check; check = check->next)
            mica_tf_put_check(c->session, c->g, results[at++], check);
}

static void lower_branches(mica_tf_lowering *c, mica_tf_graph *const *bodies, int32_t n) {
    region_operands operands;
    mica_graph *regions[MOST_BRANCHES] = {NULL};
    mica_tf_check *checks[MOST_BRANCHES] = {NULL};
    bool made = n <= MOST_BRANCHES && gather_region_operands(c, 1, &operands);
    for (int32_t i = 0; made && i < n; i++) {
        regions[i] =
            lower_region(c, bodies[i], &operands, 1, mica_tf_graph_name(bodies[i]), &checks[i]);
        made = regions[i] && (i == 0 || check_results(c, regions[0], regions[i]));
    }
    if (made) make_branches(c, &operands, regions, checks, n);
    for (int32_t i = 0; i < n && i < MOST_BRANCHES; i++) mica_graph_release(regions[i]);
}

void tf_lower_if(mica_tf_lowering *c) {
    mica_tf_graph *bodies[2] = {function_attr(c->info, c->attrs, "then_branch"),
                                function_attr(c->info, c->attrs, "else_branch")};
    lower_branches(c, bodies, 2);
}

void tf_lower_case(mica_tf_lowering *c) {
    const mica_tf_attr *branches = mica_tf_attr_find(c->info, c->attrs, "branches");
    lower_branches(c, branches->as.functions, branches->n);
}

/* What the body returns as it came is a constant of the loop. Operands of the ir op: constants
 * (variables among them), then what is carried. */
static void order_loop(mica_tf_lowering *c, const mica_tf_graph *body, region_operands *r,
                       bool *is_constant, int32_t *n_constants) {
    mica_value *ordered = r->values + c->n_inputs + 1; /* room was made for twice as many */
    int32_t n = 0;
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < c->n_inputs; i++) {
            mica_tf_ref out = body->outputs[i];
            is_constant[i] =
                !c->inputs[i].node || (out.node == body->parameters[i].node && out.index == 0);
            if (r->parameter[i] < 0 || is_constant[i] != (pass == 0)) continue;
            mica_value value =
                c->inputs[i].node ? c->inputs[i] : c->session->variables[c->variables[i]].value;
            ordered[n] = value;
            r->parameter[i] = n++;
        }
        if (pass == 0) *n_constants = n;
    }
    memcpy(r->values, ordered, (size_t)n * sizeof *ordered);
    r->n = n;
}

/* The region of a loop's body gives all results; the ir op wants the carried ones alone, and
 * carries what is to be checked: the first that is refused stays. */
static mica_graph *carried_only(mica_tf_lowering *c, mica_graph *whole, const bool *is_constant,
                                const mica_tf_check *checks) {
    mica_graph *region = NULL;
    mica_status status = mica_graph_create("body", &region);
    for (const mica_tf_check *check = checks; check; check = check->next)
        mica_output(whole, check->value);
    int32_t n_in = mica_graph_parameter_count(whole), n_out = mica_graph_output_count(whole);
    int32_t k = 0;
    mica_value *room =
        mica_arena_alloc(&c->session->arena, (size_t)(n_in + n_out + 1) * sizeof *room);
    if (!status && !room) status = MICA_NO_MEMORY();
    if (status) {
        mica_graph_fail(c->g, status);
        mica_graph_release(region);
        return NULL;
    }
    for (int32_t i = 0; i < n_in; i++)
        room[i] = mica_parameter(region, mica_value_type(mica_graph_parameter(whole, i)));
    mica_inline(region, whole, room, n_in, room + n_in);
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!c->inputs[i].node) continue;
        if (!is_constant[i]) mica_output(region, room[n_in + k]);
        k++;
    }
    for (const mica_tf_check *check = checks; check; check = check->next, k++) {
        mica_value before = mica_parameter(region, mica_value_type(check->value));
        mica_value fails = mica_tf_check_fails(region, check, before);
        mica_output(region, mica_select(region, fails, before, room[n_in + k]));
    }
    status = mica_graph_check(region);
    if (!status) return region;
    mica_graph_fail(c->g, status);
    mica_graph_release(region);
    return NULL;
}

/* The loop, with what is checked behind what is carried. */
static void make_loop(mica_tf_lowering *c, region_operands *r, int32_t n_constants,
                      mica_graph *test, mica_graph *body, const mica_tf_check *checks,
                      mica_value *results) {
    int32_t n = r->n;
    for (const mica_tf_check *check = checks; check; check = check->next) n++;
    mica_value *room = mica_arena_alloc(&c->session->arena, ((size_t)n * 2 + 1) * sizeof *room);
    if (!room) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return;
    }
    memcpy(room, r->values, (size_t)r->n * sizeof *room);
    mica_value *out = room + n;
    int32_t k = r->n;
    for (const mica_tf_check *check = checks; check; check = check->next) {
        mica_parameter(test, mica_value_type(check->value));
        room[k++] = mica_tf_check_neutral(c->g, check);
    }
    mica_while(c->g, test, body, room, n, n_constants, out);
    memcpy(results, out, (size_t)(r->n - n_constants) * sizeof *results);
    k = r->n - n_constants;
    for (const mica_tf_check *check = checks; check; check = check->next)
        mica_tf_put_check(c->session, c->g, out[k++], check);
}

void tf_lower_while(mica_tf_lowering *c) {
    mica_tf_graph *body = function_attr(c->info, c->attrs, "body");
    mica_tf_graph *cond = function_attr(c->info, c->attrs, "cond");
    region_operands r;
    int32_t n_constants = 0;
    if (mica_tf_lower_recurrence(c, cond, body)) return;
    bool *is_constant = mica_arena_alloc(&c->session->arena, (size_t)c->n_inputs + 1);
    if (!is_constant) mica_graph_fail(c->g, MICA_NO_MEMORY());
    if (!is_constant || !gather_region_operands(c, 0, &r)) return;
    order_loop(c, body, &r, is_constant, &n_constants);
    mica_tf_check *checks = NULL;
    mica_graph *test = lower_region(c, cond, &r, -1, "cond", &checks); /* those are let go */
    checks = NULL;
    mica_graph *whole = lower_region(c, body, &r, -1, "body", &checks), *carried = NULL;
    if (test && whole) carried = carried_only(c, whole, is_constant, checks);
    bool fits = carried != NULL;
    for (int32_t i = 0; fits && i < r.n - n_constants; i++)
        if (!mica_type_equal(mica_value_type(mica_graph_output(carried, i)),
                             mica_value_type(r.values[n_constants + i]))) {
            c->session->region_varies = true;
            MICA_TF_FAIL(c, "[%s] a carried shape varies", c->info->name);
            fits = false;
        }
    mica_value *results = r.values + c->n_inputs + 1;
    if (fits) {
        make_loop(c, &r, n_constants, test, carried, checks, results);
        for (int32_t i = 0, k = 0; i < c->n_inputs; i++)
            c->outputs[i] = is_constant[i] ? c->inputs[i] : results[k++];
    }
    mica_graph_release(test);
    mica_graph_release(whole);
    mica_graph_release(carried);
}

/* ---- on the host ------------------------------------------------------------------------------*/

mica_status tf_host_call(mica_tf_host *c) {
    return mica_tf_graph_run(function_attr(c->info, c->attrs, "f"), c->device, c->inputs,
                             c->n_inputs, c->outputs, c->n_outputs);
}

mica_status tf_host_if(mica_tf_host *c) {
    bool is_true;
    MICA_TRY(mica_tf_truth(c->inputs[0], &is_true));
    mica_tf_graph *branch =
        function_attr(c->info, c->attrs, is_true ? "then_branch" : "else_branch");
    return mica_tf_graph_run(branch, c->device, c->inputs + 1, c->n_inputs - 1, c->outputs,
                             c->n_outputs);
}

mica_status tf_host_case(mica_tf_host *c) {
    const mica_tf_attr *branches = mica_tf_attr_find(c->info, c->attrs, "branches");
    int64_t index;
    int32_t n;
    if (branches->n == 0) return MICA_INVALID("[Case] has no branches; at least one is needed");
    MICA_TRY(mica_tf_tensor_ints(c->inputs[0].object, &index, 1, &n));
    if (index < 0 || index >= branches->n) index = branches->n - 1;
    return mica_tf_graph_run(branches->as.functions[index], c->device, c->inputs + 1,
                             c->n_inputs - 1, c->outputs, c->n_outputs);
}

static void release_all(mica_tf_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        mica_tf_value_release(values[i]);
        values[i].object = NULL;
    }
}

static mica_status loop(mica_tf_host *c, mica_tf_value *carry, mica_tf_value *next) {
    mica_tf_graph *cond = function_attr(c->info, c->attrs, "cond");
    mica_tf_graph *body = function_attr(c->info, c->attrs, "body");
    for (;;) {
        mica_tf_value truth = {0};
        bool go_on = false;
        MICA_TRY(mica_tf_graph_run(cond, c->device, carry, c->n_inputs, &truth, 1));
        mica_status status = mica_tf_truth(truth, &go_on);
        mica_tf_value_release(truth);
        MICA_TRY(status);
        if (!go_on) return NULL;
        MICA_TRY(mica_tf_graph_run(body, c->device, carry, c->n_inputs, next, c->n_inputs));
        release_all(carry, c->n_inputs);
        memcpy(carry, next, (size_t)c->n_inputs * sizeof *carry);
    }
}

mica_status tf_host_while(mica_tf_host *c) {
    size_t n = (size_t)c->n_inputs;
    mica_tf_value *next = mica_calloc(n + 1, sizeof *next);
    if (!next) return MICA_NO_MEMORY();
    for (size_t i = 0; i < n; i++) {
        c->outputs[i] = c->inputs[i];
        mica_tf_value_retain(c->outputs[i]);
    }
    mica_status status = loop(c, c->outputs, next);
    mica_free(next);
    return status;
}
