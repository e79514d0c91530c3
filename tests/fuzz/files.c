#include "fuzz/files.h"

#include "base/platform.h"
#include "fuzz/reader.h"

static char folder[256];

static void remove_folder(void) {
    mica_folder_remove_all(folder);
}

const char *read_path(const char *end) {
    static char path[400];
    if (!folder[0]) {
        read_check(mica_folder_make_temporary(folder, sizeof folder));
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/bundle%s", folder, end);
    return path;
}

void read_write_file(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    read_check(file != NULL);
    read_check(fwrite(bytes, 1, n, file) == n);
    read_check(fclose(file) == 0);
}
