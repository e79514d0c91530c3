/* Runs every signature of a SavedModel on arrays of a file and writes what comes out: doors_program
 * MODEL INPUTS.npz OUTPUTS.npz. An array's name is its signature's, a colon and the tensor's. What
 * a signature cannot do is told on standard output, a line each. An array of texts is their bytes,
 * one after the other; NAME#lengths has their lengths. */
#include <mica/arrays.h>
#include <mica/mica.h>
#include <mica/saved_model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct program {
    mica_device *device;
    mica_saved_model *model;
    mica_arrays *inputs;
    mica_array *outputs;
    int64_t n, capacity;
} program;

/* Room for an array of outputs. */
static void *room_for(program *p, const char *signature, const char *name, const char *kind,
                      mica_type type, size_t bytes) {
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 256;
        p->outputs = realloc(p->outputs, (size_t)p->capacity * sizeof *p->outputs);
    }
    size_t length = strlen(signature) + strlen(name) + strlen(kind) + 2;
    char *text = malloc(length);
    void *data = malloc(bytes + 1);
    snprintf(text, length, "%s:%s%s", signature, name, kind);
    p->outputs[p->n++] = (mica_array){text, type, data};
    return data;
}

static mica_status keep(program *p, const char *signature, const char *name, mica_tensor *tensor) {
    const mica_type *type = mica_tensor_type(tensor);
    size_t bytes = (size_t)mica_type_bytes(type);
    return mica_tensor_to_host(tensor, room_for(p, signature, name, "", *type, bytes), bytes);
}

/* The bytes of all texts, and another array with their lengths. */
static void keep_strings(program *p, const char *signature, const char *name, mica_tf_value texts) {
    mica_tf_shape shape;
    mica_tf_value_shape(texts, &shape);
    int64_t n = mica_tf_strings_count(texts), all = 0;
    mica_type type = mica_type_make(MICA_DTYPE_i64, (mica_ints){shape.dims, shape.rank});
    int64_t *lengths = room_for(p, signature, name, "#lengths", type, (size_t)n * sizeof *lengths);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        mica_tf_strings_get(texts, i, &length);
        all += lengths[i] = (int64_t)length;
    }
    type = mica_type_make(MICA_DTYPE_u8, MICA_INTS(all));
    char *at = room_for(p, signature, name, "", type, (size_t)all);
    for (int64_t i = 0; i < n; at += lengths[i++]) {
        size_t length;
        const char *text = mica_tf_strings_get(texts, i, &length);
        memcpy(at, text, length);
    }
}

/* Texts one after the other; another array has their lengths. */
static mica_status make_strings(program *p, const char *name, const mica_array *texts,
                                mica_tf_value *out) {
    char lengths_name[600];
    snprintf(lengths_name, sizeof lengths_name, "%s#lengths", name);
    int64_t place = mica_arrays_find(p->inputs, lengths_name);
    if (place < 0) return mica_status_create(MICA_NOT_FOUND, "there is no array %s", lengths_name);
    const mica_array *array = mica_arrays_at(p->inputs, place);
    int64_t n = mica_type_elements(&array->type), length;
    const char **data = malloc(((size_t)n + 1) * sizeof *data), *at = texts->data;
    size_t *lengths = malloc(((size_t)n + 1) * sizeof *lengths);
    for (int64_t i = 0; i < n; i++) {
        memcpy(&length, (const char *)array->data + (size_t)i * sizeof length, sizeof length);
        data[i] = at;
        lengths[i] = (size_t)length;
        at += length;
    }
    mica_status status =
        mica_tf_strings_create((mica_ints){array->type.dims, array->type.rank}, data, lengths, out);
    free(lengths);
    free(data);
    return status;
}

static mica_status find_input(program *p, const mica_signature *s, int32_t i, mica_tf_value *out) {
    char name[512];
    snprintf(name, sizeof name, "%s:%s", s->name, s->inputs[i].name);
    int64_t place = mica_arrays_find(p->inputs, name);
    mica_tensor *tensor = NULL;
    if (place < 0) return mica_status_create(MICA_NOT_FOUND, "there is no array %s", name);
    const mica_array *array = mica_arrays_at(p->inputs, place);
    if (s->inputs[i].dtype == MICA_TF_string) return make_strings(p, name, array, out);
    mica_status status = mica_tensor_from_host(p->device, &array->type, array->data, &tensor);
    *out = mica_tf_value_of(tensor);
    return status;
}

static mica_status run(program *p, const mica_signature *s) {
    mica_tf_value inputs[MOST] = {{0}}, outputs[MOST] = {{0}};
    mica_status status = NULL;
    if (s->n_inputs > MOST || s->n_outputs > MOST)
        return mica_status_create(MICA_INVALID_ARGUMENT, "more than %d inputs or outputs", MOST);
    for (int32_t i = 0; i < s->n_inputs && !status; i++) status = find_input(p, s, i, &inputs[i]);
    if (!status)
        status =
            mica_saved_model_run(p->model, s->name, inputs, s->n_inputs, outputs, s->n_outputs);
    for (int32_t i = 0; i < s->n_outputs && !status; i++)
        if (outputs[i].dtype == MICA_TF_string)
            keep_strings(p, s->name, s->outputs[i].name, outputs[i]);
        else
            status = keep(p, s->name, s->outputs[i].name, outputs[i].object);
    for (int32_t i = 0; i < s->n_inputs; i++) mica_tf_value_release(inputs[i]);
    for (int32_t i = 0; i < s->n_outputs; i++) mica_tf_value_release(outputs[i]);
    return status;
}

int main(int n, char **words) {
    program p = {0};
    if (n != 4) return 2;
    mica_status status = mica_device_open("cpu", &p.device);
    if (!status) status = mica_arrays_open(words[2], &p.inputs);
    if (!status) status = mica_saved_model_load(words[1], p.device, NULL, &p.model);
    for (int32_t i = 0; !status && i < mica_saved_model_signature_count(p.model); i++) {
        const mica_signature *s = mica_saved_model_signature(p.model, i);
        mica_status fault = run(&p, s);
        if (fault) printf("%s\t%s\n", s->name, mica_status_message(fault));
        mica_status_release(fault);
    }
    if (!status) status = mica_arrays_save(words[3], p.outputs, p.n);
    if (status) fprintf(stderr, "%s\n", mica_status_message(status));
    int code = status != NULL;
    for (int64_t i = 0; i < p.n; i++) {
        free((void *)p.outputs[i].name);
        free((void *)p.outputs[i].data);
    }
    free(p.outputs);
    mica_saved_model_release(p.model);
    mica_arrays_release(p.inputs);
    mica_device_release(p.device);
    mica_status_release(status);
    mica_shutdown();
    return code;
}
