/* Batching: named axes, control flow that varies, composites, effects, errors. */
#include "calculus.h"

static mica_graph *vmapped(const mica_graph *f, const int32_t *in_axes, const int32_t *out_axes,
                           int64_t size, const char *axis) {
    mica_graph *batched = NULL;
    CHECK_OK(mica_vmap(f, in_axes, out_axes, size, axis, &batched));
    return batched;
}

TEST(vmap_of_vmap_makes_an_outer_product) {
    mica_graph *f = new_graph("mul");
    mica_value a = scalar_parameter(f), b = scalar_parameter(f);
    mica_output(f, mica_mul(f, a, b));
    const int32_t inner_in[] = {MICA_UNMAPPED, 0}, outer_in[] = {0, MICA_UNMAPPED},
                  out_axes[] = {0};
    mica_graph *inner = vmapped(f, inner_in, out_axes, 3, NULL);
    mica_graph *outer = vmapped(inner, outer_in, out_axes, 2, NULL);
    double x[] = {2, 3}, y[] = {5, 7, 11}, z[2][3];
    const void *in[] = {x, y};
    void *out[] = {z};
    EVALUATE(outer, in, out);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) CHECK_NEAR(z[i][k], x[i] * y[k], 0);
    mica_graph_release(outer);
    mica_graph_release(inner);
    mica_graph_release(f);
}

/* y = x / sum over participants, and this participant's place */
TEST(collectives_over_the_named_axis_become_reductions) {
    mica_graph *f = new_graph("normalize");
    mica_value x = scalar_parameter(f);
    mica_output(f, mica_div(f, x, mica_all_reduce(f, x, "sum", "batch")));
    mica_output(f, mica_convert(f, mica_axis_index(f, "batch"), MICA_DTYPE_f64));
    mica_output(f, mica_all_reduce(f, x, "max", "batch"));
    mica_output(f, mica_all_reduce(f, number(f, 2), "sum", "batch"));
    const int32_t in_axes[] = {0}, out_axes[] = {0, 0, MICA_UNMAPPED, MICA_UNMAPPED};
    mica_graph *g = vmapped(f, in_axes, out_axes, 3, "batch");
    double at[] = {1, 5, 2}, share[3], index[3], most = NAN, total = NAN;
    const void *in[] = {at};
    void *out[] = {share, index, &most, &total};
    EVALUATE(g, in, out);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(share[i], at[i] / 8, 0);
        CHECK_NEAR(index[i], i, 0);
    }
    CHECK_NEAR(most, 5, 0);
    CHECK_NEAR(total, 6, 0);
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(collectives_over_another_axis_pass_through) {
    mica_graph *f = new_graph("sum");
    mica_output(f, mica_all_reduce(f, scalar_parameter(f), "sum", "outer"));
    const int32_t axes[] = {0}, unmapped[] = {MICA_UNMAPPED};
    mica_graph *inner = vmapped(f, axes, axes, 2, "inner"), *outer = NULL;
    double at[] = {1, 2}, got[2];
    CHECK(inner && inner->nodes[inner->n_nodes - 1]->op == MICA_OP_all_reduce);
    outer = vmapped(inner, unmapped, unmapped, 5, "outer");
    EVALUATE_1(outer, at, got);
    CHECK_NEAR(got[0], 5, 0);
    CHECK_NEAR(got[1], 10, 0);
    mica_graph_release(outer);
    mica_graph_release(inner);
    mica_graph_release(f);
}

/* Every participant's own gradient, then vmap: loss_i = x_i s with s the sum; the gradient of its
 * own loss through the collective counts everybody's use of x_i. */
TEST(gradients_of_collectives_reach_every_participant) {
    mica_graph *f = new_graph("loss");
    mica_value x = scalar_parameter(f), sum = mica_all_reduce(f, x, "sum", "batch");
    mica_value most = mica_all_reduce(f, x, "max", "batch");
    mica_output(f, gradient(f, mica_mul(f, x, sum), x));
    mica_output(f, gradient(f, mica_mul(f, x, most), x));
    const int32_t axes[] = {0, 0};
    mica_graph *g = vmapped(f, axes, axes, 3, "batch");
    double at[] = {1, 5, 2}, d[3], e[3];
    const void *in[] = {at};
    void *out[] = {d, e};
    EVALUATE(g, in, out);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(d[i], 8 + 8, 0); /* s, and the sum of all x_k */
        CHECK_NEAR(e[i], 5 + (i == 1 ? 8 : 0), 0);
    }
    mica_graph_release(g);
    mica_graph_release(f);
}

/* ---- control flow that varies -----------------------------------------------------------------*/

static mica_graph *scaled(double factor) {
    mica_graph *g = new_graph("scaled");
    mica_output(g, mica_mul(g, number(g, factor), scalar_parameter(g)));
    return g;
}

TEST(branches_taken_by_some_examples_are_selected) {
    mica_graph *f = new_graph("branches"), *regions[] = {scaled(2), scaled(3), scaled(5)};
    mica_value x = scalar_parameter(f), y[2];
    mica_cond(f, mica_compare(f, x, number(f, 0), "gt"), regions[0], regions[1], &x, 1, &y[0]);
    mica_case(f, mica_convert(f, x, MICA_DTYPE_i32), regions, 3, &x, 1, &y[1]);
    mica_output(f, y[0]);
    mica_output(f, y[1]);
    mica_output(f, gradient(f, y[1], x));
    const int32_t axes[] = {0, 0, 0};
    mica_graph *g = vmapped(f, axes, axes, 4, NULL);
    double at[] = {0, 1, 7, -4}, got[3][4], cond[] = {3, 2, 2, 3}, of_case[] = {2, 3, 5, 5};
    const void *in[] = {at};
    void *out[] = {got[0], got[1], got[2]};
    EVALUATE(g, in, out);
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR(got[0][i], cond[i] * at[i], 0);
        CHECK_NEAR(got[1][i], of_case[i] * at[i], 0);
        CHECK_NEAR(got[2][i], of_case[i], 0);
    }
    for (int i = 0; i < 3; i++) mica_graph_release(regions[i]);
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(branches_that_all_examples_take_stay_branches) {
    mica_graph *f = new_graph("cond"), *a = scaled(2), *b = new_graph("fixed");
    scalar_parameter(b);
    mica_output(b, number(b, 7));
    mica_type boolean = mica_type_scalar(MICA_DTYPE_bool);
    mica_value p = mica_parameter(f, &boolean), x = scalar_parameter(f), y;
    mica_cond(f, p, a, b, &x, 1, &y);
    mica_output(f, y);
    const int32_t in_axes[] = {MICA_UNMAPPED, 0}, out_axes[] = {0};
    mica_graph *g = vmapped(f, in_axes, out_axes, 2, NULL);
    bool found = false;
    for (int32_t i = 0; g && i < g->n_nodes; i++) found |= g->nodes[i]->op == MICA_OP_cond;
    CHECK(found);
    double at[] = {1, 2}, got[2];
    uint8_t yes = 1, no = 0;
    const void *in[] = {&yes, at};
    void *out[] = {got};
    EVALUATE(g, in, out);
    CHECK_NEAR(got[1], 4, 0);
    in[0] = &no;
    EVALUATE(g, in, out);
    CHECK_NEAR(got[1], 7, 0);
    mica_graph_release(a);
    mica_graph_release(b);
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(a_predicate_that_varies_cannot_choose_between_lists) {
    mica_graph *f = new_graph("lists"), *a = new_graph("a"), *b = new_graph("b");
    mica_type element = mica_type_scalar(MICA_DTYPE_f64);
    mica_graph *regions[] = {a, b};
    for (int i = 0; i < 2; i++) {
        mica_value v = scalar_parameter(regions[i]), list = mica_list_empty(regions[i], &element);
        mica_output(regions[i], i ? list : mica_list_push(regions[i], list, v));
    }
    mica_value x = scalar_parameter(f), list, rest, top;
    mica_cond(f, mica_compare(f, x, number(f, 0), "gt"), a, b, &x, 1, &list);
    mica_list_pop(f, list, &rest, &top);
    mica_output(f, top);
    const int32_t axes[] = {0};
    mica_graph *g = NULL;
    CHECK_FAILS(mica_vmap(f, axes, axes, 2, NULL, &g), MICA_UNSUPPORTED, "[cond]");
    CHECK(g == NULL);
    mica_graph_release(a);
    mica_graph_release(b);
    mica_graph_release(f);
}

/* ---- scans, composites, randomness, effects ---------------------------------------------------*/

TEST(scan_under_vmap_keeps_what_is_shared_unmapped) {
    mica_graph *f = new_graph("scan"), *step = new_graph("step");
    mica_value w = scalar_parameter(step), h = scalar_parameter(step), x = scalar_parameter(step);
    mica_value next = mica_add(step, mica_mul(step, w, h), x);
    mica_output(step, next);
    mica_output(step, next);
    mica_value p[] = {scalar_parameter(f), number(f, 0), vector_parameter(f, 3)}, out[2];
    mica_scan(f, step, p, 3, 1, 1, 3, false, out);
    mica_output(f, out[0]);
    mica_output(f, out[1]);
    const int32_t in_axes[] = {0, MICA_UNMAPPED}, out_axes[] = {0, 1};
    mica_graph *g = vmapped(f, in_axes, out_axes, 2, NULL);
    double ws[] = {1, 2}, xs[] = {5, 7, 11}, last[2], ys[3][2];
    const void *in[] = {ws, xs};
    void *results[] = {last, ys};
    EVALUATE(g, in, results);
    CHECK_NEAR(last[0], 23, 0);
    CHECK_NEAR(last[1], 4 * 5 + 2 * 7 + 11, 0);
    CHECK_NEAR(ys[1][1], 2 * 5 + 7, 0);
    mica_graph_release(step);
    mica_graph_release(g);
    mica_graph_release(f);
}

/* a composite w x with a vjp that gives (10 x dy, 100 w dy) */
TEST(composites_keep_their_name_and_vjp_under_vmap) {
    mica_graph *f = new_graph("f"), *body = new_graph("body"), *vjp = new_graph("vjp");
    mica_value p[] = {scalar_parameter(body), scalar_parameter(body)};
    mica_output(body, mica_mul(body, p[0], p[1]));
    mica_value q[] = {scalar_parameter(vjp), scalar_parameter(vjp), scalar_parameter(vjp),
                      scalar_parameter(vjp)};
    mica_output(vjp, mica_mul(vjp, number(vjp, 10), mica_mul(vjp, q[1], q[3])));
    mica_output(vjp, mica_mul(vjp, number(vjp, 100), mica_mul(vjp, q[0], q[3])));
    mica_value x[] = {scalar_parameter(f), scalar_parameter(f)}, y;
    mica_call(f, "product", "", body, "product_vjp", vjp, x, 2, &y);
    mica_output(f, y);
    const int32_t in_axes[] = {MICA_UNMAPPED, 0}, out_axes[] = {0};
    mica_graph *batched = vmapped(f, in_axes, out_axes, 3, NULL), *g = new_graph("g");
    mica_value r[] = {scalar_parameter(g), vector_parameter(g, 3)}, ys = MICA_NULL_VALUE, d[2];
    if (batched) mica_inline(g, batched, r, 2, &ys);
    mica_gradient(g, mica_sum(g, ys, MICA_INTS(0)), r, 2, d);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    bool named = false;
    for (int32_t i = 0; i < g->n_nodes; i++)
        named |= g->nodes[i]->op == MICA_OP_call &&
                 !strcmp(mica_node_string(g->nodes[i], "name"), "product_vjp");
    CHECK(named);
    double w = 2, at[] = {3, 5, 7}, dw = NAN, dx[3];
    const void *in[] = {&w, at};
    void *out[] = {&dw, dx};
    EVALUATE(g, in, out);
    CHECK_NEAR(dw, 150, 0);
    CHECK_NEAR(dx[0], 200, 0);
    mica_graph_release(body);
    mica_graph_release(vjp);
    mica_graph_release(batched);
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(every_example_has_its_own_random_bits) {
    mica_graph *f = new_graph("bits");
    mica_type key_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_type counter_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(4));
    mica_value key = mica_parameter(f, &key_type), counter = mica_parameter(f, &counter_type);
    mica_output(f, mica_rng_bits(f, key, counter, MICA_INTS(3), MICA_DTYPE_u32));
    const int32_t in_axes[] = {0, MICA_UNMAPPED}, out_axes[] = {0};
    mica_graph *g = vmapped(f, in_axes, out_axes, 2, NULL);
    uint32_t keys[2][2] = {{1, 2}, {3, 4}}, zero[4] = {0}, got[2][3], one[3];
    const void *in[] = {keys, zero};
    void *out[] = {got};
    EVALUATE(g, in, out);
    for (int i = 0; i < 2; i++) {
        const void *single[] = {keys[i], zero};
        void *result[] = {one};
        EVALUATE(f, single, result);
        CHECK(memcmp(one, got[i], sizeof one) == 0);
    }
    mica_graph_release(g);
    mica_graph_release(f);
}

static double heard[8];
static int n_heard;
static mica_status hear(void *context, const void *const *inputs, const mica_type *input_types,
                        int32_t n_inputs, void *const *outputs, const mica_type *output_types,
                        int32_t n_outputs) {
    (void)context, (void)input_types, (void)n_inputs, (void)output_types, (void)n_outputs;
    heard[n_heard++ % 8] = *(const double *)inputs[0];
    *(double *)outputs[0] = *(const double *)inputs[0] + 1;
    return NULL;
}

TEST(callbacks_hear_the_examples_in_order) {
    int64_t function = mica_host_function_register(hear, NULL);
    mica_graph *f = new_graph("callback");
    mica_type type = mica_type_scalar(MICA_DTYPE_f64);
    mica_value x = scalar_parameter(f), out[2];
    mica_callback(f, "hear", function, mica_token(f), &x, 1, (mica_types){&type, 1}, out);
    mica_output(f, mica_mul(f, out[1], x));
    const int32_t axes[] = {0};
    mica_graph *g = vmapped(f, axes, axes, 3, NULL);
    double at[] = {5, 3, 4}, got[3];
    n_heard = 0;
    EVALUATE_1(g, at, got);
    CHECK(n_heard == 3);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(heard[i], at[i], 0);
        CHECK_NEAR(got[i], (at[i] + 1) * at[i], 0);
    }
    mica_graph_release(g);
    mica_graph_release(f);
    mica_host_function_unregister(function);
}

TEST(a_result_that_varies_cannot_be_unmapped) {
    mica_graph *f = new_graph("f"), *g = NULL;
    mica_value x = scalar_parameter(f);
    mica_output(f, mica_neg(f, x));
    const int32_t in_axes[] = {0}, out_axes[] = {MICA_UNMAPPED}, beyond[] = {2};
    CHECK_FAILS(mica_vmap(f, in_axes, out_axes, 2, NULL, &g), MICA_INVALID_ARGUMENT, "output 0");
    CHECK_FAILS(mica_vmap(f, beyond, out_axes, 2, NULL, &g), MICA_INVALID_ARGUMENT, "axis 2");
    CHECK_FAILS(mica_vmap(f, in_axes, beyond, 2, NULL, &g), MICA_INVALID_ARGUMENT, "axis 2");
    mica_graph_release(f);
}
