/* Every layer, loss and optimizer against PyTorch and TensorFlow (figures.txt.gz, made by
 * tests/oracle/make_nn_figures.py): results, gradients, 20 steps of training; in f32 to 1e-5, in
 * f64 to the digits that the figures have. Gradients also against differences. */
#include "mica/runtime.h"
#include "support/figures.h"
#include "test.h"

enum { STEPS = 20, MOST = 256 };

/* ---- running a graph --------------------------------------------------------------------------*/

typedef struct program {
    mica_device *device;
    mica_executable *executable;
    int32_t n_inputs, n_outputs;
    mica_type inputs[MOST], outputs[MOST];
} program;

static void element_store(mica_dtype dtype, void *to, int64_t i, double value) {
    switch (dtype) {
    case MICA_DTYPE_f32: ((float *)to)[i] = (float)value; break;
    case MICA_DTYPE_f64: ((double *)to)[i] = value; break;
    case MICA_DTYPE_i32: ((int32_t *)to)[i] = (int32_t)value; break;
    default: ((uint8_t *)to)[i] = value != 0;
    }
}

static double element_load(mica_dtype dtype, const void *from, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_f32: return ((const float *)from)[i];
    case MICA_DTYPE_f64: return ((const double *)from)[i];
    case MICA_DTYPE_i32: return ((const int32_t *)from)[i];
    default: return ((const uint8_t *)from)[i];
    }
}

static mica_status program_create(program *p, mica_graph *g) {
    p->n_inputs = mica_graph_parameter_count(g);
    p->n_outputs = mica_graph_output_count(g);
    MICA_TRY(mica_graph_verify(g));
    for (int32_t i = 0; i < p->n_inputs; i++)
        p->inputs[i] = *mica_value_type(mica_graph_parameter(g, i));
    for (int32_t i = 0; i < p->n_outputs; i++)
        p->outputs[i] = *mica_value_type(mica_graph_output(g, i));
    MICA_TRY(mica_device_open("cpu", &p->device));
    return mica_executable_create(p->device, g, NULL, &p->executable);
}

static void program_deinit(program *p) {
    mica_executable_release(p->executable);
    mica_device_release(p->device);
}

static mica_status upload(const program *p, int32_t i, const double *values, mica_tensor **out) {
    const mica_type *type = &p->inputs[i];
    void *bytes = malloc(mica_type_bytes(type) + 1);
    for (int64_t k = 0; k < mica_type_elements(type); k++)
        element_store(type->dtype, bytes, k, values[k]);
    mica_status status = mica_tensor_from_host(p->device, type, bytes, out);
    free(bytes);
    return status;
}

static mica_status download(const program *p, int32_t i, mica_tensor *tensor, double *values) {
    const mica_type *type = &p->outputs[i];
    void *bytes = malloc(mica_type_bytes(type) + 1);
    mica_status status = mica_tensor_to_host(tensor, bytes, mica_type_bytes(type));
    for (int64_t k = 0; !status && k < mica_type_elements(type); k++)
        values[k] = element_load(type->dtype, bytes, k);
    free(bytes);
    return status;
}

/* Numbers in, numbers out; the caller owns all the memory. */
static mica_status program_run(const program *p, double *const *inputs, double **outputs) {
    mica_tensor *in[MOST] = {NULL}, *out[MOST] = {NULL};
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < p->n_inputs; i++) status = upload(p, i, inputs[i], &in[i]);
    mica_run_args args = {.size = sizeof args,
                          .inputs = in,
                          .n_inputs = p->n_inputs,
                          .outputs = out,
                          .n_outputs = p->n_outputs};
    if (!status) status = mica_executable_run(p->executable, &args, NULL);
    for (int32_t i = 0; !status && i < p->n_outputs; i++)
        status = download(p, i, out[i], outputs[i]);
    for (int32_t i = 0; i < p->n_inputs; i++) mica_tensor_release(in[i]);
    for (int32_t i = 0; i < p->n_outputs; i++) mica_tensor_release(out[i]);
    return status;
}

static void outputs_alloc(const program *p, double **outputs) {
    for (int32_t i = 0; i < p->n_outputs; i++)
        outputs[i] = malloc((size_t)(mica_type_elements(&p->outputs[i]) + 1) * sizeof(double));
}

static void outputs_free(const program *p, double **outputs) {
    for (int32_t i = 0; i < p->n_outputs; i++) free(outputs[i]);
}

/* ---- the graph of a case ----------------------------------------------------------------------*/

typedef struct trial {
    const figure_case *c;
    mica_dtype dtype;
    mica_graph *g;
    mica_value values[MOST], results[FIGURE_RESULTS];
    int32_t n_results;
    double *inputs[MOST]; /* of the graph's parameters, in order; borrowed */
    int32_t n_inputs;
} trial;

static bool is_float(const figure_tensor *t) {
    return t->type.dtype == MICA_DTYPE_f32;
}

static mica_value trial_parameter(trial *t, const figure_tensor *tensor) {
    mica_type type = tensor->type;
    if (is_float(tensor)) type.dtype = t->dtype;
    t->inputs[t->n_inputs++] = tensor->data;
    return mica_parameter(t->g, &type);
}

static mica_status trial_begin(trial *t, const figure_case *c, mica_dtype dtype) {
    *t = (trial){.c = c, .dtype = dtype};
    MICA_TRY(mica_graph_create(c->name, &t->g));
    for (int32_t i = 0; i < c->n_tensors; i++)
        if (figure_is_in(&c->tensors[i], "in", NULL))
            t->values[i] = trial_parameter(t, &c->tensors[i]);
    figure_operands operands = {c, t->values};
    t->n_results = figure_build(t->g, &operands, t->results);
    return mica_graph_check(t->g);
}

/* |a - b| <= tolerance (1 + |b|) for all elements. */
static void compare(const trial *t, const char *what, const double *a, const double *b, int64_t n,
                    double tolerance) {
    for (int64_t i = 0; i < n; i++) {
        test_checks++;
        if (fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))) continue;
        test_report(__FILE__, __LINE__, "%s in %s, %s[%lld]: %.10g, but the figure is %.10g",
                    t->c->name, mica_dtype_name(t->dtype), what, (long long)i, a[i], b[i]);
        return;
    }
}

static double tolerance_of(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f32 ? 1e-5 : 1e-8;
}

/* ---- results and gradients --------------------------------------------------------------------*/

/* Appends the gradients of sum(results cotangents); returns how many. */
static int32_t add_gradients(trial *t, const figure_tensor **found) {
    mica_value cotangents[FIGURE_RESULTS], inputs[MOST], gradients[MOST];
    int32_t n = 0, n_results = 0, n_cotangents = 0;
    for (int32_t i = 0; i < t->c->n_tensors; i++) {
        const figure_tensor *tensor = &t->c->tensors[i];
        const char *name;
        if (figure_is_in(tensor, "out", &name) && n_results < t->n_results) {
            const figure_tensor *ct = figure_find(t->c, "ct", name);
            n_cotangents += ct != NULL;
            cotangents[n_results++] = ct ? trial_parameter(t, ct) : MICA_NULL_VALUE;
        }
        if (!figure_is_in(tensor, "grad", &name)) continue;
        found[n] = tensor;
        inputs[n++] = t->values[figure_find(t->c, "in", name) - t->c->tensors];
    }
    if (!n || !n_cotangents) return 0;
    mica_vjp(t->g, t->results, cotangents, t->n_results, inputs, n, gradients);
    for (int32_t i = 0; i < n; i++)
        mica_output(t->g, mica_value_is_null(gradients[i]) ? mica_zeros_like(t->g, inputs[i])
                                                           : gradients[i]);
    return n;
}

static mica_status check_results(const figure_case *c, mica_dtype dtype) {
    trial t;
    program p = {0};
    const figure_tensor *gradients[MOST];
    double *outputs[MOST] = {NULL};
    mica_status status = trial_begin(&t, c, dtype);
    for (int32_t i = 0; !status && i < t.n_results; i++) mica_output(t.g, t.results[i]);
    int32_t n_gradients = status ? 0 : add_gradients(&t, gradients);
    if (!status) status = program_create(&p, t.g);
    if (!status) {
        outputs_alloc(&p, outputs);
        status = program_run(&p, t.inputs, outputs);
    }
    for (int32_t i = 0, k = 0; !status && i < c->n_tensors; i++) {
        const figure_tensor *tensor = &c->tensors[i];
        if (!figure_is_in(tensor, "out", NULL)) continue;
        if (mica_type_elements(&p.outputs[k]) != tensor->n ||
            p.outputs[k].rank != tensor->type.rank)
            test_report(__FILE__, __LINE__, "%s: %s has another shape", c->name, tensor->name);
        else
            compare(&t, tensor->name, outputs[k], tensor->data, tensor->n, tolerance_of(dtype));
        k++;
    }
    for (int32_t i = 0; !status && i < n_gradients; i++)
        compare(&t, gradients[i]->name, outputs[t.n_results + i], gradients[i]->data,
                gradients[i]->n, tolerance_of(dtype));
    outputs_free(&p, outputs);
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- differences ------------------------------------------------------------------------------*/

/* sum(results cotangents) with every differentiated operand moved by `step` times its direction. */
static mica_status moved_sum(const trial *t, const program *p, const double *directions,
                             double step, double **outputs, double *out_sum) {
    double *inputs[MOST];
    int32_t at = 0, k = 0;
    memcpy(inputs, t->inputs, sizeof inputs);
    for (int32_t i = 0; i < t->c->n_tensors; i++) {
        const figure_tensor *tensor = &t->c->tensors[i];
        const char *name;
        if (!figure_is_in(tensor, "in", &name)) continue;
        if (figure_find(t->c, "grad", name)) {
            inputs[k] = malloc((size_t)(tensor->n + 1) * sizeof(double));
            for (int64_t j = 0; j < tensor->n; j++)
                inputs[k][j] = tensor->data[j] + step * directions[at++];
        }
        k++;
    }
    mica_status status = program_run(p, inputs, outputs);
    for (int32_t i = 0; i < t->n_inputs; i++)
        if (inputs[i] != t->inputs[i]) free(inputs[i]);
    *out_sum = 0;
    k = 0;
    for (int32_t i = 0; !status && i < t->c->n_tensors; i++) {
        const char *name;
        if (!figure_is_in(&t->c->tensors[i], "out", &name)) continue;
        const figure_tensor *ct = figure_find(t->c, "ct", name);
        for (int64_t j = 0; ct && j < ct->n; j++) *out_sum += outputs[k][j] * ct->data[j];
        k++;
    }
    return status;
}

static mica_status check_differences(const figure_case *c) {
    enum { ROOM = 4096 };
    trial t;
    program p = {0};
    double directions[ROOM], slope = 0, above = 0, below = 0, *outputs[MOST] = {NULL};
    const double h = 1e-5;
    int32_t n = 0;
    unsigned seed = 1;
    for (int32_t i = 0; i < c->n_tensors; i++) {
        const char *name;
        if (!figure_is_in(&c->tensors[i], "in", &name)) continue;
        const figure_tensor *gradient = figure_find(c, "grad", name);
        for (int64_t j = 0; gradient && j < gradient->n && n < ROOM; j++) {
            seed = seed * 1664525u + 1013904223u;
            directions[n] = (double)(seed >> 8) / 8388608.0 - 1;
            slope += gradient->data[j] * directions[n++];
        }
    }
    if (n == 0) return NULL;
    mica_status status = trial_begin(&t, c, MICA_DTYPE_f64);
    for (int32_t i = 0; !status && i < t.n_results; i++) mica_output(t.g, t.results[i]);
    if (!status) status = program_create(&p, t.g);
    if (!status) {
        outputs_alloc(&p, outputs);
        status = moved_sum(&t, &p, directions, h, outputs, &above);
    }
    if (!status) status = moved_sum(&t, &p, directions, -h, outputs, &below);
    double difference = (above - below) / (2 * h);
    if (!status) compare(&t, "difference", &difference, &slope, 1, 2e-6);
    outputs_free(&p, outputs);
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- training ---------------------------------------------------------------------------------*/

/* mean((result - target)^2), or the result itself when the case is a loss to descend. */
static mica_value training_loss(trial *t) {
    mica_value y = t->results[0];
    if (figure_number(t->c, "descends", 0) != 0) return y;
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
    mica_value rate = mica_scalar(t->g, t->dtype, figure_number(t->c, "rate", 0));
    mica_value next = mica_sub(t->g, w, mica_mul(t->g, rate, d));
    for (int32_t i = 0; i < t->c->n_settings; i++)
        if (!strcmp(t->c->settings[i].name, "bounds"))
            next = mica_clamp(t->g, next, mica_scalar(t->g, t->dtype, t->c->settings[i].values[0]),
                              mica_scalar(t->g, t->dtype, t->c->settings[i].values[1]));
    return next;
}

/* Outputs: the loss, then the trained operands after a step; returns how many of these. */
static int32_t add_step(trial *t, const figure_tensor **trained, int32_t *places) {
    mica_value inputs[MOST], gradients[MOST];
    int32_t n = 0;
    for (int32_t i = 0; i < t->c->n_tensors; i++) {
        const char *name;
        if (!figure_is_in(&t->c->tensors[i], "trained", &name)) continue;
        trained[n] = &t->c->tensors[i];
        int32_t place = 0;
        for (int32_t k = 0; k < t->c->n_tensors; k++) {
            const char *own;
            if (!figure_is_in(&t->c->tensors[k], "in", &own)) continue;
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

static mica_status check_training(const figure_case *c) {
    trial t;
    program p = {0};
    const figure_tensor *trained[MOST], *losses = NULL;
    int32_t places[MOST], n = 0;
    double *outputs[MOST] = {NULL}, found[STEPS];
    for (int32_t i = 0; i < c->n_tensors; i++)
        if (!strcmp(c->tensors[i].name, "losses")) losses = &c->tensors[i];
    if (!losses) return NULL;
    mica_status status = trial_begin(&t, c, MICA_DTYPE_f32);
    if (!status) n = add_step(&t, trained, places);
    if (!status) status = program_create(&p, t.g);
    if (!status) outputs_alloc(&p, outputs);
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
        compare(&t, "losses", found, losses->data, STEPS, 1e-5);
        for (int32_t i = 0; i < n; i++) {
            compare(&t, trained[i]->name, t.inputs[places[i]], trained[i]->data, trained[i]->n,
                    2e-5);
            free(t.inputs[places[i]]);
        }
    }
    outputs_free(&p, outputs);
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- optimizers -------------------------------------------------------------------------------*/

/* Parameters (rate, time, then for both parameters p, d, state); outputs p', state' for both. */
static mica_status optimizer_graph(const figure_case *c, mica_dtype dtype, mica_graph **out_graph) {
    mica_nn_optimizer o = figure_optimizer(c);
    int32_t n_state = mica_nn_optimizer_state_count(&o);
    mica_value p[2], d[2], state[2][MICA_NN_MAX_STATE], out[1 + MICA_NN_MAX_STATE];
    MICA_TRY(mica_graph_create(c->name, out_graph));
    mica_graph *g = *out_graph;
    mica_type scalar = mica_type_scalar(dtype), whole = mica_type_scalar(MICA_DTYPE_i32);
    mica_value rate = mica_parameter(g, &scalar), time = mica_parameter(g, &whole);
    for (int32_t i = 0; i < 2; i++) {
        mica_type type = figure_find(c, "in", i ? "p1" : "p0")->type;
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

static mica_status check_optimizer(const figure_case *c, mica_dtype dtype) {
    enum { INPUTS = 2 + 2 * (2 + MICA_NN_MAX_STATE), ROOM = 8 };
    mica_nn_optimizer o = figure_optimizer(c);
    int32_t n_state = mica_nn_optimizer_state_count(&o), per = 2 + n_state;
    double memory[INPUTS][ROOM] = {{0}}, *inputs[INPUTS], *outputs[INPUTS];
    trial t = {.c = c, .dtype = dtype};
    program p = {0};
    const figure_tensor *start[2] = {figure_find(c, "in", "p0"), figure_find(c, "in", "p1")};
    for (int32_t i = 0; i < INPUTS; i++) inputs[i] = memory[i];
    memory[0][0] = figure_number(c, "rate", 0);
    for (int32_t i = 0; i < 2; i++)
        memcpy(memory[2 + i * per], start[i]->data, (size_t)start[i]->n * sizeof(double));
    mica_status status = optimizer_graph(c, dtype, &t.g);
    if (!status) status = program_create(&p, t.g);
    for (int32_t step = 0; !status && step < STEPS; step++) {
        memory[1][0] = step + 1;
        for (int32_t i = 0; i < 2; i++) {
            const figure_tensor *d = figure_find(c, "in", i ? "d1" : "d0");
            memcpy(memory[3 + i * per], d->data + step * start[i]->n,
                   (size_t)start[i]->n * sizeof(double));
            outputs[i * (1 + n_state)] = memory[2 + i * per];
            for (int32_t k = 0; k < n_state; k++)
                outputs[i * (1 + n_state) + 1 + k] = memory[4 + i * per + k];
        }
        status = program_run(&p, inputs, outputs);
    }
    for (int32_t i = 0; !status && i < 2; i++)
        compare(&t, i ? "p1" : "p0", memory[2 + i * per],
                figure_find(c, "trained", i ? "p1" : "p0")->data, start[i]->n, tolerance_of(dtype));
    program_deinit(&p);
    mica_graph_release(t.g);
    return status;
}

/* ---- tests ------------------------------------------------------------------------------------*/

typedef mica_status (*check)(const figure_case *c);

/* Runs a check on all cases but optimizers; quick runs take every fifth. */
static void on_all_cases(check f) {
    figures all;
    REQUIRE(figures_read("tests/nn/figures.txt.gz", &all));
    CHECK(all.n > 200);
    for (int32_t i = 0; i < all.n; i += getenv("MICA_TEST_QUICK") ? 5 : 1) {
        if (!strcmp(all.cases[i].kind, "optimizer")) continue;
        mica_status status = f(&all.cases[i]);
        if (status) test_report(__FILE__, __LINE__, "%s:", all.cases[i].name);
        CHECK_OK(status);
    }
    figures_free(&all);
}

static mica_status results_in_f32(const figure_case *c) {
    return check_results(c, MICA_DTYPE_f32);
}
static mica_status results_in_f64(const figure_case *c) {
    return check_results(c, MICA_DTYPE_f64);
}
static mica_status differences_unless_custom(const figure_case *c) {
    return figure_number(c, "differences", 1) != 0 ? check_differences(c) : NULL;
}

TEST(every_layer_and_loss_gives_the_figures_in_f32) {
    on_all_cases(results_in_f32);
}

TEST(every_layer_and_loss_gives_the_figures_in_f64) {
    on_all_cases(results_in_f64);
}

TEST(every_gradient_agrees_with_differences) {
    on_all_cases(differences_unless_custom);
}

TEST(twenty_steps_of_training_go_as_the_figures_say) {
    on_all_cases(check_training);
}

TEST(twenty_steps_of_every_optimizer_go_as_pytorch_goes) {
    figures all;
    int32_t n = 0;
    REQUIRE(figures_read("tests/nn/figures.txt.gz", &all));
    for (int32_t i = 0; i < all.n; i++) {
        if (strcmp(all.cases[i].kind, "optimizer") != 0) continue;
        CHECK_OK(check_optimizer(&all.cases[i], MICA_DTYPE_f32));
        CHECK_OK(check_optimizer(&all.cases[i], MICA_DTYPE_f64));
        n++;
    }
    CHECK(n >= 20);
    figures_free(&all);
}
