/* ir/shape.h: what the shape rules share. A rule reads n's operands, attributes and regions and
 * sets its results with shape_result or shape_results; g is only where the memory comes from. */
#ifndef MICA_IR_SHAPE_H
#define MICA_IR_SHAPE_H

#include "ir/graph.h"

#define SHAPE_INVALID(n, format, ...)                                                              \
    MICA_INVALID("[%s] " format, mica_op_name((n)->op), __VA_ARGS__)

/* One result; checks that the type is possible. */
MICA_MUST_CHECK mica_status shape_result(mica_graph *g, mica_node *n, const mica_type *type);
/* Copies `count` types as results. */
MICA_MUST_CHECK mica_status shape_results(mica_graph *g, mica_node *n, const mica_type *types,
                                          int32_t count);
/* A tensor type whose sizes come from an attribute, checked. */
MICA_MUST_CHECK mica_status shape_of_attribute(const mica_node *n, const char *name,
                                               mica_dtype dtype, mica_type *out_type);
/* Axes in range of `rank` and distinct; sets bits in out_set when it is not NULL. */
MICA_MUST_CHECK mica_status shape_axes(const mica_node *n, const char *name, mica_ints axes,
                                       const mica_type *type, uint32_t *out_set);
MICA_MUST_CHECK mica_status shape_axis(const mica_node *n, int64_t axis, const mica_type *type);
/* An attribute with one number per axis of `rank`. */
MICA_MUST_CHECK mica_status shape_length(const mica_node *n, const char *name, int32_t rank);

/* An attribute that is 0 or 1. */
MICA_MUST_CHECK mica_status shape_flag(const mica_node *n, const char *name);

/* dtypes of elementwise operands agree: of all, or for select of the last two, after a bool.
 * Shared with the builder, which asks before it broadcasts. */
MICA_MUST_CHECK mica_status shape_elementwise_dtypes(mica_op op, const mica_type *const *types,
                                                     int32_t n_types);

#define MICA_SHAPE_RULE(rule) mica_status shape_##rule(mica_graph *g, mica_node *n)

#endif
