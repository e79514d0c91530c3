/* Transforms of random graphs, control flow included: vmap against a loop; forward against reverse
 * mode, <c, J t> = <J' c, t>; and second derivatives, which are symmetric and the same in whatever
 * order of modes they are taken. All on the reference. */
#include <mica/mica.h>

#include "ir/graph.h"
#include "support/random_graph.h"
#include "test.h"

#define EXAMPLES 3

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

static mica_status run(const mica_graph *g, arrays inputs, arrays outputs) {
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    mica_tensor **in = calloc((size_t)inputs.n + 1, sizeof *in);
    mica_tensor **out = calloc((size_t)outputs.n + 1, sizeof *out);
    mica_status status = mica_device_open("ref", &device);
    if (!status) status = mica_executable_create(device, g, NULL, &exe);
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
    mica_device_release(device);
    return status;
}

/* ---- vmap ------------------------------------------------------------------------------------*/

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
    size_t bytes = mica_dtype_bytes(type->dtype);
    for (int64_t i = 0; i < mica_type_elements(type); i++, a += bytes, b += bytes)
        if (memcmp(a, b, bytes) != 0 && !(is_nan(type->dtype, a) && is_nan(type->dtype, b)))
            return false;
    return true;
}

/* Example k of an array that has an axis of EXAMPLES at `axis`. */
static void take_example(const mica_type *type, int32_t axis, int k, const uint8_t *from,
                         uint8_t *to) {
    size_t inner = mica_dtype_bytes(type->dtype), outer = 1;
    if (axis < 0) {
        memcpy(to, from, mica_type_bytes(type));
        return;
    }
    for (int32_t i = 0; i < type->rank; i++) *(i < axis ? &outer : &inner) *= (size_t)type->dims[i];
    for (size_t i = 0; i < outer; i++)
        memcpy(to + i * inner, from + (i * EXAMPLES + (size_t)k) * inner, inner);
}

static void check_examples(uint64_t seed, const mica_graph *g, const mica_graph *batched,
                           const int32_t *axes) {
    arrays all_in = arrays_like(batched->parameters, batched->n_parameters);
    arrays all_out = arrays_like(batched->outputs, batched->n_outputs);
    arrays in = arrays_like(g->parameters, g->n_parameters);
    arrays out = arrays_like(g->outputs, g->n_outputs);
    for (int32_t i = 0; i < all_in.n; i++)
        random_data(seed * 1000 + (uint64_t)i, mica_value_type(batched->parameters[i]),
                    all_in.data[i]);
    bool fine = test_ok(run(batched, all_in, all_out), __FILE__, __LINE__, "batched");
    for (int k = 0; fine && k < EXAMPLES; k++) {
        for (int32_t i = 0; i < in.n; i++)
            take_example(mica_value_type(g->parameters[i]), axes[i], k, all_in.data[i], in.data[i]);
        fine = test_ok(run(g, in, out), __FILE__, __LINE__, "one example");
        for (int32_t i = 0; fine && i < out.n; i++) {
            const mica_type *type = mica_value_type(g->outputs[i]);
            fine =
                same_bits(type, out.data[i], all_out.data[i] + (size_t)k * mica_type_bytes(type));
            if (!fine)
                test_report(__FILE__, __LINE__, "seed %llu: example %d of output %d (%s) differs",
                            (unsigned long long)seed, k, i, mica_op_name(g->outputs[i].node->op));
        }
    }
    arrays_free(all_in);
    arrays_free(all_out);
    arrays_free(in);
    arrays_free(out);
}

/* true when vmap has no rule for what is in the graph. */
static bool vmap_agrees_with_a_loop(uint64_t seed) {
    random_graph_options options = {.seed = seed, .n_nodes = 25, .exact = true};
    mica_graph *g = random_graph(&options), *batched = NULL;
    int32_t *in_axes = calloc((size_t)g->n_parameters + 1, sizeof *in_axes);
    int32_t *out_axes = calloc((size_t)g->n_outputs + 1, sizeof *out_axes);
    uint64_t state = seed;
    for (int32_t i = 0; i < g->n_parameters; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int32_t places = mica_value_type(g->parameters[i])->rank + 1;
        in_axes[i] =
            (state >> 40) % 4 == 0 ? MICA_UNMAPPED : (int32_t)((state >> 50) % (uint64_t)places);
    }
    mica_status status = mica_vmap(g, in_axes, out_axes, EXAMPLES, NULL, &batched);
    bool unsupported = mica_status_code(status) == MICA_UNSUPPORTED;
    if (unsupported)
        mica_status_release(status);
    else if (test_ok(status, __FILE__, __LINE__, "vmap")) {
        CHECK_OK(mica_graph_verify(batched));
        check_examples(seed, g, batched, in_axes);
    }
    free(in_axes);
    free(out_axes);
    mica_graph_release(g);
    mica_graph_release(batched);
    return unsupported;
}

TEST(vmap_of_random_graphs_agrees_with_a_loop) {
    int unsupported = 0;
    for (uint64_t seed = 0; seed < random_seeds(100); seed++)
        unsupported += vmap_agrees_with_a_loop(seed);
    CHECK(unsupported < (int)random_seeds(12)); /* lists that are mapped only later */
}

/* ---- derivatives -----------------------------------------------------------------------------*/

enum { MOST = 400 };

/* A copy of a random graph with its float inputs x and outputs y, and for each a direction. */
typedef struct problem {
    mica_graph *g;
    mica_value x[MOST], t[MOST], u[MOST], y[MOST], c[MOST];
    int32_t n, m;
    mica_value magnitude; /* a sum of absolute values, for the tolerance */
} problem;

static bool is_float(const mica_type *type) {
    return type->kind == MICA_TENSOR && mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT;
}

static bool problem_init(problem *p, uint64_t seed) {
    random_graph_options options = {.seed = seed, .n_nodes = 25, .derivatives = true};
    mica_graph *source = random_graph(&options);
    mica_value *in = calloc((size_t)source->n_parameters + 1, sizeof *in);
    mica_value *out = calloc((size_t)source->n_outputs + 1, sizeof *out);
    *p = (problem){0};
    bool made = test_ok(mica_graph_create("derivatives", &p->g), __FILE__, __LINE__, "create") &&
                source->n_parameters < MOST && source->n_outputs < MOST;
    for (int32_t i = 0; made && i < source->n_parameters; i++) {
        const mica_type *type = mica_value_type(source->parameters[i]);
        in[i] = mica_parameter(p->g, type);
        if (!is_float(type)) continue;
        p->x[p->n] = in[i];
        p->t[p->n] = mica_parameter(p->g, type);
        p->u[p->n++] = mica_parameter(p->g, type);
    }
    if (made) mica_inline(p->g, source, in, source->n_parameters, out);
    for (int32_t i = 0; made && i < source->n_outputs; i++) {
        if (!is_float(mica_value_type(source->outputs[i]))) continue;
        p->y[p->m] = out[i];
        p->c[p->m++] = mica_parameter(p->g, mica_value_type(source->outputs[i]));
    }
    p->magnitude = made ? mica_scalar(p->g, MICA_DTYPE_f64, 1) : MICA_NULL_VALUE;
    free(in);
    free(out);
    mica_graph_release(source);
    return made;
}

/* The sum over i of <a[i], b[i]>, where a null a[i] is zero. */
static mica_value inner_product(problem *p, const mica_value *a, const mica_value *b, int32_t n) {
    static const int64_t axes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    mica_graph *g = p->g;
    mica_value total = mica_scalar(g, MICA_DTYPE_f64, 0);
    for (int32_t i = 0; i < n && !g->error; i++) {
        if (mica_value_is_null(a[i])) continue;
        mica_value products = mica_mul(g, a[i], b[i]);
        mica_ints all = {axes, mica_value_type(a[i])->rank};
        total = mica_add(g, total, mica_reduce(g, products, "sum", all));
        p->magnitude = mica_add(g, p->magnitude, mica_reduce(g, mica_abs(g, products), "sum", all));
    }
    return total;
}

/* Runs with the numbers as outputs; true when all of them are finite. out[n] is the magnitude. */
static bool evaluate(problem *p, uint64_t seed, const mica_value *numbers, int32_t n, double *out) {
    for (int32_t i = 0; i < n; i++) mica_output(p->g, numbers[i]);
    mica_output(p->g, p->magnitude);
    if (!test_ok(mica_graph_verify(p->g), __FILE__, __LINE__, "verify")) return false;
    arrays in = arrays_like(p->g->parameters, p->g->n_parameters);
    arrays results = arrays_like(p->g->outputs, p->g->n_outputs);
    for (int32_t i = 0; i < in.n; i++)
        random_data(seed * 1000 + (uint64_t)i, mica_value_type(p->g->parameters[i]), in.data[i]);
    bool finite = test_ok(run(p->g, in, results), __FILE__, __LINE__, "run");
    for (int32_t i = 0; finite && i <= n; i++) {
        memcpy(&out[i], results.data[i], sizeof *out);
        finite = isfinite(out[i]) && fabs(out[i]) < 1e12;
    }
    arrays_free(in);
    arrays_free(results);
    return finite;
}

static void check_equal(uint64_t seed, const char *what, double a, double b, double magnitude) {
    test_checks++;
    if (!(fabs(a - b) <= 1e-8 * magnitude))
        test_report(__FILE__, __LINE__, "seed %llu, %s: %.15g and %.15g", (unsigned long long)seed,
                    what, a, b);
}

TEST(forward_and_reverse_mode_agree_on_random_graphs) {
    int compared = 0;
    problem *p = malloc(sizeof *p);
    for (uint64_t seed = 0; seed < random_seeds(120); seed++) {
        mica_value dy[MOST], dx[MOST], numbers[2];
        double values[3];
        if (problem_init(p, seed)) {
            mica_jvp(p->g, p->y, p->m, p->x, p->t, p->n, dy);
            numbers[0] = inner_product(p, dy, p->c, p->m);
            mica_vjp(p->g, p->y, p->c, p->m, p->x, p->n, dx);
            numbers[1] = inner_product(p, dx, p->t, p->n);
            if (evaluate(p, seed, numbers, 2, values)) {
                compared++;
                check_equal(seed, "jvp and vjp", values[0], values[1], values[2]);
            }
        }
        mica_graph_release(p->g);
    }
    CHECK(compared > 100);
    free(p);
}

/* The gradient of <c, y> in the x on which it depends; t and u shrink along with it. */
static int32_t gradient(problem *p, mica_value *out, mica_value *t, mica_value *u) {
    mica_value dx[MOST];
    int32_t n = 0;
    mica_vjp(p->g, p->y, p->c, p->m, p->x, p->n, dx);
    for (int32_t i = 0; i < p->n && !p->g->error; i++) {
        if (mica_value_is_null(dx[i])) continue;
        out[n] = dx[i];
        t[n] = p->t[i];
        u[n++] = p->u[i];
    }
    return n;
}

TEST(second_derivatives_of_random_graphs_are_symmetric) {
    int compared = 0;
    problem *p = malloc(sizeof *p);
    for (uint64_t seed = 0; seed < random_seeds(120); seed++) {
        mica_value dx[MOST], t[MOST], u[MOST], d[MOST], numbers[2];
        double values[3];
        if (problem_init(p, seed)) {
            int32_t n = gradient(p, dx, t, u);
            mica_jvp(p->g, dx, n, p->x, p->t, p->n, d);
            numbers[0] = inner_product(p, d, u, n);
            mica_jvp(p->g, dx, n, p->x, p->u, p->n, d);
            numbers[1] = inner_product(p, d, t, n);
            if (evaluate(p, seed, numbers, 2, values)) {
                compared++;
                check_equal(seed, "u'Ht and t'Hu", values[0], values[1], values[2]);
            }
        }
        mica_graph_release(p->g);
    }
    CHECK(compared > 100);
    free(p);
}

TEST(forward_over_reverse_and_reverse_over_reverse_agree) {
    int compared = 0, unsupported = 0;
    problem *p = malloc(sizeof *p);
    for (uint64_t seed = 0; seed < random_seeds(120); seed++) {
        mica_value dx[MOST], t[MOST], u[MOST], d[MOST], numbers[2];
        double values[3];
        if (problem_init(p, seed)) {
            int32_t n = gradient(p, dx, t, u);
            mica_jvp(p->g, dx, n, p->x, p->t, p->n, d);
            numbers[0] = inner_product(p, d, u, n);
            mica_vjp(p->g, dx, u, n, p->x, p->n, d);
            mica_status status = mica_graph_check(p->g);
            bool refused = mica_status_code(status) == MICA_UNSUPPORTED;
            mica_status_release(status);
            unsupported += refused;
            if (!refused) numbers[1] = inner_product(p, d, p->t, p->n);
            if (!refused && evaluate(p, seed, numbers, 2, values)) {
                compared++;
                check_equal(seed, "two orders of modes", values[0], values[1], values[2]);
            }
        }
        mica_graph_release(p->g);
    }
    CHECK(compared > 100);
    CHECK(unsupported < (int)random_seeds(12)); /* loops in loops, whose lists cannot be kept */
    free(p);
}
