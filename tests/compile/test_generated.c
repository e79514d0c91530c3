/* Generated code gives the bits of the built-in kernels. */
#include <string.h>

#include "base/platform.h"
#include "mica/mica.h"
#include "support/random_graph.h"
#include "support/same_bits.h"
#include "test.h"

#define MOST 4096

/* false, said once, where the machine's compiler makes nothing that this process can load. */
static bool can_generate(void) {
    static int known = -1;
    if (known >= 0) return known;
    mica_device *device = NULL;
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_COMPILED};
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(8));
    CHECK_OK(mica_device_open("cpu", &device));
    CHECK_OK(mica_graph_create("probe", &g));
    mica_value x = mica_parameter(g, &type);
    mica_output(g, mica_add(g, mica_mul(g, x, x), x));
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    known = mica_executable_is_generated(exe);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
    return known;
}

#define NEEDS_A_COMPILER                                                                           \
    if (!can_generate()) {                                                                         \
        test_skip("no C compiler makes code for this machine");                                    \
        return;                                                                                    \
    }

static mica_executable *compile(mica_device *device, mica_graph *g, mica_tier tier) {
    mica_compile_options options = {.size = sizeof options, .tier = tier};
    mica_executable *exe = NULL;
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    return exe;
}

static void run(mica_executable *exe, mica_tensor **inputs, int32_t n_inputs, mica_tensor **outputs,
                int32_t n_outputs) {
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .outputs = outputs,
                          .n_outputs = n_outputs};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
}

/* Runs g on the same numbers with and without generated code. */
static bool same_bits(mica_graph *g) {
    static mica_tensor *inputs[MOST], *plain[MOST], *fast[MOST];
    int32_t n_inputs = mica_graph_parameter_count(g), n_outputs = mica_graph_output_count(g);
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    for (int32_t i = 0; i < n_inputs; i++) {
        const mica_type *type = mica_value_type(mica_graph_parameter(g, i));
        void *data = malloc(mica_type_bytes(type) + 1);
        random_data((uint64_t)i, type, data);
        CHECK_OK(mica_tensor_from_host(device, type, data, &inputs[i]));
        free(data);
    }
    mica_executable *a = compile(device, g, MICA_TIER_BUILT_IN);
    mica_executable *b = compile(device, g, MICA_TIER_COMPILED);
    CHECK(!mica_executable_is_generated(a));
    CHECK(mica_executable_is_generated(b));
    run(a, inputs, n_inputs, plain, n_outputs);
    run(b, inputs, n_inputs, fast, n_outputs);
    bool same = true;
    for (int32_t i = 0; i < n_outputs; i++) {
        same = same && same_tensor(plain[i], fast[i]);
        mica_tensor_release(plain[i]);
        mica_tensor_release(fast[i]);
    }
    for (int32_t i = 0; i < n_inputs; i++) mica_tensor_release(inputs[i]);
    mica_executable_release(a);
    mica_executable_release(b);
    mica_device_release(device);
    return same;
}

static mica_value scalar(mica_graph *g, double x) {
    return mica_scalar(g, MICA_DTYPE_f32, x);
}

static mica_value softmax(mica_graph *g, mica_value x, int64_t axis) {
    mica_type type = *mica_value_type(x), kept = type;
    kept.dims[axis] = 1;
    mica_ints dims = {kept.dims, kept.rank};
    mica_value most = mica_reshape(g, mica_reduce(g, x, "max", MICA_INTS(axis)), dims);
    mica_value e = mica_exp(g, mica_sub(g, x, most));
    return mica_div(g, e, mica_reshape(g, mica_reduce(g, e, "sum", MICA_INTS(axis)), dims));
}

static mica_value layer_norm(mica_graph *g, mica_value x, mica_value scale, mica_value shift) {
    mica_type type = *mica_value_type(x), kept = type;
    int64_t axis = type.rank - 1;
    double n = (double)type.dims[axis];
    kept.dims[axis] = 1;
    mica_ints dims = {kept.dims, kept.rank};
    mica_value mean = mica_mul(g, mica_reshape(g, mica_reduce(g, x, "sum", MICA_INTS(axis)), dims),
                               scalar(g, 1 / n));
    mica_value centred = mica_sub(g, x, mean);
    mica_value square = mica_mul(g, centred, centred);
    mica_value variance = mica_mul(
        g, mica_reshape(g, mica_reduce(g, square, "sum", MICA_INTS(axis)), dims), scalar(g, 1 / n));
    mica_value unit = mica_mul(g, centred, mica_rsqrt(g, mica_add(g, variance, scalar(g, 1e-5))));
    return mica_add(g, mica_mul(g, unit, scale), shift);
}

TEST(a_chain_of_elementwise_ops_has_the_same_bits) {
    NEEDS_A_COMPILER
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("gelu", &g));
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(37, 1001));
    mica_value x = mica_parameter(g, &type);
    mica_value cube = mica_mul(g, x, mica_mul(g, x, x));
    mica_value inner = mica_mul(g, mica_add(g, x, mica_mul(g, cube, scalar(g, 0.044715))),
                                scalar(g, 0.7978845608));
    mica_output(g, mica_mul(g, mica_mul(g, x, scalar(g, 0.5)),
                            mica_add(g, mica_tanh(g, inner), scalar(g, 1))));
    CHECK(same_bits(g));
    mica_graph_release(g);
}

TEST(rows_of_any_length_are_reduced_in_the_same_order) {
    NEEDS_A_COMPILER
    const int64_t lengths[] = {3, 512, 513, 4096, 70001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        mica_graph *g = NULL;
        CHECK_OK(mica_graph_create("rows", &g));
        mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(9, lengths[i]));
        mica_value x = mica_parameter(g, &type);
        mica_output(g, softmax(g, x, 1));
        CHECK(same_bits(g));
        mica_graph_release(g);
    }
}

TEST(a_normalisation_and_its_gradients_have_the_same_bits) {
    NEEDS_A_COMPILER
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("norm", &g));
    mica_type types[3] = {mica_type_make(MICA_DTYPE_f32, MICA_INTS(12, 50, 300)),
                          mica_type_make(MICA_DTYPE_f32, MICA_INTS(300)),
                          mica_type_make(MICA_DTYPE_f32, MICA_INTS(300))};
    mica_value x[3], gradients[3];
    for (int i = 0; i < 3; i++) x[i] = mica_parameter(g, &types[i]);
    mica_value y = layer_norm(g, x[0], x[1], x[2]);
    mica_value loss = mica_sum(g, mica_mul(g, y, softmax(g, y, 2)), MICA_INTS(0, 1, 2));
    mica_gradient(g, loss, x, 3, gradients);
    mica_output(g, y);
    for (int i = 0; i < 3; i++) mica_output(g, gradients[i]);
    CHECK(same_bits(g));
    mica_graph_release(g);
}

TEST(columns_are_reduced_in_the_same_order) {
    NEEDS_A_COMPILER
    const int64_t rows[] = {2, 64, 65, 1000, 20000}, columns[] = {1, 7, 128, 300};
    for (size_t i = 0; i < 20; i++) {
        mica_graph *g = NULL;
        CHECK_OK(mica_graph_create("columns", &g));
        mica_type type =
            mica_type_make(MICA_DTYPE_f32, MICA_INTS(rows[i / 4] / 2, 2, columns[i % 4]));
        mica_value x = mica_parameter(g, &type), axes = mica_mul(g, x, x);
        mica_output(g, mica_reduce(g, axes, "sum", MICA_INTS(0, 1)));
        mica_output(g, mica_reduce(g, mica_exp(g, x), "max", MICA_INTS(0, 1)));
        CHECK(same_bits(g));
        mica_graph_release(g);
    }
}

/* Halves are rounded after every op, as the built-in kernels do. */
TEST(every_float_dtype_has_the_same_bits) {
    NEEDS_A_COMPILER
    const mica_dtype dtypes[] = {MICA_DTYPE_f16, MICA_DTYPE_bf16, MICA_DTYPE_f64};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        mica_graph *g = NULL;
        CHECK_OK(mica_graph_create("dtypes", &g));
        mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(30, 700));
        mica_value x = mica_parameter(g, &type), y = mica_convert(g, x, dtypes[i]);
        mica_value z = softmax(g, mica_mul(g, mica_sin(g, y), y), 1);
        mica_output(g, mica_convert(g, z, MICA_DTYPE_f32));
        mica_output(g, mica_reduce(g, mica_add(g, z, y), "sum", MICA_INTS(0)));
        CHECK(same_bits(g));
        mica_graph_release(g);
    }
}

static mica_value column_mean(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    double n = (double)type->dims[0] * (double)type->dims[1];
    return mica_mul(g, mica_reduce(g, x, "sum", MICA_INTS(0, 1)), scalar(g, 1 / n));
}

/* Batch norm, residual and activation between arrays of half precision: what lies between is made
 * again where it is read. */
TEST(what_is_made_again_from_half_precision_has_the_same_bits) {
    NEEDS_A_COMPILER
    const mica_dtype dtypes[] = {MICA_DTYPE_f16, MICA_DTYPE_bf16};
    for (size_t i = 0; i < 2; i++) {
        mica_graph *g = NULL;
        CHECK_OK(mica_graph_create("half", &g));
        mica_type types[] = {mica_type_make(dtypes[i], MICA_INTS(30, 25, 64)),
                             mica_type_make(dtypes[i], MICA_INTS(30, 25, 64)),
                             mica_type_make(MICA_DTYPE_f32, MICA_INTS(64))};
        mica_value p[3], gradients[3];
        for (int k = 0; k < 3; k++) p[k] = mica_parameter(g, &types[k]);
        mica_value x = mica_convert(g, p[0], MICA_DTYPE_f32);
        mica_value centred = mica_sub(g, x, column_mean(g, x));
        mica_value variance = column_mean(g, mica_mul(g, centred, centred));
        mica_value factor =
            mica_mul(g, mica_rsqrt(g, mica_add(g, mica_abs(g, variance), scalar(g, 1e-5))), p[2]);
        mica_value sum =
            mica_add(g, mica_mul(g, centred, factor), mica_convert(g, p[1], MICA_DTYPE_f32));
        mica_value y = mica_convert(g, mica_relu(g, sum), dtypes[i]);
        mica_value loss = mica_convert(g, mica_mul(g, y, y), MICA_DTYPE_f32);
        mica_gradient(g, mica_sum(g, loss, MICA_INTS(0, 1, 2)), p, 3, gradients);
        mica_output(g, y);
        for (int k = 0; k < 3; k++) mica_output(g, gradients[k]);
        CHECK(same_bits(g));
        mica_graph_release(g);
    }
}

/* Parameter, two moments, gradient. */
static mica_graph *adam(mica_type types[4]) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("adam", &g));
    mica_value p[4];
    for (int i = 0; i < 4; i++) {
        types[i] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(333, 77));
        p[i] = mica_parameter(g, &types[i]);
    }
    mica_value m =
        mica_add(g, mica_mul(g, p[1], scalar(g, 0.9)), mica_mul(g, p[3], scalar(g, 0.1)));
    mica_value v = mica_add(g, mica_mul(g, p[2], scalar(g, 0.999)),
                            mica_mul(g, mica_mul(g, p[3], p[3]), scalar(g, 0.001)));
    mica_value step = mica_div(g, m, mica_add(g, mica_sqrt(g, mica_abs(g, v)), scalar(g, 1e-8)));
    mica_output(g, mica_sub(g, p[0], mica_mul(g, step, scalar(g, 0.001))));
    mica_output(g, m);
    mica_output(g, v);
    return g;
}

TEST(several_results_of_one_nest_have_the_same_bits) {
    NEEDS_A_COMPILER
    mica_type types[4];
    mica_graph *g = adam(types);
    CHECK(same_bits(g));
    mica_graph_release(g);
}

TEST(several_results_are_written_over_donated_inputs) {
    NEEDS_A_COMPILER
    mica_type types[4];
    mica_graph *g = adam(types);
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    mica_executable *plain = compile(device, g, MICA_TIER_BUILT_IN);
    mica_executable *fast = compile(device, g, MICA_TIER_COMPILED);
    mica_tensor *a[4], *b[4], *expected[3], *got[3];
    float *data = malloc(mica_type_bytes(&types[0]));
    for (int i = 0; i < 4; i++) {
        random_data((uint64_t)i, &types[i], data);
        CHECK_OK(mica_tensor_from_host(device, &types[i], data, &a[i]));
        CHECK_OK(mica_tensor_from_host(device, &types[i], data, &b[i]));
    }
    run(plain, a, 4, expected, 3);
    const uint8_t donate[4] = {1, 1, 1, 0};
    mica_run_args args = {.size = sizeof args,
                          .inputs = b,
                          .n_inputs = 4,
                          .donate = donate,
                          .outputs = got,
                          .n_outputs = 3};
    CHECK_OK(mica_executable_run(fast, &args, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK(same_tensor(expected[i], got[i]));
        CHECK_FAILS(mica_tensor_to_host(b[i], data, mica_type_bytes(&types[i])),
                    MICA_FAILED_PRECONDITION, "");
        mica_tensor_release(expected[i]);
        mica_tensor_release(got[i]);
    }
    for (int i = 0; i < 4; i++) mica_tensor_release(a[i]), mica_tensor_release(b[i]);
    free(data);
    mica_executable_release(plain);
    mica_executable_release(fast);
    mica_graph_release(g);
    mica_device_release(device);
}

/* A state that is fed back, so that one wrong bit stays; the swap comes when it comes. */
TEST(a_swap_in_the_middle_changes_no_bit) {
    NEEDS_A_COMPILER
    mica_device *device = NULL;
    mica_graph *g = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    CHECK_OK(mica_graph_create("feedback", &g));
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(20, 300));
    mica_value x = mica_parameter(g, &type);
    mica_output(g, mica_add(g, mica_sin(g, x), mica_mul(g, softmax(g, x, 1), scalar(g, 3))));
    mica_executable *plain = compile(device, g, MICA_TIER_BUILT_IN);
    mica_executable *swaps = compile(device, g, MICA_TIER_AUTO);
    float *data = malloc(mica_type_bytes(&type));
    random_data(1, &type, data);
    mica_tensor *a, *b;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &a));
    CHECK_OK(mica_tensor_from_host(device, &type, data, &b));
    int after = 0, turns = 0;
    for (; after < 10 && turns < 200000; turns++) {
        mica_tensor *next_a = NULL, *next_b = NULL;
        after += mica_executable_is_generated(swaps);
        if (turns > 100) mica_sleep(0.001);
        run(plain, &a, 1, &next_a, 1);
        run(swaps, &b, 1, &next_b, 1);
        mica_tensor_release(a);
        mica_tensor_release(b);
        a = next_a;
        b = next_b;
    }
    CHECK(after == 10);
    CHECK(turns > 10);
    CHECK(same_tensor(a, b));
    mica_tensor_release(a);
    mica_tensor_release(b);
    free(data);
    mica_executable_release(plain);
    mica_executable_release(swaps);
    mica_graph_release(g);
    mica_device_release(device);
}

/* As if every result were larger than the caches. */
TEST(what_is_written_past_the_caches_has_the_same_bits) {
    mica_machine_stream_above(1);
    a_chain_of_elementwise_ops_has_the_same_bits();
    rows_of_any_length_are_reduced_in_the_same_order();
    a_normalisation_and_its_gradients_have_the_same_bits();
    every_float_dtype_has_the_same_bits();
    several_results_of_one_nest_have_the_same_bits();
    several_results_are_written_over_donated_inputs();
    mica_machine_stream_above(0);
}
