/* Files of named arrays: safetensors, .npy, .npz, told by their first bytes. What can be read is
 * saved again in each format that has its dtypes, and read once more. */
#include <string.h>

#include "fuzz/files.h"
#include "fuzz/reader.h"
#include "mica/arrays.h"

static uint64_t sum_of(const mica_array *array) {
    const uint8_t *bytes = array->data;
    uint64_t sum = 0;
    size_t n = mica_type_bytes(&array->type);
    for (size_t i = 0; i < n; i++) sum = 31 * sum + bytes[i];
    return sum;
}

/* The same arrays, by name; the order may be another one. */
static void check_same(const mica_arrays *a, const mica_arrays *b) {
    read_check(mica_arrays_count(a) == mica_arrays_count(b));
    for (int64_t i = 0; i < mica_arrays_count(a); i++) {
        const mica_array *one = mica_arrays_at(a, i);
        const mica_array *other = mica_arrays_at(b, mica_arrays_find(b, one->name));
        read_check(other && mica_type_equal(&one->type, &other->type));
        read_check(sum_of(one) == sum_of(other));
    }
}

static void save_again(const mica_arrays *arrays, const char *ending) {
    int64_t n = mica_arrays_count(arrays);
    mica_array *items = malloc(((size_t)n + 1) * sizeof *items);
    mica_arrays *again = NULL;
    read_check(items != NULL);
    for (int64_t i = 0; i < n; i++) items[i] = *mica_arrays_at(arrays, i);
    mica_status status = mica_arrays_save(read_path(ending), items, n);
    if (!status) {
        if (read_done(mica_arrays_open(read_path(ending), &again))) check_same(arrays, again);
    }
    mica_status_release(status);
    mica_arrays_release(again);
    free(items);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    int64_t blocks = mica_memory_live_blocks();
    mica_arrays *arrays = NULL;
    read_write_file(read_path(""), bytes, size);
    mica_status status = mica_arrays_open(read_path(""), &arrays);
    read_check((arrays == NULL) == (status != NULL));
    mica_status_release(status);
    for (int64_t i = 0; i < mica_arrays_count(arrays); i++)
        read_check(mica_arrays_find(arrays, mica_arrays_at(arrays, i)->name) == i);
    if (arrays) {
        save_again(arrays, ".safetensors");
        save_again(arrays, ".npz");
    }
    mica_arrays_release(arrays);
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
