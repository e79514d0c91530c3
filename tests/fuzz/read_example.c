/* Messages of tf.train.Example: what is counted can be taken. */
#include <string.h>

#include "fuzz/reader.h"
#include "mica/records.h"

static void take(void *context, const mica_feature *feature) {
    const uint8_t *message = context;
    size_t room = (size_t)feature->count + 1;
    read_check(feature->count >= 0 && (feature->count == 0 || feature->count <= 1 << 20));
    read_check(feature->count == 0 || (const uint8_t *)feature->list >= message);
    if (feature->dtype == MICA_TF_string) {
        const char **texts = calloc(room, sizeof *texts);
        size_t *lengths = calloc(room, sizeof *lengths), sum = 0;
        read_check(texts && lengths);
        mica_feature_strings(feature, texts, lengths);
        for (int64_t i = 0; i < feature->count; i++) sum += lengths[i];
        read_check(sum <= feature->size);
        free(texts);
        free(lengths);
    } else {
        int64_t *numbers = calloc(room, sizeof *numbers);
        read_check(numbers);
        mica_feature_numbers(feature, numbers);
        free(numbers);
    }
}

static void take_step(void *context, const void *feature, size_t size) {
    read_check(size == 0 || (const uint8_t *)feature >= (const uint8_t *)context);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    uint8_t *copy = malloc(size + 1);
    read_check(copy != NULL);
    memcpy(copy, bytes, size);
    mica_status_release(mica_example_visit(copy, size, take, copy));
    bool found;
    size_t n_key = size && copy[size - 1] < 3 ? copy[size - 1] : 0;
    mica_status_release(mica_sequence_visit(copy, size, "ab", n_key, take_step, copy, &found));
    free(copy);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
