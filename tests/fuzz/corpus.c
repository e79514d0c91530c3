/* Gives a reader the files of folders, and each of them cut off and with bits changed. */
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

static void read_file(void *context, const char *name) {
    char path[1000];
    uint8_t *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    mica_status status = mica_file_read(path, &bytes, &size);
    read_check(!status);
    LLVMFuzzerTestOneInput(bytes, size);
    read_changed(bytes, size);
    mica_free(bytes);
    n_files++;
}

int main(int n, char **folders) {
    for (int i = 1; i < n; i++) mica_folder_visit(folders[i], read_file, folders[i]);
    printf("%d files\n", n_files);
    return n_files > 0 ? 0 : 1;
}
