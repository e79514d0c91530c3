/* Whole files, and folders of files that belong together, that take the place of others. */
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/platform.h"
#include "mica/io.h"

mica_status mica_file_replace(const char *path, const void *bytes, size_t size) {
    MICA_GIVEN(path);
    MICA_TRY(mica_file_write_atomic(path, bytes, size));
    mica_folder_remove_asides(path);
    return NULL;
}

/* ---- folders ----------------------------------------------------------------------------------*/

struct mica_folder_writer {
    mica_arena arena;
    char *path;
    char **names; /* of entries that belong to what is written */
    int32_t n;
    mica_file *aside;
    bool is_replacing; /* there is a folder with something in it */
    bool is_finished;
};

static void note(void *context, const char *name) {
    (void)name;
    *(bool *)context = true;
}

/* Two folders that are made for it are exchanged: whether this file system can. */
static mica_status try_exchange(const mica_folder_writer *w) {
    mica_file *other;
    MICA_TRY(mica_folder_create_aside(w->path, &other));
    mica_status status = mica_folder_exchange(mica_file_path(w->aside), mica_file_path(other));
    /* The lock goes with the folder: both names are of folders that are locked. */
    if (!status) status = mica_folder_exchange(mica_file_path(w->aside), mica_file_path(other));
    mica_folder_remove(mica_file_path(other));
    return mica_status_join(status, mica_file_close(other));
}

static mica_status prepare(mica_folder_writer *w, const char *path, const char *const *names) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    w->path = mica_arena_alloc(&w->arena, n + 1);
    w->names = mica_arena_alloc(&w->arena, (size_t)w->n * sizeof *w->names + 1);
    if (!w->path || !w->names) return MICA_NO_MEMORY();
    memcpy(w->path, path, n);
    w->path[n] = 0;
    for (int32_t i = 0; i < w->n; i++)
        if (!(w->names[i] = mica_arena_strdup(&w->arena, names[i]))) return MICA_NO_MEMORY();
    mica_folder_visit(w->path, note, &w->is_replacing);
    if (w->is_replacing && !mica_folder_can_be_moved(w->path))
        return MICA_ERROR(MICA_UNSUPPORTED, "[folder] %s cannot be exchanged with another folder",
                          w->path);
    mica_folder_remove_asides(w->path);
    MICA_TRY(mica_folder_create_aside(w->path, &w->aside));
    return w->is_replacing ? try_exchange(w) : NULL;
}

mica_status mica_folder_writer_create(const char *path, const char *const *names, int32_t n,
                                      mica_folder_writer **out_writer) {
    MICA_GIVEN(path, MICA_MANY(names, n), out_writer);
    for (int32_t i = 0; i < n; i++)
        if (!names[i]) return MICA_INVALID("[folder] name %d is NULL", i);
    *out_writer = NULL;
    mica_folder_writer *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    mica_arena_init(&w->arena);
    w->n = n;
    mica_status status = prepare(w, path, names);
    if (status)
        mica_folder_writer_release(w);
    else
        *out_writer = w;
    return status;
}

const char *mica_folder_writer_path(const mica_folder_writer *w) {
    if (!w) return "";
    return mica_file_path(w->aside);
}

typedef struct kept_visit {
    const mica_folder_writer *w;
    mica_status status;
} kept_visit;

static void keep(void *context, const char *name) {
    kept_visit *v = context;
    for (int32_t i = 0; i < v->w->n; i++)
        if (!strcmp(name, v->w->names[i])) return;
    if (!v->status && !mica_folder_link(v->w->path, name, mica_folder_writer_path(v->w)))
        v->status = MICA_ERROR(MICA_UNSUPPORTED, "[folder] cannot keep '%s' of %s in the new one",
                               name, v->w->path);
}

/* Another writer may have put a folder there since this one began. */
mica_status mica_folder_writer_finish(mica_folder_writer *w) {
    MICA_GIVEN(w);
    const char *aside = mica_folder_writer_path(w);
    kept_visit visit = {w, NULL};
    mica_folder_visit(w->path, keep, &visit);
    if (visit.status) return visit.status;
    MICA_TRY(mica_file_sync(w->aside));
    mica_status status = w->is_replacing ? NULL : mica_folder_move(aside, w->path);
    bool is_moved = !w->is_replacing && !status;
    if (!is_moved) {
        mica_status_release(status);
        MICA_TRY(mica_folder_exchange(aside, w->path));
    }
    w->is_finished = true;
    if (!is_moved) mica_folder_remove_all(aside);
    return NULL;
}

void mica_folder_writer_release(mica_folder_writer *w) {
    if (!w) return;
    if (w->aside && !w->is_finished) mica_folder_remove_all(mica_folder_writer_path(w));
    mica_status_release(mica_file_close(w->aside));
    mica_arena_deinit(&w->arena);
    mica_free(w);
}
