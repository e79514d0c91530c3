/* Memory plans: values that live at the same time never share memory, and what can be shared is. */
#include "compile/passes.h"
#include "compile/plan.h"
#include "mica/transform.h"
#include "test.h"

typedef struct target {
    int live; /* kernels */
    uint32_t in_place;
    const mica_in_place *pairs; /* of calls that are claimed */
    int32_t n_pairs;
    size_t scratch;
} target;

static mica_status prepare(void *context, const mica_node *node, mica_prepared *out) {
    target *t = context;
    void *kernel = mica_alloc(1);
    if (!kernel) return mica_status_out_of_memory();
    t->live++;
    bool elementwise = mica_op_class_of(node->op) == MICA_CLASS_MAP;
    *out = (mica_prepared){kernel, t->scratch, {{elementwise ? t->in_place : 0}, NULL, 0}};
    if (node->op == MICA_OP_call) out->in_place = (mica_in_place_set){{0}, t->pairs, t->n_pairs};
    return NULL;
}

static void discard(void *context, void *kernel) {
    target *t = context;
    t->live--;
    mica_free(kernel);
}

static mica_plan *plan_of(mica_graph *g, target *t, bool share) {
    mica_plan *plan = NULL;
    mica_plan_target device = {prepare, discard, t};
    CHECK_OK(mica_plan_create(g, &device, share, &plan));
    return plan;
}

static mica_graph *new_graph(const char *name) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create(name, &g));
    return g;
}

static mica_value parameter_of(mica_graph *g, int64_t n) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    return mica_parameter(g, &type);
}

TEST(a_chain_needs_two_places_or_one_in_place) {
    for (int k = 0; k < 3; k++) {
        mica_graph *g = new_graph("chain");
        mica_value x = parameter_of(g, 64);
        for (int i = 0; i < 10; i++) x = mica_tanh(g, x);
        mica_output(g, mica_sum(g, x, MICA_INTS(0)));
        target t = {.in_place = k == 1 ? 1 : 0};
        mica_plan *plan = plan_of(g, &t, k != 2);
        static const size_t expected[] = {2 * 256, 256, 10 * 256};
        CHECK(plan->arena_bytes == expected[k]);
        CHECK(plan->commands.n == 11);
        mica_plan_destroy(plan);
        CHECK(t.live == 0);
        mica_graph_release(g);
    }
}

TEST(the_last_value_of_a_chain_is_written_to_the_output) {
    mica_graph *g = new_graph("chain");
    mica_value x = parameter_of(g, 64);
    mica_output(g, mica_reshape(g, mica_tanh(g, mica_tanh(g, x)), MICA_INTS(8, 8)));
    target t = {.in_place = 1};
    mica_plan *plan = plan_of(g, &t, true);
    CHECK(plan->arena_bytes == 0);
    CHECK(plan->commands.n == 2); /* reshape is another name, not a command */
    CHECK(plan->overwritten_by[0] == 0);
    mica_plan_destroy(plan);
    mica_graph_release(g);
}

TEST(an_input_that_is_read_later_is_not_overwritten) {
    mica_graph *g = new_graph("late");
    mica_value x = parameter_of(g, 64), y = parameter_of(g, 64);
    mica_output(g, mica_add(g, x, y));
    mica_output(g, mica_mul(g, x, x));
    target t = {.in_place = 3};
    mica_plan *plan = plan_of(g, &t, true);
    CHECK(plan->overwritten_by[0] == 1); /* x dies with the product, y with the sum */
    CHECK(plan->overwritten_by[1] == 0);
    mica_plan_destroy(plan);
    mica_graph_release(g);
}

/* ---- no two live values share memory, by brute force
 * ---------------------------------------------*/

/* For every launch of the outermost list: what it writes overlaps no value that is read later and
 * was written before, except an operand it may work on in place. Checked by remembering, for each
 * byte range of the arena, which value is there. */
static void check_list(const mica_commands *list) {
    for (int32_t i = 0; i < list->n; i++) {
        const mica_command *writer = &list->data[i];
        if (!writer->node || writer->kind != MICA_COMMAND_LAUNCH) continue;
        mica_place w = writer->results[0];
        int64_t w_end = w.offset + (int64_t)mica_type_bytes(&writer->node->results[0]);
        for (int32_t k = i + 1; k < list->n; k++) { /* a later reader of an earlier value */
            const mica_command *reader = &list->data[k];
            for (int32_t o = 0; reader->node && o < reader->n_operands; o++) {
                mica_place r = reader->operands[o];
                const mica_node *source = reader->node->operands[o].node;
                while (source->op == MICA_OP_reshape || source->op == MICA_OP_barrier)
                    source = source->operands[0].node;
                bool is_earlier = source->id < writer->node->id;
                int64_t r_end =
                    r.offset + (int64_t)mica_type_bytes(mica_operand_type(reader->node, o));
                if (is_earlier && r.base == w.base && r.base >= 0 && r.offset < w_end &&
                    w.offset < r_end)
                    test_report(__FILE__, __LINE__, "command %d overwrites what command %d reads",
                                i, k);
                test_checks++;
            }
        }
    }
}

TEST(random_graphs_never_overwrite_what_is_still_read) {
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 60; round++) {
        mica_graph *g = new_graph("random");
        mica_value values[60];
        int n = 0;
        for (int i = 0; i < 3; i++) values[n++] = parameter_of(g, 40 + 100 * (i % 2));
        while (n < 60) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            mica_value a = values[random % (uint64_t)n], b = values[(random >> 20) % (uint64_t)n];
            bool equal = mica_type_equal(mica_value_type(a), mica_value_type(b));
            if (random >> 40 & 1 && equal)
                values[n++] = mica_add(g, a, b);
            else if (random >> 41 & 1)
                values[n++] =
                    mica_reshape(g, a, MICA_INTS(mica_type_elements(mica_value_type(a)) / 2, 2));
            else
                values[n++] = mica_tanh(g, a);
        }
        for (int i = 0; i < 3; i++) mica_output(g, values[n - 1 - i]);
        mica_output(g, values[n / 2]);
        target t = {.in_place = 3, .scratch = round % 3 ? 0 : 300};
        mica_plan *plan = plan_of(g, &t, true);
        if (plan) check_list(&plan->commands);
        mica_plan_destroy(plan);
        mica_graph_release(g);
    }
}

/* ---- loops
 * --------------------------------------------------------------------------------------*/

static const mica_command *first_of(const mica_commands *list, mica_command_kind kind) {
    for (int32_t i = 0; i < list->n; i++)
        if (list->data[i].kind == kind) return &list->data[i];
    return NULL;
}

TEST(a_carry_is_updated_in_place_when_its_old_value_is_dead) {
    mica_graph *g = new_graph("loop"), *body = new_graph("body");
    mica_value a = parameter_of(body, 64), b = parameter_of(body, 64), x = parameter_of(body, 64);
    mica_output(body, mica_add(body, a, x)); /* in place */
    mica_output(body, mica_add(body, b, a)); /* in place, too: b dies here */
    mica_output(body, mica_mul(body, x, x));
    mica_type rows = mica_type_make(MICA_DTYPE_f32, MICA_INTS(5, 64));
    mica_value operands[3] = {parameter_of(g, 64), parameter_of(g, 64), mica_parameter(g, &rows)};
    mica_value out[3];
    mica_scan(g, body, operands, 3, 0, 2, 5, false, out);
    for (int i = 0; i < 3; i++) mica_output(g, out[i]);
    mica_graph_release(body);
    target t = {.in_place = 3};
    mica_plan *plan = plan_of(g, &t, true);
    const mica_command *scan = first_of(&plan->commands, MICA_COMMAND_SCAN);
    REQUIRE(scan != NULL);
    CHECK(scan->carries[0].exchange); /* a is read after the new a is made */
    CHECK(!scan->carries[1].exchange);
    CHECK(plan->arena_bytes == 256); /* the second place of a */
    CHECK(scan->regions[0].n == 3);  /* y goes straight into its slice */
    mica_plan_destroy(plan);
    mica_graph_release(g);
}

TEST(a_plan_can_be_read) {
    mica_graph *g = new_graph("text");
    mica_value x = parameter_of(g, 64);
    mica_output(g, mica_add(g, mica_tanh(g, x), mica_exp(g, x)));
    target t = {.in_place = 3};
    mica_plan *plan = plan_of(g, &t, true);
    char *text = NULL;
    CHECK_OK(mica_plan_print(plan, &text));
    CHECK(strstr(text, "add output0 <- ") != NULL);
    mica_string_free(text);
    mica_plan_destroy(plan);
    mica_graph_release(g);
}

TEST(only_tensors_leave_a_graph) {
    mica_graph *g = new_graph("token");
    mica_output(g, mica_token(g));
    target t = {0};
    mica_plan *plan = NULL;
    mica_plan_target device = {prepare, discard, &t};
    CHECK_FAILS(mica_plan_create(g, &device, true, &plan), MICA_INVALID_ARGUMENT,
                "[compile] output 0 of 'token' is a token");
    mica_graph_release(g);
}

TEST(every_allocation_of_the_planner_may_fail) {
    mica_graph *g = new_graph("step"), *body = new_graph("body");
    mica_value b = parameter_of(body, 3), x = parameter_of(g, 3), y, gradient;
    mica_output(body, mica_tanh(body, mica_mul(body, b, b)));
    mica_scan(g, body, &x, 1, 0, 1, 4, false, &y);
    mica_gradient(g, mica_sum(g, y, MICA_INTS(0)), &x, 1, &gradient);
    mica_output(g, gradient);
    mica_graph_release(body);
    int64_t live = mica_memory_live_blocks(), n = 1;
    for (bool done = false; !done; n++) {
        target t = {.in_place = 3, .scratch = 64};
        mica_plan *plan = NULL;
        mica_plan_target device = {prepare, discard, &t};
        int64_t first = mica_memory_total_allocations();
        mica_memory_fail_nth(n, false);
        mica_status status = mica_plan_create(g, &device, true, &plan);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - first < n;
        CHECK((plan == NULL) == (status != NULL));
        mica_status_release(status);
        mica_plan_destroy(plan);
        CHECK(t.live == 0);
        CHECK(mica_memory_live_blocks() == live);
    }
    mica_graph_release(g);
}

/* parameters, gradients -> parameters: all in one launch, as an optimizer's update. */
TEST(one_launch_overwrites_a_hundred_inputs) {
    enum { UPDATED = 100 };
    mica_graph *g = new_graph("update"), *body = new_graph("body");
    mica_value operands[2 * UPDATED], results[UPDATED], inner[2 * UPDATED];
    mica_in_place pairs[UPDATED];
    for (int i = 0; i < 2 * UPDATED; i++) {
        operands[i] = parameter_of(g, 64);
        inner[i] = parameter_of(body, 64);
    }
    for (int i = 0; i < UPDATED; i++) {
        mica_output(body, mica_sub(body, inner[i], inner[UPDATED + i]));
        pairs[i] = (mica_in_place){i, i};
    }
    for (int i = UPDATED; i < 2 * UPDATED; i++) operands[i] = mica_tanh(g, operands[i]);
    mica_call(g, MICA_CLAIMED "update", "", body, "", NULL, operands, 2 * UPDATED, results);
    for (int i = 0; i < UPDATED; i++) mica_output(g, results[i]);
    CHECK_OK(mica_graph_check(g));
    target t = {.pairs = pairs, .n_pairs = UPDATED};
    mica_plan *plan = plan_of(g, &t, true);
    for (int i = 0; i < UPDATED; i++) CHECK(plan->overwritten_by[i] == i);
    for (int i = UPDATED; i < 2 * UPDATED; i++) CHECK(plan->overwritten_by[i] == -1);
    mica_plan_destroy(plan);
    /* The other half dies in the launch too, inside the arena. */
    for (int i = 0; i < UPDATED; i++) pairs[i].operand += UPDATED;
    plan = plan_of(g, &t, true);
    const mica_command *c = &plan->commands.data[plan->commands.n - 1];
    int32_t shared = 0;
    for (int i = 0; i < UPDATED && c->kind == MICA_COMMAND_LAUNCH; i++)
        shared += c->results[i].base == c->operands[UPDATED + i].base;
    CHECK(shared == UPDATED);
    mica_plan_destroy(plan);
    mica_graph_release(body);
    mica_graph_release(g);
}
