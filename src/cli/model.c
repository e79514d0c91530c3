/* mica show, mica predict: SavedModels. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct model_request {
    const char *folder, *device_name, *signature;
    char **inputs; /* FILE.npy or NAME=FILE.npy */
    int32_t n_inputs;
} model_request;

/* ---- show -------------------------------------------------------------------------------------*/

static void print_type(mica_tf_dtype dtype, const mica_tf_shape *shape) {
    const char *name = mica_tf_dtype_name(dtype);
    printf("%s", name ? name : "?");
    if (shape->rank < 0) return;
    putchar('[');
    for (int32_t i = 0; i < shape->rank; i++) {
        if (i) putchar(',');
        if (shape->dims[i] < 0)
            putchar('?');
        else
            printf("%lld", (long long)shape->dims[i]);
    }
    putchar(']');
}

static void print_tensors(const char *what, const mica_signature_tensor *tensors, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        printf("    %s %s: ", what, tensors[i].name);
        print_type(tensors[i].dtype, &tensors[i].shape);
        putchar('\n');
    }
}

static void show(const mica_saved_model *model) {
    for (int32_t i = 0; i < mica_saved_model_signature_count(model); i++) {
        const mica_signature *s = mica_saved_model_signature(model, i);
        printf("signature %s\n", s->name);
        print_tensors("input ", s->inputs, s->n_inputs);
        print_tensors("output", s->outputs, s->n_outputs);
    }
    for (int32_t i = 0; i < mica_saved_model_variable_count(model); i++) {
        mica_tf_value handle = mica_saved_model_handle(model, i);
        mica_tf_shape shape;
        mica_tf_variable_shape(handle, &shape);
        printf("variable %s: ", mica_tf_variable_name(handle));
        print_type(mica_tf_variable_dtype(handle), &shape);
        putchar('\n');
    }
}

/* ---- predict ----------------------------------------------------------------------------------*/

/* The place of an input that is given as NAME=FILE, or, without a name, of the only one. */
static mica_status find_input(const mica_signature *s, const char *text, int32_t *out_place,
                              const char **out_path) {
    const char *equals = strchr(text, '=');
    *out_path = equals ? equals + 1 : text;
    for (int32_t i = 0; i < s->n_inputs; i++) {
        size_t n = strlen(s->inputs[i].name);
        if (equals ? n == (size_t)(equals - text) && !memcmp(text, s->inputs[i].name, n)
                   : s->n_inputs == 1) {
            *out_place = i;
            return NULL;
        }
    }
    if (!equals)
        return mica_status_create(MICA_INVALID_ARGUMENT,
                                  "%s: '%s' has %d inputs; name one: NAME=%s", text, s->name,
                                  s->n_inputs, text);
    return mica_status_create(MICA_INVALID_ARGUMENT, "%s: '%s' has no such input", text, s->name);
}

static mica_status load_inputs(const model_request *r, const mica_signature *s, mica_device *device,
                               mica_tf_value *inputs) {
    for (int32_t i = 0; i < r->n_inputs; i++) {
        int32_t place = 0;
        const char *path;
        mica_type type;
        mica_tensor *tensor = NULL;
        mica_status status = find_input(s, r->inputs[i], &place, &path);
        if (!status && inputs[place].object)
            status = mica_status_create(MICA_INVALID_ARGUMENT, "%s: '%s' is given twice", path,
                                        s->inputs[place].name);
        if (!status) status = cli_npy_type(path, &type);
        if (!status) status = cli_load_tensor(path, &type, device, &tensor);
        if (status) return status;
        inputs[place] = mica_tf_value_of(tensor);
    }
    for (int32_t i = 0; i < s->n_inputs; i++)
        if (!inputs[i].object)
            return mica_status_create(MICA_INVALID_ARGUMENT, "the input '%s' is not given",
                                      s->inputs[i].name);
    return NULL;
}

static mica_status print_value(mica_tf_value value) {
    if (value.dtype == MICA_TF_string) {
        for (int64_t i = 0; i < mica_tf_strings_count(value); i++) {
            size_t n;
            const char *text = mica_tf_strings_get(value, i, &n);
            fwrite(text, 1, n, stdout);
            putchar('\n');
        }
        return NULL;
    }
    if (mica_tf_dtype_core(value.dtype) == MICA_DTYPE_COUNT) return NULL;
    void *data = NULL;
    mica_status status = mica_tensor_open_view(value.object, MICA_READ, &data);
    if (status) return status;
    cli_print_tensor(stdout, mica_tensor_type(value.object), data);
    return mica_tensor_close_view(value.object);
}

static mica_status print_outputs(const mica_signature *s, const mica_tf_value *outputs) {
    mica_status status = NULL;
    for (int32_t i = 0; i < s->n_outputs && !status; i++) {
        mica_tf_shape shape;
        mica_tf_value_shape(outputs[i], &shape);
        printf("%s: ", s->outputs[i].name);
        print_type(outputs[i].dtype, &shape);
        putchar('\n');
        status = print_value(outputs[i]);
    }
    return status;
}

static mica_status predict(const model_request *r, mica_saved_model *model, mica_device *device) {
    const mica_signature *s = mica_saved_model_find(model, r->signature);
    if (!s)
        return mica_status_create(MICA_NOT_FOUND, "%s has no signature '%s'; try 'mica show %s'",
                                  r->folder, r->signature, r->folder);
    size_t n = (size_t)s->n_inputs + (size_t)s->n_outputs;
    mica_tf_value *values = calloc(n + 1, sizeof *values);
    if (!values) return mica_status_create(MICA_OUT_OF_MEMORY, "out of memory");
    mica_tf_value *outputs = values + s->n_inputs;
    mica_status status = load_inputs(r, s, device, values);
    if (!status)
        status = mica_saved_model_run(model, s->name, values, s->n_inputs, outputs, s->n_outputs);
    if (!status) status = print_outputs(s, outputs);
    for (size_t i = 0; i < n; i++) mica_tf_value_release(values[i]);
    free(values);
    return status;
}

/* ---- arguments --------------------------------------------------------------------------------*/

static int parse(const char *command, bool predicts, int argc, char **argv, model_request *r) {
    const char **option = NULL;
    for (int i = 0; i < argc; i++) {
        if (option) {
            *option = argv[i];
            option = NULL;
        } else if (!strcmp(argv[i], "--device")) {
            option = &r->device_name;
        } else if (predicts && !strcmp(argv[i], "--signature")) {
            option = &r->signature;
        } else if (predicts && !strcmp(argv[i], "--inputs")) {
            continue; /* what follows are inputs in any case */
        } else if (argv[i][0] == '-') {
            return cli_usage("%s: unknown option '%s'", command, argv[i]);
        } else if (!r->folder) {
            r->folder = argv[i];
        } else if (predicts) {
            r->inputs[r->n_inputs++] = argv[i];
        } else {
            return cli_usage("%s: one model, not '%s' too", command, argv[i]);
        }
    }
    if (option) return cli_usage("%s: %s needs a value", command, argv[argc - 1]);
    return r->folder ? CLI_DONE : cli_usage("%s: no model is given", command);
}

static int run(const char *command, bool predicts, int argc, char **argv) {
    model_request r = {.device_name = predicts ? "any" : "cpu",
                       .signature = "serving_default",
                       .inputs = calloc((size_t)argc + 1, sizeof(char *))};
    mica_device *device = NULL;
    mica_saved_model *model = NULL;
    if (!r.inputs) return cli_fail(mica_status_create(MICA_OUT_OF_MEMORY, "out of memory"));
    int code = parse(command, predicts, argc, argv, &r);
    if (code == CLI_DONE) {
        mica_status status = mica_device_open(r.device_name, &device);
        if (!status) status = mica_saved_model_load(r.folder, device, NULL, &model);
        if (!status && predicts) status = predict(&r, model, device);
        if (!status && !predicts) show(model);
        if (status) code = cli_fail(status);
    }
    mica_saved_model_release(model);
    mica_device_release(device);
    free(r.inputs);
    return code;
}

int cli_show(int argc, char **argv) {
    return run("show", false, argc, argv);
}

int cli_predict(int argc, char **argv) {
    return run("predict", true, argc, argv);
}
