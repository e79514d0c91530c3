/* What is fused on the cuda device has the CPU's bits: loops and rows that read pieces of several
 * elements, columns of which a thread has several neighbours and several groups of rows. On a
 * stand-in for the libraries (stub_libcuda.c). */
#include <stdlib.h>
#include <string.h>

#include "mica/mica.h"
#include "open_stub.h"

/* Of (rows, columns): a loop, a reduction of rows with what follows it, sums and maxima of columns.
 */
static mica_graph *graph_of(mica_dtype dtype, int64_t rows, int64_t columns) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(dtype, MICA_INTS(rows, columns));
    mica_type line = mica_type_make(MICA_DTYPE_f32, MICA_INTS(columns));
    mica_ints dims = MICA_INTS(rows, columns);
    CHECK_OK(mica_graph_create("fused", &g));
    mica_value x = mica_parameter(g, &type), factor = mica_parameter(g, &line);
    mica_value wide = mica_convert(g, x, MICA_DTYPE_f32);
    mica_value scaled = mica_mul(g, wide, mica_broadcast(g, factor, dims, MICA_INTS(1)));
    mica_output(g, mica_convert(g, mica_add(g, mica_exp(g, scaled), scaled), dtype));
    mica_value top = mica_reduce(g, scaled, "max", MICA_INTS(1));
    mica_value rest = mica_sub(g, scaled, mica_broadcast(g, top, dims, MICA_INTS(0)));
    mica_value sum = mica_reduce(g, mica_mul(g, rest, rest), "sum", MICA_INTS(1));
    mica_output(g, mica_mul(g, rest, mica_broadcast(g, sum, dims, MICA_INTS(0))));
    mica_output(g, mica_reduce(g, mica_mul(g, scaled, wide), "sum", MICA_INTS(0)));
    mica_output(g, mica_reduce(g, scaled, "max", MICA_INTS(0)));
    CHECK_OK(mica_graph_check(g));
    return g;
}

static mica_tensor *random_tensor(mica_device *device, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    size_t bytes = mica_type_bytes(&type), each = mica_dtype_bytes(dtype);
    uint8_t *data = calloc(bytes, 1);
    mica_tensor *tensor = NULL;
    uint32_t state = 1;
    for (size_t i = 0; data && i < bytes; i += each) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(state >> 8) / 8388608.0f - 1.0f;
        memcpy(data + i, (const uint8_t *)&value + (4 - each), each); /* bf16: its upper half */
    }
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    free(data);
    return tensor;
}

static void run_on(const char *name, mica_graph *g, mica_dtype dtype, int64_t rows, int64_t columns,
                   uint8_t *out[4]) {
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_COMPILED};
    mica_tensor *y[4] = {NULL};
    REQUIRE_OK(mica_device_open(name, &device));
    REQUIRE_OK(mica_executable_create(device, g, &options, &exe));
    mica_tensor *x[2] = {random_tensor(device, dtype, MICA_INTS(rows, columns)),
                         random_tensor(device, MICA_DTYPE_f32, MICA_INTS(columns))};
    mica_run_args args = {
        .size = sizeof args, .inputs = x, .n_inputs = 2, .outputs = y, .n_outputs = 4};
    REQUIRE_OK(mica_executable_run(exe, &args, NULL));
    for (int i = 0; i < 4; i++) {
        size_t bytes = mica_type_bytes(mica_tensor_type(y[i]));
        out[i] = malloc(bytes);
        REQUIRE_OK(mica_tensor_to_host(y[i], out[i], bytes));
        mica_tensor_release(y[i]);
    }
    mica_tensor_release(x[0]);
    mica_tensor_release(x[1]);
    mica_executable_release(exe);
    mica_device_release(device);
}

static void check(mica_dtype dtype, int64_t rows, int64_t columns) {
    mica_graph *g = graph_of(dtype, rows, columns);
    uint8_t *ours[4], *theirs[4];
    run_on("cpu", g, dtype, rows, columns, theirs);
    run_on("cuda", g, dtype, rows, columns, ours);
    for (int i = 0; i < 4; i++) {
        size_t bytes = mica_type_bytes(mica_value_type(g->outputs[i]));
        bool same = !memcmp(ours[i], theirs[i], bytes);
        if (!same)
            printf("    result %d of %s[%lld,%lld]\n", i, mica_dtype_name(dtype), (long long)rows,
                   (long long)columns);
        CHECK(same);
        free(ours[i]);
        free(theirs[i]);
    }
    mica_graph_release(g);
}

TEST(fused_kernels_have_the_bits_of_the_cpu) {
    mica_library *library = open_stub("");
    if (!library) return;
    mica_library_keep(library);
    check(MICA_DTYPE_f32, 7, 3);     /* one element at a time, one group of rows */
    check(MICA_DTYPE_bf16, 40, 520); /* pieces of several elements, two parts of a row */
    check(MICA_DTYPE_f32, 300, 96);  /* groups that a second kernel puts together */
    if (!getenv("MICA_TEST_QUICK")) {
        check(MICA_DTYPE_bf16, 5300, 1600); /* two neighbours a thread */
        check(MICA_DTYPE_bf16, 8200, 4096); /* four, and two groups */
    }
    mica_shutdown();
}
