/* The state of iterators as bytes: fields in order, each iterator behind the name of its class. */
#include "data/archive.h"

#include "base/hash.h"

enum { MOST_DEPTH = 64, WORD = 8, SUM = 8 };
static const char magic[] = "mica-iterator-1\n";

static mica_status refused(const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[iterator] the state cannot be restored: %s", what);
}

/* ---- words and bytes --------------------------------------------------------------------------*/

static void put_word(mica_archive *a, uint64_t word) {
    uint8_t bytes[WORD];
    for (int i = 0; i < WORD; i++) bytes[i] = (uint8_t)(word >> 8 * i);
    mica_text_append_bytes(&a->to, bytes, sizeof bytes);
}

static mica_status take(mica_archive *a, size_t n, const uint8_t **out) {
    if (n > a->n) return refused("it is cut off");
    *out = a->from;
    a->from += n;
    a->n -= n;
    return NULL;
}

static mica_status archive_word(mica_archive *a, uint64_t *word) {
    if (a->is_saving) {
        put_word(a, *word);
        return NULL;
    }
    const uint8_t *bytes;
    MICA_TRY(take(a, WORD, &bytes));
    *word = 0;
    for (int i = 0; i < WORD; i++) *word |= (uint64_t)bytes[i] << 8 * i;
    return NULL;
}

mica_status mica_archive_int(mica_archive *a, int64_t *value, int64_t least, int64_t most) {
    uint64_t word = (uint64_t)*value;
    MICA_TRY(archive_word(a, &word));
    if (a->is_saving) return NULL;
    int64_t given = (int64_t)word;
    if (given < least || given > most) return refused("a number in it is out of its bounds");
    *value = given;
    return NULL;
}

mica_status mica_archive_bool(mica_archive *a, bool *value) {
    int64_t number = *value;
    MICA_TRY(mica_archive_int(a, &number, 0, 1));
    *value = number != 0;
    return NULL;
}

mica_status mica_archive_bytes(mica_archive *a, void *bytes, size_t n) {
    const uint8_t *given;
    if (a->is_saving) {
        mica_text_append_bytes(&a->to, bytes, n);
        return NULL;
    }
    MICA_TRY(take(a, n, &given));
    memcpy(bytes, given, n);
    return NULL;
}

mica_status mica_archive_stream(mica_archive *a, mica_philox_stream *stream) {
    int64_t used = stream->used;
    MICA_TRY(archive_word(a, &stream->seed));
    MICA_TRY(archive_word(a, &stream->stream));
    MICA_TRY(archive_word(a, &stream->next));
    for (int i = 0; i < 4; i++) {
        uint64_t word = stream->words[i];
        MICA_TRY(archive_word(a, &word));
        stream->words[i] = (uint32_t)word;
    }
    MICA_TRY(mica_archive_int(a, &used, 0, 4));
    stream->used = (int32_t)used;
    return NULL;
}

/* A text that has to be there; restoring, what is read must be the same. */
static mica_status archive_name(mica_archive *a, const char *name) {
    int64_t n = (int64_t)strlen(name);
    if (a->is_saving) {
        put_word(a, (uint64_t)n);
        mica_text_append_bytes(&a->to, name, (size_t)n);
        return NULL;
    }
    int64_t given = 0;
    const uint8_t *bytes;
    MICA_TRY(mica_archive_int(a, &given, 0, 256));
    MICA_TRY(take(a, (size_t)given, &bytes));
    if (given == n && !memcmp(bytes, name, (size_t)n)) return NULL;
    return MICA_ERROR(MICA_DATA_LOSS,
                      "[iterator] the state cannot be restored: it is that of a %.*s where the "
                      "pipeline has a %s",
                      (int)given, (const char *)bytes, name);
}

/* ---- values -----------------------------------------------------------------------------------*/

enum { NO_VALUE, TENSOR, STRINGS, ROWS };

static mica_status archive_dims(mica_archive *a, int64_t *dims, int32_t *rank) {
    int64_t n = *rank;
    MICA_TRY(mica_archive_int(a, &n, 0, MICA_MAX_RANK));
    *rank = (int32_t)n;
    for (int32_t i = 0; i < *rank; i++)
        MICA_TRY(mica_archive_int(a, &dims[i], 0, INT64_C(1) << 48));
    return NULL;
}

/* The product of sizes, when it is at most `most`. */
static bool count_of(const int64_t *dims, int32_t rank, uint64_t most, uint64_t *out) {
    uint64_t nonzero = 1;
    *out = 1;
    for (int32_t i = 0; i < rank; i++) {
        uint64_t size = (uint64_t)dims[i];
        if (size && __builtin_mul_overflow(nonzero, size, &nonzero)) return false;
        *out *= size;
    }
    return nonzero < INT64_MAX && *out <= most;
}

static mica_status save_tensor(mica_archive *a, mica_tf_value value) {
    const mica_type *type = mica_tensor_type(value.object);
    int64_t dims[MICA_MAX_RANK];
    int32_t rank = type->rank;
    size_t bytes = mica_type_bytes(type);
    for (int32_t i = 0; i < rank; i++) dims[i] = type->dims[i];
    MICA_TRY(archive_dims(a, dims, &rank));
    void *data = mica_alloc(bytes + 1);
    if (!data) return MICA_NO_MEMORY();
    mica_status status = mica_tensor_to_host(value.object, data, bytes);
    if (!status) mica_text_append_bytes(&a->to, data, bytes);
    mica_free(data);
    return status;
}

static mica_status restore_tensor(mica_archive *a, mica_device *device, mica_tf_dtype dtype,
                                  mica_tf_value *out) {
    mica_type type = mica_type_scalar(mica_tf_dtype_core(dtype));
    size_t each = mica_type_bytes(&type);
    int64_t dims[MICA_MAX_RANK];
    uint64_t count;
    mica_tensor *tensor = NULL;
    const uint8_t *bytes;
    MICA_TRY(archive_dims(a, dims, &type.rank));
    if (!count_of(dims, type.rank, a->n / (each ? each : 1), &count))
        return refused("a tensor in it is larger than it is");
    for (int32_t i = 0; i < type.rank; i++) type.dims[i] = dims[i];
    MICA_TRY(take(a, mica_type_bytes(&type), &bytes));
    MICA_TRY(mica_tensor_from_host(device, &type, bytes, &tensor));
    *out = (mica_tf_value){dtype, tensor};
    return NULL;
}

static mica_status save_strings(mica_archive *a, mica_tf_value value) {
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    MICA_TRY(archive_dims(a, shape.dims, &shape.rank));
    for (int64_t i = 0; i < mica_tf_strings_count(value); i++) {
        size_t n;
        const char *text = mica_tf_strings_get(value, i, &n);
        put_word(a, n);
        mica_text_append_bytes(&a->to, text, n);
    }
    return NULL;
}

static mica_status restore_strings(mica_archive *a, mica_tf_value *out) {
    mica_tf_shape shape = {0};
    uint64_t count;
    MICA_TRY(archive_dims(a, shape.dims, &shape.rank));
    if (!count_of(shape.dims, shape.rank, a->n / WORD, &count))
        return refused("a tensor of strings in it is larger than it is");
    const char **data = mica_calloc((size_t)count + 1, sizeof *data);
    size_t *lengths = mica_calloc((size_t)count + 1, sizeof *lengths);
    mica_status status = data && lengths ? NULL : MICA_NO_MEMORY();
    for (uint64_t i = 0; !status && i < count; i++) {
        int64_t n = 0;
        const uint8_t *bytes = NULL;
        status = mica_archive_int(a, &n, 0, INT64_MAX);
        if (!status) status = take(a, (size_t)n, &bytes);
        data[i] = (const char *)bytes;
        lengths[i] = (size_t)n;
    }
    if (!status)
        status = mica_tf_strings_create((mica_ints){shape.dims, shape.rank}, data, lengths, out);
    mica_free(data);
    mica_free(lengths);
    return status;
}

static mica_status cannot_save(mica_tf_value value) {
    const char *name = mica_tf_dtype_name(value.dtype);
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[iterator] a value of dtype %s among the elements of the pipeline cannot be "
                      "saved",
                      name ? name : "?");
}

static int64_t kind_of(mica_tf_value value) {
    if (!value.object) return NO_VALUE;
    if (mica_tf_dtype_core(value.dtype) != MICA_DTYPE_COUNT) return TENSOR;
    if (value.dtype == MICA_TF_string) return STRINGS;
    return mica_rows_of(mica_dataset_of(value)) ? ROWS : -1;
}

/* A dataset of kept elements: what a window gives. */
static mica_status archive_kept(mica_archive *a, mica_device *device, mica_tf_value *value) {
    mica_rows rows = {0};
    if (a->is_saving) rows = *mica_rows_of(mica_dataset_of(*value));
    int64_t width = rows.width;
    MICA_TRY(mica_archive_int(a, &width, 0, MICA_DATA_MAX_COMPONENTS));
    if (a->is_saving) return mica_archive_rows(a, device, &rows);
    rows.width = (int32_t)width;
    mica_dataset *dataset = NULL;
    mica_status status = mica_archive_rows(a, device, &rows);
    if (!status) status = mica_rows_elements(&rows, rows.width, &dataset);
    mica_rows_deinit(&rows);
    if (!status) status = mica_dataset_value(dataset, value);
    mica_dataset_release(dataset);
    return status;
}

static mica_status archive_value(mica_archive *a, mica_device *device, mica_tf_value *value) {
    int64_t kind = a->is_saving ? kind_of(*value) : 0, dtype = value->dtype;
    if (kind < 0) return cannot_save(*value);
    MICA_TRY(mica_archive_int(a, &kind, NO_VALUE, ROWS));
    if (kind == NO_VALUE) return NULL;
    if (kind == ROWS) return archive_kept(a, device, value);
    if (kind == STRINGS) return a->is_saving ? save_strings(a, *value) : restore_strings(a, value);
    MICA_TRY(mica_archive_int(a, &dtype, 1, 127));
    if (a->is_saving) return save_tensor(a, *value);
    if (!mica_tf_dtype_name((mica_tf_dtype)dtype) ||
        mica_tf_dtype_core((mica_tf_dtype)dtype) == MICA_DTYPE_COUNT)
        return refused("a tensor in it has no dtype of tensors");
    return restore_tensor(a, device, (mica_tf_dtype)dtype, value);
}

mica_status mica_archive_values(mica_archive *a, mica_device *device, mica_tf_value *values,
                                int32_t n) {
    if (++a->depth > MOST_DEPTH) return refused("it is nested too deeply");
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < n; i++) status = archive_value(a, device, &values[i]);
    a->depth--;
    return status;
}

mica_status mica_archive_element(mica_archive *a, mica_device *device, mica_tf_value *values,
                                 int32_t n) {
    MICA_TRY(mica_archive_values(a, device, values, n));
    for (int32_t i = 0; i < n; i++)
        if (!values[i].object) return refused("a component of an element is missing");
    return NULL;
}

mica_status mica_archive_rows(mica_archive *a, mica_device *device, mica_rows *rows) {
    int64_t n = rows->n;
    MICA_TRY(mica_archive_int(a, &n, 0, INT64_MAX));
    for (int64_t i = 0; i < n; i++) {
        mica_tf_value *row = a->is_saving ? rows->values + i * rows->width : NULL;
        if (!a->is_saving) {
            /* A row takes a word for each of its values; without any, its number is enough. */
            if (rows->width == 0 && n > (INT64_C(1) << 32)) return refused("it has too many rows");
            MICA_TRY(mica_rows_room(rows, &row));
            rows->n++;
        }
        MICA_TRY(mica_archive_element(a, device, row, rows->width));
    }
    return NULL;
}

mica_status mica_archive_status(mica_archive *a, mica_status *status) {
    int64_t code = a->is_saving ? (int64_t)mica_status_code(*status) : 0;
    MICA_TRY(mica_archive_int(a, &code, MICA_OK, MICA_CANCELLED));
    if (code == MICA_OK) return NULL;
    if (a->is_saving) {
        const char *message = mica_status_message(*status);
        put_word(a, strlen(message));
        mica_text_append(&a->to, message);
        return NULL;
    }
    int64_t n = 0;
    const uint8_t *bytes;
    MICA_TRY(mica_archive_int(a, &n, 0, INT32_MAX));
    MICA_TRY(take(a, (size_t)n, &bytes));
    /* The exception of the host language that it stood for is gone. */
    if (code == MICA_CALLBACK_ERROR) code = MICA_FAILED_PRECONDITION;
    *status = MICA_ERROR((mica_code)code, "%.*s", (int)n, (const char *)bytes);
    return NULL;
}

/* ---- iterators --------------------------------------------------------------------------------*/

static mica_status archive_inputs(mica_archive *a, mica_iterator *it) {
    for (int32_t i = 0; i < it->dataset->n_inputs; i++) {
        bool is_open = it->inputs[i] != NULL;
        MICA_TRY(mica_archive_bool(a, &is_open));
        if (!is_open) {
            mica_iterator_release(it->inputs[i]);
            it->inputs[i] = NULL;
            continue;
        }
        if (!it->inputs[i]) MICA_TRY(mica_iterator_open_input(it, i));
        MICA_TRY(mica_archive_iterator(a, it->inputs[i]));
    }
    return NULL;
}

static mica_status archive_locked(mica_archive *a, mica_iterator *it) {
    const mica_dataset_class *class = it->dataset->class;
    if (class->state_bytes > 0 && !class->archive)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] its iterators cannot be saved: what they have made is known to a "
                          "function of the host language alone",
                          class->name);
    MICA_TRY(archive_name(a, class->name));
    MICA_TRY(archive_inputs(a, it));
    return class->archive ? class->archive(it, a) : NULL;
}

mica_status mica_archive_iterator(mica_archive *a, mica_iterator *it) {
    if (++a->depth > MOST_DEPTH) return refused("it is nested too deeply");
    if (mica_iterator_is_inside(it, mica_thread_id()))
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] a function of the pipeline saves the iterator that runs it",
                          it->dataset->class->name);
    mica_mutex_lock(&it->lock);
    mica_status status = archive_locked(a, it);
    mica_mutex_unlock(&it->lock);
    a->depth--;
    return status;
}

mica_status mica_archive_draws(mica_archive *a, const mica_iterator *it,
                               const mica_data_call *call) {
    int32_t n_words;
    MICA_TRY(mica_tf_generators_save(it->generators, call->graph, NULL, 0, &n_words));
    if (n_words == 0) return NULL;
    uint32_t *words = mica_calloc((size_t)n_words, sizeof *words);
    if (!words) return MICA_NO_MEMORY();
    mica_status status =
        mica_tf_generators_save(it->generators, call->graph, words, n_words, &n_words);
    for (int32_t i = 0; !status && i < n_words; i++) {
        uint64_t word = words[i];
        status = archive_word(a, &word);
        words[i] = (uint32_t)word;
    }
    if (!status && !a->is_saving)
        status = mica_tf_generators_restore(it->generators, call->graph, words, n_words);
    mica_free(words);
    return status;
}

/* ---- from outside -----------------------------------------------------------------------------*/

mica_status mica_iterator_save(mica_iterator *iterator, mica_tf_value *out_state) {
    MICA_GIVEN(iterator, out_state);
    *out_state = (mica_tf_value){0};
    mica_archive a = {.is_saving = true};
    mica_text_append(&a.to, magic);
    mica_status status = mica_archive_iterator(&a, iterator);
    if (!status) {
        uint64_t sum = mica_hash_bytes(MICA_HASH_SEED, mica_text_data(&a.to), a.to.length);
        put_word(&a, sum);
    }
    if (!status && mica_text_is_failed(&a.to)) status = MICA_NO_MEMORY();
    const char *text = mica_text_data(&a.to);
    if (!status) status = mica_tf_strings_create(MICA_NO_INTS, &text, &a.to.length, out_state);
    mica_text_deinit(&a.to);
    return status;
}

/* The bytes between the mark and the sum, which is right. */
static mica_status open_state(mica_tf_value state, mica_archive *a) {
    size_t n, head = sizeof magic - 1;
    if (!state.object || state.dtype != MICA_TF_string || mica_tf_strings_count(state) != 1)
        return refused("it is not one string");
    const char *text = mica_tf_strings_get(state, 0, &n);
    if (n < head + SUM || memcmp(text, magic, head) != 0)
        return refused("it is not the state of an iterator");
    uint64_t sum;
    *a = (mica_archive){.from = (const uint8_t *)text + n - SUM, .n = SUM};
    MICA_TRY(archive_word(a, &sum));
    if (sum != mica_hash_bytes(MICA_HASH_SEED, text, n - SUM))
        return refused("its checksum is wrong");
    *a = (mica_archive){.from = (const uint8_t *)text + head, .n = n - head - SUM};
    return NULL;
}

mica_status mica_iterator_restore(mica_dataset *dataset, mica_device *device, mica_tf_value state,
                                  mica_iterator **out_iterator) {
    MICA_GIVEN(dataset, out_iterator);
    *out_iterator = NULL;
    mica_archive a;
    mica_iterator *it = NULL;
    MICA_TRY(open_state(state, &a));
    MICA_TRY(mica_iterator_create(dataset, device, &it));
    mica_status status = mica_archive_iterator(&a, it);
    if (!status && a.n > 0) status = refused("it goes on after its end");
    if (status)
        mica_iterator_release(it);
    else
        *out_iterator = it;
    return status;
}
