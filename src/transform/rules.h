/* transform/rules.h: the rules that the rows of ops.def name.
 *
 * mica_jvp_<rule>        dy[i], the tangent of result i; dx[k] is operand k's, and at least one is
 *                        not zero. Results without a tangent stay null. n is a node of pass->g.
 * mica_transpose_<rule>  out[k] = cotangent of operand k where linear[k]; dy[i] is result i's
 *                        cotangent, and at least one is not null.
 * mica_vmap_<rule>       the op on batched operands, see vmap.h.
 *
 * jvp `zero`: piecewise constant or not of float dtype. transpose `none`: never asked for, since
 * tangents are computed by linear ops only; src/transform/none.md says why for each. Every op has a
 * vmap rule. A rule that a row names and that is not defined does not link.
 */
#ifndef MICA_TRANSFORM_RULES_H
#define MICA_TRANSFORM_RULES_H

#include "transform/transform.h"

typedef void (*mica_jvp_rule)(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                              mica_value *dy);
typedef void (*mica_transpose_rule)(mica_transform *t, mica_graph *g, const mica_node *n,
                                    const mica_value *dy, const bool *linear, mica_value *out);
struct mica_batch_pass;
struct mica_batched;
typedef void (*mica_vmap_rule)(struct mica_batch_pass *pass, const mica_node *n,
                               const struct mica_batched *x, struct mica_batched *y);

extern const mica_jvp_rule mica_jvp_rules[MICA_OP_COUNT];
extern const mica_transpose_rule mica_transpose_rules[MICA_OP_COUNT];
extern const mica_vmap_rule mica_vmap_rules[MICA_OP_COUNT];
/* jvp is `zero`: the results never have tangents. */
bool mica_op_is_constant(mica_op op);

#define MICA_JVP_RULE(rule)                                                                        \
    void mica_jvp_##rule(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,              \
                         mica_value *dy)
#define MICA_TRANSPOSE_RULE(rule)                                                                  \
    void mica_transpose_##rule(mica_transform *t, mica_graph *g, const mica_node *n,               \
                               const mica_value *dy, const bool *linear, mica_value *out)
#define MICA_VMAP_RULE(rule)                                                                       \
    void mica_vmap_##rule(struct mica_batch_pass *pass, const mica_node *n,                        \
                          const struct mica_batched *x, struct mica_batched *y)

/* Rules shared by rows are declared again and again, which C allows. */
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, ...)          \
    MICA_JVP_RULE(jvp);                                                                            \
    MICA_TRANSPOSE_RULE(transpose);                                                                \
    MICA_VMAP_RULE(vmap);
#include "mica/ops.def"
#undef MICA_OP

#endif
