/* Host functions of datasets, iterators and optional values. */
#include <string.h>

#include "base/interrupt.h"
#include "mica/data.h"
#include "tf/host_rules.h"

static mica_status dataset_input(const mica_tf_host *c, int32_t i, mica_dataset **out) {
    *out = mica_dataset_of(c->inputs[i]);
    if (*out) return NULL;
    return MICA_INVALID("[%s] input %d is not a dataset", c->info->name, i);
}

/* The dataset that was made with this status becomes the op's result; its reference is taken. */
static mica_status finish(mica_tf_host *c, mica_status status, mica_dataset **dataset) {
    if (!status) status = mica_dataset_value(*dataset, &c->outputs[0]);
    mica_dataset_release(*dataset);
    return status;
}

/* ---- sources ----------------------------------------------------------------------------------*/

mica_status tf_host_range_dataset(mica_tf_host *c) {
    const mica_tf_attr *types = mica_tf_host_attr(c, "output_types");
    int64_t start, stop, step;
    MICA_TRY(mica_tf_int_input(c, 0, &start));
    MICA_TRY(mica_tf_int_input(c, 1, &stop));
    MICA_TRY(mica_tf_int_input(c, 2, &step));
    mica_tf_dtype dtype = types->n == 1 ? (mica_tf_dtype)types->as.ints[0] : MICA_TF_int64;
    mica_dataset *dataset = NULL;
    return finish(c, mica_dataset_range(start, stop, step, dtype, &dataset), &dataset);
}

mica_status tf_host_tensor_dataset(mica_tf_host *c) {
    mica_dataset *dataset = NULL;
    return finish(c, mica_dataset_tensors(c->inputs, c->n_inputs, &dataset), &dataset);
}

mica_status tf_host_tensor_slice_dataset(mica_tf_host *c) {
    mica_dataset *dataset = NULL;
    return finish(c, mica_dataset_slices(c->inputs, c->n_inputs, &dataset), &dataset);
}

/* ---- what is made of other datasets -----------------------------------------------------------*/

mica_status tf_host_zip_dataset(mica_tf_host *c) {
    mica_dataset **inputs = mica_calloc((size_t)c->n_inputs + 1, sizeof(mica_dataset *));
    mica_dataset *dataset = NULL;
    mica_status status = inputs ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < c->n_inputs; i++) status = dataset_input(c, i, &inputs[i]);
    if (!status) status = mica_dataset_zip(inputs, c->n_inputs, &dataset);
    mica_free(inputs);
    return finish(c, status, &dataset);
}

mica_status tf_host_concatenate_dataset(mica_tf_host *c) {
    mica_dataset *first, *second, *dataset = NULL;
    MICA_TRY(dataset_input(c, 0, &first));
    MICA_TRY(dataset_input(c, 1, &second));
    return finish(c, mica_dataset_concatenate(first, second, &dataset), &dataset);
}

static mica_status counted(mica_tf_host *c,
                           mica_status (*make)(mica_dataset *, int64_t, mica_dataset **)) {
    mica_dataset *input, *dataset = NULL;
    int64_t count;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, 1, &count));
    return finish(c, make(input, count, &dataset), &dataset);
}

mica_status tf_host_repeat_dataset(mica_tf_host *c) {
    return counted(c, mica_dataset_repeat);
}

mica_status tf_host_take_dataset(mica_tf_host *c) {
    return counted(c, mica_dataset_take);
}

mica_status tf_host_skip_dataset(mica_tf_host *c) {
    return counted(c, mica_dataset_skip);
}

mica_status tf_host_shard_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int64_t n, index;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, 1, &n));
    MICA_TRY(mica_tf_int_input(c, 2, &index));
    mica_status status = mica_dataset_shard(input, n, index, &dataset);
    bool asks = mica_tf_host_attr(c, "require_non_empty")->as.integer != 0;
    int64_t count = status ? 0 : mica_dataset_cardinality(input);
    if (!status && asks && count >= 0 && count < n) {
        mica_dataset_release(dataset);
        return MICA_INVALID("[ShardDataset] %lld elements are too few for %lld shards",
                            (long long)count, (long long)n);
    }
    return finish(c, status, &dataset);
}

enum { AUTOTUNE = -1, GOOD_PREFETCH = 4, MOST_STAGES = 16 };

static mica_status make_prefetch(mica_dataset *input, int64_t count, mica_dataset **out) {
    if (count == 0) { /* nothing ahead: the dataset itself */
        mica_dataset_retain(input);
        *out = input;
        return NULL;
    }
    return mica_dataset_prefetch(input, count == AUTOTUNE ? GOOD_PREFETCH : count, out);
}

mica_status tf_host_prefetch_dataset(mica_tf_host *c) {
    return counted(c, make_prefetch);
}

mica_status tf_host_batch_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int64_t size, drop;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, 1, &size));
    MICA_TRY(mica_tf_int_input(c, 2, &drop));
    return finish(c, mica_dataset_batch(input, size, drop != 0, &dataset), &dataset);
}

mica_status tf_host_rebatch_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int64_t sizes[256], drop;
    int32_t n;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_tensor_ints(mica_tf_tensor(c->inputs[1]), sizes, 256, &n));
    MICA_TRY(mica_tf_int_input(c, 2, &drop));
    return finish(c, mica_dataset_rebatch(input, sizes, n, drop != 0, &dataset), &dataset);
}

mica_status tf_host_unbatch_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_unbatch(input, &dataset), &dataset);
}

mica_status tf_host_shuffle_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int64_t size, seed, seed2;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, 1, &size));
    MICA_TRY(mica_tf_int_input(c, 2, &seed));
    MICA_TRY(mica_tf_int_input(c, 3, &seed2));
    bool again = mica_tf_host_attr(c, "reshuffle_each_iteration")->as.integer != 0;
    return finish(
        c, mica_dataset_shuffle(input, size, (uint64_t)seed, (uint64_t)seed2, again, &dataset),
        &dataset);
}

/* ---- functions of elements --------------------------------------------------------------------*/

static mica_dataset_function function_of(const mica_tf_host *c, const char *attr) {
    return (mica_dataset_function){.graph = mica_tf_host_attr(c, attr)->as.function,
                                   .captured = c->inputs + 1,
                                   .n_captured = c->n_inputs - 1};
}

mica_status tf_host_map_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function f = function_of(c, "f");
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_map(input, &f, &dataset), &dataset);
}

/* The functions of elements and of batches in turns, and how many values each captures. */
static mica_status stages_of(const mica_tf_host *c, mica_dataset_stage *stages, int32_t n) {
    const mica_tf_attr *ones = mica_tf_host_attr(c, "functions");
    const mica_tf_attr *wholes = mica_tf_host_attr(c, "batch_functions");
    const mica_tf_attr *captured = mica_tf_host_attr(c, "captured");
    int64_t calls[MOST_STAGES], left = c->n_inputs - 4;
    int32_t n_calls;
    MICA_TRY(mica_tf_tensor_ints(mica_tf_tensor(c->inputs[c->n_inputs - 2]), calls, MOST_STAGES,
                                 &n_calls));
    if (wholes->n != n || captured->n != n || n_calls != n)
        return MICA_INVALID("[MapBatchDataset] %d functions, %d of batches, %d numbers of captured "
                            "values and %d of calls do not go together",
                            n, wholes->n, captured->n, n_calls);
    const mica_tf_value *values = c->inputs + 1;
    for (int32_t i = 0; i < n; i++) {
        int64_t own = captured->as.ints[i];
        if (own < 0 || own > left)
            return MICA_INVALID("[MapBatchDataset] function %d captures %lld values of the %lld "
                                "that are left",
                                i, (long long)own, (long long)left);
        stages[i] = (mica_dataset_stage){
            .one = {.graph = ones->as.functions[i], .captured = values, .n_captured = (int32_t)own},
            .whole = wholes->as.functions[i],
            .calls = calls[i]};
        values += own;
        left -= own;
    }
    if (left == 0) return NULL;
    return MICA_INVALID("[MapBatchDataset] %lld captured values belong to no function",
                        (long long)left);
}

mica_status tf_host_map_batch_dataset(mica_tf_host *c) {
    mica_dataset_stage stages[MOST_STAGES];
    mica_dataset *input, *dataset = NULL;
    int64_t size, drop;
    int32_t n = mica_tf_host_attr(c, "functions")->n;
    MICA_TRY(dataset_input(c, 0, &input));
    if (n < 1 || n > MOST_STAGES)
        return MICA_INVALID("[MapBatchDataset] %d functions: 1 to %d are possible", n, MOST_STAGES);
    MICA_TRY(stages_of(c, stages, n));
    MICA_TRY(mica_tf_int_input(c, c->n_inputs - 3, &size));
    MICA_TRY(mica_tf_int_input(c, c->n_inputs - 1, &drop));
    return finish(c, mica_dataset_map_batch(input, stages, n, size, drop != 0, &dataset), &dataset);
}

mica_status tf_host_flat_map_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function f = function_of(c, "f");
    int32_t n = mica_tf_host_attr(c, "output_types")->n;
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_flat_map(input, &f, n, &dataset), &dataset);
}

mica_status tf_host_filter_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function f = function_of(c, "predicate");
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_filter(input, &f, &dataset), &dataset);
}

mica_status tf_host_take_while_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function f = function_of(c, "predicate");
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_take_while(input, &f, &dataset), &dataset);
}

mica_status tf_host_interleave_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int32_t n = mica_tf_host_attr(c, "output_types")->n, last = c->n_inputs - 2;
    mica_dataset_function f = function_of(c, "f");
    f.n_captured -= 2; /* the lengths are last */
    int64_t cycle, block;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, last, &cycle));
    MICA_TRY(mica_tf_int_input(c, last + 1, &block));
    return finish(c, mica_dataset_interleave(input, &f, cycle, block, n, &dataset), &dataset);
}

/* false only where another order was asked for. */
static bool is_in_order(const mica_tf_host *c) {
    const mica_tf_attr *deterministic = mica_tf_host_attr(c, "deterministic");
    return strncmp(deterministic->as.string, "false", (size_t)deterministic->n) != 0 ||
           deterministic->n == 0;
}

mica_status tf_host_parallel_map_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function f = function_of(c, "f");
    f.n_captured -= 1; /* num_parallel_calls is last */
    int64_t calls;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, c->n_inputs - 1, &calls));
    return finish(c, mica_dataset_parallel_map(input, &f, calls, is_in_order(c), &dataset),
                  &dataset);
}

mica_status tf_host_parallel_interleave_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int32_t n = mica_tf_host_attr(c, "output_types")->n, last = c->n_inputs - 5;
    mica_dataset_function f = function_of(c, "f");
    f.n_captured -= 5; /* lengths and counts are last; buffers are as good as Mica finds them */
    int64_t cycle, block, calls;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, last, &cycle));
    MICA_TRY(mica_tf_int_input(c, last + 1, &block));
    MICA_TRY(mica_tf_int_input(c, last + 4, &calls));
    return finish(c,
                  mica_dataset_parallel_interleave(input, &f, cycle, block, calls, is_in_order(c),
                                                   n, &dataset),
                  &dataset);
}

mica_status tf_host_directed_interleave_dataset(mica_tf_host *c) {
    mica_dataset **inputs = mica_calloc((size_t)c->n_inputs + 1, sizeof(mica_dataset *));
    mica_dataset *dataset = NULL;
    bool stops = mica_tf_host_attr(c, "stop_on_empty_dataset")->as.integer != 0;
    mica_status status = inputs ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < c->n_inputs; i++) status = dataset_input(c, i, &inputs[i]);
    if (!status)
        status = mica_dataset_directed(inputs[0], inputs + 1, c->n_inputs - 1, stops, &dataset);
    mica_free(inputs);
    return finish(c, status, &dataset);
}

mica_status tf_host_scan_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int32_t n = mica_tf_host_attr(c, "Tstate")->n;
    mica_dataset_function f = {.graph = mica_tf_host_attr(c, "f")->as.function,
                               .captured = c->inputs + 1 + n,
                               .n_captured = c->n_inputs - 1 - n};
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_scan(input, c->inputs + 1, n, &f, &dataset), &dataset);
}

/* Several functions, and what they capture from input `at` on, one after the other. */
static void functions_of(const mica_tf_host *c, int32_t at, const char *const (*names)[2],
                         int32_t n, mica_dataset_function *out) {
    for (int32_t i = 0; i < n; i++) {
        int32_t n_captured = mica_tf_host_attr(c, names[i][1])->n;
        out[i] = (mica_dataset_function){.graph = mica_tf_host_attr(c, names[i][0])->as.function,
                                         .captured = c->inputs + at,
                                         .n_captured = n_captured};
        at += n_captured;
    }
}

mica_status tf_host_group_by_window_dataset(mica_tf_host *c) {
    static const char *const names[3][2] = {
        {"key_func", "Tkey_func_other_arguments"},
        {"reduce_func", "Treduce_func_other_arguments"},
        {"window_size_func", "Twindow_size_func_other_arguments"}};
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function functions[3];
    int32_t n = mica_tf_host_attr(c, "output_types")->n;
    MICA_TRY(dataset_input(c, 0, &input));
    functions_of(c, 1, names, 3, functions);
    return finish(c, mica_dataset_group_by_window(input, functions, n, &dataset), &dataset);
}

mica_status tf_host_group_by_reducer_dataset(mica_tf_host *c) {
    static const char *const names[4][2] = {{"key_func", "Tkey_func_other_arguments"},
                                            {"init_func", "Tinit_func_other_arguments"},
                                            {"reduce_func", "Treduce_func_other_arguments"},
                                            {"finalize_func", "Tfinalize_func_other_arguments"}};
    mica_dataset *input, *dataset = NULL;
    mica_dataset_function functions[4];
    MICA_TRY(dataset_input(c, 0, &input));
    functions_of(c, 1, names, 4, functions);
    return finish(c, mica_dataset_group_by_reducer(input, functions, &dataset), &dataset);
}

mica_status tf_host_unique_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    MICA_TRY(dataset_input(c, 0, &input));
    return finish(c, mica_dataset_unique(input, &dataset), &dataset);
}

mica_status tf_host_ignore_errors_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    MICA_TRY(dataset_input(c, 0, &input));
    if (mica_tf_host_attr(c, "log_warning")->as.integer)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[IgnoreErrorsDataset] log_warning=True: errors are passed over and not "
                          "logged; map a function that tests the element instead");
    return finish(c, mica_dataset_ignore_errors(input, &dataset), &dataset);
}

mica_status tf_host_generator_dataset(mica_tf_host *c) {
    static const char *const names[3][2] = {{"init_func", "Tinit_func_args"},
                                            {"next_func", "Tnext_func_args"},
                                            {"finalize_func", "Tfinalize_func_args"}};
    mica_dataset_function functions[3];
    mica_dataset *dataset = NULL;
    functions_of(c, 0, names, 3, functions);
    return finish(c, mica_dataset_generator(functions, &dataset), &dataset);
}

/* ---- kept elements ----------------------------------------------------------------------------*/

mica_status tf_host_padded_batch_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int64_t size, drop;
    MICA_TRY(dataset_input(c, 0, &input));
    MICA_TRY(mica_tf_int_input(c, 1, &size));
    int32_t n = mica_dataset_component_count(input);
    if (c->n_inputs != 2 * n + 3)
        return MICA_INVALID("[PaddedBatchDatasetV2] %d inputs for %d components", c->n_inputs, n);
    MICA_TRY(mica_tf_int_input(c, 2 * n + 2, &drop));
    mica_tf_shape *shapes = mica_calloc((size_t)n + 1, sizeof *shapes);
    if (!shapes) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < n; i++)
        status = mica_tf_tensor_ints(mica_tf_tensor(c->inputs[2 + i]), shapes[i].dims,
                                     MICA_MAX_RANK, &shapes[i].rank);
    if (!status)
        status =
            mica_dataset_padded_batch(input, size, shapes, c->inputs + 2 + n, drop != 0, &dataset);
    mica_free(shapes);
    return finish(c, status, &dataset);
}

mica_status tf_host_window_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    int64_t v[4];
    MICA_TRY(dataset_input(c, 0, &input));
    for (int32_t i = 0; i < 4; i++) MICA_TRY(mica_tf_int_input(c, i + 1, &v[i]));
    return finish(c, mica_dataset_window(input, v[0], v[1], v[2], v[3] != 0, &dataset), &dataset);
}

mica_status tf_host_cache_dataset(mica_tf_host *c) {
    mica_dataset *input, *dataset = NULL;
    size_t length = 0;
    MICA_TRY(dataset_input(c, 0, &input));
    const char *name = mica_tf_strings_get(c->inputs[1], 0, &length);
    if (!length) return finish(c, mica_dataset_cache(input, &dataset), &dataset);
    char path[4096];
    if (length >= sizeof path || memchr(name, 0, length))
        return MICA_INVALID("[CacheDataset] a file name has at most %zu bytes, none of them zero; "
                            "this one has %zu",
                            sizeof path - 1, length);
    memcpy(path, name, length);
    path[length] = 0;
    return finish(c, mica_dataset_file_cache(input, path, &dataset), &dataset);
}

mica_status tf_host_assert_cardinality_dataset(mica_tf_host *c) {
    return counted(c, mica_dataset_counted);
}

mica_status tf_host_random_dataset(mica_tf_host *c) {
    mica_dataset *dataset = NULL;
    int64_t seed, seed2;
    MICA_TRY(mica_tf_int_input(c, 0, &seed));
    MICA_TRY(mica_tf_int_input(c, 1, &seed2));
    bool again = mica_tf_host_attr(c, "rerandomize_each_iteration")->as.integer != 0;
    return finish(c, mica_dataset_random((uint64_t)seed, (uint64_t)seed2, again, &dataset),
                  &dataset);
}

/* ---- the whole of a dataset -------------------------------------------------------------------*/

/* One step: the state and an element give the next state, in its place. */
static mica_status reduce_step(mica_tf_host *c, mica_tf_graph *graph, mica_tf_value *values,
                               int32_t n_state, int32_t n_inputs, mica_tf_value *given) {
    MICA_TRY(mica_tf_graph_run(graph, c->device, values, n_inputs, given, n_state));
    for (int32_t i = 0; i < n_state; i++) {
        mica_tf_value_release(values[i]);
        values[i] = given[i];
    }
    return NULL;
}

mica_status tf_host_reduce_dataset(mica_tf_host *c) {
    mica_dataset *input;
    mica_iterator *it = NULL;
    mica_tf_graph *graph = mica_tf_host_attr(c, "f")->as.function;
    int32_t n_state = mica_tf_host_attr(c, "Tstate")->n, n_captured = c->n_inputs - 1 - n_state;
    MICA_TRY(dataset_input(c, 0, &input));
    int32_t n = mica_dataset_component_count(input), n_inputs = n_state + n + n_captured;
    /* The state, an element, what is captured; then room for a step's results. */
    mica_tf_value *values = mica_calloc((size_t)(n_inputs + n_state) + 1, sizeof *values);
    mica_status status = values ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < n_state; i++) {
        values[i] = c->inputs[1 + i];
        mica_tf_value_retain(values[i]);
    }
    for (int32_t i = 0; !status && i < n_captured; i++)
        values[n_state + n + i] = c->inputs[1 + n_state + i];
    if (!status) status = mica_iterator_create(input, c->device, &it);
    for (bool end = false; !status;) {
        status = mica_interrupt_poll() ? mica_interrupt_status()
                                       : mica_iterator_next(it, values + n_state, n, &end);
        if (status || end) break;
        status = reduce_step(c, graph, values, n_state, n_inputs, values + n_inputs);
        for (int32_t i = 0; i < n; i++) mica_tf_value_release(values[n_state + i]);
    }
    for (int32_t i = 0; values && i < n_state; i++) {
        if (!status)
            c->outputs[i] = values[i];
        else if (values[i].object)
            mica_tf_value_release(values[i]);
    }
    mica_iterator_release(it);
    mica_free(values);
    return status;
}

mica_status tf_host_compute_batch_size(mica_tf_host *c) {
    mica_dataset *input;
    mica_tensor *tensor = NULL;
    MICA_TRY(dataset_input(c, 0, &input));
    int64_t size = mica_dataset_batch_size(input);
    MICA_TRY(mica_tf_ints_tensor(c->device, MICA_DTYPE_i64, &size, 1, 0, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_host_dataset_cardinality(mica_tf_host *c) {
    mica_dataset *input;
    mica_tensor *tensor = NULL;
    MICA_TRY(dataset_input(c, 0, &input));
    int64_t count = mica_dataset_cardinality(input);
    MICA_TRY(mica_tf_ints_tensor(c->device, MICA_DTYPE_i64, &count, 1, 0, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    return NULL;
}

/* ---- iterators --------------------------------------------------------------------------------*/

/* What an iterator's handle holds: an iterator, once there is one. */
typedef struct cell {
    mica_mutex lock;
    mica_iterator *iterator;
} cell;

static const char cell_kind[] = "iterator";

static void destroy_cell(void *object) {
    cell *holder = object;
    mica_iterator_release(holder->iterator);
    mica_free(holder);
}

mica_status tf_host_anonymous_iterator(mica_tf_host *c) {
    cell *holder = mica_calloc(1, sizeof *holder);
    if (!holder) return MICA_NO_MEMORY();
    mica_status status =
        mica_tf_object_value(MICA_TF_resource, cell_kind, holder, destroy_cell, &c->outputs[0]);
    if (status) mica_free(holder);
    return status;
}

static mica_status cell_input(const mica_tf_host *c, int32_t i, cell **out) {
    *out = mica_tf_object_of(c->inputs[i], cell_kind);
    if (*out) return NULL;
    return MICA_INVALID("[%s] input %d is not an iterator", c->info->name, i);
}

mica_status tf_host_make_iterator(mica_tf_host *c) {
    mica_dataset *dataset;
    cell *holder;
    mica_iterator *made = NULL;
    MICA_TRY(dataset_input(c, 0, &dataset));
    MICA_TRY(cell_input(c, 1, &holder));
    MICA_TRY(mica_iterator_create(dataset, NULL, &made));
    mica_mutex_lock(&holder->lock);
    mica_iterator *before = holder->iterator;
    holder->iterator = made;
    mica_mutex_unlock(&holder->lock);
    mica_iterator_release(before);
    return NULL;
}

/* The iterator that a handle holds, retained. */
static mica_status held_iterator(const mica_tf_host *c, mica_iterator **out) {
    cell *holder;
    MICA_TRY(cell_input(c, 0, &holder));
    mica_mutex_lock(&holder->lock);
    *out = holder->iterator;
    if (*out) mica_iterator_retain(*out);
    mica_mutex_unlock(&holder->lock);
    if (*out) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[%s] the iterator has not been initialized: it has no dataset",
                      c->info->name);
}

static mica_status next_element(const mica_tf_host *c, mica_tf_value *out, int32_t n, bool *end) {
    mica_iterator *iterator;
    MICA_TRY(held_iterator(c, &iterator));
    mica_status status = mica_iterator_next(iterator, out, n, end);
    mica_iterator_release(iterator);
    return status;
}

mica_status tf_host_iterator_get_next(mica_tf_host *c) {
    bool end;
    MICA_TRY(next_element(c, c->outputs, c->n_outputs, &end));
    return end ? MICA_ERROR(MICA_OUT_OF_RANGE, "[IteratorGetNext] End of sequence") : NULL;
}

mica_status tf_host_serialize_iterator(mica_tf_host *c) {
    mica_iterator *iterator;
    MICA_TRY(held_iterator(c, &iterator));
    mica_status status = mica_iterator_save(iterator, &c->outputs[0]);
    mica_iterator_release(iterator);
    return status;
}

/* The handle holds another iterator afterwards; after an error the one that it had. */
mica_status tf_host_deserialize_iterator(mica_tf_host *c) {
    cell *holder;
    mica_iterator *before, *made = NULL;
    MICA_TRY(cell_input(c, 0, &holder));
    MICA_TRY(held_iterator(c, &before));
    mica_status status =
        mica_iterator_restore(mica_iterator_dataset(before), NULL, c->inputs[1], &made);
    mica_iterator_release(before);
    if (status) return status;
    mica_mutex_lock(&holder->lock);
    before = holder->iterator;
    holder->iterator = made;
    mica_mutex_unlock(&holder->lock);
    mica_iterator_release(before);
    return NULL;
}

/* ---- optional values --------------------------------------------------------------------------*/

typedef struct optional {
    bool has_value;
    int32_t n;
    mica_tf_value values[];
} optional;

static const char optional_kind[] = "optional";

static void destroy_optional(void *object) {
    optional *o = object;
    for (int32_t i = 0; i < o->n; i++) mica_tf_value_release(o->values[i]);
    mica_free(o);
}

static mica_status make_optional(int32_t n, optional **out) {
    *out = mica_calloc(1, sizeof **out + (size_t)n * sizeof(*out)->values[0]);
    if (!*out) return MICA_NO_MEMORY();
    (*out)->n = n;
    return NULL;
}

/* Takes the optional. */
static mica_status give_optional(mica_tf_host *c, optional *o) {
    mica_status status =
        mica_tf_object_value(MICA_TF_variant, optional_kind, o, destroy_optional, &c->outputs[0]);
    if (status) destroy_optional(o);
    return status;
}

mica_status tf_host_iterator_get_next_as_optional(mica_tf_host *c) {
    int32_t n = mica_tf_host_attr(c, "output_types")->n;
    optional *o;
    bool end = false;
    MICA_TRY(make_optional(n, &o));
    mica_status status = next_element(c, o->values, n, &end);
    if (status) {
        destroy_optional(o);
        return status;
    }
    o->has_value = !end;
    return give_optional(c, o);
}

mica_status tf_host_optional_from_value(mica_tf_host *c) {
    optional *o;
    MICA_TRY(make_optional(c->n_inputs, &o));
    for (int32_t i = 0; i < c->n_inputs; i++) {
        o->values[i] = c->inputs[i];
        mica_tf_value_retain(o->values[i]);
    }
    o->has_value = true;
    return give_optional(c, o);
}

mica_status tf_host_optional_none(mica_tf_host *c) {
    optional *o;
    MICA_TRY(make_optional(0, &o));
    return give_optional(c, o);
}

static mica_status optional_input(const mica_tf_host *c, optional **out) {
    *out = mica_tf_object_of(c->inputs[0], optional_kind);
    if (*out) return NULL;
    return MICA_INVALID("[%s] the input is not an optional", c->info->name);
}

mica_status tf_host_optional_has_value(mica_tf_host *c) {
    optional *o;
    mica_tensor *tensor = NULL;
    mica_type type = mica_type_scalar(MICA_DTYPE_bool);
    MICA_TRY(optional_input(c, &o));
    uint8_t truth = o->has_value;
    MICA_TRY(mica_tensor_from_host(c->device, &type, &truth, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_host_optional_get_value(mica_tf_host *c) {
    optional *o;
    MICA_TRY(optional_input(c, &o));
    if (!o->has_value)
        return MICA_INVALID("[OptionalGetValue] the given optional does not have a value");
    if (o->n != c->n_outputs)
        return MICA_INVALID("[OptionalGetValue] the optional has %d components, not %d", o->n,
                            c->n_outputs);
    for (int32_t i = 0; i < o->n; i++) {
        c->outputs[i] = o->values[i];
        mica_tf_value_retain(o->values[i]);
    }
    return NULL;
}
