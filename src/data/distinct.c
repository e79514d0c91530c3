/* Elements that differ from all before them, and elements without the errors between them. */
#include "data/archive.h"

#include "base/hash.h"

/* ---- unique -----------------------------------------------------------------------------------*/

/* What has come, found by an open table of numbers of rows. */
typedef struct unique_state {
    mica_rows rows;
    uint64_t *hashes; /* of the rows */
    int64_t capacity; /* of hashes */
    int64_t *table;   /* 1 + a number, or 0; 2^bits places, at most half of them taken */
    int32_t bits;
    uint8_t *bytes[2]; /* room for two tensors that are compared */
    size_t n_bytes;
} unique_state;

static mica_status unique_open(mica_iterator *it) {
    mica_rows *rows = &((unique_state *)it->state)->rows;
    rows->width = 1;
    rows->meter.who = "UniqueDataset";
    return mica_iterator_open_input(it, 0);
}

static void unique_close(mica_iterator *it) {
    unique_state *state = it->state;
    mica_rows_deinit(&state->rows);
    mica_free(state->hashes);
    mica_free(state->table);
    mica_free(state->bytes[0]);
    mica_free(state->bytes[1]);
}

static mica_status host_bytes(unique_state *state, int which, mica_tf_value value, size_t *out_n) {
    *out_n = mica_type_bytes(mica_tensor_type(value.object));
    if (*out_n > state->n_bytes) {
        for (int i = 0; i < 2; i++) {
            void *grown = mica_realloc(state->bytes[i], *out_n);
            if (!grown) return MICA_NO_MEMORY();
            state->bytes[i] = grown;
        }
        state->n_bytes = *out_n;
    }
    return *out_n ? mica_tensor_to_host(value.object, state->bytes[which], *out_n) : NULL;
}

static uint64_t hash_shape(mica_tf_value value) {
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    uint64_t hash = mica_hash_u64(MICA_HASH_SEED, (uint64_t)value.dtype);
    hash = mica_hash_u64(hash, (uint64_t)shape.rank);
    for (int32_t i = 0; i < shape.rank; i++) hash = mica_hash_u64(hash, (uint64_t)shape.dims[i]);
    return hash;
}

static mica_status hash_of(unique_state *state, mica_tf_value value, uint64_t *out) {
    *out = hash_shape(value);
    size_t n;
    if (value.dtype != MICA_TF_string) {
        MICA_TRY(host_bytes(state, 0, value, &n));
        *out = mica_hash_bytes(*out, state->bytes[0], n);
        return NULL;
    }
    for (int64_t i = 0; i < mica_tf_strings_count(value); i++) {
        const char *text = mica_tf_strings_get(value, i, &n);
        *out = mica_hash_bytes(*out, text, n);
    }
    return NULL;
}

/* Both have one hash, of their shapes too. */
static mica_status are_same(unique_state *state, mica_tf_value x, mica_tf_value y, bool *out) {
    size_t n, m;
    *out = false;
    if (x.dtype != y.dtype || hash_shape(x) != hash_shape(y)) return NULL;
    if (x.dtype != MICA_TF_string) {
        MICA_TRY(host_bytes(state, 0, x, &n));
        MICA_TRY(host_bytes(state, 1, y, &m));
        *out = n == m && (n == 0 || !memcmp(state->bytes[0], state->bytes[1], n));
        return NULL;
    }
    int64_t count = mica_tf_strings_count(x);
    *out = count == mica_tf_strings_count(y);
    for (int64_t i = 0; *out && i < count; i++) {
        const char *a = mica_tf_strings_get(x, i, &n), *b = mica_tf_strings_get(y, i, &m);
        *out = n == m && !memcmp(a, b, n);
    }
    return NULL;
}

static mica_status make_table(unique_state *state, int32_t bits) {
    int64_t *table = mica_calloc((size_t)1 << bits, sizeof *table);
    if (!table) return MICA_NO_MEMORY();
    mica_free(state->table);
    state->table = table;
    state->bits = bits;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (int64_t i = 0; i < state->rows.n; i++) {
        uint64_t at = state->hashes[i] & mask;
        while (table[at]) at = (at + 1) & mask;
        table[at] = i + 1;
    }
    return NULL;
}

/* Keeps a value that has not come before. */
static mica_status note(unique_state *state, mica_tf_value value, bool *out_is_new) {
    uint64_t hash;
    mica_tf_value *row;
    MICA_TRY(hash_of(state, value, &hash));
    if (!state->table || 2 * (state->rows.n + 1) > INT64_C(1) << state->bits)
        MICA_TRY(make_table(state, state->table ? state->bits + 1 : 6));
    uint64_t mask = (UINT64_C(1) << state->bits) - 1, at = hash & mask;
    for (; state->table[at]; at = (at + 1) & mask) {
        int64_t i = state->table[at] - 1;
        bool same = false;
        if (state->hashes[i] == hash)
            MICA_TRY(are_same(state, state->rows.values[i], value, &same));
        *out_is_new = false;
        if (same) return NULL;
    }
    if (state->rows.n == state->capacity) {
        int64_t capacity = state->capacity ? 2 * state->capacity : 32;
        void *grown = mica_realloc(state->hashes, (size_t)capacity * sizeof *state->hashes);
        if (!grown) return MICA_NO_MEMORY();
        state->hashes = grown;
        state->capacity = capacity;
    }
    MICA_TRY(mica_rows_room(&state->rows, &row));
    mica_tf_value_retain(value);
    *row = value;
    state->hashes[state->rows.n++] = hash;
    state->table[at] = state->rows.n;
    *out_is_new = true;
    return NULL;
}

static mica_status unique_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    for (bool is_new = false; !is_new;) {
        MICA_TRY(mica_iterator_pull(it, 0, out, end));
        if (*end) return NULL;
        MICA_TRY(note(it->state, *out, &is_new));
        if (!is_new) mica_values_release(out, 1);
    }
    return NULL;
}

static mica_status unique_archive(mica_iterator *it, mica_archive *a) {
    unique_state *state = it->state;
    if (a->is_saving) return mica_archive_rows(a, it->device, &state->rows);
    mica_rows rows = {.width = 1};
    mica_status status = mica_archive_rows(a, it->device, &rows);
    for (int64_t i = 0; !status && i < rows.n; i++) {
        bool is_new;
        status = note(state, rows.values[i], &is_new);
    }
    mica_rows_deinit(&rows);
    return status;
}

static const mica_dataset_class unique_class = {
    .name = "UniqueDataset",
    .bytes = sizeof(mica_dataset),
    .state_bytes = sizeof(unique_state),
    .open = unique_open,
    .next = unique_next,
    .close = unique_close,
    .archive = unique_archive,
};

mica_status mica_dataset_unique(mica_dataset *input, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    *out_dataset = NULL;
    if (input->n_components != 1)
        return MICA_INVALID("[UniqueDataset] elements of one component are compared, not of %d",
                            input->n_components);
    return mica_dataset_make(&unique_class, &input, 1, 1, out_dataset);
}

/* ---- without errors ---------------------------------------------------------------------------*/

/* What ends a program, or its memory, is no matter of one element. */
static bool is_of_element(mica_code code) {
    return code != MICA_CANCELLED && code != MICA_OUT_OF_MEMORY;
}

static mica_status ignoring_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    for (;;) {
        mica_status status = mica_iterator_pull(it, 0, out, end);
        if (!status || !is_of_element(mica_status_code(status))) return status;
        mica_status_release(status);
    }
}

static const mica_dataset_class ignoring_class = {
    .name = "IgnoreErrorsDataset",
    .bytes = sizeof(mica_dataset),
    .next = ignoring_next,
};

mica_status mica_dataset_ignore_errors(mica_dataset *input, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return mica_dataset_make(&ignoring_class, &input, 1, input->n_components, out_dataset);
}
