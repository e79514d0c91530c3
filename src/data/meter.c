/* Memory of elements that are kept. */
#include "data/data.h"

#define STEP ((uint64_t)32 << 20)     /* bytes that come between two questions */
#define RESERVE ((uint64_t)128 << 20) /* bytes that are left alone */
#define OF_ELEMENT 256                /* bytes that a value takes beside its content, about */

static uint64_t bytes_of(mica_tf_value value) {
    if (!value.object) return 0;
    if (mica_tf_dtype_core(value.dtype) != MICA_DTYPE_COUNT)
        return mica_type_bytes(mica_tensor_type(value.object));
    size_t last = 0;
    int64_t n = mica_tf_strings_count(value);
    if (n > 0) (void)mica_tf_strings_get(value, n - 1, &last);
    return (uint64_t)n * (sizeof(size_t) + last);
}

/* What is needed beside the reserve. */
static bool is_short(const mica_data_meter *meter, uint64_t *out_left) {
    uint64_t wanted = RESERVE + (meter->is_copied ? meter->content : 0);
    *out_left = mica_memory_left();
    return *out_left < wanted;
}

static bool is_due(mica_data_meter *meter, const mica_tf_value *row, int32_t width) {
    for (int32_t k = 0; k < width; k++) {
        uint64_t bytes = bytes_of(row[k]);
        meter->content += bytes;
        meter->unchecked += bytes + OF_ELEMENT;
    }
    if (meter->unchecked < STEP) return false;
    meter->unchecked = 0;
    return true;
}

bool mica_data_meter_is_short(mica_data_meter *meter, const mica_tf_value *row, int32_t width) {
    uint64_t left;
    return is_due(meter, row, width) && is_short(meter, &left);
}

mica_status mica_data_meter_add(mica_data_meter *meter, const mica_tf_value *row, int32_t width,
                                int64_t n) {
    uint64_t left;
    if (!is_due(meter, row, width) || !is_short(meter, &left)) return NULL;
    return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                      "[%s] %lld elements of %llu bytes together are kept, and only %llu MiB of "
                      "memory are left: ask for fewer at a time",
                      meter->who ? meter->who : "Dataset", (long long)n,
                      (unsigned long long)meter->content, (unsigned long long)(left >> 20));
}
