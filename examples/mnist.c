/* Trains a convolutional net on MNIST, or on any data in its format, with Mica's C API.
 *
 *     mnist [--data DIR] [--epochs N] [--seed N] [--device NAME] [--plot FILE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mnist_data.h"
#include "mnist_model.h"
#include "mnist_plot.h"

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        mica_status try_status = (expr);                                                           \
        if (try_status) return try_status;                                                         \
    } while (0)

enum { BATCH = 128, SCORE_BATCH = 500 };

typedef struct options {
    const char *data, *device, *plot;
    long epochs, seed;
} options;

/* What lives for the whole run, freed in one place. */
typedef struct training {
    mica_device *device;
    mica_executable *step, *score, *score_rest; /* score_rest: for what does not fill a batch */
    mica_tensor *state[MNIST_STATE];
    mnist_set train, test;
    int64_t batch, score_batch;
    int64_t *order;
    uint8_t *batch_images, *batch_labels;
    float *losses;
    int n_losses;
    uint64_t random;
} training;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t next_random(training *t) { /* splitmix64 */
    uint64_t z = t->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void shuffle(training *t) {
    for (int64_t i = t->train.n - 1; i > 0; i--) {
        int64_t j = (int64_t)(next_random(t) % (uint64_t)(i + 1)), k = t->order[i];
        t->order[i] = t->order[j];
        t->order[j] = k;
    }
}

static mnist_shape shape_of(const training *t, int64_t batch) {
    int64_t classes = t->train.classes > t->test.classes ? t->train.classes : t->test.classes;
    return (mnist_shape){batch, t->train.rows, t->train.columns, classes};
}

typedef mica_status build_function(const mnist_shape *shape, mica_graph **out_graph);

static mica_status compile(training *t, build_function *build, int64_t batch,
                           mica_executable **out_executable) {
    mica_graph *g = NULL;
    mnist_shape shape = shape_of(t, batch);
    mica_status status = build(&shape, &g);
    if (!status) status = mica_executable_create(t->device, g, NULL, out_executable);
    mica_graph_release(g);
    return status;
}

static mica_status start_state(training *t, long seed) {
    mica_executable *start = NULL;
    mica_tensor *key = NULL;
    uint32_t key_data[2] = {(uint32_t)seed, 0x6d696361u};
    mica_type key_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_status status = compile(t, mnist_build_start, t->batch, &start);
    if (!status) status = mica_tensor_from_host(t->device, &key_type, key_data, &key);
    mica_run_args args = {.size = sizeof args,
                          .inputs = &key,
                          .n_inputs = 1,
                          .outputs = t->state,
                          .n_outputs = MNIST_STATE};
    if (!status) status = mica_executable_run(start, &args, NULL);
    mica_tensor_release(key);
    mica_executable_release(start);
    return status;
}

/* The tensors images, labels, and (unless NULL) the rate, after what is already in `inputs`. */
static mica_status add_batch(training *t, const uint8_t *images, const uint8_t *labels,
                             int64_t batch, const float *rate, mica_tensor **inputs) {
    mica_type image_type =
        mica_type_make(MICA_DTYPE_u8, MICA_INTS(batch, t->train.rows, t->train.columns));
    mica_type label_type = mica_type_make(MICA_DTYPE_u8, MICA_INTS(batch));
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    TRY(mica_tensor_from_host(t->device, &image_type, images, &inputs[0]));
    TRY(mica_tensor_from_host(t->device, &label_type, labels, &inputs[1]));
    return rate ? mica_tensor_from_host(t->device, &scalar, rate, &inputs[2]) : NULL;
}

static mica_status train_step(training *t, int64_t first, float rate) {
    int64_t pixels = t->train.rows * t->train.columns;
    for (int64_t i = 0; i < t->batch; i++) {
        int64_t from = t->order[first + i];
        memcpy(t->batch_images + i * pixels, t->train.images + from * pixels, (size_t)pixels);
        t->batch_labels[i] = t->train.labels[from];
    }
    mica_tensor *inputs[MNIST_STATE + 3] = {NULL}, *outputs[MNIST_STATE + 1] = {NULL};
    uint8_t donate[MNIST_STATE + 3] = {0};
    memcpy(inputs, t->state, sizeof t->state);
    memset(donate, 1, MNIST_STATE);
    mica_status status =
        add_batch(t, t->batch_images, t->batch_labels, t->batch, &rate, inputs + MNIST_STATE);
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = MNIST_STATE + 3,
                          .donate = donate,
                          .outputs = outputs,
                          .n_outputs = MNIST_STATE + 1};
    if (!status) status = mica_executable_run(t->step, &args, NULL);
    for (int i = 0; i < 3; i++) mica_tensor_release(inputs[MNIST_STATE + i]);
    if (status) return status;
    for (int i = 0; i < MNIST_STATE; i++) mica_tensor_release(t->state[i]);
    memcpy(t->state, outputs, sizeof t->state);
    status = mica_tensor_to_host(outputs[MNIST_STATE], &t->losses[t->n_losses], sizeof(float));
    mica_tensor_release(outputs[MNIST_STATE]);
    if (!status) t->n_losses++;
    return status;
}

static mica_status score(training *t, double *out_accuracy) {
    int64_t pixels = t->test.rows * t->test.columns, right = 0;
    for (int64_t first = 0; first < t->test.n;) {
        int64_t batch = t->test.n - first < t->score_batch ? t->test.n - first : t->score_batch;
        mica_tensor *inputs[MNIST_PARAMETERS + 2] = {NULL}, *output = NULL;
        int32_t n_right = 0;
        memcpy(inputs, t->state, MNIST_PARAMETERS * sizeof *inputs);
        mica_status status = add_batch(t, t->test.images + first * pixels, t->test.labels + first,
                                       batch, NULL, inputs + MNIST_PARAMETERS);
        mica_run_args args = {.size = sizeof args,
                              .inputs = inputs,
                              .n_inputs = MNIST_PARAMETERS + 2,
                              .outputs = &output,
                              .n_outputs = 1};
        if (!status)
            status = mica_executable_run(batch == t->score_batch ? t->score : t->score_rest, &args,
                                         NULL);
        if (!status) status = mica_tensor_to_host(output, &n_right, sizeof n_right);
        mica_tensor_release(output);
        for (int i = 0; i < 2; i++) mica_tensor_release(inputs[MNIST_PARAMETERS + i]);
        TRY(status);
        right += n_right;
        first += batch;
    }
    *out_accuracy = (double)right / (double)t->test.n;
    return NULL;
}

/* On a terminal the bar is drawn in place; in a file only its last state appears. */
static void progress(long epoch, long epochs, int64_t step, int64_t steps, float loss,
                     double rate) {
    static const char bar[] = "==============================";
    int full = (int)(30 * step / steps);
    bool terminal = isatty(STDOUT_FILENO);
    if (!terminal && step < steps) return;
    printf("%sepoch %ld/%ld [%.*s%*s] loss %.4f  %.0f images/s%s", terminal ? "\r" : "", epoch,
           epochs, full, bar, 30 - full, "", loss, rate, step == steps ? "\n" : "");
    fflush(stdout);
}

static mica_status prepare(training *t, const options *o) {
    char message[1200];
    if (!mnist_set_load(o->data, "train", &t->train, message, sizeof message) ||
        !mnist_set_load(o->data, "t10k", &t->test, message, sizeof message))
        return mica_status_create(MICA_NOT_FOUND, "[data] %s", message);
    if (t->train.rows != t->test.rows || t->train.columns != t->test.columns || t->train.rows < 4 ||
        t->train.columns < 4)
        return mica_status_create(MICA_INVALID_ARGUMENT,
                                  "[data] training images are %lldx%lld, test images %lldx%lld; "
                                  "they must be equal and at least 4x4",
                                  (long long)t->train.rows, (long long)t->train.columns,
                                  (long long)t->test.rows, (long long)t->test.columns);
    t->batch = t->train.n < BATCH ? t->train.n : BATCH;
    t->score_batch = t->test.n < SCORE_BATCH ? t->test.n : SCORE_BATCH;
    t->random = (uint64_t)o->seed;
    t->order = malloc((size_t)t->train.n * sizeof *t->order);
    t->batch_images = malloc((size_t)(t->batch * t->train.rows * t->train.columns));
    t->batch_labels = malloc((size_t)t->batch);
    t->losses = malloc((size_t)(o->epochs * (t->train.n / t->batch)) * sizeof *t->losses);
    if (!t->order || !t->batch_images || !t->batch_labels || !t->losses)
        return mica_status_create(MICA_OUT_OF_MEMORY, "[data] out of memory");
    for (int64_t i = 0; i < t->train.n; i++) t->order[i] = i;
    TRY(mica_device_open(o->device, &t->device));
    TRY(compile(t, mnist_build_step, t->batch, &t->step));
    TRY(compile(t, mnist_build_score, t->score_batch, &t->score));
    int64_t rest = t->test.n % t->score_batch;
    if (rest) TRY(compile(t, mnist_build_score, rest, &t->score_rest));
    return start_state(t, o->seed);
}

static mica_status run(training *t, const options *o) {
    double begin = now();
    TRY(prepare(t, o));
    printf("%lld training and %lld test images of %lldx%lld, %lld classes\n", (long long)t->train.n,
           (long long)t->test.n, (long long)t->train.rows, (long long)t->train.columns,
           (long long)shape_of(t, 1).classes);
    printf("device %s: %s\n", mica_device_name(t->device), mica_device_description(t->device));
    printf("ready in %.2f s\n", now() - begin);
    int64_t steps = t->train.n / t->batch, all_steps = steps * o->epochs;
    double accuracy = 0, spent = 0;
    for (long epoch = 1; epoch <= o->epochs; epoch++) {
        double started = now();
        shuffle(t);
        for (int64_t step = 0; step < steps; step++) {
            /* The rate falls in a straight line to nothing. */
            float rate = 2e-3f * (1 - (float)t->n_losses / (float)all_steps);
            TRY(train_step(t, step * t->batch, rate));
            if ((step + 1) % 10 == 0 || step + 1 == steps)
                progress(epoch, o->epochs, step + 1, steps, t->losses[t->n_losses - 1],
                         (double)((step + 1) * t->batch) / (now() - started));
        }
        spent += now() - started;
        TRY(score(t, &accuracy));
        printf("epoch %ld/%ld test accuracy %.2f %%\n", epoch, o->epochs, 100 * accuracy);
    }
    printf("test accuracy %.2f %% after %ld epochs, %.0f images/s\n", 100 * accuracy, o->epochs,
           (double)(all_steps * t->batch) / spent);
    if (!plot_losses(o->plot, t->losses, t->n_losses))
        return mica_status_create(MICA_INVALID_ARGUMENT, "[plot] cannot write %s", o->plot);
    printf("the loss curve is in %s\n", o->plot);
    return NULL;
}

static void finish(training *t) {
    for (int i = 0; i < MNIST_STATE; i++) mica_tensor_release(t->state[i]);
    mica_executable_release(t->step);
    mica_executable_release(t->score);
    mica_executable_release(t->score_rest);
    mica_device_release(t->device);
    mnist_set_free(&t->train);
    mnist_set_free(&t->test);
    free(t->order);
    free(t->batch_images);
    free(t->batch_labels);
    free(t->losses);
    mica_shutdown();
}

static bool parse_long(const char *text, long low, long *out) {
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (!*text || *end || value < low) return false;
    *out = value;
    return true;
}

static bool parse_options(int argc, char **argv, options *o) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[++i] : NULL;
        bool right = value != NULL;
        if (right && !strcmp(name, "--data"))
            o->data = value;
        else if (right && !strcmp(name, "--device"))
            o->device = value;
        else if (right && !strcmp(name, "--plot"))
            o->plot = value;
        else if (right && !strcmp(name, "--epochs"))
            right = parse_long(value, 1, &o->epochs);
        else if (right && !strcmp(name, "--seed"))
            right = parse_long(value, 0, &o->seed);
        else
            right = false;
        if (!right) {
            fprintf(
                stderr,
                "mnist: cannot use '%s %s'\n"
                "usage: mnist [--data DIR] [--epochs N] [--seed N] [--device NAME] [--plot FILE]\n",
                name, value ? value : "");
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    options o = {
        .data = "data/mnist", .device = "any", .plot = "mnist_loss.png", .epochs = 3, .seed = 0};
    if (!parse_options(argc, argv, &o)) return 2;
    training t = {0};
    mica_status status = run(&t, &o);
    if (status) fprintf(stderr, "mnist: %s\n", mica_status_message(status));
    int code = status ? 1 : 0;
    mica_status_release(status);
    finish(&t);
    return code;
}
