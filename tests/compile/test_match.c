/* Composites that a device claims: they stay whole, in regions too, and compute what their bodies
 * compute, in every tier and on every instruction set. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compile/passes.h"
#include "device/cpu/kernels.h"
#include "mica/mica.h"
#include "mica/nn.h"
#include "test.h"

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 8, MOST_ELEMENTS = 20000 };

typedef struct outcome {
    int32_t n;
    int64_t count[MOST_OUTPUTS];
    float values[MOST_OUTPUTS][MOST_ELEMENTS];
} outcome;

static outcome first, second;

static bool claims_lstm(void *context, const mica_node *call) {
    (void)context;
    return !strncmp(mica_node_string(call, "name"), "mica.lstm_steps", 15);
}

static int count(const mica_graph *g, bool claimed) {
    int n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (mica_node_is_claimed(g->nodes[i])) {
            n += claimed;
            continue;
        }
        n += !claimed && g->nodes[i]->op == MICA_OP_call;
        for (int32_t k = 0; k < g->nodes[i]->n_regions; k++)
            n += count(g->nodes[i]->regions[k], claimed);
    }
    return n;
}

static mica_value parameter(mica_graph *g, mica_ints dims) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, dims);
    return mica_parameter(g, &type);
}

/* All results of a recurrence, and the gradients of a function of them. */
static mica_graph *recurrence(int64_t time, int64_t batch, int64_t size, bool reverse) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("recurrence", &g));
    mica_value x[] = {parameter(g, MICA_INTS(time, batch, 4 * size)),
                      parameter(g, MICA_INTS(batch, size)), parameter(g, MICA_INTS(batch, size)),
                      parameter(g, MICA_INTS(4 * size, size))};
    mica_value out[3], gradients[4], loss = MICA_NULL_VALUE;
    mica_nn_lstm_steps(g, x[0], x[1], x[2], x[3], reverse, out);
    for (int32_t i = 0; i < 3; i++) {
        mica_value part = mica_sum(g, mica_sin(g, out[i]), MICA_INTS(0, 1, 2));
        loss = i ? mica_add(g, loss, part) : part;
    }
    mica_gradient(g, loss, x, 4, gradients);
    for (int32_t i = 0; i < 3; i++) mica_output(g, out[i]);
    for (int32_t i = 0; i < 4; i++) mica_output(g, gradients[i]);
    return g;
}

/* The same of a GRU. */
static mica_graph *gated_recurrence(int64_t time, int64_t batch, int64_t size, bool reverse) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("gated_recurrence", &g));
    mica_value x[] = {parameter(g, MICA_INTS(time, batch, 3 * size)),
                      parameter(g, MICA_INTS(batch, size)), parameter(g, MICA_INTS(3 * size, size)),
                      parameter(g, MICA_INTS(3 * size))};
    mica_value out[2], gradients[4];
    mica_nn_gru_steps(g, x[0], x[1], x[2], x[3], reverse, out);
    mica_value loss = mica_add(g, mica_sum(g, mica_sin(g, out[0]), MICA_INTS(0, 1, 2)),
                               mica_sum(g, mica_sin(g, out[1]), MICA_INTS(0, 1, 2)));
    mica_gradient(g, loss, x, 4, gradients);
    for (int32_t i = 0; i < 2; i++) mica_output(g, out[i]);
    for (int32_t i = 0; i < 4; i++) mica_output(g, gradients[i]);
    return g;
}

/* Attention and its gradients. */
static mica_graph *attention(int64_t batch, int64_t queries, int64_t keys, int64_t d, int64_t e,
                             bool causal) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("attention", &g));
    mica_value x[] = {parameter(g, MICA_INTS(batch, queries, d)),
                      parameter(g, MICA_INTS(batch, keys, d)),
                      parameter(g, MICA_INTS(batch, keys, e))};
    mica_value gradients[3];
    mica_value y = mica_nn_attend(g, x[0], x[1], x[2], MICA_NULL_VALUE, 0.5, causal);
    mica_gradient(g, mica_sum(g, mica_sin(g, y), MICA_INTS(0, 1, 2)), x, 3, gradients);
    mica_output(g, y);
    for (int32_t i = 0; i < 3; i++) mica_output(g, gradients[i]);
    return g;
}

/* What stands between the product of queries and keys and the softmax. */
typedef enum written_form { PLAIN, TRIANGLE, HIDDEN, BIASED, FORMS } written_form;

static mica_value masked(mica_graph *g, mica_value scores, written_form form, mica_value bias) {
    mica_ints dims = {mica_value_type(scores)->dims, 4};
    mica_value never = mica_scalar(g, MICA_DTYPE_f32, -2e38);
    mica_value row = mica_iota(g, (mica_ints){dims.data + 2, 2}, 0, MICA_DTYPE_i64);
    mica_value column = mica_iota(g, (mica_ints){dims.data + 2, 2}, 1, MICA_DTYPE_i64);
    mica_value is_beyond =
        mica_compare(g, mica_sub(g, row, column), mica_scalar(g, MICA_DTYPE_i64, 0), "lt");
    if (form == BIASED) return mica_add(g, scores, bias);
    if (form == PLAIN) return scores;
    if (form == HIDDEN) /* all keys of the first query */
        is_beyond = mica_compare(g, row, column, "le");
    mica_type truth = mica_type_scalar(MICA_DTYPE_bool);
    mica_value all[2];
    for (uint8_t i = 0; i < 2; i++)
        all[i] = mica_broadcast_to(g, mica_constant(g, (mica_data){&truth, &i}),
                                   (mica_ints){dims.data + 2, 2});
    mica_value seen =
        form == TRIANGLE ? mica_select(g, is_beyond, all[0], all[1]) : mica_not(g, is_beyond);
    seen = mica_broadcast(g, seen, dims, MICA_INTS(2, 3));
    return mica_select(g, seen, scores, never);
}

/* Attention of several heads as layers write it, with (batch, time, heads, features), and its
 * gradients. */
static mica_graph *written_attention(const int64_t *n, written_form form) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("written_attention", &g));
    mica_value x[] = {
        parameter(g, MICA_INTS(n[0], n[1], 3, n[3])), parameter(g, MICA_INTS(n[0], n[2], 3, n[3])),
        parameter(g, MICA_INTS(n[0], n[2], 3, n[4])), parameter(g, MICA_INTS(1, 3, n[1], n[2]))};
    mica_value gradients[3];
    mica_ints outer = MICA_INTS(0, 2), inner = MICA_INTS(0, 1);
    mica_value scores = mica_dot(g, x[1], x[0], MICA_INTS(3), MICA_INTS(3), outer, outer);
    scores = mica_mul(g, mica_transpose(g, scores, MICA_INTS(0, 1, 3, 2)),
                      mica_scalar(g, MICA_DTYPE_f32, 0.5));
    mica_value p = mica_nn_softmax(g, masked(g, scores, form, x[3]), -1);
    mica_value y = mica_dot(g, p, x[2], MICA_INTS(3), MICA_INTS(1), inner, outer);
    y = mica_transpose(g, y, MICA_INTS(0, 2, 1, 3));
    mica_gradient(g, mica_sum(g, mica_sin(g, y), MICA_INTS(0, 1, 2, 3)), x, 3, gradients);
    mica_output(g, y);
    for (int32_t i = 0; i < 3; i++) mica_output(g, gradients[i]);
    return g;
}

/* Runs a graph of f32 on made-up numbers. */
static void run(const char *name, const mica_graph *g, const char *passes, mica_tier tier,
                outcome *out) {
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    mica_tensor *inputs[MOST_INPUTS] = {NULL}, *outputs[MOST_OUTPUTS] = {NULL};
    mica_compile_options options = {.size = sizeof options, .passes = passes, .tier = tier};
    static float data[MOST_ELEMENTS];
    CHECK_OK(mica_device_open(name, &device));
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    int32_t n_inputs = mica_graph_parameter_count(g);
    for (int32_t i = 0; i < n_inputs; i++) {
        const mica_type *type = mica_value_type(g->parameters[i]);
        for (int64_t k = 0; k < mica_type_elements(type); k++)
            data[k] = 0.6f * (float)sin(0.7 * (double)(k + 1) + i);
        CHECK_OK(mica_tensor_from_host(device, type, data, &inputs[i]));
    }
    out->n = mica_graph_output_count(g);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .outputs = outputs,
                          .n_outputs = out->n};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
    for (int32_t i = 0; i < out->n; i++) {
        out->count[i] = mica_type_elements(mica_value_type(g->outputs[i]));
        CHECK_OK(
            mica_tensor_to_host(outputs[i], out->values[i], (size_t)out->count[i] * sizeof(float)));
        mica_tensor_release(outputs[i]);
    }
    for (int32_t i = 0; i < n_inputs; i++) mica_tensor_release(inputs[i]);
    mica_executable_release(exe);
    mica_device_release(device);
}

static double largest_difference(const outcome *a, const outcome *b) {
    double worst = 0;
    for (int32_t i = 0; i < a->n; i++) {
        double scale = 1e-2; /* what should be 0 is rounding of larger terms */
        for (int64_t k = 0; k < a->count[i]; k++) scale = fmax(scale, fabs(a->values[i][k]));
        for (int64_t k = 0; k < a->count[i]; k++)
            worst = fmax(worst, fabs((double)a->values[i][k] - b->values[i][k]) / scale);
    }
    return worst;
}

static bool same_bits(const outcome *a, const outcome *b) {
    for (int32_t i = 0; i < a->n; i++)
        if (memcmp(a->values[i], b->values[i], (size_t)a->count[i] * sizeof(float))) return false;
    return true;
}

TEST(claimed_calls_stay_whole_and_others_are_opened) {
    mica_graph *g = recurrence(3, 2, 4, false), *out = NULL;
    mica_claimer claimer = {claims_lstm, NULL, false, false};
    CHECK_OK(mica_passes_run_for(g, NULL, false, &claimer, &out));
    CHECK(count(out, true) == 2);
    CHECK(count(out, false) == 0);
    mica_graph_release(out);
    CHECK_OK(mica_passes_run_for(g, "-match", false, &claimer, &out));
    CHECK(count(out, true) == 0);
    CHECK(count(out, false) == 0);
    mica_graph_release(out);
    mica_graph_release(g);
}

TEST(calls_inside_regions_are_claimed_too) {
    mica_graph *g = NULL, *body = NULL, *out = NULL;
    CHECK_OK(mica_graph_create("outer", &g));
    CHECK_OK(mica_graph_create("body", &body));
    mica_value z = parameter(body, MICA_INTS(3, 2, 16)), w = parameter(body, MICA_INTS(16, 4));
    mica_value h = parameter(body, MICA_INTS(2, 4)), steps[3];
    mica_nn_lstm_steps(body, z, h, h, w, false, steps);
    mica_output(body, mica_sum(body, steps[0], MICA_INTS(0)));
    mica_value operands[] = {parameter(g, MICA_INTS(3, 2, 16)), parameter(g, MICA_INTS(16, 4)),
                             parameter(g, MICA_INTS(2, 4))};
    mica_value y;
    mica_scan(g, body, operands, 3, 2, 1, 2, false, &y);
    mica_output(g, y);
    mica_graph_release(body);
    mica_claimer claimer = {claims_lstm, NULL, false, false};
    CHECK_OK(mica_passes_run_for(g, NULL, false, &claimer, &out));
    CHECK(count(out, true) == 1);
    mica_graph_release(out);
    run("cpu", g, NULL, MICA_TIER_BUILT_IN, &first);
    run("cpu", g, "-match", MICA_TIER_BUILT_IN, &second);
    CHECK(largest_difference(&first, &second) < 1e-5);
    mica_graph_release(g);
}

TEST(a_recurrence_computes_what_its_body_computes) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {4, 3, 5}, {3, 21, 9}, {5, 8, 33}, {2, 9, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int form = 0; form < 4; form++) {
            mica_graph *(*make)(int64_t, int64_t, int64_t, bool) =
                form / 2 ? gated_recurrence : recurrence;
            mica_graph *g = make(sizes[i][0], sizes[i][1], sizes[i][2], form % 2);
            run("cpu", g, NULL, MICA_TIER_BUILT_IN, &first);
            run("cpu", g, "-match", MICA_TIER_BUILT_IN, &second);
            CHECK(largest_difference(&first, &second) < 1e-5);
            run("ref", g, NULL, MICA_TIER_BUILT_IN, &second);
            CHECK(largest_difference(&first, &second) < 1e-5);
            run("fake", g, NULL, MICA_TIER_BUILT_IN, &second);
            CHECK(same_bits(&first, &second));
            mica_graph_release(g);
        }
}

TEST(attention_computes_what_its_body_computes) {
    static const int64_t sizes[][5] = {
        {1, 1, 2, 1, 1}, {2, 5, 7, 3, 4}, {2, 37, 140, 17, 9}, {1, 70, 70, 33, 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int causal = 0; causal < 2; causal++) {
            const int64_t *n = sizes[i];
            mica_graph *g = attention(n[0], n[1], n[2], n[3], n[4], causal);
            run("cpu", g, NULL, MICA_TIER_BUILT_IN, &first);
            run("cpu", g, "-match", MICA_TIER_BUILT_IN, &second);
            CHECK(largest_difference(&first, &second) < 2e-5);
            run("fake", g, NULL, MICA_TIER_BUILT_IN, &second);
            CHECK(same_bits(&first, &second));
            mica_graph_release(g);
        }
}

static bool claims_attention(void *context, const mica_node *call) {
    (void)context;
    return !strncmp(mica_node_string(call, "name"), "mica.attention", 14);
}

static int count_matched(const mica_graph *g) {
    mica_claimer claimer = {claims_attention, NULL, false, false};
    mica_graph *out = NULL, *simple = NULL;
    CHECK_OK(mica_match(g, &claimer, &out));
    CHECK_OK(mica_graph_verify(out));
    CHECK_OK(mica_pass_simplify(out, &simple));
    int n = count(simple, true);
    mica_graph_release(out);
    mica_graph_release(simple);
    return n;
}

TEST(attention_written_as_products_becomes_one_call_per_direction) {
    static const int64_t sizes[][5] = {{1, 1, 2, 1, 1}, {2, 5, 7, 3, 4}, {1, 37, 34, 17, 9}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (written_form form = PLAIN; form < FORMS; form++) {
            mica_graph *g = written_attention(sizes[i], form);
            CHECK(count_matched(g) == 2);
            run("cpu", g, NULL, MICA_TIER_BUILT_IN, &first);
            run("cpu", g, "-match", MICA_TIER_BUILT_IN, &second);
            CHECK(largest_difference(&first, &second) < 2e-5);
            run("fake", g, NULL, MICA_TIER_BUILT_IN, &second);
            CHECK(same_bits(&first, &second));
            mica_graph_release(g);
        }
}

/* The bodies of the calls, by which MICA_CHECK and devices without the kernels go. */
TEST(attention_that_was_recognised_has_a_body_that_computes_the_same) {
    static const int64_t sizes[] = {2, 5, 7, 3, 4};
    mica_claimer claimer = {claims_attention, NULL, false, false};
    for (written_form form = PLAIN; form < FORMS; form++) {
        mica_graph *g = written_attention(sizes, form), *out = NULL;
        CHECK_OK(mica_match(g, &claimer, &out));
        run("ref", g, NULL, MICA_TIER_BUILT_IN, &first);
        run("ref", out, NULL, MICA_TIER_BUILT_IN, &second);
        CHECK(largest_difference(&first, &second) < 2e-5);
        mica_graph_release(g);
        mica_graph_release(out);
    }
}

TEST(scores_that_something_else_uses_stay) {
    static const int64_t sizes[] = {2, 5, 7, 3, 4};
    mica_graph *g = written_attention(sizes, PLAIN);
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (!strcmp(mica_node_string(g->nodes[i], "name"), "softmax"))
            mica_output(g, mica_node_result(g->nodes[i], 0));
    CHECK(count_matched(g) == 0);
    mica_graph_release(g);
}

static void check_bits(mica_graph *g) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    run("cpu", g, NULL, MICA_TIER_BUILT_IN, &first);
    for (int i = 0; i < 3; i++) {
        if (!mica_cpu_isa_force(sets[i])) continue;
        run("cpu", g, NULL, MICA_TIER_BUILT_IN, &second);
        CHECK(same_bits(&first, &second));
    }
    mica_cpu_isa_force(NULL);
    int32_t threads = mica_threads();
    for (int32_t n = 1; n < 6; n += 2) {
        CHECK_OK(mica_set_threads(n));
        run("cpu", g, NULL, MICA_TIER_COMPILED, &second);
        CHECK(same_bits(&first, &second));
    }
    CHECK_OK(mica_set_threads(threads));
    mica_graph_release(g);
}

TEST(claimed_calls_have_the_same_bits_on_every_instruction_set_and_with_any_threads) {
    check_bits(recurrence(3, 21, 19, false));
    check_bits(gated_recurrence(3, 21, 19, true));
    check_bits(attention(2, 37, 140, 17, 9, true));
    check_bits(written_attention((const int64_t[]){2, 37, 34, 17, 9}, HIDDEN));
}

static void check_failures(mica_graph *g, mica_claimer claimer) {
    int64_t live = mica_memory_live_blocks(), n = 1;
    for (bool done = false; !done; n++) {
        mica_graph *out = NULL;
        int64_t before = mica_memory_total_allocations();
        mica_memory_fail_nth(n, n % 2);
        mica_status status = mica_match(g, &claimer, &out);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - before < n;
        CHECK((out == NULL) == (status != NULL));
        mica_status_release(status);
        mica_graph_release(out);
        CHECK(mica_memory_live_blocks() == live);
    }
    CHECK(n > 10);
    mica_graph_release(g);
}

TEST(every_allocation_of_matching_may_fail) {
    check_failures(recurrence(2, 1, 1, true), (mica_claimer){claims_lstm, NULL, false, false});
    check_failures(written_attention((const int64_t[]){1, 1, 2, 1, 1}, HIDDEN),
                   (mica_claimer){claims_attention, NULL, false, false});
}
