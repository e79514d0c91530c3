/* Trains with a step that mica export wrote (examples/mnist_step.py): train FILE.
 *
 * The step's last two inputs are a batch, the others its state; outputs are the loss and the new
 * state, which is written over the old one. Nothing is allocated: the state lies in one array. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int mnist_step(const void *const *inputs, void *const *outputs);
extern const size_t mnist_step_input_bytes[], mnist_step_output_bytes[], mnist_step_arena_bytes;

enum { STATE = 26, ROOM = 4 << 20 };
static _Alignas(64) char room[ROOM];

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int train(FILE *file) {
    const void *inputs[STATE + 2];
    void *outputs[STATE + 1];
    size_t used = 0;
    float loss;
    int32_t steps;
    for (int i = 0; i < STATE + 2; i++) {
        inputs[i] = room + used;
        if (i < STATE) outputs[i + 1] = room + used;
        used += (mnist_step_input_bytes[i] + 63) / 64 * 64;
    }
    outputs[0] = &loss;
    if (used > ROOM || fread(&steps, sizeof steps, 1, file) != 1) return 1;
    for (int i = 0; i < STATE; i++)
        if (fread((void *)inputs[i], mnist_step_input_bytes[i], 1, file) != 1) return 1;
    double best = 1e9;
    for (int32_t i = 0; i < steps; i++) {
        for (int k = STATE; k < STATE + 2; k++)
            if (fread((void *)inputs[k], mnist_step_input_bytes[k], 1, file) != 1) return 1;
        double start = seconds();
        if (mnist_step(inputs, outputs)) {
            fputs("train: compiled with other flags than mnist_step.c asks for\n", stderr);
            return 1;
        }
        double took = seconds() - start;
        best = took < best ? took : best;
        uint32_t bits;
        memcpy(&bits, &loss, sizeof bits);
        printf("step %" PRId32 ": loss %.6f %08" PRIx32 "\n", i + 1, (double)loss, bits);
    }
    fprintf(stderr, "%.2f ms, the quickest step\n", 1e3 * best);
    return 0;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fputs("usage: train FILE, which examples/mnist_step.py --file writes\n", stderr);
        return 1;
    }
    int code = train(file);
    if (code) fputs("train: the file is not one of this step\n", stderr);
    fclose(file);
    return code;
}
