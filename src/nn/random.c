/* Dropout, and stopping gradients. */
#include "nn/compose.h"

/* Dropout needs a u32[2] key. */
static bool check_key(mica_graph *g, mica_value key) {
    mica_type type = mica_nn_type(key), wanted = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    if (!mica_value_is_null(key) && mica_type_equal(&type, &wanted)) return true;
    MICA_NN_FAIL(g, "[dropout] the key must be u32[2], not %s",
                 mica_value_is_null(key) ? "null" : mica_nn_type_text(&type).chars);
    return false;
}

mica_value mica_nn_dropout(mica_graph *g, mica_value x, double rate, mica_value key,
                           int64_t stream) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_nn_check(g, "dropout", &x, 1, 0, true)) return out;
    if (!(rate >= 0 && rate <= 1)) {
        MICA_NN_FAIL(g, "[dropout] a rate of %g is not a probability", rate);
        return out;
    }
    if (rate == 0) return x;
    if (!check_key(g, key)) return out;
    if (!mica_composite_begin(&c, g, "dropout", (const mica_value[]){x, key}, 2)) return out;
    mica_type type = mica_nn_type(x), counter_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(4));
    uint32_t counter[4] = {0, 0, (uint32_t)stream, (uint32_t)((uint64_t)stream >> 32)};
    mica_value start = mica_constant(c.body, (mica_data){&counter_type, counter});
    mica_value bits = mica_rng_bits(c.body, c.in[1], start, mica_nn_dims(&type), MICA_DTYPE_u32);
    double threshold = rate * 4294967296.0;
    mica_value dropped = rate == 1 ? mica_nn_test(c.body, bits, "ge", 0)
                                   : mica_nn_test(c.body, bits, "lt", threshold);
    mica_value kept = mica_nn_scale(c.body, c.in[0], rate == 1 ? 1 : 1 / (1 - rate));
    mica_composite_result(&c, mica_select(c.body, dropped, mica_nn_number(c.body, kept, 0), kept));
    mica_composite_end(&c, false, &out, "rate=%.17g stream=%lld", rate, (long long)stream);
    return out;
}

mica_value mica_nn_stop_gradient(mica_graph *g, mica_value x) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    if (!mica_nn_check(g, "stop_gradient", &x, 1, 0, false)) return out;
    mica_type type = mica_nn_type(x);
    if (!mica_nn_has_tangent(&type)) return x;
    if (!mica_composite_begin(&c, g, "stop_gradient", &x, 1)) return out;
    mica_composite_result(&c, c.in[0]);
    if (mica_composite_begin_vjp(&c))
        mica_composite_cotangent(&c, mica_zeros_like(c.vjp, c.vjp_in[0]));
    mica_composite_end(&c, true, &out, "%s", "");
    return out;
}
