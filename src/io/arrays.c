/* Files of named arrays: opening, names, saving. The formats are in files of their own. */
#include "io/arrays.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ir/graph.h"

/* ---- reading ----------------------------------------------------------------------------------*/

mica_status io_arrays_damaged(const mica_arrays *a, const char *format, const char *why) {
    return MICA_ERROR(MICA_DATA_LOSS, "[%s] '%.900s' is damaged: %s", format, a->path, why);
}

static bool is_utf8(io_range text) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000}; /* by the bytes that follow */
    for (size_t i = 0; i < text.n;) {
        uint8_t first = text.data[i++];
        int more = first < 0x80       ? 0
                   : first >> 5 == 6  ? 1
                   : first >> 4 == 14 ? 2
                   : first >> 3 == 30 ? 3
                                      : -1;
        if (more < 0 || (size_t)more > text.n - i) return false;
        uint32_t code = more ? first & (0x3Fu >> more) : first;
        for (int k = 0; k < more; k++, i++) {
            if (text.data[i] >> 6 != 2) return false;
            code = code << 6 | (text.data[i] & 0x3F);
        }
        bool is_surrogate = code >> 11 == 0xD800 >> 11;
        if (code < least[more] || code > 0x10FFFF || is_surrogate) return false;
    }
    return true;
}

mica_status io_arrays_add(mica_arrays *a, io_range name, const mica_type *type, const void *data) {
    if (memchr(name.data, 0, name.n) != NULL)
        return io_arrays_damaged(a, "arrays", "a name has a zero inside");
    if (!is_utf8(name)) return io_arrays_damaged(a, "arrays", "a name is no UTF-8");
    mica_status fits = mica_type_check(type, "arrays"); /* empty arrays may have large sizes */
    if (fits) {
        mica_status_release(fits);
        return io_arrays_damaged(a, "arrays", "a shape is too large");
    }
    if (a->n == a->capacity) {
        int64_t capacity = a->capacity ? 2 * a->capacity : 16;
        mica_array *grown = mica_realloc(a->items, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        a->items = grown;
        a->capacity = capacity;
    }
    char *copy = mica_arena_alloc(&a->arena, name.n + 1);
    if (!copy) return MICA_NO_MEMORY();
    if (name.n) memcpy(copy, name.data, name.n);
    a->items[a->n++] = (mica_array){copy, *type, data};
    return NULL;
}

/* One order for sorting and for finding; qsort hands no context on, so numbers carry their array.*/
typedef struct named {
    const char *name;
    int64_t number;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* The numbers of arrays in the order of their names; *out_twice is a name that comes twice. */
static mica_status sort_names(const mica_array *items, int64_t n, int64_t *out_order,
                              const char **out_twice) {
    *out_twice = NULL;
    named *names = mica_alloc(((size_t)n + 1) * sizeof *names);
    if (!names) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) names[i] = (named){items[i].name, i};
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int64_t i = 0; i < n; i++) {
        out_order[i] = names[i].number;
        if (i > 0 && !strcmp(names[i - 1].name, names[i].name)) *out_twice = names[i].name;
    }
    mica_free(names);
    return NULL;
}

static mica_status read_any(mica_arrays *a) {
    static const uint8_t zip[] = {'P', 'K', 3, 4}, empty_zip[] = {'P', 'K', 5, 6};
    static const uint8_t npy[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    io_range whole = {a->bytes, a->size};
    if (a->size >= sizeof npy && !memcmp(a->bytes, npy, sizeof npy))
        return io_npy_read(a, (io_range){(const uint8_t *)"", 0}, whole);
    if (a->size >= 4 && (!memcmp(a->bytes, zip, 4) || !memcmp(a->bytes, empty_zip, 4)))
        return io_npz_read(a);
    return io_safetensors_read(a);
}

static mica_status open_into(mica_arrays *a, const char *path) {
    const char *twice;
    a->path = mica_arena_strdup(&a->arena, path);
    if (!a->path) return MICA_NO_MEMORY();
    MICA_TRY(mica_file_read(path, &a->bytes, &a->size));
    MICA_TRY(read_any(a));
    a->by_name = mica_arena_alloc(&a->arena, ((size_t)a->n + 1) * sizeof *a->by_name);
    if (!a->by_name) return MICA_NO_MEMORY();
    MICA_TRY(sort_names(a->items, a->n, a->by_name, &twice));
    if (twice) return io_arrays_damaged(a, "arrays", "two arrays have one name");
    return NULL;
}

mica_status mica_arrays_open(const char *path, mica_arrays **out_arrays) {
    MICA_GIVEN(path, out_arrays);
    *out_arrays = NULL;
    mica_arrays *a = mica_calloc(1, sizeof *a);
    if (!a) return MICA_NO_MEMORY();
    mica_arena_init(&a->arena);
    mica_status status = open_into(a, path);
    if (status)
        mica_arrays_release(a);
    else
        *out_arrays = a;
    return status;
}

void mica_arrays_release(mica_arrays *a) {
    if (!a) return;
    mica_free(a->items);
    mica_free(a->bytes);
    mica_arena_deinit(&a->arena);
    mica_free(a);
}

int64_t mica_arrays_count(const mica_arrays *a) {
    return a ? a->n : 0;
}

const mica_array *mica_arrays_at(const mica_arrays *a, int64_t i) {
    return a && i >= 0 && i < a->n ? &a->items[i] : NULL;
}

int64_t mica_arrays_find(const mica_arrays *a, const char *name) {
    if (!a || !name) return -1;
    for (int64_t low = 0, high = a->n; low < high;) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(name, a->items[a->by_name[middle]].name);
        if (order == 0) return a->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- writing ----------------------------------------------------------------------------------*/

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n >= k && !strcmp(path + n - k, end);
}

static mica_status check_arrays(const mica_array *arrays, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const mica_array *a = &arrays[i];
        if (!a->name) return MICA_INVALID("[arrays_save] array %lld has no name", (long long)i);
        if (!is_utf8((io_range){(const uint8_t *)a->name, strlen(a->name)}))
            return MICA_INVALID("[arrays_save] the name of array %lld is no UTF-8", (long long)i);
        bool is_tensor = a->type.kind == MICA_TENSOR && a->type.rank >= 0 &&
                         a->type.rank <= MICA_MAX_RANK &&
                         (unsigned)a->type.dtype < MICA_DTYPE_COUNT;
        for (int32_t k = 0; is_tensor && k < a->type.rank; k++) is_tensor = a->type.dims[k] >= 0;
        if (!is_tensor || mica_type_bytes(&a->type) == SIZE_MAX)
            return MICA_INVALID("[arrays_save] '%.200s' has no type of an array", a->name);
        if (!a->data && mica_type_bytes(&a->type) > 0)
            return MICA_INVALID("[arrays_save] '%.200s' has no data", a->name);
    }
    const char *twice;
    int64_t *order = mica_alloc(((size_t)n + 1) * sizeof *order);
    if (!order) return MICA_NO_MEMORY();
    mica_status status = sort_names(arrays, n, order, &twice);
    mica_free(order);
    if (!status && twice)
        return MICA_INVALID("[arrays_save] two arrays have the name '%.200s'", twice);
    return status;
}

static mica_status npy_write(mica_file *file, const mica_array *array) {
    mica_text header;
    mica_text_init(&header);
    mica_status status = io_npy_put_header(&header, array);
    if (!status) status = mica_file_append(file, header.data, header.length);
    if (!status) status = mica_file_append(file, array->data, mica_type_bytes(&array->type));
    mica_text_deinit(&header);
    return status;
}

static mica_status write_any(mica_file *file, const char *path, const mica_array *arrays,
                             int64_t n) {
    if (ends_with(path, ".npz")) return io_npz_write(file, arrays, n);
    if (ends_with(path, ".npy")) return npy_write(file, arrays);
    return io_safetensors_write(file, arrays, n);
}

mica_status mica_arrays_save(const char *path, const mica_array *arrays, int64_t n) {
    MICA_GIVEN(path, MICA_MANY(arrays, n));
    if (n < 0)
        return MICA_INVALID("[arrays_save] the number of arrays must be at least 0, not %lld",
                            (long long)n);
    bool is_one = ends_with(path, ".npy");
    if (!is_one && !ends_with(path, ".npz") && !ends_with(path, ".safetensors"))
        return MICA_INVALID("[arrays_save] '%.900s' ends with none of .safetensors, .npz and .npy",
                            path);
    if (is_one && n != 1)
        return MICA_INVALID("[arrays_save] an .npy file holds one array, not %lld: use .npz",
                            (long long)n);
    MICA_TRY(check_arrays(arrays, n));
    mica_file *file;
    MICA_TRY(mica_file_create_aside(path, &file));
    mica_status status = write_any(file, path, arrays, n);
    if (!status) status = mica_file_publish(file, path);
    if (status)
        mica_file_discard(file);
    else
        status = mica_file_close(file);
    mica_folder_remove_asides(path);
    return status;
}
