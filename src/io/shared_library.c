#include "io/shared_library.h"

#include <stdio.h>
#include <string.h>

#include "base/packages.h"

static bool has_functions(io_shared_library *l, mica_library *library) {
    for (int i = 0; l->symbols[i]; i++) {
        void *function = mica_library_symbol(library, l->symbols[i]);
        if (!function) return false;
        memcpy((char *)l->table + (size_t)i * sizeof function, &function, sizeof function);
    }
    return !l->is_usable || l->is_usable();
}

static void take(io_shared_library *l, const char *name) {
    mica_library *library;
    mica_status status = mica_library_open(name, &library);
    mica_status_release(status);
    if (status) return;
    l->is_found = has_functions(l, library);
    if (l->is_found)
        mica_library_keep(library);
    else
        mica_library_close(library);
}

/* Where wheels of Pillow have the libraries they carry. */
static void seek_in_packages(io_shared_library *l) {
    static const char *const places[] = {"pillow.libs", "Pillow.libs", "PIL/.dylibs"};
    char site[1024], folder[1100], name[256], path[1400];
    for (int i = 0; !l->is_found && mica_packages_folder(i, site, sizeof site); i++) {
        for (size_t k = 0; k < sizeof places / sizeof *places && !l->is_found; k++) {
            snprintf(folder, sizeof folder, "%s/%s", site, places[k]);
            if (!mica_folder_find(folder, l->package_prefix, name, sizeof name)) continue;
            snprintf(path, sizeof path, "%s/%s", folder, name);
            take(l, path);
        }
    }
}

static void seek(io_shared_library *l) {
    const char *named = mica_environment(l->variable);
    if (named && *named) {
        if (strcmp(named, "off") != 0) take(l, named);
        return;
    }
    for (int i = 0; l->names[i] && !l->is_found; i++) take(l, l->names[i]);
    if (l->package_prefix) seek_in_packages(l);
}

mica_status io_shared_library_find(io_shared_library *l) {
    mica_mutex_lock(&l->lock);
    if (!l->was_sought) seek(l);
    l->was_sought = true;
    mica_mutex_unlock(&l->lock);
    if (l->is_found) return NULL;
    const char *named = mica_environment(l->variable);
    if (named && *named)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] %s, and %s is '%.900s'", l->name, l->purpose,
                          l->variable, named);
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] %s, which was not found: %s, or name it by %s",
                      l->name, l->purpose, l->advice, l->variable);
}
