/* A cache in a file: the first iterator that comes to the end leaves its elements in a bundle, as
 * TensorFlow's cache does, and those that begin after it read them there.
 *
 * Component k of element i is the tensor "<i>_<k>", the numbers padded with spaces so that keys
 * have the order of the elements. A bundle appears as a whole (io/bundle_write.c): an iterator that
 * is left early leaves no file, and of several that write one wins. */
#include <stdio.h>

#include "data/archive.h"
#include "mica/io.h"

enum { ELEMENT_DIGITS = 7, MOST_ELEMENTS = 10000000 };

typedef struct file_cache {
    mica_dataset base;
    char *path;
    int32_t digits; /* of a component's number */
} file_cache;

typedef struct file_cache_state {
    mica_bundle *bundle;        /* of an iterator that reads */
    mica_bundle_writer *writer; /* of one that writes, until it has ended */
    int64_t at;
    bool ended;
} file_cache_state;

static const file_cache *cache_of(const mica_iterator *it) {
    return (const file_cache *)it->dataset;
}

static void file_cache_destroy(mica_dataset *dataset) {
    mica_free(((file_cache *)dataset)->path);
}

static mica_status file_cache_open(mica_iterator *it) {
    file_cache_state *s = it->state;
    mica_status status = mica_bundle_open(cache_of(it)->path, &s->bundle);
    if (!status || mica_status_code(status) != MICA_NOT_FOUND) return status;
    mica_status_release(status);
    MICA_TRY(mica_iterator_open_input(it, 0));
    return mica_bundle_writer_create(cache_of(it)->path, &s->writer);
}

static void file_cache_close(mica_iterator *it) {
    file_cache_state *s = it->state;
    mica_bundle_release(s->bundle);
    mica_bundle_writer_release(s->writer);
}

static void make_key(const mica_iterator *it, int64_t element, int32_t k, char out[64]) {
    snprintf(out, 64, "%*lld_%*d", ELEMENT_DIGITS, (long long)element, cache_of(it)->digits,
             (int)k);
}

/* ---- reading ----------------------------------------------------------------------------------*/

static mica_status read_numbers(mica_iterator *it, mica_bundle *bundle, int64_t i,
                                const mica_bundle_entry *entry, mica_tf_value *out) {
    mica_dtype dtype = mica_tf_dtype_core(entry->dtype);
    if (entry->is_sliced || dtype == MICA_DTYPE_COUNT)
        return MICA_ERROR(MICA_DATA_LOSS, "[CacheDataset] '%s' in %s is no tensor of an element",
                          entry->key, cache_of(it)->path);
    mica_type type = mica_type_make(dtype, (mica_ints){entry->dims, entry->rank});
    mica_tensor *tensor;
    void *data;
    MICA_TRY(mica_tensor_create(it->device, &type, &tensor));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &data);
    if (!status) {
        status = mica_bundle_read(bundle, i, data);
        mica_status closed = mica_tensor_close_view(tensor);
        if (status)
            mica_status_release(closed);
        else
            status = closed;
    }
    if (status)
        mica_tensor_release(tensor);
    else
        *out = (mica_tf_value){entry->dtype, tensor};
    return status;
}

static mica_status read_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    file_cache_state *s = it->state;
    char key[64];
    for (int32_t k = 0; k < it->dataset->n_components; k++) {
        make_key(it, s->at, k, key);
        int64_t i = mica_bundle_find(s->bundle, key, strlen(key));
        const mica_bundle_entry *entry = i < 0 ? NULL : mica_bundle_entry_at(s->bundle, i);
        *end = !entry && k == 0;
        if (*end) return NULL;
        if (!entry)
            return MICA_ERROR(MICA_DATA_LOSS,
                              "[CacheDataset] %s has no component %d of element "
                              "%lld: it is not of this pipeline, remove it",
                              cache_of(it)->path, (int)k, (long long)s->at);
        if (entry->dtype == MICA_TF_string)
            MICA_TRY(mica_bundle_read_strings(s->bundle, i, &out[k]));
        else
            MICA_TRY(read_numbers(it, s->bundle, i, entry, &out[k]));
    }
    s->at++;
    return NULL;
}

/* ---- writing ----------------------------------------------------------------------------------*/

static mica_status write_value(mica_bundle_writer *writer, const char *key, mica_tf_value value) {
    void *data;
    if (value.dtype == MICA_TF_string) return mica_bundle_writer_add_strings(writer, key, value);
    if (mica_tf_dtype_core(value.dtype) == MICA_DTYPE_COUNT)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[CacheDataset] a %s cannot be kept in a file: numbers and strings can, "
                          "and without a file name all is kept in memory",
                          mica_tf_dtype_name(value.dtype));
    const mica_type *type = mica_tensor_type(value.object);
    MICA_TRY(mica_tensor_open_view(value.object, MICA_READ, &data));
    mica_status status = mica_bundle_writer_add(
        writer, key, value.dtype, (mica_ints){type->dims, type->rank}, data, mica_type_bytes(type));
    mica_status closed = mica_tensor_close_view(value.object);
    if (!status) return closed;
    mica_status_release(closed);
    return status;
}

static mica_status write_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    file_cache_state *s = it->state;
    char key[64];
    *end = s->ended;
    if (*end) return NULL;
    MICA_TRY(mica_iterator_pull(it, 0, out, end));
    if (*end) {
        MICA_TRY(mica_bundle_writer_finish(s->writer));
        s->ended = true;
        mica_bundle_writer_release(s->writer);
        s->writer = NULL;
        return NULL;
    }
    if (s->at >= MOST_ELEMENTS)
        return MICA_ERROR(MICA_UNSUPPORTED, "[CacheDataset] a file keeps at most %d elements",
                          MOST_ELEMENTS);
    for (int32_t k = 0; k < it->dataset->n_components; k++) {
        make_key(it, s->at, k, key);
        MICA_TRY(write_value(s->writer, key, out[k]));
    }
    s->at++;
    return NULL;
}

/* ---- the class --------------------------------------------------------------------------------*/

static mica_status file_cache_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    return ((file_cache_state *)it->state)->bundle ? read_next(it, out, end)
                                                   : write_next(it, out, end);
}

static int64_t file_cache_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

static mica_status file_cache_archive(mica_iterator *it, mica_archive *a) {
    file_cache_state *s = it->state;
    if (!s->bundle)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[CacheDataset] an iterator that writes %s cannot be saved or restored: "
                          "let one come to its end first",
                          cache_of(it)->path);
    return mica_archive_int(a, &s->at, 0, MOST_ELEMENTS);
}

static const mica_dataset_class file_cache_class = {
    .name = "CacheDataset",
    .bytes = sizeof(file_cache),
    .state_bytes = sizeof(file_cache_state),
    .destroy = file_cache_destroy,
    .open = file_cache_open,
    .next = file_cache_next,
    .close = file_cache_close,
    .cardinality = file_cache_count,
    .archive = file_cache_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_file_cache(mica_dataset *input, const char *path,
                                    mica_dataset **out_dataset) {
    MICA_GIVEN(input, path, out_dataset);
    *out_dataset = NULL;
    if (!*path) return MICA_INVALID("[CacheDataset] the name of the file is empty");
    if (input->n_components < 1)
        return MICA_INVALID("[CacheDataset] elements without components are kept in no file");
    char *kept = mica_strdup(path);
    if (!kept) return MICA_NO_MEMORY();
    mica_status status =
        mica_dataset_make(&file_cache_class, &input, 1, input->n_components, out_dataset);
    if (status) {
        mica_free(kept);
        return status;
    }
    file_cache *c = (file_cache *)*out_dataset;
    c->path = kept;
    for (int32_t n = input->n_components - 1; n > 0; n /= 10) c->digits++;
    if (c->digits == 0) c->digits = 1;
    return NULL;
}
