/* Random graphs on every device. Exact ones must agree with the reference bit for bit; the others
 * must give the same bits on cpu and fake, with and without passes, since these share kernels. */
#include <mica/mica.h>

#include "ir/graph.h"
#include "support/random_graph.h"
#include "test.h"

typedef struct results {
    mica_tensor **tensors;
    int32_t n;
} results;

typedef enum family { EXACT, ALL, TAME } family;

static mica_graph *graph_of(uint64_t seed, family f) {
    random_graph_options options = {
        .seed = seed, .n_nodes = 40, .exact = f == EXACT, .derivatives = f == TAME};
    return random_graph(&options);
}

static void release_all(mica_tensor **tensors, int32_t n) {
    for (int32_t i = 0; i < n; i++) mica_tensor_release(tensors[i]);
    free(tensors);
}

static mica_status make_inputs(mica_device *device, const mica_graph *g, uint64_t seed,
                               mica_tensor **out) {
    for (int32_t i = 0; i < g->n_parameters; i++) {
        const mica_type *type = mica_value_type(g->parameters[i]);
        size_t bytes = mica_type_bytes(type);
        void *data = malloc(bytes + 1);
        random_data(seed * 1000 + (uint64_t)i, type, data);
        mica_status status = mica_tensor_from_host(device, type, data, &out[i]);
        free(data);
        MICA_TRY(status);
    }
    return NULL;
}

static mica_status run_on(const char *device_name, const char *passes, const mica_graph *g,
                          uint64_t seed, results *out) {
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    mica_tensor **inputs = calloc((size_t)g->n_parameters + 1, sizeof *inputs);
    *out = (results){calloc((size_t)g->n_outputs + 1, sizeof *out->tensors), g->n_outputs};
    mica_compile_options options = {.size = sizeof options, .passes = passes};
    mica_status status = mica_device_open(device_name, &device);
    if (!status) status = mica_executable_create(device, g, &options, &exe);
    if (!status) status = make_inputs(device, g, seed, inputs);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = g->n_parameters,
                          .outputs = out->tensors,
                          .n_outputs = g->n_outputs};
    if (!status) status = mica_executable_run(exe, &args, NULL);
    release_all(inputs, g->n_parameters);
    mica_executable_release(exe);
    mica_device_release(device);
    return status;
}

static bool is_nan(mica_dtype dtype, const uint8_t *element) {
    uint64_t bits = 0;
    memcpy(&bits, element, mica_dtype_bytes(dtype) <= 8 ? mica_dtype_bytes(dtype) : 8);
    switch (dtype) {
    case MICA_DTYPE_f16: return (bits & 0x7fff) > 0x7c00;
    case MICA_DTYPE_bf16: return (bits & 0x7fff) > 0x7f80;
    case MICA_DTYPE_f32: return (bits & 0x7fffffff) > 0x7f800000;
    case MICA_DTYPE_f64: return (bits & INT64_MAX) > UINT64_C(0x7ff) << 52;
    default: return false;
    }
}

static bool is_near(mica_dtype dtype, const uint8_t *a, const uint8_t *b, double tolerance) {
    double x, y;
    if (tolerance == 0 || dtype != MICA_DTYPE_f64) return false;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return fabs(x - y) <= tolerance * (1 + fabs(x));
}

/* The place of the first element that differs; -1 when none does. A NaN equals any NaN. */
static int64_t first_difference(const mica_type *type, const uint8_t *a, const uint8_t *b,
                                double tolerance) {
    size_t bytes = mica_dtype_bytes(type->dtype);
    for (int64_t i = 0; i < mica_type_elements(type); i++, a += bytes, b += bytes)
        if (memcmp(a, b, bytes) != 0 && !(is_nan(type->dtype, a) && is_nan(type->dtype, b)) &&
            !is_near(type->dtype, a, b, tolerance))
            return i;
    return -1;
}

static bool outputs_agree(const mica_graph *g, const results *a, const results *b,
                          double tolerance) {
    bool agree = true;
    for (int32_t i = 0; i < g->n_outputs && agree; i++) {
        const mica_type *type = mica_value_type(g->outputs[i]);
        size_t bytes = mica_type_bytes(type);
        uint8_t *left = malloc(bytes + 1), *right = malloc(bytes + 1);
        agree = test_ok(mica_tensor_to_host(a->tensors[i], left, bytes), __FILE__, __LINE__, "a") &&
                test_ok(mica_tensor_to_host(b->tensors[i], right, bytes), __FILE__, __LINE__, "b");
        int64_t at = agree ? first_difference(type, left, right, tolerance) : -1;
        if (at >= 0) {
            agree = false;
            test_report(__FILE__, __LINE__, "output %d, %s %s, differs at element %lld", i,
                        mica_op_name(g->outputs[i].node->op), mica_type_text(type).chars,
                        (long long)at);
        }
        free(left);
        free(right);
    }
    return agree;
}

static void compare(uint64_t seed, family f, const char *device, const char *passes,
                    const char *other_device, const char *other_passes) {
    mica_graph *g = graph_of(seed, f);
    results a, b;
    bool ran = test_ok(run_on(device, passes, g, seed, &a), __FILE__, __LINE__, device);
    ran &=
        test_ok(run_on(other_device, other_passes, g, seed, &b), __FILE__, __LINE__, other_device);
    if (!ran || !outputs_agree(g, &a, &b, f == TAME ? 1e-9 : 0))
        test_report(__FILE__, __LINE__, "seed %llu: %s and %s", (unsigned long long)seed, device,
                    other_device);
    release_all(a.tensors, a.n);
    release_all(b.tensors, b.n);
    mica_graph_release(g);
}

TEST(exact_graphs_agree_with_the_reference) {
    CHECK(true);
    for (uint64_t seed = 0; seed < random_seeds(120); seed++)
        compare(seed, EXACT, "ref", NULL, "cpu", NULL);
}

TEST(exact_graphs_agree_on_fake) {
    CHECK(true);
    for (uint64_t seed = 0; seed < random_seeds(30); seed++)
        compare(seed, EXACT, "ref", NULL, "fake", NULL);
}

/* f64 functions in ranges where they are smooth: rounding is all that may differ. */
TEST(tame_graphs_are_near_the_reference) {
    CHECK(true);
    for (uint64_t seed = 0; seed < random_seeds(100); seed++)
        compare(seed, TAME, "ref", NULL, "cpu", NULL);
}

TEST(all_graphs_give_the_same_bits_on_cpu_and_fake) {
    CHECK(true);
    for (uint64_t seed = 0; seed < random_seeds(40); seed++)
        compare(seed, ALL, "cpu", NULL, "fake", NULL);
}

TEST(passes_do_not_change_a_bit) {
    CHECK(true);
    for (uint64_t seed = 0; seed < random_seeds(120); seed++)
        compare(seed, ALL, "cpu", NULL, "cpu", "-simplify,-inline,-schedule,-plan");
}
