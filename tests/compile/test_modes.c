/* Random graphs, with their gradients, give the same bits however they are compiled: on built-in
 * kernels, on generated ones without and with fusion, and with each pass switched off. */
#include <string.h>

#include "compile/passes.h"
#include "mica/mica.h"
#include "support/random_graph.h"
#include "support/same_bits.h"
#include "test.h"

#define MOST 8192
#define BATCH 40 /* graphs that are compiled as one */

/* ---- graphs -----------------------------------------------------------------------------------*/

static mica_value in[MOST], out[MOST], floats[MOST], seeds[MOST], gradients[MOST];

static bool is_float(const mica_type *type) {
    return type->kind == MICA_TENSOR && type->dtype == MICA_DTYPE_f64;
}

/* The graph's results, and the gradients of those that are floats by the inputs that are. */
static void append(mica_graph *g, const mica_graph *part, bool with_gradients) {
    int32_t n = mica_graph_parameter_count(part), m = mica_graph_output_count(part);
    int32_t n_floats = 0, n_seeds = 0;
    for (int32_t i = 0; i < n; i++) {
        in[i] = mica_parameter(g, mica_value_type(mica_graph_parameter(part, i)));
        if (is_float(mica_value_type(in[i]))) floats[n_floats++] = in[i];
    }
    mica_inline(g, part, in, n, out);
    for (int32_t i = 0; i < m; i++)
        if (mica_value_type(out[i])->kind == MICA_TENSOR) mica_output(g, out[i]);
    if (!with_gradients || !n_floats) return;
    for (int32_t i = 0; i < m; i++)
        if (is_float(mica_value_type(out[i]))) out[n_seeds++] = out[i];
    for (int32_t i = 0; i < n_seeds; i++) seeds[i] = mica_parameter(g, mica_value_type(out[i]));
    mica_vjp(g, out, seeds, n_seeds, floats, n_floats, gradients);
    for (int32_t i = 0; i < n_floats; i++)
        if (!mica_value_is_null(gradients[i])) mica_output(g, gradients[i]);
}

static mica_graph *make_batch(uint64_t batch) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("many", &g));
    for (uint64_t i = 0; i < BATCH; i++) {
        bool derivatives = i % 2;
        random_graph_options options = {
            .seed = batch * BATCH + i, .n_nodes = 14, .derivatives = derivatives};
        mica_graph *part = random_graph(&options);
        append(g, part, derivatives);
        mica_graph_release(part);
    }
    return g;
}

/* ---- running ----------------------------------------------------------------------------------*/

static mica_device *device;
static mica_tensor *inputs[MOST], *expected[MOST], *got[MOST];
static int32_t n_inputs, n_outputs;

/* Device and data; the expected results come from built-in kernels. */
static mica_status run_as(const mica_graph *g, mica_tier tier, const char *passes,
                          mica_tensor **outputs) {
    mica_compile_options options = {.size = sizeof options, .passes = passes, .tier = tier};
    mica_executable *exe = NULL;
    MICA_TRY(mica_executable_create(device, g, &options, &exe));
    if (tier == MICA_TIER_COMPILED && !mica_executable_is_generated(exe)) {
        mica_executable_release(exe);
        return MICA_ERROR(MICA_INTERNAL, "nothing was generated");
    }
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .outputs = outputs,
                          .n_outputs = n_outputs};
    mica_status status = mica_executable_run(exe, &args, NULL);
    if (!status) status = mica_device_wait(device);
    mica_executable_release(exe);
    return status;
}

static void begin(const mica_graph *g) {
    n_inputs = mica_graph_parameter_count(g);
    n_outputs = mica_graph_output_count(g);
    CHECK_OK(mica_device_open("cpu", &device));
    for (int32_t i = 0; i < n_inputs; i++) {
        const mica_type *type = mica_value_type(mica_graph_parameter(g, i));
        void *data = malloc(mica_type_bytes(type) + 1);
        random_data((uint64_t)i, type, data);
        CHECK_OK(mica_tensor_from_host(device, type, data, &inputs[i]));
        free(data);
    }
    CHECK_OK(run_as(g, MICA_TIER_BUILT_IN, NULL, expected));
}

static void end(void) {
    for (int32_t i = 0; i < n_inputs; i++) mica_tensor_release(inputs[i]);
    for (int32_t i = 0; i < n_outputs; i++) mica_tensor_release(expected[i]);
    mica_device_release(device);
}

static bool agrees(void) {
    bool same = true;
    for (int32_t i = 0; i < n_outputs; i++) {
        same = same && same_tensor(expected[i], got[i]);
        mica_tensor_release(got[i]);
    }
    return same;
}

static void expect_same(const mica_graph *g, mica_tier tier, const char *passes, uint64_t batch) {
    CHECK_OK(run_as(g, tier, passes, got));
    if (!agrees())
        test_report(__FILE__, __LINE__, "batch %d differs with tier %d and passes '%s'", (int)batch,
                    (int)tier, passes ? passes : "");
}

/* ---- tests ------------------------------------------------------------------------------------*/

static bool can_generate(void) {
    static int known = -1;
    if (known >= 0) return known;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(8));
    mica_device *cpu = NULL;
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_COMPILED};
    CHECK_OK(mica_device_open("cpu", &cpu));
    CHECK_OK(mica_graph_create("probe", &g));
    mica_value x = mica_parameter(g, &type);
    mica_output(g, mica_add(g, mica_mul(g, x, x), x));
    CHECK_OK(mica_executable_create(cpu, g, &options, &exe));
    known = mica_executable_is_generated(exe);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(cpu);
    return known;
}

static bool is_quick(void) {
    return getenv("MICA_TEST_QUICK") != NULL;
}

/* Fused code is optimized as always in the first batch; all else is compiled quickly. */
TEST(three_modes_give_the_same_bits) {
    if (!can_generate()) {
        test_skip("no C compiler makes code for this machine");
        return;
    }
    const char *wanted = getenv("MICA_CC");
    uint64_t batches = is_quick() ? 1 : getenv("MICA_TEST_SOAK") ? 50 : 5;
    for (uint64_t batch = 0; batch < batches; batch++) {
        mica_graph *g = make_batch(batch);
        begin(g);
        if (batch == 0 && !is_quick()) expect_same(g, MICA_TIER_COMPILED, NULL, batch);
        setenv("MICA_CC", "cc -O1", 0);
        expect_same(g, MICA_TIER_COMPILED, "-fuse", batch);
        expect_same(g, MICA_TIER_COMPILED, NULL, batch);
        if (!wanted) unsetenv("MICA_CC");
        end();
        mica_graph_release(g);
    }
}

TEST(each_pass_can_be_left_out) {
    uint64_t batches = is_quick() ? 1 : getenv("MICA_TEST_SOAK") ? 50 : 5;
    for (uint64_t batch = 0; batch < batches; batch++) {
        mica_graph *g = make_batch(batch);
        begin(g);
        for (const mica_pass *pass = mica_passes; pass->name; pass++) {
            char selection[64];
            snprintf(selection, sizeof selection, "-%s", pass->name);
            expect_same(g, MICA_TIER_BUILT_IN, selection, batch);
        }
        expect_same(g, MICA_TIER_BUILT_IN, "-plan", batch);
        end();
        mica_graph_release(g);
    }
}

#ifdef MICA_PLANT
/* With a fault in the plan arrays lie upon each other; AddressSanitizer would end the process at
 * the first copy between two of them, where the results are to show it. */
const char *__asan_default_options(void);
__attribute__((used, visibility("default"))) const char *__asan_default_options(void) {
    return "replace_intrin=0";
}

/* An error, or other bits: either is noticed. */
static bool is_caught(const char *fault) {
    bool caught = false;
    mica_tier tier = can_generate() ? MICA_TIER_COMPILED : MICA_TIER_BUILT_IN;
    for (uint64_t batch = 0; batch < 5 && !caught; batch++) {
        mica_graph *g = make_batch(batch);
        begin(g);
        setenv("MICA_PLANT", fault, 1);
        mica_status status = run_as(g, tier, NULL, got);
        caught = status || !agrees();
        mica_status_release(status);
        unsetenv("MICA_PLANT");
        end();
        mica_graph_release(g);
    }
    return caught;
}

TEST(a_fault_in_any_pass_is_noticed) {
    setenv("MICA_CC", "cc -O1", 0);
    for (const mica_pass *pass = mica_passes; pass->name; pass++)
        if (!is_caught(pass->name))
            test_report(__FILE__, __LINE__, "the fault in %s was not noticed", pass->name);
    CHECK(is_caught("plan"));
    if (can_generate()) CHECK(is_caught("emit"));
    unsetenv("MICA_CC");
}
#endif
