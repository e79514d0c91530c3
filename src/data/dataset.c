#include "base/interrupt.h"
#include "data/data.h"

void mica_dataset_retain(mica_dataset *dataset) {
    if (!dataset) return;
    mica_refcount_retain(&dataset->references);
}

void mica_dataset_release(mica_dataset *dataset) {
    if (!dataset || !mica_refcount_release(&dataset->references)) return;
    if (dataset->class->destroy) dataset->class->destroy(dataset);
    for (int32_t i = 0; i < dataset->n_inputs; i++) mica_dataset_release(dataset->inputs[i]);
    mica_free(dataset->inputs);
    mica_free(dataset);
}

mica_status mica_dataset_make(const mica_dataset_class *class, mica_dataset *const *inputs,
                              int32_t n_inputs, int32_t n_components, mica_dataset **out) {
    *out = NULL;
    if (n_components < 0 || n_components > MICA_DATA_MAX_COMPONENTS)
        return MICA_INVALID("[%s] an element has 0 to %d components, not %d", class->name,
                            MICA_DATA_MAX_COMPONENTS, n_components);
    mica_dataset *dataset = mica_calloc(1, class->bytes);
    mica_dataset **kept = mica_calloc((size_t)n_inputs + 1, sizeof *kept);
    if (!dataset || !kept) {
        mica_free(dataset);
        mica_free(kept);
        return MICA_NO_MEMORY();
    }
    mica_refcount_init(&dataset->references);
    dataset->class = class;
    dataset->n_components = n_components;
    dataset->n_inputs = n_inputs;
    dataset->inputs = kept;
    for (int32_t i = 0; i < n_inputs; i++) {
        kept[i] = inputs[i];
        mica_dataset_retain(kept[i]);
        dataset->needs_order |= inputs[i]->needs_order;
    }
    *out = dataset;
    return NULL;
}

int32_t mica_dataset_component_count(const mica_dataset *dataset) {
    if (!dataset) return 0;
    return dataset->n_components;
}

int64_t mica_dataset_cardinality(const mica_dataset *dataset) {
    if (!dataset) return 0;
    return dataset->class->cardinality ? dataset->class->cardinality(dataset)
                                       : MICA_DATASET_UNKNOWN;
}

int64_t mica_dataset_batch_size(const mica_dataset *dataset) {
    if (!dataset || !dataset->class->batch_size) return MICA_DATASET_NO_BATCH_SIZE;
    return dataset->class->batch_size(dataset);
}

int64_t mica_dataset_batch_size_of_inputs(const mica_dataset *dataset) {
    int64_t size = mica_dataset_batch_size(dataset->inputs[0]);
    for (int32_t i = 1; i < dataset->n_inputs; i++)
        if (mica_dataset_batch_size(dataset->inputs[i]) != size) return MICA_DATASET_NO_BATCH_SIZE;
    return size;
}

/* ---- iterators --------------------------------------------------------------------------------*/

void mica_iterator_retain(mica_iterator *it) {
    if (!it) return;
    mica_refcount_retain(&it->references);
}
mica_dataset *mica_iterator_dataset(const mica_iterator *it) {
    if (!it) return NULL;
    return it->dataset;
}

void mica_iterator_release(mica_iterator *it) {
    if (!it || !mica_refcount_release(&it->references)) return;
    if (it->state && it->dataset->class->close) it->dataset->class->close(it);
    for (int32_t i = 0; it->inputs && i < it->dataset->n_inputs; i++)
        mica_iterator_release(it->inputs[i]);
    mica_free(it->inputs);
    mica_free(it->state);
    mica_dataset_release(it->dataset);
    mica_device_release(it->device);
    mica_tf_generators_release(it->generators);
    mica_free(it);
}

mica_status mica_iterator_open_input(mica_iterator *it, int32_t i) {
    mica_iterator_release(it->inputs[i]);
    it->inputs[i] = NULL;
    return mica_iterator_create_part(it, it->dataset->inputs[i], &it->inputs[i]);
}

static mica_status open_iterator(mica_iterator *it) {
    const mica_dataset_class *class = it->dataset->class;
    it->inputs = mica_calloc((size_t)it->dataset->n_inputs + 1, sizeof(mica_iterator *));
    it->state = it->inputs ? mica_calloc(1, class->state_bytes + 1) : NULL;
    if (!it->state) return MICA_NO_MEMORY();
    if (class->open) return class->open(it);
    for (int32_t i = 0; i < it->dataset->n_inputs; i++) MICA_TRY(mica_iterator_open_input(it, i));
    return NULL;
}

/* An iterator with neither device nor generators. */
static mica_iterator *create_closed(mica_dataset *dataset) {
    mica_iterator *it = mica_calloc(1, sizeof *it);
    if (!it) return NULL;
    mica_refcount_init(&it->references);
    it->dataset = dataset;
    mica_dataset_retain(dataset);
    return it;
}

static mica_status opened(mica_iterator *it, mica_status status, mica_iterator **out_iterator) {
    if (!status) status = open_iterator(it);
    if (status)
        mica_iterator_release(it);
    else
        *out_iterator = it;
    return status;
}

mica_status mica_iterator_create(mica_dataset *dataset, mica_device *device,
                                 mica_iterator **out_iterator) {
    MICA_GIVEN(dataset, out_iterator);
    *out_iterator = NULL;
    mica_iterator *it = create_closed(dataset);
    if (!it) return MICA_NO_MEMORY();
    mica_status status = mica_tf_generators_create(&it->generators);
    if (device) {
        it->device = device;
        mica_device_retain(device);
    } else if (!status) {
        status = mica_device_open("cpu", &it->device);
    }
    return opened(it, status, out_iterator);
}

mica_status mica_iterator_create_part(mica_iterator *whole, mica_dataset *dataset,
                                      mica_iterator **out_iterator) {
    *out_iterator = NULL;
    mica_iterator *it = create_closed(dataset);
    if (!it) return MICA_NO_MEMORY();
    it->device = whole->device;
    mica_device_retain(it->device);
    it->generators = whole->generators;
    mica_tf_generators_retain(it->generators);
    return opened(it, NULL, out_iterator);
}

bool mica_iterator_is_inside(const mica_iterator *it, const void *thread_id) {
    const mica_dataset_class *class = it->dataset->class;
    return atomic_load_explicit(&it->inside, memory_order_relaxed) == thread_id ||
           (class->is_served_by && class->is_served_by(it, thread_id));
}

mica_status mica_iterator_next(mica_iterator *it, mica_tf_value *out_values, int32_t n,
                               bool *out_end) {
    MICA_GIVEN(it, MICA_MANY(out_values, n), out_end);
    const mica_dataset *dataset = it->dataset;
    memset(out_values, 0, (size_t)n * sizeof *out_values);
    *out_end = false;
    if (n != dataset->n_components)
        return MICA_INVALID("[%s] an element has %d components, not %d", dataset->class->name,
                            dataset->n_components, n);
    if (mica_iterator_is_inside(it, mica_thread_id()))
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] a function of the pipeline asks the iterator that runs it for an "
                          "element",
                          dataset->class->name);
    mica_mutex_lock(&it->lock);
    atomic_store_explicit(&it->inside, mica_thread_id(), memory_order_relaxed);
    mica_status status = dataset->class->next(it, out_values, out_end);
    atomic_store_explicit(&it->inside, NULL, memory_order_relaxed);
    mica_mutex_unlock(&it->lock);
    if (status || *out_end) mica_values_release(out_values, n);
    return status;
}

mica_status mica_iterator_pull(mica_iterator *it, int32_t i, mica_tf_value *out, bool *end) {
    MICA_TRY_UNINTERRUPTED(); /* some pull many elements for one */
    return mica_iterator_next(it->inputs[i], out, it->dataset->inputs[i]->n_components, end);
}

/* ---- rows of values ---------------------------------------------------------------------------*/

void mica_values_release(mica_tf_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (values[i].object) {
            mica_tf_value_release(values[i]);
            values[i] = (mica_tf_value){0};
        }
}

mica_status mica_values_copy(const mica_tf_value *values, int32_t n, mica_tf_value **out) {
    *out = mica_calloc((size_t)n + 1, sizeof **out);
    if (!*out) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) {
        (*out)[i] = values[i];
        mica_tf_value_retain(values[i]);
    }
    return NULL;
}
