/* Derivatives of every layer and loss of the golden values: reverse and forward mode against each
 * other and against differences, first and second order, in f64; and vmap against one example at a
 * time.
 */
#include "support/golden_runs.h"
#include "test.h"

enum { MOST = GOLDEN_MOST };

/* ---- derivatives ------------------------------------------------------------------------------*/

typedef struct study {
    trial t;
    double *memory[MOST]; /* directions, and operands that were moved */
    int32_t n_memory;
    int32_t first_direction, n; /* parameters of the graph */
    int32_t moved[MOST];        /* the parameter that direction k moves */
} study;

/* The sum of all elements of a b. */
static mica_value inner(mica_graph *g, mica_value a, mica_value b) {
    int64_t axes[MICA_MAX_RANK];
    const mica_type *type = mica_value_type(a);
    for (int32_t i = 0; type && i < type->rank; i++) axes[i] = i;
    return mica_sum(g, mica_mul(g, a, b), (mica_ints){axes, type ? type->rank : 0});
}

static mica_value sum_of_products(mica_graph *g, const mica_value *a, const mica_value *b,
                                  int32_t n) {
    mica_value sum = mica_scalar(g, MICA_DTYPE_f64, 0);
    for (int32_t i = 0; i < n; i++)
        if (!mica_value_is_null(a[i]) && !mica_value_is_null(b[i]))
            sum = mica_add(g, sum, inner(g, a[i], b[i]));
    return sum;
}

/* A direction per differentiated operand. */
static mica_value add_direction(study *s, const golden_tensor *gradient, unsigned *seed) {
    double *numbers = malloc((size_t)(gradient->n + 1) * sizeof *numbers);
    for (int64_t i = 0; i < gradient->n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        numbers[i] = (double)(*seed >> 8) / 8388608.0 - 1;
    }
    golden_tensor direction = *gradient;
    direction.data = s->memory[s->n_memory++] = numbers;
    return trial_parameter(&s->t, &direction);
}

/* The place of an operand among the graph's parameters. */
static int32_t parameter_place(const golden_case *c, const char *name) {
    int32_t place = 0;
    for (int32_t i = 0; i < c->n_tensors; i++) {
        const char *own;
        if (!golden_is_in(&c->tensors[i], "in", &own)) continue;
        if (!strcmp(own, name)) return place;
        place++;
    }
    return -1;
}

/* Outputs: v = sum(results cotangents); its derivative along the directions by forward mode; the
 * same by reverse mode; the derivative of that, by forward mode over reverse mode. */
static void build_study(study *s) {
    trial *t = &s->t;
    const golden_tensor *found[MOST];
    mica_value inputs[MOST], gradients[MOST], directions[MOST], tangents[GOLDEN_RESULTS];
    mica_value cotangents[GOLDEN_RESULTS] = {{NULL, 0}}, second = MICA_NULL_VALUE;
    int32_t first_cotangent = t->n_inputs, k = 0;
    unsigned seed = 1;
    s->n = trial_gradients(t, found, inputs, gradients);
    for (int32_t i = 0; i < t->c->n_tensors; i++) {
        const char *name;
        if (!golden_is_in(&t->c->tensors[i], "out", &name)) continue;
        if (golden_find(t->c, "ct", name))
            cotangents[k] = mica_graph_parameter(t->g, first_cotangent++);
        k++;
    }
    s->first_direction = t->n_inputs;
    for (int32_t i = 0; i < s->n; i++) {
        const char *name = NULL;
        directions[i] = add_direction(s, found[i], &seed);
        golden_is_in(found[i], "grad", &name);
        s->moved[i] = parameter_place(t->c, name);
    }
    mica_jvp(t->g, t->results, t->n_results, inputs, directions, s->n, tangents);
    mica_value slope = sum_of_products(t->g, gradients, directions, s->n);
    mica_output(t->g, sum_of_products(t->g, t->results, cotangents, t->n_results));
    mica_output(t->g, sum_of_products(t->g, tangents, cotangents, t->n_results));
    mica_output(t->g, slope);
    mica_jvp(t->g, &slope, 1, inputs, directions, s->n, &second);
    mica_output(t->g, mica_value_is_null(second) ? mica_zeros_like(t->g, slope) : second);
}

/* The four outputs at operands + step directions. */
static mica_status study_at(study *s, const program *p, double step, double out[4]) {
    double *inputs[MOST], *outputs[4] = {&out[0], &out[1], &out[2], &out[3]};
    memcpy(inputs, s->t.inputs, sizeof inputs);
    for (int32_t i = 0; i < s->n; i++) {
        int64_t n = mica_type_elements(&p->inputs[s->moved[i]]);
        double *moved = malloc((size_t)(n + 1) * sizeof *moved);
        for (int64_t k = 0; k < n; k++)
            moved[k] = inputs[s->moved[i]][k] + step * inputs[s->first_direction + i][k];
        inputs[s->moved[i]] = moved;
    }
    mica_status status = program_run(p, inputs, outputs);
    for (int32_t i = 0; i < s->n; i++) free(inputs[s->moved[i]]);
    return status;
}

static mica_status check_derivatives(const golden_case *c) {
    study s = {0};
    program p = {0};
    const double h = 1e-5;
    double here[4], above[4], below[4];
    mica_status status = trial_begin(&s.t, c, MICA_DTYPE_f64);
    if (!status) build_study(&s);
    if (!status && s.n == 0) goto done;
    if (!status) status = program_create(&p, s.t.g, "cpu");
    if (!status) status = study_at(&s, &p, 0, here);
    if (!status) status = study_at(&s, &p, h, above);
    if (!status) status = study_at(&s, &p, -h, below);
    if (status) goto done;
    double first = (above[0] - below[0]) / (2 * h), second = (above[2] - below[2]) / (2 * h);
    /* Where a case has its own derivative, forward mode need not be the transpose of it. */
    if (golden_number(c, "differences", 1) != 0) {
        trial_compare(&s.t, "forward mode", &here[1], &here[2], 1, 1e-9);
        trial_compare(&s.t, "difference", &first, &here[2], 1, 2e-6);
        trial_compare(&s.t, "second difference", &second, &here[3], 1, 2e-5);
    }
done:
    for (int32_t i = 0; i < s.n_memory; i++) free(s.memory[i]);
    program_deinit(&p);
    mica_graph_release(s.t.g);
    return status;
}

/* ---- vmap -------------------------------------------------------------------------------------*/

enum { EXAMPLES = 2 };

/* Operands of two examples: those of the case, and the same turned by one place, but for integers,
 * which may have to be different from each other. */
static void two_examples(const trial *t, const program *single, double **both) {
    for (int32_t i = 0; i < t->n_inputs; i++) {
        int64_t n = mica_type_elements(&single->inputs[i]);
        bool turns = mica_dtype_kind_of(single->inputs[i].dtype) == MICA_KIND_FLOAT;
        both[i] = malloc((size_t)(EXAMPLES * n + 1) * sizeof(double));
        for (int64_t k = 0; k < n; k++) {
            both[i][k] = t->inputs[i][k];
            both[i][n + k] = t->inputs[i][turns ? (k + 1) % n : k];
        }
    }
}

static mica_status check_vmap(const golden_case *c) {
    trial t;
    program single = {0}, batched = {0};
    mica_graph *mapped = NULL;
    int32_t axes[MOST] = {0};
    double *both[MOST] = {NULL}, *inputs[MOST], *one[MOST] = {NULL}, *all[MOST] = {NULL};
    mica_status status = trial_begin(&t, c, MICA_DTYPE_f64);
    for (int32_t i = 0; !status && i < t.n_results; i++) mica_output(t.g, t.results[i]);
    if (!status) status = program_create(&single, t.g, "cpu");
    if (!status) status = mica_vmap(t.g, axes, axes, EXAMPLES, NULL, &mapped);
    if (!status) status = program_create(&batched, mapped, "cpu");
    if (!status) {
        two_examples(&t, &single, both);
        program_alloc(&single, one);
        program_alloc(&batched, all);
        status = program_run(&batched, both, all);
    }
    for (int32_t e = 0; !status && e < EXAMPLES; e++) {
        for (int32_t i = 0; i < t.n_inputs; i++)
            inputs[i] = both[i] + e * mica_type_elements(&single.inputs[i]);
        status = program_run(&single, inputs, one);
        for (int32_t i = 0; !status && i < t.n_results; i++) {
            int64_t n = mica_type_elements(&single.outputs[i]);
            trial_compare(&t, "vmap", all[i] + e * n, one[i], n, 1e-12);
        }
    }
    for (int32_t i = 0; i < t.n_inputs; i++) free(both[i]);
    program_free(&single, one);
    program_free(&batched, all);
    program_deinit(&single);
    program_deinit(&batched);
    mica_graph_release(mapped);
    mica_graph_release(t.g);
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------*/

static void on_all_cases(mica_status (*check)(const golden_case *c)) {
    golden_values all;
    REQUIRE(golden_read("tests/nn/golden.txt.gz", &all));
    for (int32_t i = 0; i < all.n; i += getenv("MICA_TEST_QUICK") ? 7 : 1) {
        if (!strcmp(all.cases[i].kind, "optimizer")) continue;
        mica_status status = check(&all.cases[i]);
        if (status) test_report(__FILE__, __LINE__, "%s:", all.cases[i].name);
        CHECK_OK(status);
    }
    golden_free(&all);
}

TEST(first_and_second_derivatives_agree_with_differences_in_both_modes) {
    on_all_cases(check_derivatives);
}

TEST(vmap_gives_what_one_example_at_a_time_gives) {
    on_all_cases(check_vmap);
}
