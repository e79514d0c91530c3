/* Trains a SavedModel further: finetune MODEL X Y STEPS RATE RESULT
 *
 * X and Y are .npy files of what goes into serving_default and of what should come out. Each step
 * of Adam lowers the mean squared error over all of them. The variables that the output depends on
 * are trained, and the model is saved with them. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        mica_status status_ = (expr);                                                              \
        if (status_) return status_;                                                               \
    } while (0)

enum { MOST = 100 }; /* variables */

typedef struct trainer {
    mica_device *device;
    mica_saved_model *model;
    mica_tf_value x, y;
    mica_tf_graph *forward;   /* of x, the variables and y: the loss, and residuals */
    mica_tf_graph *gradients; /* of 1 and the residuals: gradients of the variables trained */
    mica_executable *update;  /* of the time step and p, m, v, gradient of each: p, m, v */
    mica_tf_value handles[MOST];
    bool is_trained[MOST];
    mica_tensor *m[MOST], *v[MOST]; /* Adam's moments */
    int32_t n;
} trainer;

/* ---- data -------------------------------------------------------------------------------------*/

/* The array of an .npy file, of any batch size and whatever else the signature leaves open. */
static mica_status read_rows(mica_device *device, const char *path,
                             const mica_signature_tensor *wanted, mica_tf_value *out_value) {
    const mica_tf_shape *shape = &wanted->shape;
    mica_arrays *arrays = NULL;
    mica_tensor *tensor = NULL;
    TRY(mica_arrays_open(path, &arrays));
    const mica_array *array = mica_arrays_at(arrays, 0);
    bool fits = array && shape->rank > 0 && array->type.rank == shape->rank &&
                array->type.dtype == mica_tf_dtype_core(wanted->dtype);
    for (int32_t i = 0; fits && i < shape->rank; i++)
        fits = shape->dims[i] < 0 || shape->dims[i] == array->type.dims[i];
    mica_status status = NULL;
    if (fits)
        status = mica_tensor_from_host(device, &array->type, array->data, &tensor);
    else
        status = mica_status_create(MICA_INVALID_ARGUMENT, "%s has no rows for '%s'", path,
                                    wanted->name);
    if (!status) *out_value = mica_tf_value_of(tensor);
    mica_arrays_release(arrays);
    return status;
}

/* ---- the loss and its gradients ---------------------------------------------------------------*/

static mica_status constant(trainer *t, mica_tf_graph *g, mica_type type, const void *data,
                            mica_tf_ref *out_ref) {
    mica_tensor *tensor;
    TRY(mica_tensor_from_host(t->device, &type, data, &tensor));
    mica_tf_value value = mica_tf_value_of(tensor);
    mica_tf_attr attrs[] = {{.as.value = value}, {.as.integer = value.dtype}};
    mica_status status = mica_tf_graph_add(g, MICA_TF_Const, attrs, NULL, 0, NULL, out_ref);
    mica_tf_value_release(value);
    return status;
}

static mica_status call(mica_tf_graph *in, mica_tf_graph *function, const mica_tf_ref *inputs,
                        mica_tf_ref *out_first) {
    int64_t given[2 * MOST], made[MOST];
    int32_t n = mica_tf_graph_parameter_count(function), m = mica_tf_graph_output_count(function);
    for (int32_t i = 0; i < n; i++)
        given[i] = mica_tf_graph_type(function, mica_tf_graph_parameter_ref(function, i), NULL);
    for (int32_t i = 0; i < m; i++)
        made[i] = mica_tf_graph_type(function, mica_tf_graph_output_ref(function, i), NULL);
    mica_tf_attr attrs[] = {
        {.n = n, .as.ints = given}, {.n = m, .as.ints = made}, {.as.function = function}};
    return mica_tf_graph_add(in, MICA_TF_StatefulPartitionedCall, attrs, inputs, n, NULL,
                             out_first);
}

/* The parameters of a function, again in another graph. */
static mica_status copy_parameters(mica_tf_graph *g, const mica_tf_graph *of, mica_tf_ref *refs) {
    for (int32_t i = 0; i < mica_tf_graph_parameter_count(of); i++) {
        mica_tf_shape shape;
        mica_tf_ref ref = mica_tf_graph_parameter_ref(of, i);
        mica_tf_dtype dtype = mica_tf_graph_type(of, ref, &shape);
        TRY(mica_tf_graph_parameter(g, dtype, &shape, NULL, &refs[i]));
    }
    return NULL;
}

/* mean((signature(x, variables) - y)^2), of x, variables and y; released by the caller, also when
 * it is not whole */
static mica_status build_loss(trainer *t, const mica_signature *s, mica_tf_graph *body,
                              mica_tf_graph **out_loss) {
    int32_t axes[MICA_MAX_RANK], rank = s->outputs[0].shape.rank;
    mica_tf_ref inputs[MOST + 1], errors[2], mean[2];
    for (int32_t i = 0; i < rank; i++) axes[i] = i;
    TRY(mica_tf_graph_create("loss", out_loss));
    mica_tf_graph *g = *out_loss;
    TRY(copy_parameters(g, body, inputs));
    TRY(mica_tf_graph_parameter(g, MICA_TF_float32, &s->outputs[0].shape, "y", &errors[1]));
    TRY(call(g, body, inputs, &errors[0]));
    TRY(mica_tf_graph_add(g, MICA_TF_SquaredDifference, NULL, errors, 2, NULL, &mean[0]));
    TRY(constant(t, g, mica_type_make(MICA_DTYPE_i32, MICA_INTS(rank)), axes, &mean[1]));
    TRY(mica_tf_graph_add(g, MICA_TF_Mean, NULL, mean, 2, NULL, &mean[0]));
    return mica_tf_graph_output(g, mean[0]);
}

/* A gradient that is slices of a variable, in n parts of cotangents and row numbers: their sum. */
static mica_status sum_slices(trainer *t, mica_tf_value variable, mica_tf_ref part, int32_t n,
                              mica_tf_ref *out_gradient) {
    mica_tf_shape shape;
    mica_tf_variable_shape(variable, &shape);
    mica_tf_ref sum[2] = {{0}}, rows;
    TRY(constant(t, t->gradients, mica_type_scalar(MICA_DTYPE_i32),
                 &(int32_t){(int32_t)shape.dims[0]}, &rows));
    for (int32_t i = 0; i < n; i++) {
        mica_tf_ref slices[3] = {part, {part.node, part.index + 1}, rows};
        part.index += 2;
        TRY(mica_tf_graph_add(t->gradients, MICA_TF_UnsortedSegmentSum, NULL, slices, 3, NULL,
                              &sum[i > 0]));
        if (i) TRY(mica_tf_graph_add(t->gradients, MICA_TF_AddV2, NULL, sum, 2, NULL, &sum[0]));
    }
    *out_gradient = sum[0];
    return NULL;
}

/* Backward's results, slices summed up: a gradient for each variable that is trained. */
static mica_status build_gradients(trainer *t, mica_tf_graph *backward, const uint8_t *connected) {
    mica_tf_ref inputs[2 * MOST], next;
    TRY(mica_tf_graph_create("gradients", &t->gradients));
    TRY(copy_parameters(t->gradients, backward, inputs));
    TRY(call(t->gradients, backward, inputs, &next));
    for (int32_t i = 0; i < t->n; i++) {
        mica_tf_ref gradient = next;
        int32_t n = connected[i] > 1 ? connected[i] - 1 : 0;
        if (n) TRY(sum_slices(t, t->handles[i], next, n, &gradient));
        if (connected[i]) TRY(mica_tf_graph_output(t->gradients, gradient));
        t->is_trained[i] = connected[i] > 0;
        next.index += n ? 2 * n : connected[i];
    }
    return NULL;
}

static mica_status differentiate(trainer *t, const mica_signature *s, mica_tf_graph *body) {
    uint8_t wanted[MOST + 2] = {0}, connected[MOST + 2] = {0};
    mica_tf_graph *loss = NULL, *backward = NULL;
    mica_status status = build_loss(t, s, body, &loss);
    for (int32_t i = 1; i <= t->n; i++) wanted[i] = 1; /* after x */
    if (!status) status = mica_tf_graph_backward(loss, wanted, connected, &t->forward, &backward);
    if (!status && (mica_tf_graph_output_count(t->forward) > 2 * MOST ||
                    mica_tf_graph_parameter_count(backward) > 2 * MOST ||
                    mica_tf_graph_output_count(backward) > MOST))
        status = mica_status_create(MICA_UNSUPPORTED, "the model is too large for this example");
    if (!status) status = build_gradients(t, backward, connected + 1);
    mica_tf_graph_release(loss);
    mica_tf_graph_release(backward);
    return status;
}

/* ---- the optimizer ----------------------------------------------------------------------------*/

static mica_status build_update(trainer *t, mica_graph *g, double rate) {
    mica_nn_optimizer adam = MICA_NN_OPTIMIZER;
    adam.kind = MICA_NN_ADAM;
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_value step = mica_parameter(g, &scalar),
               learning_rate = mica_scalar(g, MICA_DTYPE_f32, rate);
    for (int32_t i = 0; i < t->n; i++) {
        mica_tf_value value;
        mica_value in[4], out[3];
        if (!t->is_trained[i]) continue;
        TRY(mica_tf_variable_read(t->handles[i], &value));
        mica_type type = *mica_tensor_type(value.object);
        mica_tf_value_release(value);
        for (int32_t k = 0; k < 4; k++) in[k] = mica_parameter(g, &type);
        mica_nn_optimizer_update(g, &adam, learning_rate, step, in[0], in[3], in + 1, out);
        for (int32_t k = 0; k < 3; k++) mica_output(g, out[k]);
        void *zeros = calloc(1, mica_type_bytes(&type) + 1);
        if (!zeros) return mica_status_create(MICA_OUT_OF_MEMORY, "out of memory");
        mica_status status = mica_tensor_from_host(t->device, &type, zeros, &t->m[i]);
        if (!status) status = mica_tensor_from_host(t->device, &type, zeros, &t->v[i]);
        free(zeros);
        if (status) return status;
    }
    return mica_executable_create(t->device, g, NULL, &t->update);
}

/* ---- training ---------------------------------------------------------------------------------*/

/* The results of the update take the place of variables and moments. */
static mica_status take_results(trainer *t, mica_tensor **results) {
    mica_status status = NULL;
    for (int32_t i = 0; i < t->n; i++) {
        if (!t->is_trained[i]) continue;
        mica_tf_value value = mica_tf_value_of(*results++);
        if (!status) status = mica_tf_variable_assign(t->handles[i], value);
        mica_tf_value_release(value);
        mica_tensor_release(t->m[i]);
        mica_tensor_release(t->v[i]);
        t->m[i] = *results++;
        t->v[i] = *results++;
    }
    return status;
}

static mica_status update(trainer *t, float step, const mica_tf_value *gradients) {
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_tensor *inputs[4 * MOST + 1] = {NULL}, *outputs[3 * MOST] = {NULL};
    mica_status status = mica_tensor_from_host(t->device, &scalar, &step, &inputs[0]);
    mica_run_args args = {.size = sizeof args, .inputs = inputs, .n_inputs = 1, .outputs = outputs};
    for (int32_t i = 0; i < t->n && !status; i++) {
        mica_tf_value value;
        if (!t->is_trained[i]) continue;
        status = mica_tf_variable_read(t->handles[i], &value);
        if (status) break;
        mica_tensor **in = inputs + args.n_inputs;
        in[0] = value.object, in[1] = t->m[i], in[2] = t->v[i], in[3] = gradients->object;
        for (int32_t k = 1; k < 4; k++) mica_tensor_retain(in[k]);
        gradients++;
        args.n_inputs += 4;
        args.n_outputs += 3;
    }
    if (!status) status = mica_executable_run(t->update, &args, NULL);
    if (!status) status = take_results(t, outputs);
    for (int32_t i = 0; i < args.n_inputs; i++) mica_tensor_release(inputs[i]);
    return status;
}

static mica_status take_step(trainer *t, int32_t step) {
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_tf_value inputs[MOST + 2] = {t->x}, results[2 * MOST], gradients[MOST] = {{0}};
    int32_t n = mica_tf_graph_output_count(t->forward);
    int32_t n_gradients = mica_tf_graph_output_count(t->gradients);
    float loss = 0;
    for (int32_t i = 0; i < t->n; i++) inputs[i + 1] = t->handles[i];
    inputs[t->n + 1] = t->y;
    TRY(mica_tf_graph_run(t->forward, t->device, inputs, t->n + 2, results, n));
    mica_status status = mica_tensor_to_host(results[0].object, &loss, sizeof loss);
    printf("%.9g\n", loss);
    mica_tensor *one = NULL; /* the loss's own cotangent */
    if (!status) status = mica_tensor_from_host(t->device, &scalar, &(float){1}, &one);
    if (!status) {
        mica_tf_value_release(results[0]);
        results[0] = mica_tf_value_of(one);
        status = mica_tf_graph_run(t->gradients, t->device, results, n, gradients, n_gradients);
    }
    if (!status) status = update(t, (float)step, gradients);
    for (int32_t i = 0; i < n; i++) mica_tf_value_release(results[i]);
    for (int32_t i = 0; i < n_gradients; i++) mica_tf_value_release(gradients[i]);
    return status;
}

static mica_status train(trainer *t, int32_t n_steps) {
    for (int32_t step = 1; step <= n_steps; step++) TRY(take_step(t, step));
    return NULL;
}

static mica_status finetune(trainer *t, char **given) {
    TRY(mica_device_open("any", &t->device));
    TRY(mica_saved_model_load(given[0], t->device, NULL, &t->model));
    const mica_signature *s = mica_saved_model_find(t->model, "serving_default");
    if (!s || s->n_inputs != 1 || s->n_outputs != 1 || s->outputs[0].dtype != MICA_TF_float32 ||
        mica_saved_model_handle_count(t->model) > MOST)
        return mica_status_create(MICA_UNSUPPORTED,
                                  "%s: one input, one output of float32, %d variables at most",
                                  given[0], MOST);
    TRY(read_rows(t->device, given[1], &s->inputs[0], &t->x));
    TRY(read_rows(t->device, given[2], &s->outputs[0], &t->y));

    mica_tf_graph *body;
    int32_t captured[MOST];
    TRY(mica_saved_model_graph(t->model, s->name, &body, captured, &t->n));
    for (int32_t i = 0; i < t->n; i++)
        t->handles[i] = mica_saved_model_handle(t->model, captured[i]);
    mica_status status = differentiate(t, s, body);
    mica_tf_graph_release(body);
    mica_graph *g = NULL;
    if (!status) status = mica_graph_create("update", &g);
    if (!status) status = build_update(t, g, atof(given[4]));
    mica_graph_release(g);
    if (!status) status = train(t, atoi(given[3]));
    if (!status) status = mica_saved_model_save(t->model, given[5], NULL);
    return status;
}

int main(int argc, char **argv) {
    static trainer t;
    if (argc != 7) {
        fputs("finetune MODEL X Y STEPS RATE RESULT\n", stderr);
        return 2;
    }
    mica_status status = finetune(&t, argv + 1);
    if (status) fprintf(stderr, "finetune: %s\n", mica_status_message(status));
    int code = status != NULL;
    mica_status_release(status);
    for (int32_t i = 0; i < t.n; i++) {
        mica_tensor_release(t.m[i]);
        mica_tensor_release(t.v[i]);
    }
    mica_executable_release(t.update);
    mica_tf_graph_release(t.forward);
    mica_tf_graph_release(t.gradients);
    mica_tf_value_release(t.x);
    mica_tf_value_release(t.y);
    mica_saved_model_release(t.model);
    mica_device_release(t.device);
    mica_shutdown();
    return code;
}
