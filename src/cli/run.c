/* mica run: a printed graph, run on given or made-up inputs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct run_request {
    const char *graph_path, *device_name;
    uint64_t seed;
    char **inputs;
    int32_t n_inputs;
} run_request;

/* The value after an option, or NULL after a message. */
static const char *option_value(int argc, char **argv, int *i) {
    if (*i + 1 < argc) return argv[++*i];
    cli_usage("run: %s needs a value", argv[*i]);
    return NULL;
}

static int parse(int argc, char **argv, run_request *r) {
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--device")) {
            r->device_name = option_value(argc, argv, &i);
            if (!r->device_name) return CLI_USAGE;
        } else if (!strcmp(argv[i], "--seed")) {
            const char *text = option_value(argc, argv, &i);
            char *end = NULL;
            if (!text) return CLI_USAGE;
            errno = 0;
            r->seed = strtoull(text, &end, 10);
            if (errno || *end || !*text || *text == '-')
                return cli_usage("run: the seed must be a number, not '%s'", text);
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("run: unknown option '%s'", argv[i]);
        } else if (!r->graph_path) {
            r->graph_path = argv[i];
        } else {
            r->inputs[r->n_inputs++] = argv[i];
        }
    }
    return r->graph_path ? CLI_DONE : cli_usage("run: no graph is given");
}

static mica_status load_graph(const char *path, mica_graph **out_graph) {
    char *text = NULL;
    size_t size = 0;
    mica_status status = cli_read_file(path, &text, &size);
    if (!status) status = mica_graph_parse(text, out_graph);
    free(text);
    return status;
}

static mica_status make_inputs(const run_request *r, const mica_graph *g, mica_device *device,
                               mica_tensor **tensors) {
    mica_status status = NULL;
    int32_t n = mica_graph_parameter_count(g);
    if (r->n_inputs > n)
        return mica_status_create(MICA_INVALID_ARGUMENT, "%s: %d inputs given, the graph takes %d",
                                  r->graph_path, r->n_inputs, n);
    for (int32_t i = 0; i < n && !status; i++) {
        const mica_type *type = mica_value_type(mica_graph_parameter(g, i));
        if (type->kind != MICA_TENSOR)
            status = mica_status_create(MICA_INVALID_ARGUMENT, "%s: parameter %d is no tensor",
                                        r->graph_path, i);
        else if (i < r->n_inputs)
            status = cli_load_tensor(r->inputs[i], type, device, &tensors[i]);
        else
            status = cli_make_tensor(r->seed, i, type, device, &tensors[i]);
    }
    return status;
}

static mica_status print_outputs(mica_tensor *const *outputs, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = mica_tensor_type(outputs[i]);
        char text[256];
        void *data = NULL;
        mica_status status = mica_tensor_open_view(outputs[i], MICA_READ, &data);
        if (status) return status;
        mica_type_format(type, text, sizeof text);
        printf("output %d: %s\n", i, text);
        cli_print_tensor(stdout, type, data);
        status = mica_tensor_close_view(outputs[i]);
        if (status) return status;
    }
    return NULL;
}

static mica_status run(const run_request *r, const mica_graph *g, mica_device *device) {
    int32_t n_in = mica_graph_parameter_count(g), n_out = mica_graph_output_count(g);
    mica_tensor **tensors = calloc((size_t)(n_in + n_out) + 1, sizeof *tensors);
    mica_executable *executable = NULL;
    if (!tensors) return mica_status_create(MICA_OUT_OF_MEMORY, "out of memory");
    mica_status status = make_inputs(r, g, device, tensors);
    if (!status) status = mica_executable_create(device, g, NULL, &executable);
    mica_run_args args = {.size = sizeof args,
                          .inputs = tensors,
                          .n_inputs = n_in,
                          .outputs = tensors + n_in,
                          .n_outputs = n_out};
    if (!status) status = mica_executable_run(executable, &args, NULL);
    if (!status) status = print_outputs(tensors + n_in, n_out);
    mica_executable_release(executable);
    for (int32_t i = 0; i < n_in + n_out; i++) mica_tensor_release(tensors[i]);
    free(tensors);
    return status;
}

int cli_run(int argc, char **argv) {
    run_request r = {.device_name = "any", .inputs = calloc((size_t)argc + 1, sizeof(char *))};
    mica_graph *g = NULL;
    mica_device *device = NULL;
    if (!r.inputs) return cli_fail(mica_status_create(MICA_OUT_OF_MEMORY, "out of memory"));
    int code = parse(argc, argv, &r);
    if (code == CLI_DONE) {
        mica_status status = load_graph(r.graph_path, &g);
        if (!status) status = mica_device_open(r.device_name, &device);
        if (!status) status = run(&r, g, device);
        if (status) code = cli_fail(status);
    }
    mica_graph_release(g);
    mica_device_release(device);
    free(r.inputs);
    return code;
}
