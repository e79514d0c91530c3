/* The shape rule of fft. */
#include <string.h>

#include "ir/shape.h"

MICA_SHAPE_RULE(fft);

static mica_status check_kind(const mica_node *n, const char *kind, const mica_type *x) {
    static const char *const kinds[] = {"fft", "ifft", "rfft", "irfft"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kind, kinds[i])) continue;
        bool real = mica_dtype_kind_of(x->dtype) == MICA_KIND_FLOAT;
        if (real == !strcmp(kind, "rfft")) return NULL;
        return SHAPE_INVALID(n, "%s takes %s numbers, not %s", kind, real ? "complex" : "real",
                             mica_type_text(x).chars);
    }
    return SHAPE_INVALID(n, "kind is fft, ifft, rfft or irfft, not '%s'", kind);
}

MICA_SHAPE_RULE(fft) {
    const mica_type *x = mica_operand_type(n, 0);
    const char *kind = mica_node_string(n, "kind");
    mica_ints lengths = mica_node_ints(n, "lengths");
    MICA_TRY(check_kind(n, kind, x));
    if (lengths.n < 1 || lengths.n > 3 || lengths.n > x->rank)
        return SHAPE_INVALID(n, "transforms the last 1 to 3 axes, not %d of %s", lengths.n,
                             mica_dims_text(x).chars);
    mica_type y = *x;
    bool from_real = !strcmp(kind, "rfft"), to_real = !strcmp(kind, "irfft");
    for (int32_t i = 0; i < lengths.n; i++) {
        int32_t axis = x->rank - lengths.n + i;
        int64_t length = lengths.data[i], half = length / 2 + 1;
        bool last = i == lengths.n - 1;
        if (length < 1)
            return SHAPE_INVALID(n, "lengths are at least 1, not %lld", (long long)length);
        if (x->dims[axis] != (to_real && last ? half : length))
            return SHAPE_INVALID(n, "axis %d of %s is not %lld, as the length %lld wants", axis,
                                 mica_dims_text(x).chars,
                                 (long long)(to_real && last ? half : length), (long long)length);
        if (last && from_real) y.dims[axis] = half;
        if (last && to_real) y.dims[axis] = length;
    }
    if (from_real) y.dtype = x->dtype == MICA_DTYPE_f32 ? MICA_DTYPE_c64 : MICA_DTYPE_c128;
    if (to_real) y.dtype = x->dtype == MICA_DTYPE_c64 ? MICA_DTYPE_f32 : MICA_DTYPE_f64;
    return shape_result(g, n, &y);
}
