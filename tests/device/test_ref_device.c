/* The reference as a device: what the runtime needs of it. */
#include "mica/mica.h"
#include "test.h"

TEST(the_reference_is_never_chosen_by_itself) {
    mica_device_info info = {.size = sizeof info};
    bool found = false;
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++) {
        if (strncmp(info.name, "ref", 3) != 0) continue;
        found = true;
        CHECK(info.available && info.priority < 0);
    }
    CHECK(found);
}

TEST(there_is_one_reference) {
    mica_device *device = NULL;
    CHECK_FAILS(mica_device_open("ref:1", &device), MICA_NOT_FOUND, "ref");
}

/* Runs a graph of one input and one output, both f64 and of one size, through the runtime. */
static mica_status run(const mica_graph *g, const mica_type *type, const double *in, double *out) {
    mica_device *device = NULL;
    mica_tensor *x = NULL, *y = NULL;
    mica_executable *executable = NULL;
    mica_status status = mica_device_open("ref", &device);
    if (!status) status = mica_tensor_from_host(device, type, in, &x);
    if (!status) status = mica_executable_create(device, g, NULL, &executable);
    mica_run_args args = {
        .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
    if (!status) status = mica_executable_run(executable, &args, NULL);
    if (!status) status = mica_tensor_to_host(y, out, mica_type_bytes(type));
    mica_executable_release(executable);
    mica_tensor_release(x);
    mica_tensor_release(y);
    mica_device_release(device);
    return status;
}

TEST(an_executable_of_the_reference_interprets_its_graph) {
    mica_graph *g = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_f64, MICA_INTS(2));
    double in[2] = {3, -1}, out[2];
    REQUIRE_OK(mica_graph_create("square", &g));
    mica_value x = mica_parameter(g, &type);
    mica_output(g, mica_mul(g, x, x));
    CHECK_OK(run(g, &type, in, out));
    CHECK(out[0] == 9 && out[1] == 1);
    mica_graph_release(g);
}

TEST(a_failure_inside_the_graph_comes_out_of_the_result) {
    mica_graph *g = NULL;
    mica_type type = mica_type_scalar(MICA_DTYPE_f64);
    double in = 3, out = 0;
    REQUIRE_OK(mica_graph_create("unbound", &g));
    mica_output(g, mica_all_reduce(g, mica_parameter(g, &type), "sum", "nowhere"));
    CHECK_FAILS(run(g, &type, &in, &out), MICA_INVALID_ARGUMENT, "[all_reduce] axis 'nowhere'");
    mica_graph_release(g);
}
