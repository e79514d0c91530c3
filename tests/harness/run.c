#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *harness_devices[MOST_DEVICES] = {"cpu", "fake"};
int harness_device_count = 2;
static mica_device *opened[MOST_DEVICES];

bool harness_set_devices(const char *list) {
    static char names[200];
    if (strlen(list) >= sizeof names) return false;
    strcpy(names, list);
    harness_device_count = 0;
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        if (harness_device_count == MOST_DEVICES) return false;
        harness_devices[harness_device_count++] = name;
    }
    return harness_device_count > 0;
}

static void pointers(const arrays *list, void **out) {
    for (int32_t i = 0; i < list->n; i++) out[i] = list->items[i].data;
}

static arrays outputs_of(const mica_graph *g) {
    arrays out = {.n = g->n_outputs};
    for (int32_t i = 0; i < g->n_outputs; i++)
        out.items[i] = array_create(mica_value_type(g->outputs[i]));
    return out;
}

arrays run_reference(const mica_graph *g, const arrays *inputs, const char *what) {
    void *in[MOST_ARRAYS], *out[MOST_ARRAYS];
    mica_status status = mica_graph_check(g);
    if (!harness_ok(status, what)) return (arrays){0};
    arrays outputs = outputs_of(g);
    pointers(inputs, in);
    pointers(&outputs, out);
    harness_ok(mica_ref_evaluate(g, (const void *const *)in, out), what);
    return outputs;
}

static mica_status open_device(const char *name, mica_device **out_device) {
    for (int i = 0; i < harness_device_count; i++) {
        if (strcmp(harness_devices[i], name) != 0) continue;
        if (!opened[i]) MICA_TRY(mica_device_open(name, &opened[i]));
        *out_device = opened[i];
        return NULL;
    }
    return MICA_INVALID("no device '%s' in the harness", name);
}

void harness_wait(void) {
    for (int i = 0; i < harness_device_count; i++)
        if (opened[i]) harness_ok(mica_device_wait(opened[i]), harness_devices[i]);
}

void harness_close(void) {
    for (int i = 0; i < harness_device_count; i++) {
        mica_device_release(opened[i]);
        opened[i] = NULL;
    }
    control_cases_close();
}

static mica_status upload_all(mica_device *device, const arrays *inputs, mica_tensor **tensors) {
    for (int32_t i = 0; i < inputs->n; i++)
        MICA_TRY(mica_tensor_from_host(device, &inputs->items[i].type, inputs->items[i].data,
                                       &tensors[i]));
    return NULL;
}

static mica_status run_executable(mica_device *device, mica_executable *executable,
                                  const arrays *inputs, arrays *outputs) {
    mica_tensor *in[MOST_ARRAYS] = {NULL}, *out[MOST_ARRAYS] = {NULL};
    mica_status status = upload_all(device, inputs, in);
    mica_run_args args = {.size = sizeof args,
                          .inputs = in,
                          .n_inputs = inputs->n,
                          .outputs = out,
                          .n_outputs = outputs->n};
    if (!status) status = mica_executable_run(executable, &args, NULL);
    for (int32_t i = 0; !status && i < outputs->n; i++)
        status = mica_tensor_to_host(out[i], outputs->items[i].data,
                                     mica_type_bytes(&outputs->items[i].type));
    for (int32_t i = 0; i < MOST_ARRAYS; i++) {
        mica_tensor_release(in[i]);
        mica_tensor_release(out[i]);
    }
    return status;
}

mica_status run_on_device(const char *name, const char *passes, const mica_graph *g,
                          const arrays *inputs, arrays *out) {
    mica_device *device = NULL;
    mica_executable *executable = NULL;
    mica_compile_options options = {.size = sizeof options, .passes = passes};
    *out = (arrays){0};
    MICA_TRY(open_device(name, &device));
    MICA_TRY(mica_executable_create(device, g, &options, &executable));
    *out = outputs_of(g);
    mica_status status = run_executable(device, executable, inputs, out);
    mica_executable_release(executable);
    if (status) arrays_free(out);
    return status;
}

static mica_status run_eager_on(const op_case *c, mica_device *device, const arrays *inputs,
                                arrays *out) {
    mica_tensor *in[MOST_ARRAYS] = {NULL}, *results[MOST_ARRAYS] = {NULL};
    int32_t n = 1;
    mica_attribute attributes[8] = {{0}};
    for (int i = 0; i < 8; i++) {
        const mica_attr *attr = &c->attributes[i];
        if (attr->kind == MICA_ATTR_INTS)
            attributes[i].ints = attr->as.ints;
        else if (attr->kind == MICA_ATTR_STRING)
            attributes[i].string = attr->as.string;
        else
            attributes[i].integer = attr->as.integer;
    }
    mica_status status = upload_all(device, inputs, in);
    if (!status && mica_op_class_of(c->op) == MICA_CLASS_SEVERAL)
        status =
            mica_eager_several(device, c->op, in, inputs->n, attributes, results, MOST_ARRAYS, &n);
    else if (!status)
        status = mica_eager(device, c->op, in, inputs->n, attributes, results);
    for (int32_t i = 0; !status && i < n; i++) {
        out->items[out->n++] = array_create(mica_tensor_type(results[i]));
        status = mica_tensor_to_host(results[i], out->items[i].data,
                                     mica_type_bytes(&out->items[i].type));
    }
    for (int32_t i = 0; i < inputs->n; i++) mica_tensor_release(in[i]);
    for (int32_t i = 0; i < MOST_ARRAYS; i++) mica_tensor_release(results[i]);
    return status;
}

void check_eager(const op_case *c, const arrays *inputs, const arrays *want,
                 const tolerance *allowed, const char *what) {
    for (int i = 0; i < harness_device_count; i++) {
        char title[300];
        mica_device *device = NULL;
        arrays got = {0};
        snprintf(title, sizeof title, "%s eagerly on %s", what, harness_devices[i]);
        mica_status status = open_device(harness_devices[i], &device);
        if (!status) status = run_eager_on(c, device, inputs, &got);
        if (harness_ok(status, title)) arrays_agree(&got, want, allowed, title);
        arrays_free(&got);
    }
}

static void check_on_device(const op_case *c, mica_dtype dtype, const char *device,
                            const char *passes, const mica_graph *g, const arrays *inputs,
                            const arrays *want, const tolerance *allowed, const char *what) {
    char title[300];
    arrays got;
    snprintf(title, sizeof title, "%s on %s%s", what, device, passes ? " without passes" : "");
    mica_status status = run_on_device(device, passes, g, inputs, &got);
    bool unsupported = mica_status_code(status) == MICA_UNSUPPORTED;
    harness_note(device, c->op, dtype, !unsupported, mica_status_message(status));
    if (unsupported)
        mica_status_release(status);
    else if (harness_ok(status, title))
        arrays_agree(&got, want, allowed, title);
    arrays_free(&got);
}

void check_on_devices(const op_case *c, mica_dtype dtype, const mica_graph *g, const arrays *inputs,
                      const arrays *want, const tolerance *allowed, const char *what) {
    for (int i = 0; i < harness_device_count; i++)
        check_on_device(c, dtype, harness_devices[i], NULL, g, inputs, want, allowed, what);
    if (g->n_nodes > g->n_parameters + 1)
        check_on_device(c, dtype, harness_devices[0], "-inline,-simplify,-schedule", g, inputs,
                        want, allowed, what);
}
