/* transform/: derivatives and batching, as graphs from graphs. See docs/architecture.md.
 *
 * transform.h      what the passes share: symbolic zeros, maps of values, tidying up (values.c)
 * rules.h          the rules that ops.def names, one prototype each
 * jvp.c            the forward walk (push forward);  jvp_*.c its rules, special.c a function of
 * theirs vjp.c            the backward walk (pull back) over linear nodes;  transpose_*.c its rules
 * partial.c        cutting a region into what can be computed before its tangents, and the rest
 * regions_*.c      jvp and transpose rules of ops with regions
 * vmap.c           batching;  vmap_*.c its rules
 * indexing.c       all rules of gather and scatter;  windows.c those of cumulative and of windows;
 * ordering.c       those of sort and top_k;  collectives.c those of collectives
 * none.md          the rules there are not, and why
 *
 * The null value is a symbolic zero throughout. A value is linear when it depends on a placeholder,
 * the tangent of an input that vjp has not fixed; placeholders and all that depends on them are
 * swept away before a pass returns.
 */
#ifndef MICA_TRANSFORM_TRANSFORM_H
#define MICA_TRANSFORM_TRANSFORM_H

#include "ir/graph.h"
#include "mica/transform.h"

/* One transform, with all it does inside regions: temporary memory, freed when it ends, and the
 * regions already made, so that a composite used a thousand times is differentiated once. */
typedef struct mica_transform {
    mica_arena arena;
    struct mica_made *made;
} mica_transform;

void mica_transform_init(mica_transform *t);
void mica_transform_deinit(mica_transform *t);
/* Zeroed; when there is no memory, the error sticks to g and NULL comes back. */
void *mica_transform_alloc(mica_transform *t, mica_graph *g, size_t count, size_t bytes);

/* Regions made before from the same region for the same purpose and flags; owned by t. */
typedef enum mica_purpose {
    MICA_MADE_JVP,
    MICA_MADE_SPLIT,
    MICA_MADE_TRANSPOSE,
    MICA_MADE_REMAT,
    MICA_MADE_CUSTOM,
    MICA_MADE_VMAP,
    MICA_MADE_USES_AXIS,
} mica_purpose;
typedef struct mica_made {
    struct mica_made *next;
    mica_purpose purpose;
    const mica_graph *from;
    int32_t n_flags;
    const bool *flags;
    mica_graph *graph, *second;
    int32_t *integers; /* the maker's own */
} mica_made;
mica_made *mica_made_find(mica_transform *t, mica_purpose purpose, const mica_graph *from,
                          const bool *flags, int32_t n_flags);
/* Takes the references; the sources are retained too, so that no address is used twice. */
mica_made *mica_made_add(mica_transform *t, mica_graph *g, mica_purpose purpose, mica_graph *from,
                         const bool *flags, int32_t n_flags, mica_graph *graph, mica_graph *second);

/* ---- values -----------------------------------------------------------------------------------*/

/* What a node's results stand for; keyed by node, so it survives moves within the graph. */
typedef struct mica_value_map {
    mica_transform *t;
    mica_graph *g; /* errors stick here */
    struct mica_value_row **rows;
    int32_t n_rows, capacity;
} mica_value_map;

void mica_value_map_init(mica_value_map *map, mica_transform *t, mica_graph *g);
/* Null when nothing was set. */
mica_value mica_value_map_get(const mica_value_map *map, mica_value key);
void mica_value_map_set(mica_value_map *map, mica_value key, mica_value value);

static inline bool mica_is_zero(mica_value v) {
    return v.node == NULL;
}
static inline bool mica_is_differentiable(mica_value v) {
    return v.node && mica_type_is_differentiable(mica_value_type(v));
}

/* Zeros, or the empty list. */
mica_value mica_zeros(mica_graph *g, const mica_type *type);
/* v, or zeros of that type in its place. */
mica_value mica_or_zeros(mica_graph *g, mica_value v, const mica_type *type);
/* a + b, where null is zero. */
mica_value mica_sum_of(mica_graph *g, mica_value a, mica_value b);
/* a + b of tensors that are zero but for strips side by side; null when they are none. A sum would
 * turn -0 into 0, this does not. */
mica_value mica_join_strips(mica_graph *g, mica_value a, mica_value b);
/* a + b where one is zeros but at places that indices name; null when neither is. */
mica_value mica_sum_at_places(mica_graph *g, mica_value a, mica_value b);
/* The same op and attributes as n on other operands, with one result. */
mica_value mica_like(mica_graph *g, const mica_node *n, const mica_value *operands);
/* x as dtype (x itself when it has it). */
mica_value mica_as(mica_graph *g, mica_value x, mica_dtype dtype);
/* An empty list of elements of this type. */
mica_value mica_empty_list(mica_graph *g, const mica_type *element);
mica_type mica_list_element(const mica_type *list);

static inline mica_attr mica_attr_int(int64_t value) {
    return (mica_attr){.kind = MICA_ATTR_INT, .as.integer = value};
}
static inline mica_attr mica_attr_string(const char *value) {
    return (mica_attr){.kind = MICA_ATTR_STRING, .as.string = value};
}
static inline mica_attr mica_attr_ints(const int64_t *data, int32_t n) {
    return (mica_attr){.kind = MICA_ATTR_INTS, .as.ints = {data, n}};
}

/* ---- nodes ------------------------------------------------------------------------------------*/

/* A value of this type that stands for an unknown tangent. It is no parameter of g. */
mica_value mica_placeholder(mica_graph *g, const mica_type *type);
/* The last node of g, to be given to mica_sweep later; NULL for an empty graph. */
mica_node *mica_last_node(const mica_graph *g);
/* Removes the nodes after `last` on which neither outputs nor roots depend. */
void mica_sweep(mica_graph *g, const mica_node *last, const mica_value *roots, int32_t n_roots);
/* Moves the nodes from position `first` on to just before n; they depend on nothing after it. */
void mica_move_before(mica_graph *g, int32_t first, mica_node *n);

/* ---- regions ----------------------------------------------------------------------------------*/

/* An empty graph; NULL when there is no memory, which then sticks to g. */
mica_graph *mica_region_create(mica_graph *g, const char *name);
/* Lets an error of the region stick to g too; true when there is none in either. */
bool mica_region_check(mica_graph *g, const mica_graph *region);
/* Parameters like these values' types, or like a region's own. */
void mica_region_parameters(mica_graph *region, const mica_value *like, int32_t n, mica_value *out);
void mica_region_output(mica_graph *region, const mica_value *values, int32_t n);
/* call, with the given linear operands; out has as many entries as regions[0] has outputs. */
void mica_make_call(mica_graph *g, const char *name, const char *vjp, const char *config,
                    int32_t linear, mica_graph *const *regions, int32_t n_regions,
                    const mica_value *operands, int32_t n, mica_value *out);
mica_node *mica_make_while(mica_graph *g, mica_graph *condition, mica_graph *body,
                           const mica_value *operands, int32_t n, int32_t consts,
                           int32_t bookkeeping);
/* true when a token goes in: the op has effects and must not be run twice. */
bool mica_node_has_effects(const mica_node *n);

/* ---- passes -----------------------------------------------------------------------------------*/

/* One forward walk over a graph. Joint: the tangents are known values and nothing need be kept, so
 * regions compute primal and tangent together. Otherwise regions are cut (partial.c). */
typedef struct mica_tangent_pass {
    mica_transform *t;
    mica_graph *g;
    bool joint;
    const bool *wanted;      /* per result of the node at hand: outputs depend on it */
    mica_value_map inputs;   /* values whose tangent is given: maps to themselves */
    mica_value_map tangents; /* of values; null is zero */
} mica_tangent_pass;

/* out_tangents[j] = sum_i (d outputs[j] / d inputs[i]) tangents[i] */
void mica_push_forward(mica_transform *t, mica_graph *g, bool joint, const mica_value *outputs,
                       int32_t n_outputs, const mica_value *inputs, const mica_value *tangents,
                       int32_t n_inputs, mica_value *out_tangents);

/* outputs are linear in the placeholders; out[i] is the cotangent of placeholders[i]. */
void mica_pull_back(mica_transform *t, mica_graph *g, const mica_value *outputs,
                    const mica_value *cotangents, int32_t n_outputs, const mica_value *placeholders,
                    int32_t n, mica_value *out);

/* vjp with the memory of a transform under way. */
void mica_vjp_inside(mica_transform *t, mica_graph *g, const mica_value *outputs,
                     const mica_value *cotangents, int32_t n_outputs, const mica_value *inputs,
                     int32_t n_inputs, mica_value *out_cotangents);

/* d/dx digamma(x), composed of primitives; so are the derivatives of igamma(a, x). */
mica_value mica_trigamma(mica_graph *g, mica_value x);
mica_value mica_igamma_by_a(mica_graph *g, mica_value a, mica_value x);
mica_value mica_igamma_by_x(mica_graph *g, mica_value a, mica_value x);

#endif
