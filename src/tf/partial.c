/* Integer values as far as they follow from constants and known sizes, while a graph is built.
 *
 * This is what lets shapes come out of shape arithmetic: tf.zeros(tf.shape(x) + 1). */
#include "tf/tf.h"

enum { DEEPEST = 32 };

bool mica_tf_known_ints(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out, int32_t *n,
                        int depth) {
    const mica_tf_node *node = mica_tf_node_of(g, ref);
    if (!node->operation || ref.index || depth > DEEPEST) return false;
    mica_tf_ints_function ints = mica_tf_traits_of[node->operation->op].ints;
    return ints && ints(g, node, out, n, depth + 1);
}

bool mica_tf_graph_ints(const mica_tf_graph *g, mica_tf_ref ref, int64_t *out_ints,
                        int32_t *out_n) {
    if (!g) return false;
    mica_tf_dtype dtype = mica_tf_graph_type(g, ref, NULL);
    if (!mica_tf_is_core(dtype)) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(mica_tf_dtype_core(dtype));
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED) return false;
    return mica_tf_known_ints(g, ref, out_ints, out_n, 0);
}
