/* Random graphs on every device: values against the reference, bit for bit where arithmetic is
 * exact; gradients against the reference, against forward mode and against differences of the
 * values. 200 of each, 2,000 with MICA_TEST_SOAK=1, 20 with MICA_TEST_QUICK=1. */
#include <mica/mica.h>

#include "ir/graph.h"
#include "support/random_graph.h"
#include "test.h"

enum { PARTICIPANTS = 2 };
/* cpu and fake, or the one that MICA_TEST_DEVICE names. */
static const char *devices[] = {"cpu", "fake"};

static int device_count(void) {
    if (!getenv("MICA_TEST_DEVICE")) return 2;
    devices[0] = getenv("MICA_TEST_DEVICE");
    return 1;
}

static uint64_t how_many(void) {
    if (getenv("MICA_TEST_GRAPHS")) return strtoull(getenv("MICA_TEST_GRAPHS"), NULL, 10);
    if (getenv("MICA_TEST_SOAK")) return 2000;
    return getenv("MICA_TEST_QUICK") ? 20 : 200;
}

/* ---- running ---------------------------------------------------------------------------------*/

/* Host arrays of a graph's inputs or outputs. */
typedef struct arrays {
    uint8_t **data;
    int32_t n;
} arrays;

static arrays arrays_like(const mica_value *values, int32_t n) {
    arrays a = {calloc((size_t)n + 1, sizeof *a.data), n};
    for (int32_t i = 0; i < n; i++)
        a.data[i] = calloc(mica_type_bytes(mica_value_type(values[i])) + 1, 1);
    return a;
}

static void arrays_free(arrays a) {
    for (int32_t i = 0; i < a.n; i++) free(a.data[i]);
    free(a.data);
}

static mica_status run_on(mica_device *device, const mica_graph *g, arrays inputs, arrays outputs) {
    mica_executable *exe = NULL;
    mica_tensor **in = calloc((size_t)inputs.n + 1, sizeof *in);
    mica_tensor **out = calloc((size_t)outputs.n + 1, sizeof *out);
    mica_status status = mica_executable_create(device, g, NULL, &exe);
    for (int32_t i = 0; i < inputs.n && !status; i++)
        status = mica_tensor_from_host(device, mica_value_type(g->parameters[i]), inputs.data[i],
                                       &in[i]);
    mica_run_args args = {.size = sizeof args,
                          .inputs = in,
                          .n_inputs = inputs.n,
                          .outputs = out,
                          .n_outputs = outputs.n};
    if (!status) status = mica_executable_run(exe, &args, NULL);
    for (int32_t i = 0; i < outputs.n && !status; i++)
        status =
            mica_tensor_to_host(out[i], outputs.data[i], mica_type_bytes(mica_tensor_type(out[i])));
    for (int32_t i = 0; i < inputs.n; i++) mica_tensor_release(in[i]);
    for (int32_t i = 0; i < outputs.n; i++) mica_tensor_release(out[i]);
    free(in);
    free(out);
    mica_executable_release(exe);
    return status;
}

static bool run(const char *name, const mica_graph *g, arrays inputs, arrays outputs) {
    mica_device *device = NULL;
    mica_status status = mica_device_open(name, &device);
    if (!status) status = run_on(device, g, inputs, outputs);
    mica_device_release(device);
    return test_ok(status, __FILE__, __LINE__, name);
}

/* ---- values ----------------------------------------------------------------------------------*/

/* A NaN's sign and payload are not defined. */
static bool is_nan(mica_dtype dtype, const uint8_t *element) {
    uint16_t half;
    float single;
    double wide;
    memcpy(&half, element, sizeof half);
    if (dtype == MICA_DTYPE_f16) return (half & 0x7fff) > 0x7c00;
    if (dtype == MICA_DTYPE_bf16) return (half & 0x7fff) > 0x7f80;
    if (dtype == MICA_DTYPE_f32) return memcpy(&single, element, 4), isnan(single);
    if (dtype == MICA_DTYPE_f64) return memcpy(&wide, element, 8), isnan(wide);
    return false;
}

static bool same_bits(const mica_type *type, const uint8_t *a, const uint8_t *b) {
    mica_dtype dtype = type->dtype;
    size_t bytes = mica_dtype_bytes(dtype), n = (size_t)mica_type_elements(type);
    if (mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX) {
        dtype = dtype == MICA_DTYPE_c64 ? MICA_DTYPE_f32 : MICA_DTYPE_f64;
        bytes /= 2, n *= 2;
    }
    for (; n > 0; n--, a += bytes, b += bytes)
        if (memcmp(a, b, bytes) != 0 && !(is_nan(dtype, a) && is_nan(dtype, b))) return false;
    return true;
}

/* Gives back its first argument. */
static mica_status echo(void *context, const void *const *inputs, const mica_type *input_types,
                        int32_t n_inputs, void *const *outputs, const mica_type *output_types,
                        int32_t n_outputs) {
    (void)context, (void)input_types, (void)n_inputs;
    for (int32_t i = 0; i < n_outputs; i++) {
        size_t bytes = mica_type_bytes(&output_types[i]);
        if (bytes) memcpy(outputs[i], inputs[0], bytes);
    }
    return NULL;
}

/* Every participant of the collectives' axis, with data of its own. NULL where there is no rule. */
static mica_graph *over_axis(mica_graph *g) {
    mica_graph *batched = NULL;
    int32_t *axes = calloc((size_t)(g->n_parameters + g->n_outputs) + 1, sizeof *axes);
    mica_status status =
        mica_vmap(g, axes, axes + g->n_parameters, PARTICIPANTS, "participants", &batched);
    if (mica_status_code(status) == MICA_UNSUPPORTED)
        mica_status_release(status);
    else
        (void)test_ok(status, __FILE__, __LINE__, "vmap");
    free(axes);
    mica_graph_release(g);
    return batched;
}

static bool values_agree(uint64_t seed, int64_t host_function) {
    bool collectives = seed % 4 == 0;
    random_graph_options options = {.seed = seed,
                                    .n_nodes = 40,
                                    .exact = true,
                                    .complex = seed % 2,
                                    .axis_name = collectives ? "participants" : NULL,
                                    .axis_size = PARTICIPANTS,
                                    .host_function = collectives ? 0 : host_function};
    mica_graph *g = random_graph(&options);
    if (collectives) g = over_axis(g);
    if (!g) return false;
    CHECK_OK(mica_graph_verify(g));
    arrays in = arrays_like(g->parameters, g->n_parameters);
    arrays want = arrays_like(g->outputs, g->n_outputs), got = arrays_like(g->outputs, want.n);
    for (int32_t i = 0; i < in.n; i++)
        random_data(seed * 1000 + (uint64_t)i, mica_value_type(g->parameters[i]), in.data[i]);
    bool ran = run("ref", g, in, want);
    for (int d = 0; ran && d < device_count(); d++) {
        if (!run(devices[d], g, in, got)) continue;
        test_checks++;
        for (int32_t i = 0; i < want.n; i++)
            if (!same_bits(mica_value_type(g->outputs[i]), got.data[i], want.data[i]))
                test_report(__FILE__, __LINE__, "seed %llu: output %d (%s) on %s differs",
                            (unsigned long long)seed, i, mica_op_name(g->outputs[i].node->op),
                            devices[d]);
    }
    arrays_free(in);
    arrays_free(want);
    arrays_free(got);
    mica_graph_release(g);
    return true;
}

TEST(values_of_random_graphs_are_those_of_the_reference) {
    int64_t function = mica_host_function_register(echo, NULL);
    uint64_t compared = 0;
    for (uint64_t seed = 0; seed < how_many(); seed++) compared += values_agree(seed, function);
    CHECK(compared >= how_many() * 9 / 10);
    mica_host_function_unregister(function);
}

/* ---- gradients -------------------------------------------------------------------------------*/

enum { MOST = 400 };

/* A copy of a random graph with its float inputs x, a direction t for each, its float outputs y and
 * a cotangent c for each. */
typedef struct problem {
    mica_graph *g;
    mica_value x[MOST], t[MOST], y[MOST], c[MOST];
    int32_t x_place[MOST], t_place[MOST]; /* among the parameters */
    int32_t n, m;
} problem;

static bool is_float(const mica_type *type) {
    return type->kind == MICA_TENSOR && type->dtype == MICA_DTYPE_f64;
}

static bool problem_init(problem *p, uint64_t seed) {
    random_graph_options options = {.seed = seed, .n_nodes = 30, .derivatives = true};
    mica_graph *source = random_graph(&options);
    mica_value *in = calloc((size_t)source->n_parameters + 1, sizeof *in);
    mica_value *out = calloc((size_t)source->n_outputs + 1, sizeof *out);
    *p = (problem){0};
    bool made = test_ok(mica_graph_create("gradients", &p->g), __FILE__, __LINE__, "create") &&
                source->n_parameters < MOST && source->n_outputs < MOST;
    for (int32_t i = 0; made && i < source->n_parameters; i++) {
        in[i] = mica_parameter(p->g, mica_value_type(source->parameters[i]));
        if (!is_float(mica_value_type(in[i]))) continue;
        p->x_place[p->n] = i;
        p->x[p->n++] = in[i];
    }
    for (int32_t i = 0; i < p->n; i++) {
        p->t_place[i] = p->g->n_parameters;
        p->t[i] = mica_parameter(p->g, mica_value_type(p->x[i]));
    }
    if (made) mica_inline(p->g, source, in, source->n_parameters, out);
    for (int32_t i = 0; made && i < source->n_outputs; i++)
        if (is_float(mica_value_type(out[i]))) p->y[p->m++] = out[i];
    for (int32_t i = 0; i < p->m; i++) p->c[i] = mica_parameter(p->g, mica_value_type(p->y[i]));
    free(in);
    free(out);
    mica_graph_release(source);
    return made;
}

/* The sum over i of <a[i], b[i]>, where a null a[i] is zero; adds absolute values to *magnitude. */
static mica_value inner_product(mica_graph *g, const mica_value *a, const mica_value *b, int32_t n,
                                mica_value *magnitude) {
    static const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    mica_value total = mica_scalar(g, MICA_DTYPE_f64, 0);
    for (int32_t i = 0; i < n && !g->error; i++) {
        if (mica_value_is_null(a[i])) continue;
        mica_value products = mica_mul(g, a[i], b[i]);
        mica_ints all = {axes, mica_value_type(a[i])->rank};
        total = mica_add(g, total, mica_reduce(g, products, "sum", all));
        *magnitude = mica_add(g, *magnitude, mica_reduce(g, mica_abs(g, products), "sum", all));
    }
    return total;
}

/* The numbers that are compared, the graph's first outputs. Gradients follow. */
enum { VALUE, FORWARD, REVERSE, MAGNITUDE, NUMBERS };

static void add_outputs(problem *p) {
    mica_value dy[MOST], dx[MOST], numbers[NUMBERS];
    numbers[MAGNITUDE] = mica_scalar(p->g, MICA_DTYPE_f64, 1);
    mica_jvp(p->g, p->y, p->m, p->x, p->t, p->n, dy);
    mica_vjp(p->g, p->y, p->c, p->m, p->x, p->n, dx);
    numbers[VALUE] = inner_product(p->g, p->y, p->c, p->m, &numbers[MAGNITUDE]);
    numbers[FORWARD] = inner_product(p->g, dy, p->c, p->m, &numbers[MAGNITUDE]);
    numbers[REVERSE] = inner_product(p->g, dx, p->t, p->n, &numbers[MAGNITUDE]);
    for (int i = 0; i < NUMBERS; i++) mica_output(p->g, numbers[i]);
    for (int32_t i = 0; i < p->n; i++)
        if (!mica_value_is_null(dx[i])) mica_output(p->g, dx[i]);
}

/* Away from the whole numbers of random_data, where functions have kinks, and from each other. */
static void move_off(const mica_type *type, int32_t which, uint8_t *bytes) {
    double *numbers = (double *)bytes;
    for (int64_t i = 0; is_float(type) && i < mica_type_elements(type); i++)
        numbers[i] += 0.0625 * sin(1 + 1.7 * (double)i + 0.3 * numbers[i] + 2.9 * which);
}

static double number(arrays outputs, int which) {
    double value;
    memcpy(&value, outputs.data[which], sizeof value);
    return value;
}

/* <c, y> on the reference at x + step t. */
static double value_at(const problem *p, arrays in, arrays out, double step) {
    arrays moved = arrays_like(p->g->parameters, in.n);
    for (int32_t i = 0; i < in.n; i++)
        memcpy(moved.data[i], in.data[i], mica_type_bytes(mica_value_type(p->g->parameters[i])));
    for (int32_t i = 0; i < p->n; i++) {
        double *x = (double *)moved.data[p->x_place[i]];
        const double *t = (const double *)moved.data[p->t_place[i]];
        for (int64_t j = 0; j < mica_type_elements(mica_value_type(p->x[i])); j++)
            x[j] += step * t[j];
    }
    bool ran = run("ref", p->g, moved, out);
    arrays_free(moved);
    return ran ? number(out, VALUE) : NAN;
}

/* Five points. */
static double difference(const problem *p, arrays in, arrays out, double h) {
    double near = value_at(p, in, out, h) - value_at(p, in, out, -h);
    double far = value_at(p, in, out, 2 * h) - value_at(p, in, out, -2 * h);
    return (8 * near - far) / (12 * h);
}

typedef struct tally {
    int finite, smooth;
} tally;

static void check_near(uint64_t seed, const char *what, double a, double b, double allowed) {
    test_checks++;
    if (!(fabs(a - b) <= allowed))
        test_report(__FILE__, __LINE__, "seed %llu, %s: %.15g and %.15g, %g apart at most",
                    (unsigned long long)seed, what, a, b, allowed);
}

/* Differences of two steps that agree were not taken across a kink. */
static void check_differences(const problem *p, uint64_t seed, arrays in, double gradient,
                              double magnitude, tally *count) {
    arrays out = arrays_like(p->g->outputs, p->g->n_outputs);
    double wide = difference(p, in, out, 2e-4), narrow = difference(p, in, out, 1e-4);
    if (fabs(wide - narrow) <= 1e-5 * magnitude) {
        count->smooth++;
        check_near(seed, "gradient and differences", gradient, narrow,
                   10 * fabs(wide - narrow) + 1e-6 * magnitude);
    }
    arrays_free(out);
}

static void check_devices(const problem *p, uint64_t seed, arrays in, arrays want) {
    arrays got = arrays_like(p->g->outputs, want.n);
    for (int d = 0; d < device_count(); d++) {
        if (!run(devices[d], p->g, in, got)) continue;
        for (int32_t i = 0; i < want.n; i++) {
            const double *a = (const double *)got.data[i], *b = (const double *)want.data[i];
            int64_t n = mica_type_elements(mica_value_type(p->g->outputs[i]));
            double largest = 0;
            for (int64_t j = 0; j < n; j++)
                if (isfinite(b[j])) largest = fmax(largest, fabs(b[j]));
            for (int64_t j = 0; j < n; j++)
                if (isfinite(b[j]))
                    check_near(seed, devices[d], a[j], b[j],
                               1e-9 * fmax(largest, number(want, MAGNITUDE)));
        }
    }
    arrays_free(got);
}

static void check_gradients(problem *p, uint64_t seed, tally *count) {
    add_outputs(p);
    if (!test_ok(mica_graph_verify(p->g), __FILE__, __LINE__, "verify")) return;
    arrays in = arrays_like(p->g->parameters, p->g->n_parameters);
    arrays want = arrays_like(p->g->outputs, p->g->n_outputs);
    for (int32_t i = 0; i < in.n; i++) {
        random_data(seed * 1000 + (uint64_t)i, mica_value_type(p->g->parameters[i]), in.data[i]);
        move_off(mica_value_type(p->g->parameters[i]), i, in.data[i]);
    }
    if (run("ref", p->g, in, want)) {
        double magnitude = number(want, MAGNITUDE);
        check_devices(p, seed, in, want);
        if (isfinite(magnitude) && magnitude < 1e12) {
            count->finite++;
            check_near(seed, "jvp and vjp", number(want, FORWARD), number(want, REVERSE),
                       1e-8 * magnitude);
            check_differences(p, seed, in, number(want, REVERSE), magnitude, count);
        }
    }
    arrays_free(in);
    arrays_free(want);
}

TEST(gradients_of_random_graphs_are_right_and_the_same_on_every_device) {
    tally count = {0, 0};
    problem *p = malloc(sizeof *p);
    for (uint64_t seed = 0; seed < how_many(); seed++) {
        if (problem_init(p, seed)) check_gradients(p, seed, &count);
        mica_graph_release(p->g);
    }
    printf("    finite: %d, away from kinks: %d of %d\n", count.finite, count.smooth,
           (int)how_many());
    CHECK(count.finite >= (int)how_many() * 8 / 10);
    CHECK(count.smooth >= (int)how_many() * 6 / 10);
    free(p);
}
