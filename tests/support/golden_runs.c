#include "support/golden_runs.h"

#include "ir/numbers.h"
#include "test.h"

/* ---- running a graph --------------------------------------------------------------------------*/

static void element_store(mica_dtype dtype, void *to, int64_t i, double value) {
    mica_number_store(dtype, value, (char *)to + (size_t)i * mica_dtype_bytes(dtype));
}

static double element_load(mica_dtype dtype, const void *from, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_f32: return ((const float *)from)[i];
    case MICA_DTYPE_f64: return ((const double *)from)[i];
    case MICA_DTYPE_i32: return ((const int32_t *)from)[i];
    default: return ((const uint8_t *)from)[i];
    }
}

mica_status program_create(program *p, mica_graph *g, const char *device) {
    p->n_inputs = mica_graph_parameter_count(g);
    p->n_outputs = mica_graph_output_count(g);
    MICA_TRY(mica_graph_verify(g));
    for (int32_t i = 0; i < p->n_inputs; i++)
        p->inputs[i] = *mica_value_type(mica_graph_parameter(g, i));
    for (int32_t i = 0; i < p->n_outputs; i++)
        p->outputs[i] = *mica_value_type(mica_graph_output(g, i));
    MICA_TRY(mica_device_open(device, &p->device));
    return mica_executable_create(p->device, g, NULL, &p->executable);
}

void program_deinit(program *p) {
    mica_executable_release(p->executable);
    mica_device_release(p->device);
}

static mica_status upload(const program *p, int32_t i, const double *values, mica_tensor **out) {
    const mica_type *type = &p->inputs[i];
    void *bytes = malloc(mica_type_bytes(type) + 1);
    for (int64_t k = 0, k_end = mica_type_elements(type); k < k_end; k++)
        element_store(type->dtype, bytes, k, values[k]);
    mica_status status = mica_tensor_from_host(p->device, type, bytes, out);
    free(bytes);
    return status;
}

static mica_status download(const program *p, int32_t i, mica_tensor *tensor, double *values) {
    const mica_type *type = &p->outputs[i];
    void *bytes = malloc(mica_type_bytes(type) + 1);
    mica_status status = mica_tensor_to_host(tensor, bytes, mica_type_bytes(type));
    for (int64_t k = 0, k_end = mica_type_elements(type); !status && k < k_end; k++)
        values[k] = element_load(type->dtype, bytes, k);
    free(bytes);
    return status;
}

/* Numbers in, numbers out; the caller owns all the memory. */
mica_status program_run(const program *p, double *const *inputs, double **outputs) {
    mica_tensor *in[GOLDEN_MOST] = {NULL}, *out[GOLDEN_MOST] = {NULL};
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < p->n_inputs; i++) status = upload(p, i, inputs[i], &in[i]);
    mica_run_args args = {.size = sizeof args,
                          .inputs = in,
                          .n_inputs = p->n_inputs,
                          .outputs = out,
                          .n_outputs = p->n_outputs};
    if (!status) status = mica_executable_run(p->executable, &args, NULL);
    for (int32_t i = 0; !status && i < p->n_outputs; i++)
        status = download(p, i, out[i], outputs[i]);
    for (int32_t i = 0; i < p->n_inputs; i++) mica_tensor_release(in[i]);
    for (int32_t i = 0; i < p->n_outputs; i++) mica_tensor_release(out[i]);
    return status;
}

void program_alloc(const program *p, double **outputs) {
    for (int32_t i = 0; i < p->n_outputs; i++)
        outputs[i] = malloc((size_t)(mica_type_elements(&p->outputs[i]) + 1) * sizeof(double));
}

void program_free(const program *p, double **outputs) {
    for (int32_t i = 0; i < p->n_outputs; i++) free(outputs[i]);
}

/* ---- the graph of a case ----------------------------------------------------------------------*/

static bool is_float(const golden_tensor *t) {
    return t->type.dtype == MICA_DTYPE_f32;
}

mica_value trial_parameter(trial *t, const golden_tensor *tensor) {
    mica_type type = tensor->type;
    if (is_float(tensor)) type.dtype = t->dtype;
    t->inputs[t->n_inputs++] = tensor->data;
    return mica_parameter(t->g, &type);
}

mica_status trial_begin(trial *t, const golden_case *c, mica_dtype dtype) {
    *t = (trial){.c = c, .dtype = dtype};
    MICA_TRY(mica_graph_create(c->name, &t->g));
    for (int32_t i = 0; i < c->n_tensors; i++)
        if (golden_is_in(&c->tensors[i], "in", NULL))
            t->values[i] = trial_parameter(t, &c->tensors[i]);
    golden_operands operands = {c, t->values};
    t->n_results = golden_build(t->g, &operands, t->results);
    return mica_graph_check(t->g);
}

/* |a - b| <= tolerance (1 + |b|) for all elements. */
void trial_compare(const trial *t, const char *what, const double *a, const double *b, int64_t n,
                   double tolerance) {
    for (int64_t i = 0; i < n; i++) {
        test_checks++;
        if (fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))) continue;
        test_report(__FILE__, __LINE__, "%s in %s, %s[%lld]: %.10g, but the golden value is %.10g",
                    t->c->name, mica_dtype_name(t->dtype), what, (long long)i, a[i], b[i]);
        return;
    }
}

int32_t trial_gradients(trial *t, const golden_tensor **found, mica_value *inputs,
                        mica_value *gradients) {
    mica_value cotangents[GOLDEN_RESULTS];
    int32_t n = 0, n_results = 0, n_cotangents = 0;
    for (int32_t i = 0; i < t->c->n_tensors; i++) {
        const golden_tensor *tensor = &t->c->tensors[i];
        const char *name;
        if (golden_is_in(tensor, "out", &name) && n_results < t->n_results) {
            const golden_tensor *ct = golden_find(t->c, "ct", name);
            n_cotangents += ct != NULL;
            cotangents[n_results++] = ct ? trial_parameter(t, ct) : MICA_NULL_VALUE;
        }
        if (!golden_is_in(tensor, "grad", &name)) continue;
        found[n] = tensor;
        inputs[n++] = t->values[golden_find(t->c, "in", name) - t->c->tensors];
    }
    if (!n || !n_cotangents) return 0;
    mica_vjp(t->g, t->results, cotangents, t->n_results, inputs, n, gradients);
    for (int32_t i = 0; i < n; i++)
        if (mica_value_is_null(gradients[i])) gradients[i] = mica_zeros_like(t->g, inputs[i]);
    return n;
}
