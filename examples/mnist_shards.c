#include "mnist_shards.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL = 5, CHANNELS_1 = 16, CHANNELS_2 = 32, HIDDEN = 128, WEIGHTS = MNIST_ARRAYS / 3 };
enum { SCORED = 128 }; /* images that are scored at once */

#define AXIS "shards"
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        mica_status try_status = (expr);                                                           \
        if (try_status) return try_status;                                                         \
    } while (0)

/* ---- the net ----------------------------------------------------------------------------------*/

static void weight_types(const mnist_shards *m, mica_type *types) {
    int64_t flat = (m->rows / 4) * (m->columns / 4) * CHANNELS_2;
    types[0] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(CHANNELS_1, 1, KERNEL, KERNEL));
    types[1] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(CHANNELS_1));
    types[2] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(CHANNELS_2, CHANNELS_1, KERNEL, KERNEL));
    types[3] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(CHANNELS_2));
    types[4] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(HIDDEN, flat));
    types[5] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(HIDDEN));
    types[6] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(m->classes, HIDDEN));
    types[7] = mica_type_make(MICA_DTYPE_f32, MICA_INTS(m->classes));
}

static mica_value block(mica_graph *g, mica_value x, const mica_value *weights) {
    mica_nn_conv2d_options conv = MICA_NN_CONV2D_OPTIONS;
    mica_nn_pool2d_options pool = MICA_NN_POOL2D_OPTIONS;
    conv.padding_policy = MICA_NN_SAME;
    return mica_nn_pool2d(g, mica_relu(g, mica_nn_conv2d(g, x, weights[0], weights[1], &conv)),
                          &pool);
}

/* Scores of n images, one per class. */
static mica_value net(const mnist_shards *m, mica_graph *g, mica_value x, const mica_value *weights,
                      int64_t n) {
    int64_t flat = (m->rows / 4) * (m->columns / 4) * CHANNELS_2;
    x = block(g, block(g, x, weights), weights + 2);
    x = mica_reshape(g, x, MICA_INTS(n, flat));
    x = mica_relu(g, mica_nn_fully_connected(g, x, weights[4], weights[5]));
    return mica_nn_fully_connected(g, x, weights[6], weights[7]);
}

static mica_value image_parameter(const mnist_shards *m, mica_graph *g, int64_t n) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n, 1, m->rows, m->columns));
    return mica_parameter(g, &type);
}

/* What one shard does: (images, labels, arrays, rate, number of the step) -> (arrays, loss). The
 * gradients are means over all shards. */
static void build_step(const mnist_shards *m, mica_graph *g) {
    mica_type types[WEIGHTS], labels = mica_type_make(MICA_DTYPE_i32, MICA_INTS(m->part));
    mica_type real = mica_type_scalar(MICA_DTYPE_f32), integer = mica_type_scalar(MICA_DTYPE_i32);
    mica_value arrays[MNIST_ARRAYS], gradients[WEIGHTS], made[WEIGHTS][3];
    weight_types(m, types);
    mica_value x = image_parameter(m, g, m->part), t = mica_parameter(g, &labels);
    for (int i = 0; i < MNIST_ARRAYS; i++) arrays[i] = mica_parameter(g, &types[i % WEIGHTS]);
    mica_value rate = mica_parameter(g, &real), number = mica_parameter(g, &integer);

    mica_nn_loss_options loss_options = MICA_NN_LOSS_OPTIONS;
    loss_options.kind = MICA_NN_SOFTMAX_CROSS_ENTROPY;
    mica_value scores = net(m, g, x, arrays, m->part);
    mica_value loss = mica_nn_loss(g, scores, t, (mica_value){0}, &loss_options);
    mica_gradient(g, loss, arrays, WEIGHTS, gradients);

    mica_nn_optimizer adam = MICA_NN_OPTIMIZER;
    adam.kind = MICA_NN_ADAM;
    mica_value each = mica_scalar(g, MICA_DTYPE_f32, 1.0 / (double)m->shards);
    for (int i = 0; i < WEIGHTS; i++) {
        mica_value sum = mica_all_reduce(g, gradients[i], "sum", AXIS);
        mica_value state[2] = {arrays[WEIGHTS + i], arrays[2 * WEIGHTS + i]};
        mica_nn_optimizer_update(g, &adam, rate, number, arrays[i], mica_mul(g, sum, each), state,
                                 made[i]);
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < WEIGHTS; i++) mica_output(g, made[i][k]);
    mica_output(g, mica_mul(g, mica_all_reduce(g, loss, "sum", AXIS), each));
}

static mica_status compile_step(mnist_shards *m) {
    uint8_t mapped[MNIST_ARRAYS + 4] = {1, 1}, out_mapped[MNIST_ARRAYS + 1] = {0};
    mica_compile_options options = {.size = sizeof options, .dist = m->dist, .axis = AXIS};
    mica_graph *g = NULL, *own = NULL;
    TRY(mica_graph_create("mnist shard", &g));
    build_step(m, g);
    mica_status status = mica_graph_check(g);
    if (!status)
        status =
            mica_shard(g, mapped, out_mapped, m->shards, m->count, AXIS, MICA_SHARD_SCAN, &own);
    if (!status) status = mica_executable_create(m->device, own, &options, &m->step);
    mica_graph_release(own);
    mica_graph_release(g);
    return status;
}

static mica_status compile_score(mnist_shards *m) {
    mica_type types[WEIGHTS];
    mica_value weights[WEIGHTS];
    mica_graph *g = NULL;
    weight_types(m, types);
    TRY(mica_graph_create("mnist score", &g));
    mica_value x = image_parameter(m, g, SCORED);
    for (int i = 0; i < WEIGHTS; i++) weights[i] = mica_parameter(g, &types[i]);
    mica_value scores = net(m, g, x, weights, SCORED);
    mica_output(g, mica_argmax(g, scores, 1, MICA_DTYPE_i32));
    mica_status status = mica_executable_create(m->device, g, NULL, &m->score);
    mica_graph_release(g);
    return status;
}

/* ---- beginning --------------------------------------------------------------------------------*/

/* splitmix64, as a number from 0 up to 1. */
static float random_number(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (float)((z ^ z >> 31) >> 40) / 16777216.0f;
}

/* Glorot uniform for weights, zeros for biases and the optimizer. */
static mica_status make_arrays(mnist_shards *m, uint64_t seed) {
    mica_type types[WEIGHTS];
    weight_types(m, types);
    for (int i = 0; i < MNIST_ARRAYS; i++) {
        const mica_type *type = &types[i % WEIGHTS];
        int64_t n = mica_type_elements(type), field = 1;
        float *numbers = calloc((size_t)n, sizeof *numbers);
        if (!numbers) return mica_status_create(MICA_OUT_OF_MEMORY, "[mnist] out of memory");
        for (int32_t k = 2; k < type->rank; k++) field *= type->dims[k];
        if (i < WEIGHTS && type->rank > 1) {
            float sides = (float)((type->dims[0] + type->dims[1]) * field);
            for (int64_t k = 0; k < n; k++)
                numbers[k] = (2 * random_number(&seed) - 1) * sqrtf(6 / sides);
        }
        mica_status status = mica_tensor_from_host(m->device, type, numbers, &m->arrays[i]);
        free(numbers);
        if (status) return status;
    }
    return NULL;
}

mica_status mnist_shards_create(mnist_shards *m, const char *device, int64_t shards, int64_t batch,
                                int64_t rows, int64_t columns, int64_t classes, uint64_t seed) {
    *m = (mnist_shards){.shards = shards, .rows = rows, .columns = columns, .classes = classes};
    TRY(mica_dist_open(NULL, &m->dist));
    int32_t ranks = mica_dist_size(m->dist);
    if (shards % ranks || batch % shards)
        return mica_status_create(MICA_INVALID_ARGUMENT,
                                  "[mnist] %lld shards of a batch of %lld for %d processes: both "
                                  "are cut into equal parts",
                                  (long long)shards, (long long)batch, ranks);
    m->count = shards / ranks;
    m->part = batch / shards;
    size_t most = (size_t)(m->count * m->part > SCORED ? m->count * m->part : SCORED);
    m->images = calloc(most * (size_t)(rows * columns), sizeof *m->images);
    m->labels = calloc(most, sizeof *m->labels);
    if (!m->images || !m->labels)
        return mica_status_create(MICA_OUT_OF_MEMORY, "[mnist] out of memory");
    TRY(mica_device_open(device, &m->device));
    TRY(make_arrays(m, seed));
    TRY(compile_step(m));
    return compile_score(m);
}

void mnist_shards_release(mnist_shards *m) {
    for (int i = 0; i < MNIST_ARRAYS; i++) mica_tensor_release(m->arrays[i]);
    mica_executable_release(m->step);
    mica_executable_release(m->score);
    mica_device_release(m->device);
    mica_dist_release(m->dist);
    free(m->images);
    free(m->labels);
}

/* ---- execution --------------------------------------------------------------------------------*/

static void fill(mnist_shards *m, const mnist_set *set, int64_t i, int64_t place) {
    int64_t pixels = m->rows * m->columns;
    const uint8_t *image = set->images + place * pixels;
    for (int64_t k = 0; k < pixels; k++) m->images[i * pixels + k] = (float)image[k] / 255;
    m->labels[i] = set->labels[place];
}

static mica_status make_inputs(mnist_shards *m, float rate, mica_tensor **inputs) {
    int32_t number = (int32_t)++m->steps;
    mica_type images =
        mica_type_make(MICA_DTYPE_f32, MICA_INTS(m->count, m->part, 1, m->rows, m->columns));
    mica_type labels = mica_type_make(MICA_DTYPE_i32, MICA_INTS(m->count, m->part));
    mica_type real = mica_type_scalar(MICA_DTYPE_f32), integer = mica_type_scalar(MICA_DTYPE_i32);
    TRY(mica_tensor_from_host(m->device, &images, m->images, &inputs[0]));
    TRY(mica_tensor_from_host(m->device, &labels, m->labels, &inputs[1]));
    for (int i = 0; i < MNIST_ARRAYS; i++) {
        inputs[2 + i] = m->arrays[i];
        mica_tensor_retain(m->arrays[i]);
    }
    TRY(mica_tensor_from_host(m->device, &real, &rate, &inputs[2 + MNIST_ARRAYS]));
    return mica_tensor_from_host(m->device, &integer, &number, &inputs[3 + MNIST_ARRAYS]);
}

mica_status mnist_shards_train(mnist_shards *m, const mnist_set *set, const int64_t *places,
                               float rate, float *out_loss) {
    enum { INPUTS = MNIST_ARRAYS + 4, OUTPUTS = MNIST_ARRAYS + 1 };
    mica_tensor *inputs[INPUTS] = {NULL}, *outputs[OUTPUTS] = {NULL};
    int64_t own = m->count * m->part, first = own * mica_dist_rank(m->dist);
    for (int64_t i = 0; i < own; i++) fill(m, set, i, places[first + i]);
    mica_status status = make_inputs(m, rate, inputs);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = INPUTS,
                          .outputs = outputs,
                          .n_outputs = OUTPUTS,
                          .waits = true};
    if (!status) status = mica_executable_run(m->step, &args, NULL);
    if (!status) status = mica_tensor_to_host(outputs[MNIST_ARRAYS], out_loss, sizeof *out_loss);
    for (int i = 0; !status && i < MNIST_ARRAYS; i++) {
        mica_tensor *before = m->arrays[i];
        m->arrays[i] = outputs[i];
        outputs[i] = before;
    }
    for (int i = 0; i < INPUTS; i++) mica_tensor_release(inputs[i]);
    for (int i = 0; i < OUTPUTS; i++) mica_tensor_release(outputs[i]);
    return status;
}

/* The guesses for SCORED images. */
static mica_status guess(mnist_shards *m, int32_t *guesses) {
    mica_tensor *inputs[1 + WEIGHTS] = {NULL}, *output = NULL;
    mica_type images = mica_type_make(MICA_DTYPE_f32, MICA_INTS(SCORED, 1, m->rows, m->columns));
    mica_status status = mica_tensor_from_host(m->device, &images, m->images, &inputs[0]);
    for (int i = 0; i < WEIGHTS; i++) inputs[1 + i] = m->arrays[i];
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = 1 + WEIGHTS,
                          .outputs = &output,
                          .n_outputs = 1,
                          .waits = true};
    if (!status) status = mica_executable_run(m->score, &args, NULL);
    if (!status) status = mica_tensor_to_host(output, guesses, SCORED * sizeof *guesses);
    mica_tensor_release(output);
    mica_tensor_release(inputs[0]);
    return status;
}

mica_status mnist_shards_score(mnist_shards *m, const mnist_set *set, int64_t *out_right) {
    int64_t ranks = mica_dist_size(m->dist), right = 0;
    int32_t guesses[SCORED];
    for (int64_t first = SCORED * mica_dist_rank(m->dist); first < set->n;
         first += SCORED * ranks) {
        int64_t n = set->n - first < SCORED ? set->n - first : SCORED;
        for (int64_t i = 0; i < n; i++) fill(m, set, i, first + i);
        TRY(guess(m, guesses));
        for (int64_t i = 0; i < n; i++) right += guesses[i] == m->labels[i];
    }
    return mica_dist_all_reduce(m->dist, MICA_DIST_SUM, MICA_DTYPE_i64, &right, out_right, 1);
}

/* ---- going on ---------------------------------------------------------------------------------*/

static void name_array(int i, char name[16]) {
    static const char *const kinds[] = {"weights", "mean", "square"};
    snprintf(name, 16, "%s %d", kinds[i / WEIGHTS], i % WEIGHTS);
}

static mica_status save(const mnist_shards *m, const char *path, const float *losses, int64_t n) {
    mica_array all[MNIST_ARRAYS + 1];
    char names[MNIST_ARRAYS][16];
    void *views[MNIST_ARRAYS] = {NULL};
    mica_status status = NULL;
    for (int i = 0; !status && i < MNIST_ARRAYS; i++) {
        name_array(i, names[i]);
        status = mica_tensor_open_view(m->arrays[i], MICA_READ, &views[i]);
        all[i] = (mica_array){names[i], *mica_tensor_type(m->arrays[i]), views[i]};
    }
    all[MNIST_ARRAYS] =
        (mica_array){"losses", mica_type_make(MICA_DTYPE_f32, MICA_INTS(n)), losses};
    if (!status) status = mica_arrays_save(path, all, MNIST_ARRAYS + 1);
    for (int i = 0; i < MNIST_ARRAYS && views[i]; i++) {
        mica_status closed = mica_tensor_close_view(m->arrays[i]);
        if (status)
            mica_status_release(closed);
        else
            status = closed;
    }
    return status;
}

mica_status mnist_shards_save(const mnist_shards *m, const char *path, const float *losses,
                              int64_t n) {
    return mica_dist_rank(m->dist) == 0 ? save(m, path, losses, n) : NULL;
}

/* The array of this name and type (of losses: of any length up to `most`). */
static mica_status find_array(const mica_arrays *file, const char *name, const mica_type *type,
                              int64_t most, const mica_array **out) {
    int64_t i = mica_arrays_find(file, name);
    *out = i < 0 ? NULL : mica_arrays_at(file, i);
    const mica_type *found = *out ? &(*out)->type : NULL;
    bool is_good = found && found->dtype == type->dtype && found->rank == type->rank;
    for (int32_t k = 0; is_good && k < type->rank; k++)
        is_good = most ? found->dims[k] <= most : found->dims[k] == type->dims[k];
    if (is_good) return NULL;
    return mica_status_create(
        MICA_DATA_LOSS, "[mnist] the checkpoint has no '%s' of this net and these epochs", name);
}

/* One array from the file, where there is one, to the tensors of all processes. */
static mica_status load_array(mnist_shards *m, const mica_arrays *file, int i) {
    const mica_type *type = mica_tensor_type(m->arrays[i]);
    const mica_array *found = NULL;
    mica_tensor *made = NULL;
    char name[16];
    name_array(i, name);
    if (file) TRY(find_array(file, name, type, 0, &found));
    size_t bytes = mica_type_bytes(type);
    void *numbers = malloc(bytes);
    if (!numbers) return mica_status_create(MICA_OUT_OF_MEMORY, "[mnist] out of memory");
    if (found) memcpy(numbers, found->data, bytes);
    mica_status status = mica_dist_broadcast(m->dist, numbers, bytes, 0);
    if (!status) status = mica_tensor_from_host(m->device, type, numbers, &made);
    free(numbers);
    if (status) return status;
    mica_tensor_release(m->arrays[i]);
    m->arrays[i] = made;
    return NULL;
}

static mica_status load(mnist_shards *m, const mica_arrays *file, float *losses, int64_t most,
                        int64_t *out_n) {
    mica_type line = mica_type_make(MICA_DTYPE_f32, MICA_INTS(0));
    const mica_array *found = NULL;
    if (file) TRY(find_array(file, "losses", &line, most, &found));
    int64_t n = found ? found->type.dims[0] : 0;
    TRY(mica_dist_broadcast(m->dist, &n, sizeof n, 0));
    if (found) memcpy(losses, found->data, (size_t)n * sizeof *losses);
    if (n < 1 || n > most) return NULL;
    TRY(mica_dist_broadcast(m->dist, losses, (size_t)n * sizeof *losses, 0));
    for (int i = 0; i < MNIST_ARRAYS; i++) TRY(load_array(m, file, i));
    m->steps = *out_n = n;
    return NULL;
}

mica_status mnist_shards_load(mnist_shards *m, const char *path, float *losses, int64_t most,
                              int64_t *out_n) {
    mica_arrays *file = NULL;
    mica_status status = NULL;
    *out_n = 0;
    if (mica_dist_rank(m->dist) == 0 && access(path, F_OK) == 0)
        status = mica_arrays_open(path, &file);
    if (!status) status = load(m, file, losses, most, out_n);
    mica_arrays_release(file);
    if (status) mica_dist_abort(m->dist, mica_status_message(status));
    return status;
}
