/* Every layer, loss and optimizer against PyTorch and TensorFlow (golden.txt.gz, made by
 * tests/oracle/make_nn_golden.py): results, gradients, 20 steps of training; in f32 to 1e-5, in
 * f64 to the digits that the golden values have. */
#include "support/golden_runs.h"
#include "test.h"

enum { STEPS = 20, MOST = GOLDEN_MOST };

/* ---- results and gradients --------------------------------------------------------------------*/

static double tolerance_of(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f32 ? 1e-5 : 1e-8;
}

static mica_status check_results(const golden_case *c, mica_dtype dtype, const char *device) {
    trial t;
    program p = {0};
    const golden_tensor *gradients[MOST];
    mica_value inputs[MOST], values[MOST];
    double *outputs[MOST] = {NULL};
    mica_status status = trial_begin(&t, c, dtype);
    for (int32_t i = 0; !status && i < t.n_results; i++) mica_output(t.g, t.results[i]);
    int32_t n_gradients = status ? 0 : trial_gradients(&t, gradients, inputs, values);
    for (int32_t i = 0; i < n_gradients; i++) mica_output(t.g, values[i]);
    if (!status) status = program_create(&p, t.g, device);
    if (!status) {
        program_alloc(&p, outputs);
        status = program_run(&p, t.inputs, outputs);
    }
    for (int32_t i = 0, k = 0; !status && i < c->n_tensors; i++) {
        const golden_tensor *tensor = &c->tensors[i];
        if (!golden_is_in(tensor, "out", NULL)) continue;
        if (mica_type_elements(&p.outputs[k]) != tensor->n ||
            p.outputs[k].rank != tensor->type.rank)
            test_report(__FILE__, __LINE__, "%s: %s has another shape", c->name, tensor->name);
        else
            trial_compare(&t, tensor->name, outputs[k], tensor->data, tensor->n,
                          tolerance_of(dtype));
        k++;
    }
    for (int32_t i = 0; !status && i < n_gradients; i++)
        trial_compare(&t, gradients[i]->name, outputs[t.n_results + i], gradients[i]->data,
                      gradients[i]->n, tolerance_of(dtype));
    program_free(&p, outputs);
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- training ---------------------------------------------------------------------------------*/

/* mean((result - target)^2), or the result itself when the case is a loss to descend. */
static mica_value training_loss(trial *t) {
    mica_value y = t->results[0];
    if (golden_number(t->c, "descends", 0) != 0) return y;
    int64_t axes[MICA_MAX_RANK];
    const mica_type *type = mica_value_type(y);
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i;
    mica_value target = MICA_NULL_VALUE;
    for (int32_t i = 0; i < t->c->n_tensors; i++)
        if (!strcmp(t->c->tensors[i].name, "target"))
            target = trial_parameter(t, &t->c->tensors[i]);
    mica_value error = mica_sub(t->g, y, target);
    return mica_mean(t->g, mica_mul(t->g, error, error), (mica_ints){axes, type->rank});
}

/* w - rate d, and inside the bounds where the case has some. */
static mica_value stepped(trial *t, mica_value w, mica_value d) {
    mica_value rate = mica_scalar(t->g, t->dtype, golden_number(t->c, "rate", 0));
    mica_value next = mica_sub(t->g, w, mica_mul(t->g, rate, d));
    for (int32_t i = 0; i < t->c->n_settings; i++)
        if (!strcmp(t->c->settings[i].name, "bounds"))
            next = mica_clamp(t->g, next, mica_scalar(t->g, t->dtype, t->c->settings[i].values[0]),
                              mica_scalar(t->g, t->dtype, t->c->settings[i].values[1]));
    return next;
}

/* Outputs: the loss, then the trained operands after a step; returns how many of these. */
static int32_t add_step(trial *t, const golden_tensor **trained, int32_t *places) {
    mica_value inputs[MOST], gradients[MOST];
    int32_t n = 0;
    for (int32_t i = 0; i < t->c->n_tensors; i++) {
        const char *name;
        if (!golden_is_in(&t->c->tensors[i], "trained", &name)) continue;
        trained[n] = &t->c->tensors[i];
        int32_t place = 0;
        for (int32_t k = 0; k < t->c->n_tensors; k++) {
            const char *own;
            if (!golden_is_in(&t->c->tensors[k], "in", &own)) continue;
            if (!strcmp(own, name)) {
                places[n] = place;
                inputs[n++] = t->values[k];
                break;
            }
            place++;
        }
    }
    mica_value loss = training_loss(t);
    mica_gradient(t->g, loss, inputs, n, gradients);
    mica_output(t->g, loss);
    for (int32_t i = 0; i < n; i++) mica_output(t->g, stepped(t, inputs[i], gradients[i]));
    return n;
}

static mica_status check_training(const golden_case *c) {
    trial t;
    program p = {0};
    const golden_tensor *trained[MOST], *losses = NULL;
    int32_t places[MOST], n = 0;
    double *outputs[MOST] = {NULL}, found[STEPS];
    for (int32_t i = 0; i < c->n_tensors; i++)
        if (!strcmp(c->tensors[i].name, "losses")) losses = &c->tensors[i];
    if (!losses) return NULL;
    mica_status status = trial_begin(&t, c, MICA_DTYPE_f32);
    if (!status) n = add_step(&t, trained, places);
    if (!status) status = program_create(&p, t.g, "cpu");
    if (!status) program_alloc(&p, outputs);
    for (int32_t step = 0; !status && step < STEPS; step++) {
        status = program_run(&p, t.inputs, outputs);
        if (status) break;
        found[step] = outputs[0][0];
        for (int32_t i = 0; i < n; i++) {
            /* the new value goes in, the old memory (from the second step on) is written next */
            double *old = t.inputs[places[i]];
            t.inputs[places[i]] = outputs[i + 1];
            outputs[i + 1] = step ? old : malloc((size_t)(trained[i]->n + 1) * sizeof(double));
        }
    }
    if (!status) {
        trial_compare(&t, "losses", found, losses->data, STEPS, 1e-5);
        for (int32_t i = 0; i < n; i++) {
            trial_compare(&t, trained[i]->name, t.inputs[places[i]], trained[i]->data,
                          trained[i]->n, 1e-5);
            free(t.inputs[places[i]]);
        }
    }
    program_free(&p, outputs);
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- optimizers -------------------------------------------------------------------------------*/

/* Parameters (rate, time, then for both parameters p, d, state); outputs p', state' for both. */
static mica_status optimizer_graph(const golden_case *c, mica_dtype dtype, mica_graph **out_graph) {
    mica_nn_optimizer o = golden_optimizer(c);
    int32_t n_state = mica_nn_optimizer_state_count(&o);
    mica_value p[2], d[2], state[2][MICA_NN_MAX_STATE], out[1 + MICA_NN_MAX_STATE];
    MICA_TRY(mica_graph_create(c->name, out_graph));
    mica_graph *g = *out_graph;
    mica_type scalar = mica_type_scalar(dtype), whole = mica_type_scalar(MICA_DTYPE_i32);
    mica_value rate = mica_parameter(g, &scalar), time = mica_parameter(g, &whole);
    for (int32_t i = 0; i < 2; i++) {
        mica_type type = golden_find(c, "in", i ? "p1" : "p0")->type;
        type.dtype = dtype;
        p[i] = mica_parameter(g, &type);
        d[i] = mica_parameter(g, &type);
        for (int32_t k = 0; k < n_state; k++) state[i][k] = mica_parameter(g, &type);
    }
    mica_nn_clip_gradients(g, &o, d, 2, d);
    for (int32_t i = 0; i < 2; i++) {
        mica_nn_optimizer_update(g, &o, rate, time, p[i], d[i], state[i], out);
        for (int32_t k = 0; k <= n_state; k++) mica_output(g, out[k]);
    }
    return mica_graph_check(g);
}

static mica_status check_optimizer(const golden_case *c, mica_dtype dtype) {
    enum { INPUTS = 2 + 2 * (2 + MICA_NN_MAX_STATE), ROOM = 8 };
    mica_nn_optimizer o = golden_optimizer(c);
    int32_t n_state = mica_nn_optimizer_state_count(&o), per = 2 + n_state;
    double memory[INPUTS][ROOM] = {{0}}, *inputs[INPUTS], *outputs[INPUTS];
    trial t = {.c = c, .dtype = dtype};
    program p = {0};
    const golden_tensor *start[2] = {golden_find(c, "in", "p0"), golden_find(c, "in", "p1")};
    for (int32_t i = 0; i < INPUTS; i++) inputs[i] = memory[i];
    memory[0][0] = golden_number(c, "rate", 0);
    for (int32_t i = 0; i < 2; i++)
        memcpy(memory[2 + i * per], start[i]->data, (size_t)start[i]->n * sizeof(double));
    mica_status status = optimizer_graph(c, dtype, &t.g);
    if (!status) status = program_create(&p, t.g, "cpu");
    for (int32_t step = 0; !status && step < STEPS; step++) {
        memory[1][0] = step + 1;
        for (int32_t i = 0; i < 2; i++) {
            const golden_tensor *d = golden_find(c, "in", i ? "d1" : "d0");
            memcpy(memory[3 + i * per], d->data + step * start[i]->n,
                   (size_t)start[i]->n * sizeof(double));
            outputs[i * (1 + n_state)] = memory[2 + i * per];
            for (int32_t k = 0; k < n_state; k++)
                outputs[i * (1 + n_state) + 1 + k] = memory[4 + i * per + k];
        }
        status = program_run(&p, inputs, outputs);
    }
    for (int32_t i = 0; !status && i < 2; i++)
        trial_compare(&t, i ? "p1" : "p0", memory[2 + i * per],
                      golden_find(c, "trained", i ? "p1" : "p0")->data, start[i]->n,
                      tolerance_of(dtype));
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------*/

typedef mica_status (*check)(const golden_case *c);

/* Runs a check on all cases but optimizers; quick runs take every fifth. */
static void on_all_cases(check f) {
    golden_values all;
    REQUIRE(golden_read("tests/nn/golden.txt.gz", &all));
    CHECK(all.n > 200);
    for (int32_t i = 0; i < all.n; i += getenv("MICA_TEST_QUICK") ? 5 : 1) {
        if (!strcmp(all.cases[i].kind, "optimizer")) continue;
        mica_status status = f(&all.cases[i]);
        if (status) test_report(__FILE__, __LINE__, "%s:", all.cases[i].name);
        CHECK_OK(status);
    }
    golden_free(&all);
}

static mica_status results_in_f32(const golden_case *c) {
    return check_results(c, MICA_DTYPE_f32, "cpu");
}
static mica_status results_in_f64(const golden_case *c) {
    return check_results(c, MICA_DTYPE_f64, "cpu");
}
static mica_status results_by_reference(const golden_case *c) {
    return check_results(c, MICA_DTYPE_f64, "ref");
}

TEST(every_layer_and_loss_gives_the_golden_values_in_f32) {
    on_all_cases(results_in_f32);
}

TEST(every_layer_and_loss_gives_the_golden_values_in_f64) {
    on_all_cases(results_in_f64);
}

TEST(the_reference_device_gives_the_golden_values_too) {
    on_all_cases(results_by_reference);
}

TEST(twenty_steps_of_training_go_as_the_golden_values_say) {
    on_all_cases(check_training);
}

TEST(twenty_steps_of_every_optimizer_go_as_pytorch_goes) {
    golden_values all;
    int32_t n = 0;
    REQUIRE(golden_read("tests/nn/golden.txt.gz", &all));
    for (int32_t i = 0; i < all.n; i++) {
        if (strcmp(all.cases[i].kind, "optimizer") != 0) continue;
        CHECK_OK(check_optimizer(&all.cases[i], MICA_DTYPE_f32));
        CHECK_OK(check_optimizer(&all.cases[i], MICA_DTYPE_f64));
        n++;
    }
    CHECK(n >= 20);
    golden_free(&all);
}
