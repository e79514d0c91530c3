/* What is known of sums, products and the like of integers while a graph is built. What does not
 * fit into 64 bits is left to the op itself, which wraps as its dtype does. */
#include "tf/ints_rules.h"

typedef int64_t (*combine)(int64_t x, int64_t y);

static int64_t floor_div(int64_t x, int64_t y) {
    return x / y - (x % y < 0);
}

static bool unknown(int64_t x, int64_t y) {
    return x == MICA_TF_UNKNOWN_INT || y == MICA_TF_UNKNOWN_INT;
}

static int64_t add(int64_t x, int64_t y) {
    int64_t sum;
    return unknown(x, y) || __builtin_add_overflow(x, y, &sum) ? MICA_TF_UNKNOWN_INT : sum;
}

static int64_t sub(int64_t x, int64_t y) {
    int64_t difference;
    bool fails = unknown(x, y) || __builtin_sub_overflow(x, y, &difference);
    return fails ? MICA_TF_UNKNOWN_INT : difference;
}

static int64_t mul(int64_t x, int64_t y) {
    int64_t product;
    if (x == 0 || y == 0) return 0;
    return unknown(x, y) || __builtin_mul_overflow(x, y, &product) ? MICA_TF_UNKNOWN_INT : product;
}

static int64_t maximum(int64_t x, int64_t y) {
    return unknown(x, y) ? MICA_TF_UNKNOWN_INT : x > y ? x : y;
}

static int64_t minimum(int64_t x, int64_t y) {
    return unknown(x, y) ? MICA_TF_UNKNOWN_INT : x < y ? x : y;
}

static int64_t quotient(int64_t x, int64_t y) {
    return unknown(x, y) || y <= 0 ? MICA_TF_UNKNOWN_INT : floor_div(x, y);
}

static int64_t rest(int64_t x, int64_t y) {
    return unknown(x, y) || y <= 0 ? MICA_TF_UNKNOWN_INT : x - floor_div(x, y) * y;
}

static bool binary_ints(const mica_tf_graph *g, const mica_tf_node *node, combine function,
                        int64_t *out, int32_t *n, int depth) {
    int64_t y[MICA_TF_MOST_KNOWN];
    int32_t n_y;
    if (!mica_tf_known_ints(g, node->inputs[0], out, n, depth) ||
        !mica_tf_known_ints(g, node->inputs[1], y, &n_y, depth))
        return false;
    if (*n == 1 && n_y > 1) {
        for (int32_t i = 1; i < n_y; i++) out[i] = out[0];
        *n = n_y;
    }
    if (n_y != 1 && n_y != *n) return false;
    for (int32_t i = 0; i < *n; i++) out[i] = function(out[i], y[n_y == 1 ? 0 : i]);
    return true;
}

MICA_TF_INTS(add) {
    return binary_ints(g, node, add, out, n, depth);
}

MICA_TF_INTS(sub) {
    return binary_ints(g, node, sub, out, n, depth);
}

MICA_TF_INTS(mul) {
    return binary_ints(g, node, mul, out, n, depth);
}

MICA_TF_INTS(maximum) {
    return binary_ints(g, node, maximum, out, n, depth);
}

MICA_TF_INTS(minimum) {
    return binary_ints(g, node, minimum, out, n, depth);
}

MICA_TF_INTS(floor_div) {
    return binary_ints(g, node, quotient, out, n, depth);
}

MICA_TF_INTS(floor_mod) {
    return binary_ints(g, node, rest, out, n, depth);
}

MICA_TF_INTS(cast) {
    if (mica_dtype_kind_of(mica_tf_dtype_core(node->dtypes[0])) == MICA_KIND_FLOAT) return false;
    return mica_tf_known_ints(g, node->inputs[0], out, n, depth);
}
