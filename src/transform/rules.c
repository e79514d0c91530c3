/* The rule tables, out of ops.def. */
#include "transform/rules.h"

const mica_jvp_rule mica_jvp_rules[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, ...)                           \
    [MICA_OP_##name] = mica_jvp_##jvp,
#include "mica/ops.def"
#undef MICA_OP
};

const mica_transpose_rule mica_transpose_rules[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, ...)                \
    [MICA_OP_##name] = mica_transpose_##transpose,
#include "mica/ops.def"
#undef MICA_OP
};

const mica_vmap_rule mica_vmap_rules[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, ...)          \
    [MICA_OP_##name] = mica_vmap_##vmap,
#include "mica/ops.def"
#undef MICA_OP
};

bool mica_op_is_constant(mica_op op) {
    return op < MICA_OP_COUNT && mica_jvp_rules[op] == mica_jvp_zero;
}

MICA_JVP_RULE(zero) {
    (void)pass, (void)n, (void)dx, (void)dy;
}

/* Tangents are computed with linear ops only, so this is reached through a mistake of ours. */
MICA_TRANSPOSE_RULE(none) {
    (void)t, (void)dy, (void)linear, (void)out;
    mica_graph_fail(g, MICA_ERROR(MICA_INTERNAL, "[%s] is not linear and cannot be transposed",
                                  mica_op_name(n->op)));
}
