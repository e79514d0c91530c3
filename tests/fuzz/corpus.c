/* Gives a reader the files of folders, each of them whole, cut off and with bits changed, and whole
 * while one allocation after another fails, 60 of them; 20 when MICA_TEST_QUICK is set. */
#include <string.h>

#include "base/platform.h"
#include "fuzz/reader.h"

static int n_files;

static void read_changed(const uint8_t *bytes, size_t size) {
    uint8_t *changed = mica_alloc(size + 1);
    read_check(changed != NULL);
    uint32_t random = 1;
    for (int round = 0; round < 64 && size > 0; round++) {
        random = random * 1664525u + 1013904223u;
        size_t place = (random >> 8) % size;
        memcpy(changed, bytes, size);
        changed[place] ^= (uint8_t)(1u << (random >> 28 & 7));
        LLVMFuzzerTestOneInput(changed, round % 2 ? size : place);
    }
    mica_free(changed);
}

static void read_without_memory(const uint8_t *bytes, size_t size) {
    int64_t before = mica_memory_total_allocations();
    LLVMFuzzerTestOneInput(bytes, size);
    int64_t total = mica_memory_total_allocations() - before;
    int64_t step = total / (getenv("MICA_TEST_QUICK") ? 20 : 60) + 1;
    for (int64_t n = 1 + total % step; n <= total; n += step) {
        mica_memory_fail_nth(n, false);
        LLVMFuzzerTestOneInput(bytes, size);
        mica_memory_fail_nth(0, false);
    }
}

static void read_file(void *context, const char *name) {
    char path[1000];
    uint8_t *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    mica_status status = mica_file_read(path, &bytes, &size);
    read_check(!status);
    LLVMFuzzerTestOneInput(bytes, size);
    read_changed(bytes, size);
    read_without_memory(bytes, size);
    mica_free(bytes);
    n_files++;
}

int main(int n, char **folders) {
    for (int i = 1; i < n; i++) mica_folder_visit(folders[i], read_file, folders[i]);
    printf("%d files\n", n_files);
    return n_files > 0 ? 0 : 1;
}
