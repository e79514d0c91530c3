#include "support/same_bits.h"

#include <string.h>

#include "base/status.h"

/* Element by element: the same bits, or both NaN. */
static bool same_element(mica_dtype dtype, const uint8_t *a, const uint8_t *b, size_t bytes) {
    if (!memcmp(a, b, bytes)) return true;
    float x, y;
    double u, v;
    uint16_t h, k;
    switch (dtype) {
    case MICA_DTYPE_f32:
    case MICA_DTYPE_c64: memcpy(&x, a, 4), memcpy(&y, b, 4); return x != x && y != y;
    case MICA_DTYPE_f64:
    case MICA_DTYPE_c128: memcpy(&u, a, 8), memcpy(&v, b, 8); return u != u && v != v;
    case MICA_DTYPE_f16:
        memcpy(&h, a, 2), memcpy(&k, b, 2);
        return (h & 0x7fff) > 0x7c00 && (k & 0x7fff) > 0x7c00;
    case MICA_DTYPE_bf16:
        memcpy(&h, a, 2), memcpy(&k, b, 2);
        return (h & 0x7fff) > 0x7f80 && (k & 0x7fff) > 0x7f80;
    default: return false;
    }
}

bool same_data(const mica_type *type, const uint8_t *a, const uint8_t *b) {
    bool is_complex = type->dtype == MICA_DTYPE_c64 || type->dtype == MICA_DTYPE_c128;
    size_t bytes = mica_dtype_bytes(type->dtype) / (is_complex ? 2 : 1);
    int64_t n = mica_type_elements(type) * (is_complex ? 2 : 1);
    for (int64_t i = 0; i < n; i++, a += bytes, b += bytes)
        if (!same_element(type->dtype, a, b, bytes)) return false;
    return true;
}

static mica_status compare(mica_tensor *a, mica_tensor *b, bool *out) {
    void *x, *y;
    MICA_TRY(mica_tensor_open_view(a, MICA_READ, &x));
    mica_status status = mica_tensor_open_view(b, MICA_READ, &y);
    if (!status) {
        *out = same_data(mica_tensor_type(a), x, y);
        status = mica_tensor_close_view(b);
    }
    mica_status closed = mica_tensor_close_view(a);
    if (!status) return closed;
    mica_status_release(closed);
    return status;
}

bool same_tensor(mica_tensor *a, mica_tensor *b) {
    bool same = false;
    mica_status status = a && b ? compare(a, b, &same) : NULL;
    same = same && !status;
    mica_status_release(status);
    return same;
}
