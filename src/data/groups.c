/* Elements in groups by a key: windows of elements of one key, and one element for each key. */
#include <stdlib.h>

#include "data/archive.h"

/* ---- keys -------------------------------------------------------------------------------------*/

/* Groups in the order in which their keys came, found by an open table of their numbers. */
typedef struct group {
    int64_t key, window; /* window: how many elements it takes, when group_by_window has asked */
    mica_rows rows;      /* the elements; group_by_reducer: one row, the state */
} group;

typedef struct groups {
    group *all;
    int64_t n, capacity;
    int64_t *table; /* 1 + a number, or 0; 2^bits places, at most half of them taken */
    int32_t bits;
} groups;

static uint64_t place_of(const groups *g, int64_t key) {
    return ((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - g->bits);
}

static int64_t *find_place(const groups *g, int64_t key) {
    uint64_t mask = (UINT64_C(1) << g->bits) - 1;
    for (uint64_t at = place_of(g, key);; at = (at + 1) & mask)
        if (!g->table[at] || g->all[g->table[at] - 1].key == key) return &g->table[at];
}

static mica_status index_groups(groups *g, int32_t bits) {
    int64_t *table = mica_calloc((size_t)1 << bits, sizeof *table);
    if (!table) return MICA_NO_MEMORY();
    mica_free(g->table);
    g->table = table;
    g->bits = bits;
    for (int64_t i = 0; i < g->n; i++) *find_place(g, g->all[i].key) = i + 1;
    return NULL;
}

/* The group of a key, NULL when there is none. */
static group *find_group(const groups *g, int64_t key) {
    if (!g->table) return NULL;
    int64_t found = *find_place(g, key);
    return found ? &g->all[found - 1] : NULL;
}

/* A new group; pointers to the others are void. */
static mica_status add_group(groups *g, int64_t key, int32_t width, group **out) {
    if (!g->table || 2 * (g->n + 1) > INT64_C(1) << g->bits)
        MICA_TRY(index_groups(g, g->table ? g->bits + 1 : 4));
    if (g->n == g->capacity) {
        int64_t capacity = g->capacity ? 2 * g->capacity : 8;
        group *grown = mica_realloc(g->all, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        g->all = grown;
        g->capacity = capacity;
    }
    *out = &g->all[g->n];
    **out = (group){.key = key, .rows = {.width = width, .meter.who = "GroupByWindowDataset"}};
    *find_place(g, key) = ++g->n;
    return NULL;
}

static void drop_groups(groups *g) {
    for (int64_t i = 0; i < g->n; i++) mica_rows_deinit(&g->all[i].rows);
    mica_free(g->all);
    mica_free(g->table);
    *g = (groups){0};
}

static mica_status archive_groups(groups *g, mica_archive *a, mica_device *device, int32_t width) {
    int64_t n = g->n;
    MICA_TRY(mica_archive_int(a, &n, 0, INT64_MAX));
    for (int64_t i = 0; i < n; i++) {
        int64_t key = a->is_saving ? g->all[i].key : 0;
        group *one = a->is_saving ? &g->all[i] : NULL;
        MICA_TRY(mica_archive_int(a, &key, INT64_MIN, INT64_MAX));
        if (!a->is_saving) {
            if (find_group(g, key))
                return MICA_ERROR(MICA_DATA_LOSS, "[iterator] the state has a key twice");
            MICA_TRY(add_group(g, key, width, &one));
        }
        MICA_TRY(mica_archive_int(a, &one->window, 0, INT64_MAX));
        MICA_TRY(mica_archive_rows(a, device, &one->rows));
    }
    return NULL;
}

/* What a function gives: one scalar of int64. */
static mica_status scalar_of(const char *stage, const char *what, mica_tf_value value,
                             int64_t *out) {
    if (value.dtype != MICA_TF_int64 || mica_tensor_type(value.object)->rank != 0)
        return MICA_INVALID("[%s] %s gives a value that is no scalar of int64", stage, what);
    return mica_tensor_to_host(value.object, out, sizeof *out);
}

static mica_status scalar_tensor(mica_device *device, int64_t number, mica_tf_value *out) {
    mica_type type = mica_type_scalar(MICA_DTYPE_i64);
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tensor_from_host(device, &type, &number, &tensor));
    *out = mica_tf_value_of(tensor);
    return NULL;
}

static mica_status call_for_scalar(const mica_data_call *call, mica_iterator *it, const char *what,
                                   const mica_tf_value *inputs, int32_t n, int64_t *out) {
    mica_tf_value value = {0};
    MICA_TRY(mica_data_call_run(call, it, inputs, n, &value, 1));
    mica_status status = scalar_of(it->dataset->class->name, what, value, out);
    mica_tf_value_release(value);
    return status;
}

/* ---- windows of elements of one key -----------------------------------------------------------*/

enum { KEY, REDUCE, WINDOW_SIZE, WINDOW_FUNCTIONS };

typedef struct windows_dataset {
    mica_dataset base;
    mica_data_call calls[WINDOW_FUNCTIONS];
} windows_dataset;

typedef struct windows_state {
    groups groups;
    mica_tf_value *element;
    mica_iterator *inner; /* of what became of the last window; NULL: none */
    mica_rows window;     /* its elements */
    int64_t key, number;
    int64_t flushed; /* groups that were given after the input's end */
    bool input_ended;
} windows_state;

static void windows_destroy(mica_dataset *dataset) {
    for (int i = 0; i < WINDOW_FUNCTIONS; i++)
        mica_data_call_deinit(&((windows_dataset *)dataset)->calls[i]);
}

static mica_status windows_open(mica_iterator *it) {
    windows_state *state = it->state;
    size_t width = (size_t)it->dataset->inputs[0]->n_components + 1;
    state->element = mica_calloc(width, sizeof *state->element);
    return state->element ? mica_iterator_open_input(it, 0) : MICA_NO_MEMORY();
}

static void leave_window(windows_state *state) {
    mica_iterator_release(state->inner);
    state->inner = NULL;
    mica_rows_deinit(&state->window);
}

static void windows_close(mica_iterator *it) {
    windows_state *state = it->state;
    leave_window(state);
    drop_groups(&state->groups);
    mica_free(state->element);
}

/* The dataset that the second function makes of a key and its window is iterated over. */
static mica_status open_window(mica_iterator *it) {
    windows_state *state = it->state;
    const windows_dataset *d = (const windows_dataset *)it->dataset;
    int32_t width = it->dataset->inputs[0]->n_components;
    mica_dataset *rows = NULL;
    mica_tf_value inputs[2] = {{0}, {0}}, value = {0};
    MICA_TRY(mica_rows_elements(&state->window, width, &rows));
    mica_status status = mica_dataset_value(rows, &inputs[1]);
    mica_dataset_release(rows);
    if (!status) status = scalar_tensor(it->device, state->key, &inputs[0]);
    if (!status) status = mica_data_call_run(&d->calls[REDUCE], it, inputs, 2, &value, 1);
    mica_values_release(inputs, 2);
    if (status) return status;
    mica_dataset *made = mica_dataset_of(value);
    if (!made || made->n_components != it->dataset->n_components)
        status = MICA_INVALID("[GroupByWindowDataset] reduce_func gives no dataset with elements "
                              "of %d components",
                              it->dataset->n_components);
    else
        status = mica_iterator_create_part(it, made, &state->inner);
    mica_tf_value_release(value);
    return status;
}

static mica_status close_group(mica_iterator *it, group *one) {
    windows_state *state = it->state;
    state->key = one->key;
    state->window = one->rows;
    one->rows = (mica_rows){.width = state->window.width};
    mica_status status = open_window(it);
    if (status) leave_window(state);
    return status;
}

static mica_status ask_window(mica_iterator *it, group *one) {
    const windows_dataset *d = (const windows_dataset *)it->dataset;
    mica_tf_value key = {0};
    MICA_TRY(scalar_tensor(it->device, one->key, &key));
    mica_status status =
        call_for_scalar(&d->calls[WINDOW_SIZE], it, "window_size_func", &key, 1, &one->window);
    mica_tf_value_release(key);
    if (!status && one->window < 1)
        status = MICA_INVALID("[GroupByWindowDataset] Window size must be greater than zero, but "
                              "got %lld.",
                              (long long)one->window);
    return status;
}

/* The next element goes to its group, which is closed when it is full. */
static mica_status take_element(mica_iterator *it) {
    const windows_dataset *d = (const windows_dataset *)it->dataset;
    windows_state *state = it->state;
    int32_t width = it->dataset->inputs[0]->n_components;
    int64_t key = 0;
    MICA_TRY(mica_iterator_pull(it, 0, state->element, &state->input_ended));
    if (state->input_ended) return NULL;
    mica_tf_value *row = NULL;
    mica_status status =
        call_for_scalar(&d->calls[KEY], it, "key_func", state->element, width, &key);
    group *one = status ? NULL : find_group(&state->groups, key);
    if (!status && !one) status = add_group(&state->groups, key, width, &one);
    if (!status && one->window == 0) status = ask_window(it, one);
    if (!status) status = mica_rows_room(&one->rows, &row);
    state->number++;
    if (status) {
        mica_values_release(state->element, width);
        return mica_data_element_status("GroupByWindowDataset", state->number - 1, status);
    }
    memcpy(row, state->element, (size_t)width * sizeof *row);
    memset(state->element, 0, (size_t)width * sizeof *row);
    one->rows.n++;
    return one->rows.n == one->window ? close_group(it, one) : NULL;
}

/* After the input's end the groups that are not full come, in the order of their keys. */
static int by_key(const void *x, const void *y) {
    int64_t a = ((const group *)x)->key, b = ((const group *)y)->key;
    return (a > b) - (a < b);
}

static mica_status flush_group(mica_iterator *it, bool *end) {
    windows_state *state = it->state;
    groups *g = &state->groups;
    if (g->table) { /* no group is looked for any more */
        qsort(g->all, (size_t)g->n, sizeof *g->all, by_key);
        mica_free(g->table);
        g->table = NULL;
    }
    while (state->flushed < g->n && g->all[state->flushed].rows.n == 0) state->flushed++;
    *end = state->flushed == g->n;
    return *end ? NULL : close_group(it, &g->all[state->flushed++]);
}

static mica_status windows_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    windows_state *state = it->state;
    for (;;) {
        if (state->inner) {
            MICA_TRY(mica_iterator_next(state->inner, out, it->dataset->n_components, end));
            if (!*end) return NULL;
            leave_window(state);
            *end = false;
        }
        if (!state->input_ended) {
            MICA_TRY(take_element(it));
            continue;
        }
        MICA_TRY(flush_group(it, end));
        if (*end) return NULL;
    }
}

static mica_status windows_archive(mica_iterator *it, mica_archive *a) {
    const windows_dataset *d = (const windows_dataset *)it->dataset;
    windows_state *state = it->state;
    int32_t width = it->dataset->inputs[0]->n_components;
    bool has_inner = state->inner != NULL;
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    MICA_TRY(mica_archive_int(a, &state->number, 0, INT64_MAX));
    MICA_TRY(archive_groups(&state->groups, a, it->device, width));
    MICA_TRY(mica_archive_int(a, &state->flushed, 0, state->groups.n));
    MICA_TRY(mica_archive_bool(a, &has_inner));
    if (has_inner) {
        if (!a->is_saving) state->window = (mica_rows){.width = width};
        MICA_TRY(mica_archive_int(a, &state->key, INT64_MIN, INT64_MAX));
        MICA_TRY(mica_archive_rows(a, it->device, &state->window));
        if (!a->is_saving) MICA_TRY(open_window(it));
        MICA_TRY(mica_archive_iterator(a, state->inner));
    }
    for (int i = 0; i < WINDOW_FUNCTIONS; i++) MICA_TRY(mica_archive_draws(a, it, &d->calls[i]));
    return NULL;
}

static const mica_dataset_class windows_class = {
    .name = "GroupByWindowDataset",
    .bytes = sizeof(windows_dataset),
    .state_bytes = sizeof(windows_state),
    .destroy = windows_destroy,
    .open = windows_open,
    .next = windows_next,
    .close = windows_close,
    .archive = windows_archive,
};

static mica_status init_calls(mica_dataset *dataset, mica_data_call *calls,
                              const mica_dataset_function *functions, const int32_t *n_inputs,
                              int32_t n) {
    for (int32_t i = 0; i < n; i++)
        MICA_TRY(mica_data_call_init(&calls[i], dataset, &functions[i], n_inputs[i]));
    return NULL;
}

static mica_status check_one_result(const char *stage, const mica_dataset_function *function) {
    int32_t n = mica_tf_graph_output_count(function->graph);
    if (n == 1) return NULL;
    return MICA_INVALID("[%s] the function '%s' has %d results, not 1", stage,
                        mica_tf_graph_name(function->graph), n);
}

mica_status mica_dataset_group_by_window(mica_dataset *input,
                                         const mica_dataset_function functions[3],
                                         int32_t n_components, mica_dataset **out_dataset) {
    MICA_GIVEN(input, functions, out_dataset);
    *out_dataset = NULL;
    for (int i = 0; i < WINDOW_FUNCTIONS; i++)
        MICA_TRY(check_one_result("GroupByWindowDataset", &functions[i]));
    mica_dataset *made = NULL;
    MICA_TRY(mica_dataset_make(&windows_class, &input, 1, n_components, &made));
    int32_t n_inputs[WINDOW_FUNCTIONS] = {input->n_components, 2, 1};
    mica_status status =
        init_calls(made, ((windows_dataset *)made)->calls, functions, n_inputs, WINDOW_FUNCTIONS);
    if (status)
        mica_dataset_release(made);
    else
        *out_dataset = made;
    return status;
}

/* ---- one element for each key -----------------------------------------------------------------*/

enum { REDUCER_KEY, INIT, STEP, FINALIZE, REDUCER_FUNCTIONS };

typedef struct reducer_dataset {
    mica_dataset base;
    mica_data_call calls[REDUCER_FUNCTIONS];
    int32_t n_state;
} reducer_dataset;

typedef struct reducer_state {
    groups groups;
    int64_t number, given;
    bool input_ended;
} reducer_state;

static void reducer_destroy(mica_dataset *dataset) {
    for (int i = 0; i < REDUCER_FUNCTIONS; i++)
        mica_data_call_deinit(&((reducer_dataset *)dataset)->calls[i]);
}

static void reducer_close(mica_iterator *it) {
    drop_groups(&((reducer_state *)it->state)->groups);
}

/* A key's first state. */
static mica_status begin_group(mica_iterator *it, int64_t key, group **out) {
    const reducer_dataset *d = (const reducer_dataset *)it->dataset;
    mica_tf_value *state, given = {0};
    MICA_TRY(add_group(&((reducer_state *)it->state)->groups, key, d->n_state, out));
    MICA_TRY(mica_rows_room(&(*out)->rows, &state));
    MICA_TRY(scalar_tensor(it->device, key, &given));
    mica_status status = mica_data_call_run(&d->calls[INIT], it, &given, 1, state, d->n_state);
    mica_tf_value_release(given);
    if (!status) (*out)->rows.n = 1;
    return status;
}

/* values: room for the state, an element, and the next state. */
static mica_status reduce_element(mica_iterator *it, mica_tf_value *values) {
    const reducer_dataset *d = (const reducer_dataset *)it->dataset;
    reducer_state *state = it->state;
    int32_t width = it->dataset->inputs[0]->n_components, n = d->n_state;
    int64_t key = 0;
    MICA_TRY(call_for_scalar(&d->calls[REDUCER_KEY], it, "key_func", values + n, width, &key));
    group *one = find_group(&state->groups, key);
    if (!one) MICA_TRY(begin_group(it, key, &one));
    if (one->rows.n == 0) return MICA_INVALID("[GroupByReducerDataset] a key has no state");
    memcpy(values, one->rows.values, (size_t)n * sizeof *values);
    mica_tf_value *next = values + n + width;
    MICA_TRY(mica_data_call_run(&d->calls[STEP], it, values, n + width, next, n));
    mica_values_release(one->rows.values, n);
    memcpy(one->rows.values, next, (size_t)n * sizeof *values);
    return NULL;
}

static mica_status reduce_all(mica_iterator *it) {
    const reducer_dataset *d = (const reducer_dataset *)it->dataset;
    reducer_state *state = it->state;
    int32_t width = it->dataset->inputs[0]->n_components;
    mica_tf_value *values = mica_calloc((size_t)(2 * d->n_state + width) + 1, sizeof *values);
    if (!values) return MICA_NO_MEMORY();
    mica_status status = NULL;
    while (!status) {
        status = mica_iterator_pull(it, 0, values + d->n_state, &state->input_ended);
        if (status || state->input_ended) break;
        status = reduce_element(it, values);
        mica_values_release(values + d->n_state, width);
        if (status)
            status = mica_data_element_status("GroupByReducerDataset", state->number, status);
        state->number++;
    }
    mica_free(values);
    return status;
}

static mica_status reducer_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const reducer_dataset *d = (const reducer_dataset *)it->dataset;
    reducer_state *state = it->state;
    groups *g = &state->groups;
    if (!state->input_ended) {
        MICA_TRY(reduce_all(it));
        qsort(g->all, (size_t)g->n, g->n ? sizeof *g->all : 1, by_key);
    }
    *end = state->given == g->n;
    if (*end) return NULL;
    return mica_data_call_run(&d->calls[FINALIZE], it, g->all[state->given++].rows.values,
                              d->n_state, out, it->dataset->n_components);
}

static mica_status reducer_archive(mica_iterator *it, mica_archive *a) {
    const reducer_dataset *d = (const reducer_dataset *)it->dataset;
    reducer_state *state = it->state;
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    MICA_TRY(mica_archive_int(a, &state->number, 0, INT64_MAX));
    MICA_TRY(archive_groups(&state->groups, a, it->device, d->n_state));
    MICA_TRY(mica_archive_int(a, &state->given, 0, state->groups.n));
    for (int64_t i = 0; i < state->groups.n; i++)
        if (state->groups.all[i].rows.n != 1)
            return MICA_ERROR(MICA_DATA_LOSS, "[iterator] the state has a key without a state");
    for (int i = 0; i < REDUCER_FUNCTIONS; i++) MICA_TRY(mica_archive_draws(a, it, &d->calls[i]));
    return NULL;
}

static const mica_dataset_class reducer_class = {
    .name = "GroupByReducerDataset",
    .bytes = sizeof(reducer_dataset),
    .state_bytes = sizeof(reducer_state),
    .destroy = reducer_destroy,
    .next = reducer_next,
    .close = reducer_close,
    .archive = reducer_archive,
};

mica_status mica_dataset_group_by_reducer(mica_dataset *input,
                                          const mica_dataset_function functions[4],
                                          mica_dataset **out_dataset) {
    MICA_GIVEN(input, functions, out_dataset);
    *out_dataset = NULL;
    int32_t n_state = mica_tf_graph_output_count(functions[INIT].graph);
    MICA_TRY(check_one_result("GroupByReducerDataset", &functions[REDUCER_KEY]));
    if (mica_tf_graph_output_count(functions[STEP].graph) != n_state)
        return MICA_INVALID("[GroupByReducerDataset] init_func gives a state of %d values, "
                            "reduce_func one of %d",
                            n_state, mica_tf_graph_output_count(functions[STEP].graph));
    mica_dataset *made = NULL;
    MICA_TRY(mica_dataset_make(&reducer_class, &input, 1,
                               mica_tf_graph_output_count(functions[FINALIZE].graph), &made));
    reducer_dataset *d = (reducer_dataset *)made;
    d->n_state = n_state;
    int32_t n_inputs[REDUCER_FUNCTIONS] = {input->n_components, 1, n_state + input->n_components,
                                           n_state};
    mica_status status = init_calls(made, d->calls, functions, n_inputs, REDUCER_FUNCTIONS);
    if (status)
        mica_dataset_release(made);
    else
        *out_dataset = made;
    return status;
}
