/* Folders of Python packages: one that the front end names, those around this library, and those of
 * the active virtual environment. */
#include "base/packages.h"

#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "mica/runtime.h"

enum { NAMED = 1, AROUND = 3, OLDEST = 10, VERSIONS = 10 };

static mica_mutex mutex;
static char named[1024];

mica_status mica_packages_add(const char *folder) {
    if (!folder || strlen(folder) >= sizeof named)
        return MICA_ERROR(MICA_INVALID_ARGUMENT, "[packages_add] the folder %s",
                          folder ? "has too long a name" : "is NULL");
    mica_mutex_lock(&mutex);
    memcpy(named, folder, strlen(folder) + 1);
    mica_mutex_unlock(&mutex);
    return NULL;
}

static bool write_path(char *path, size_t capacity, const char *root, const char *rest) {
    int n = snprintf(path, capacity, "%s%s", root, rest);
    return n > 0 && (size_t)n < capacity;
}

/* A path that does not fit or is not known becomes one that does not exist. */
bool mica_packages_folder(int i, char *path, size_t capacity) {
    static const char *const ups[AROUND] = {"", "/..", "/../.."};
    char own[1024], rest[64];
    bool known = false;
    if (i < NAMED) {
        mica_mutex_lock(&mutex);
        known = *named && write_path(path, capacity, named, "");
        mica_mutex_unlock(&mutex);
    } else if (i < NAMED + AROUND) {
        known =
            mica_library_folder(own, sizeof own) && write_path(path, capacity, own, ups[i - NAMED]);
    } else if (i < NAMED + AROUND + VERSIONS) {
        const char *root = mica_environment("VIRTUAL_ENV");
        snprintf(rest, sizeof rest, "/lib/python3.%d/site-packages", OLDEST + i - NAMED - AROUND);
        known = root && write_path(path, capacity, root, rest);
    } else
        return false;
    if (!known) snprintf(path, capacity, "/nonexistent");
    return true;
}
