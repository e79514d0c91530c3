/* Which attention the cuda device computes as a whole, on a stand-in for its libraries
 * (stub_libcuda.c). What comes out is checked by the op harness ("narrow"). */
#include "mica/nn.h"
#include "open_stub.h"

static int (*stub_objects)(void), (*stub_launches)(void);
static void (*stub_repair)(void);

static bool load_stub(const char *plan) {
    mica_library *library = open_stub(plan);
    if (!library) return false;
    *(void **)&stub_objects = mica_library_symbol(library, "stub_objects");
    *(void **)&stub_launches = mica_library_symbol(library, "stub_launches");
    *(void **)&stub_repair = mica_library_symbol(library, "stub_repair");
    mica_library_keep(library);
    stub_repair();
    return true;
}

typedef struct setting {
    mica_dtype dtype, mask; /* COUNT: no mask */
    int64_t queries, keys, size, value_size;
    double scale;
    bool is_taken;
} setting;

/* The attention of a setting, and its gradients. */
static mica_graph *graph_of(const setting *s) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("attention", &g));
    mica_type q = mica_type_make(s->dtype, MICA_INTS(2, s->queries, s->size));
    mica_type k = mica_type_make(s->dtype, MICA_INTS(2, s->keys, s->size));
    mica_type v = mica_type_make(s->dtype, MICA_INTS(2, s->keys, s->value_size));
    mica_type mask = mica_type_make(s->mask, MICA_INTS(s->queries, 1));
    mica_value x[3] = {mica_parameter(g, &q), mica_parameter(g, &k), mica_parameter(g, &v)}, d[3];
    mica_value hidden = s->mask == MICA_DTYPE_COUNT ? MICA_NULL_VALUE : mica_parameter(g, &mask);
    mica_value y = mica_nn_attend(g, x[0], x[1], x[2], hidden, s->scale, false);
    mica_vjp(g, &y, &y, 1, x, 3, d);
    mica_output(g, y);
    for (int i = 0; i < 3; i++) mica_output(g, d[i]);
    CHECK_OK(mica_graph_check(g));
    return g;
}

static bool is_claimed(mica_device *device, const mica_graph *g) {
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == MICA_OP_call &&
            !strcmp(mica_node_string(g->nodes[i], "name"), "mica.attention"))
            return device->vtable->claims(device, g->nodes[i]);
    return false;
}

TEST(attention_of_16_bits_is_taken_and_other_is_computed_in_parts) {
    static const setting settings[] = {
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 5, 7, 64, 64, 0.5, true},
        {MICA_DTYPE_f16, MICA_DTYPE_COUNT, 5, 7, 128, 128, 0.5, true},
        {MICA_DTYPE_f16, MICA_DTYPE_bool, 5, 7, 8, 8, 0.5, true},
        {MICA_DTYPE_f32, MICA_DTYPE_COUNT, 5, 7, 64, 64, 0.5, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 5, 7, 60, 60, 0.5, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 5, 7, 136, 136, 0.5, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 5, 7, 64, 32, 0.5, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 5, 7, 64, 64, -0.5, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 5, 7, 64, 64, 0, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_bf16, 5, 7, 64, 64, 0.5, false},
        {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 0, 7, 64, 64, 0.5, false},
    };
    mica_device *device = NULL;
    if (!load_stub("")) return;
    REQUIRE_OK(mica_device_open("cuda", &device));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        mica_graph *g = graph_of(&settings[i]);
        CHECK(is_claimed(device, g) == settings[i].is_taken);
        mica_graph_release(g);
    }
    mica_device_release(device);
    mica_shutdown();
}

/* Runs attention and its gradients on zeros. */
static mica_status run(void) {
    static const setting s = {MICA_DTYPE_bf16, MICA_DTYPE_COUNT, 3, 4, 16, 16, 0.5, true};
    static const uint16_t zeros[2 * 4 * 16];
    mica_device *device = NULL;
    mica_executable *exe = NULL;
    mica_event *done = NULL;
    mica_tensor *x[3] = {NULL}, *y[4] = {NULL};
    mica_graph *g = graph_of(&s);
    mica_status status = mica_device_open("cuda", &device);
    for (int i = 0; !status && i < 3; i++)
        status = mica_tensor_from_host(device, mica_value_type(g->parameters[i]), zeros, &x[i]);
    if (!status) status = mica_executable_create(device, g, NULL, &exe);
    mica_run_args args = {
        .size = sizeof args, .inputs = x, .n_inputs = 3, .outputs = y, .n_outputs = 4};
    if (!status) status = mica_executable_run(exe, &args, &done);
    if (!status) status = mica_event_wait(done);
    mica_event_release(done);
    for (int i = 0; i < 3; i++) mica_tensor_release(x[i]);
    for (int i = 0; i < 4; i++) mica_tensor_release(y[i]);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
    mica_shutdown();
    return status;
}

TEST(attention_is_one_launch_forward_and_three_backward) {
    if (!load_stub("")) return;
    CHECK_OK(run());
    CHECK(stub_launches() >= 4 && stub_launches() <= 6); /* and zeros for a cotangent */
    CHECK(stub_objects() == 0);
}

TEST(attention_that_gets_no_memory_to_share_is_an_error) {
    if (!load_stub("call:cuFuncSetAttribute:1")) return;
    CHECK_FAILS(run(), MICA_DEVICE_ERROR, "kernel_create");
    CHECK(stub_objects() == 0);
    if (!load_stub("call:cuFuncSetAttribute:3")) return;
    CHECK_FAILS(run(), MICA_DEVICE_ERROR, "kernel_create");
    CHECK(stub_objects() == 0);
}
