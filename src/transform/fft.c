/* The transpose of fft. The matrix of a transform is symmetric, so a complex one is its own
 * transpose. */
#include <string.h>

#include "transform/rules.h"

/* x, continued by zeros along its last axis. */
static mica_value continued(mica_graph *g, mica_value x, int64_t size) {
    const mica_type *type = mica_value_type(x);
    int64_t none[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0};
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    high[rank - 1] = size - type->dims[rank - 1];
    return mica_pad(g, x, mica_scalar(g, type->dtype, 0), (mica_ints){none, rank},
                    (mica_ints){high, rank}, (mica_ints){none, rank});
}

/* How often an element along the last axis of a shortened transform counts, over the number of all:
 * once where it is its own mirror image, else twice. */
static mica_value weights(mica_graph *g, mica_ints lengths, const mica_type *type) {
    int64_t last = lengths.data[lengths.n - 1], axes[1] = {type->rank - 1};
    double all = 1;
    for (int32_t i = 0; i < lengths.n; i++) all *= (double)lengths.data[i];
    mica_value place = mica_iota(g, MICA_INTS(last / 2 + 1), 0, MICA_DTYPE_i64);
    mica_value zero = mica_scalar(g, MICA_DTYPE_i64, 0);
    /* place and last - place are the same modulo last */
    mica_value mirror =
        mica_rem(g, mica_add(g, place, place), mica_scalar(g, MICA_DTYPE_i64, last));
    mica_value once = mica_compare(g, mirror, zero, "eq");
    mica_value weight = mica_select(g, once, mica_scalar(g, type->dtype, 1 / all),
                                    mica_scalar(g, type->dtype, 2 / all));
    return mica_broadcast(g, weight, (mica_ints){type->dims, type->rank}, (mica_ints){axes, 1});
}

/* rfft is the first half of fft: the transpose continues by zeros, transforms, and keeps the real
 * part. irfft counts most elements twice, and conjugates. */
MICA_TRANSPOSE_RULE(fft) {
    (void)t, (void)linear;
    const char *kind = mica_node_string(n, "kind");
    mica_ints lengths = mica_node_ints(n, "lengths");
    if (!strcmp(kind, "rfft")) {
        mica_value whole = continued(g, dy[0], lengths.data[lengths.n - 1]);
        out[0] = mica_real(g, mica_fft(g, whole, "fft", lengths));
    } else if (!strcmp(kind, "irfft")) {
        mica_value y = mica_fft(g, dy[0], "rfft", lengths), re = mica_real(g, y);
        if (!mica_value_type(re)) return;
        mica_value weight = weights(g, lengths, mica_value_type(re));
        out[0] = mica_complex(g, mica_mul(g, re, weight),
                              mica_neg(g, mica_mul(g, mica_imag(g, y), weight)));
    } else {
        out[0] = mica_like(g, n, dy);
    }
}
