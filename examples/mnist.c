/* Trains a convolutional net on MNIST, or on any data in its format, with ML Compute's layers in C.
 *
 *     mnist [--data DIR] [--epochs N] [--seed N] [--device NAME] [--plot FILE] [--losses FILE]
 *           [--accuracy FILE] [--shards N [--checkpoint FILE]]
 *     mnist --draw FILE [--plot FILE]
 *
 * --losses and --accuracy name files for the loss of every step, one a line, and for the accuracy
 * at the end; --draw makes the plot of such losses and trains nothing.
 *
 * examples/mnist_mlcompute.py is the same program in Python: its losses are the same, bit for bit.
 * With --shards each batch is shared by so many shards, and by all processes that mpirun started
 * (mnist_shards.h): `mpirun -n 4 mnist --shards 4` has the losses of `mnist --shards 4`.
 * Where the checkpoint (a .npz) is there the run goes on from it, as if it had not been ended.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mnist_data.h"
#include "mnist_model.h"
#include "mnist_plot.h"
#include "mnist_shards.h"

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        mica_status try_status = (expr);                                                           \
        if (try_status) return try_status;                                                         \
    } while (0)

enum { BATCH = 128, SAVED = 20 /* steps from one checkpoint to the next */ };

typedef struct options {
    const char *data, *device, *plot, *losses, *accuracy, *draw, *checkpoint;
    long epochs, seed, shards; /* shards 0: ML Compute's layers in one process */
} options;

/* What lives for the whole run, freed in one place. */
typedef struct training {
    mnist_model model;
    mnist_shards shards;
    bool is_shared; /* by shards, which then train; else the model does */
    mnist_set train, test;
    int64_t batch, classes;
    int64_t *order;
    float *losses;
    int n_losses;
    uint64_t random;
} training;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static mica_status train_step(training *t, int64_t first, float rate) {
    if (t->is_shared)
        TRY(mnist_shards_train(&t->shards, &t->train, t->order + first, rate,
                               &t->losses[t->n_losses]));
    else
        TRY(mnist_model_train(&t->model, t->train.images, t->train.labels, t->order + first, rate,
                              &t->losses[t->n_losses]));
    t->n_losses++;
    return NULL;
}

static mica_status score(training *t, double *out_accuracy) {
    int64_t pixels = t->test.rows * t->test.columns, right = 0;
    if (t->is_shared) {
        TRY(mnist_shards_score(&t->shards, &t->test, &right));
        *out_accuracy = (double)right / (double)t->test.n;
        return NULL;
    }
    for (int64_t first = 0; first < t->test.n; first += t->batch) {
        int64_t n = t->test.n - first < t->batch ? t->test.n - first : t->batch, n_right = 0;
        TRY(mnist_model_score(&t->model, t->test.images + first * pixels, t->test.labels + first, n,
                              &n_right));
        right += n_right;
    }
    *out_accuracy = (double)right / (double)t->test.n;
    return NULL;
}

/* Of several processes the first one speaks. */
static bool is_quiet(const training *t) {
    return t->is_shared && mica_dist_rank(t->shards.dist) != 0;
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
    t->is_shared = o->shards > 0;
    if (t->is_shared) t->batch -= t->batch % o->shards;
    if (!t->batch)
        return mica_status_create(MICA_INVALID_ARGUMENT, "[data] %lld images for %ld shards",
                                  (long long)t->train.n, o->shards);
    t->classes = t->train.classes > t->test.classes ? t->train.classes : t->test.classes;
    t->random = (uint64_t)o->seed;
    t->order = malloc((size_t)t->train.n * sizeof *t->order);
    t->losses = malloc((size_t)(o->epochs * (t->train.n / t->batch)) * sizeof *t->losses);
    if (!t->order || !t->losses)
        return mica_status_create(MICA_OUT_OF_MEMORY, "[data] out of memory");
    for (int64_t i = 0; i < t->train.n; i++) t->order[i] = i;
    if (t->is_shared)
        return mnist_shards_create(&t->shards, o->device, o->shards, t->batch, t->train.rows,
                                   t->train.columns, t->classes, (uint64_t)o->seed);
    return mnist_model_create(&t->model, o->device, t->batch, t->train.rows, t->train.columns,
                              t->classes, (uint64_t)o->seed);
}

/* The loss of every step, one a line, exactly. */
static bool write_losses(const char *path, const float *losses, int n) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    for (int i = 0; i < n; i++) fprintf(file, "%.9g\n", (double)losses[i]);
    return fclose(file) == 0;
}

static bool write_accuracy(const char *path, double accuracy) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fprintf(file, "%.6f\n", accuracy);
    return fclose(file) == 0;
}

/* Reads what write_losses writes, up to the first text that is no number; NULL without memory. */
static float *read_losses(FILE *file, int *out_n) {
    int n = 0, capacity = 1024;
    float *losses = malloc((size_t)capacity * sizeof *losses);
    while (losses && n < INT_MAX / 2 && fscanf(file, "%f", &losses[n]) == 1) {
        if (++n < capacity) continue;
        float *larger = realloc(losses, 2 * (size_t)capacity * sizeof *losses);
        if (!larger) free(losses);
        losses = larger;
        capacity *= 2;
    }
    *out_n = n;
    return losses;
}

static mica_status draw(const options *o) {
    FILE *file = fopen(o->draw, "r");
    if (!file) return mica_status_create(MICA_NOT_FOUND, "[draw] cannot read %s", o->draw);
    int n = 0;
    float *losses = read_losses(file, &n);
    bool at_end = feof(file), drawn = losses && at_end && n && plot_losses(o->plot, losses, n);
    fclose(file);
    free(losses);
    if (!losses) return mica_status_create(MICA_OUT_OF_MEMORY, "[draw] out of memory");
    if (!at_end || !n)
        return mica_status_create(MICA_INVALID_ARGUMENT,
                                  "[draw] %s must have a number on each line", o->draw);
    if (!drawn) return mica_status_create(MICA_INVALID_ARGUMENT, "[plot] cannot write %s", o->plot);
    printf("the loss curve is in %s\n", o->plot);
    return NULL;
}

static void introduce(const training *t, double seconds) {
    mica_device *device = t->is_shared ? t->shards.device : mlc_device_mica_device(t->model.device);
    printf("%lld training and %lld test images of %lldx%lld, %lld classes\n", (long long)t->train.n,
           (long long)t->test.n, (long long)t->train.rows, (long long)t->train.columns,
           (long long)t->classes);
    printf("device %s: %s\n", mica_device_name(device), mica_device_description(device));
    if (t->is_shared)
        printf("%lld shards, %d processes (%s)\n", (long long)t->shards.shards,
               mica_dist_size(t->shards.dist), mica_dist_engine(t->shards.dist));
    printf("ready in %.2f s\n", seconds);
}

static mica_status train_epoch(training *t, const options *o, long epoch, double *spent) {
    int64_t steps = t->train.n / t->batch, all_steps = steps * o->epochs;
    double started = now(), accuracy = 0;
    mnist_shuffle(t->order, t->train.n, &t->random);
    if (t->n_losses >= steps * epoch && epoch < o->epochs) return NULL; /* by an earlier run */
    for (int64_t step = t->n_losses - steps * (epoch - 1); step < steps; step++) {
        /* The rate falls in a straight line to nothing. */
        float rate = 2e-3f * (1 - (float)t->n_losses / (float)all_steps);
        TRY(train_step(t, step * t->batch, rate));
        if (o->checkpoint && (t->n_losses % SAVED == 0 || t->n_losses == all_steps))
            TRY(mnist_shards_save(&t->shards, o->checkpoint, t->losses, t->n_losses));
        if (!is_quiet(t) && ((step + 1) % 10 == 0 || step + 1 == steps))
            progress(epoch, o->epochs, step + 1, steps, t->losses[t->n_losses - 1],
                     (double)((step + 1) * t->batch) / (now() - started));
    }
    *spent += now() - started;
    TRY(score(t, &accuracy));
    if (is_quiet(t)) return NULL;
    printf("epoch %ld/%ld test accuracy %.2f %%\n", epoch, o->epochs, 100 * accuracy);
    if (epoch == o->epochs)
        printf("test accuracy %.2f %% after %ld epochs, %.0f images/s\n", 100 * accuracy, o->epochs,
               (double)(all_steps * t->batch) / *spent);
    if (epoch == o->epochs && o->accuracy && !write_accuracy(o->accuracy, accuracy))
        return mica_status_create(MICA_INVALID_ARGUMENT, "[accuracy] cannot write %s", o->accuracy);
    return NULL;
}

static mica_status run(training *t, const options *o) {
    double begin = now(), spent = 0;
    int64_t made = 0;
    TRY(prepare(t, o));
    if (o->checkpoint)
        TRY(mnist_shards_load(&t->shards, o->checkpoint, t->losses,
                              t->train.n / t->batch * o->epochs, &made));
    t->n_losses = (int)made;
    if (!is_quiet(t)) introduce(t, now() - begin);
    for (long epoch = 1; epoch <= o->epochs; epoch++) TRY(train_epoch(t, o, epoch, &spent));
    if (is_quiet(t)) return NULL;
    if (!plot_losses(o->plot, t->losses, t->n_losses))
        return mica_status_create(MICA_INVALID_ARGUMENT, "[plot] cannot write %s", o->plot);
    printf("the loss curve is in %s\n", o->plot);
    if (o->losses && !write_losses(o->losses, t->losses, t->n_losses))
        return mica_status_create(MICA_INVALID_ARGUMENT, "[losses] cannot write %s", o->losses);
    return NULL;
}

static void finish(training *t) {
    mnist_model_release(&t->model);
    mnist_shards_release(&t->shards);
    mnist_set_free(&t->train);
    mnist_set_free(&t->test);
    free(t->order);
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
        else if (right && !strcmp(name, "--losses"))
            o->losses = value;
        else if (right && !strcmp(name, "--accuracy"))
            o->accuracy = value;
        else if (right && !strcmp(name, "--draw"))
            o->draw = value;
        else if (right && !strcmp(name, "--epochs"))
            right = parse_long(value, 1, &o->epochs);
        else if (right && !strcmp(name, "--seed"))
            right = parse_long(value, 0, &o->seed);
        else if (right && !strcmp(name, "--checkpoint"))
            o->checkpoint = value;
        else if (right && !strcmp(name, "--shards"))
            right = parse_long(value, 1, &o->shards);
        else
            right = false;
        if (!right) {
            fprintf(
                stderr,
                "mnist: cannot use '%s %s'\n"
                "usage: mnist [--data DIR] [--epochs N] [--seed N] [--device NAME] "
                "[--plot FILE] [--losses FILE] [--accuracy FILE] [--shards N [--checkpoint FILE]]\n"
                "       mnist --draw FILE [--plot FILE]\n",
                name, value ? value : "");
            return false;
        }
    }
    if (!o->checkpoint || o->shards) return true;
    fprintf(stderr, "mnist: --checkpoint needs --shards\n");
    return false;
}

int main(int argc, char **argv) {
    options o = {
        .data = "data/mnist", .device = "any", .plot = "mnist_loss.png", .epochs = 3, .seed = 0};
    if (!parse_options(argc, argv, &o)) return 2;
    training t = {0};
    mica_status status = o.draw ? draw(&o) : run(&t, &o);
    if (status) fprintf(stderr, "mnist: %s\n", mica_status_message(status));
    int code = status ? 1 : 0;
    mica_status_release(status);
    finish(&t);
    return code;
}
