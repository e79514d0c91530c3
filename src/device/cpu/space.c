/* Index spaces: lists of axes with strides, merged where neighbours continue each other. */
#include "device/cpu/kernel.h"

void mica_cpu_space_init(cpu_space *space) {
    space->rank = 0;
    space->n = 1;
}

void mica_cpu_space_add(cpu_space *space, int64_t size, int64_t stride) {
    space->n *= size;
    if (size == 1) return;
    int32_t last = space->rank - 1;
    if (last >= 0 && space->strides[last] == stride * size) {
        space->sizes[last] *= size;
        space->strides[last] = stride;
        return;
    }
    space->sizes[space->rank] = size;
    space->strides[space->rank++] = stride;
}

int64_t mica_cpu_space_position(const cpu_space *space, int64_t i) {
    int64_t position = 0;
    for (int32_t d = space->rank - 1; d >= 0; d--) {
        position += i % space->sizes[d] * space->strides[d];
        i /= space->sizes[d];
    }
    return position;
}

void mica_cpu_space_positions(const cpu_space *space, int64_t begin, int64_t count, int64_t *out) {
    if (count <= 0) return;
    if (space->rank == 0) {
        for (int64_t i = 0; i < count; i++) out[i] = 0;
        return;
    }
    int32_t last = space->rank - 1;
    int64_t size = space->sizes[last], stride = space->strides[last];
    for (int64_t i = 0; i < count;) { /* one stretch of the innermost axis at a time */
        int64_t digit = (begin + i) % size, n = cpu_min(size - digit, count - i);
        int64_t position = mica_cpu_space_position(space, begin + i);
        for (int64_t j = 0; j < n; j++) out[i + j] = position + j * stride;
        i += n;
    }
}

void mica_cpu_strides(const mica_type *type, int64_t strides[MICA_MAX_RANK]) {
    int64_t stride = 1;
    for (int32_t d = type->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= type->dims[d];
    }
}
