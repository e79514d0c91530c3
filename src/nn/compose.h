/* nn/compose.h: what the layers share: checks with the layer's name, small expressions, and the
 * making of composites.
 *
 * The room stands on include/mica and base alone. A function checks its operands first, so that an
 * error speaks of the layer and not of a primitive inside it; after an error values are null,
 * and mica_nn_type answers a scalar for them, so that no path needs a test of its own. */
#ifndef MICA_NN_COMPOSE_H
#define MICA_NN_COMPOSE_H

#include "base/status.h"
#include "mica/nn.h"

/* ---- checks -----------------------------------------------------------------------------------*/

typedef struct mica_nn_text {
    char chars[160];
} mica_nn_text;

/* "f32[2,3]", cut off when it is long */
mica_nn_text mica_nn_type_text(const mica_type *type);
mica_nn_text mica_nn_ints_text(mica_ints ints); /* "(2,3)" */

/* The type of a value; a f32 scalar for the null value. */
mica_type mica_nn_type(mica_value value);
/* All are tensors of this graph, and float tensors of one dtype if `floats`. Null values are
 * refused but for those at places whose bit is set in `optional`. */
bool mica_nn_check(mica_graph *g, const char *where, const mica_value *values, int32_t n,
                   uint32_t optional, bool floats);
/* Options that begin with their size: not NULL, and as large as this library knows them. */
bool mica_nn_check_options(mica_graph *g, const char *where, const void *options, size_t size);
/* The axis counted from the start, or -1 with an error. */
int32_t mica_nn_axis(mica_graph *g, const char *where, const mica_type *type, int64_t axis);
/* The list is there, with n entries, or an error. */
bool mica_nn_check_ints(mica_graph *g, const char *where, const char *what, mica_ints ints,
                        int32_t n);
#define MICA_NN_FAIL(g, ...) mica_graph_fail((g), MICA_INVALID(__VA_ARGS__))

/* ---- expressions ------------------------------------------------------------------------------*/

static inline mica_ints mica_nn_dims(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}
static inline bool mica_nn_is_float(const mica_type *type) {
    return mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT;
}
/* Whether derivatives go through it: floats and complex numbers. */
static inline bool mica_nn_has_tangent(const mica_type *type) {
    return mica_nn_is_float(type) || mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
}
/* A scalar of the dtype of `like`. */
mica_value mica_nn_number(mica_graph *g, mica_value like, double value);
mica_value mica_nn_scale(mica_graph *g, mica_value x, double factor); /* factor x; 1: x itself */
mica_value mica_nn_square(mica_graph *g, mica_value x);
/* x ? number */
mica_value mica_nn_test(mica_graph *g, mica_value x, const char *direction, double number);
/* x != 0, of a bool x itself */
mica_value mica_nn_truth(mica_graph *g, mica_value x);
/* Integers as i32 or i64, as indices; others are refused. */
mica_value mica_nn_indices(mica_graph *g, const char *where, mica_value x);
/* Reductions (kind of mica_reduce) that keep the reduced axes with size 1. The mean of a narrow
 * dtype is computed in f32: sums and counts do not fit f16. */
mica_value mica_nn_reduce_keep(mica_graph *g, mica_value x, const char *kind, mica_ints axes);
mica_value mica_nn_mean_keep(mica_graph *g, mica_value x, mica_ints axes);
/* v, which has as many elements as x along axis, with shape (1, ..., n, ..., 1) of x's rank;
 * null stays null. `name` is for the message. */
mica_value mica_nn_along(mica_graph *g, const char *where, const char *name, mica_value v,
                         const mica_type *x, int32_t axis);
/* Both as one shape, by numpy's rule. */
void mica_nn_broadcast_pair(mica_graph *g, const char *where, mica_value *a, mica_value *b);
/* Swaps the last two axes. */
mica_value mica_nn_transpose_matrix(mica_graph *g, mica_value x);
/* The softmax of masked scores: a slice that is all -inf gives 0. */
mica_value mica_nn_masked_softmax(mica_graph *g, mica_value x, int32_t axis);
/* Elements start ... limit - 1 along an axis. */
mica_value mica_nn_part(mica_graph *g, mica_value x, int32_t axis, int64_t start, int64_t limit);

/* ---- composites -------------------------------------------------------------------------------*/

enum { MICA_NN_MAX_OPERANDS = 40, MICA_NN_MAX_RESULTS = 4 };

/* A `call` in the making. Begin it, build in `body` from `in` (null where the operand is
 * null), name the results; optionally begin the vjp and build in `vjp` from vjp_in, vjp_out (the
 * results) and vjp_cotangent, naming a cotangent for each operand that is there, in order; end it.
 */
typedef struct mica_composite {
    mica_graph *g, *body, *vjp;
    const char *name;
    int32_t n, n_results; /* operands that are not null; results so far */
    mica_value operands[MICA_NN_MAX_OPERANDS];
    int32_t place[MICA_NN_MAX_OPERANDS]; /* of operand k in `in` */
    mica_value in[MICA_NN_MAX_OPERANDS], vjp_in[MICA_NN_MAX_OPERANDS];
    mica_value results[MICA_NN_MAX_RESULTS];
    mica_value vjp_out[MICA_NN_MAX_RESULTS], vjp_cotangent[MICA_NN_MAX_RESULTS];
} mica_composite;

/* false after an error; then do not end it. */
bool mica_composite_begin(mica_composite *c, mica_graph *g, const char *name,
                          const mica_value *operands, int32_t n);
void mica_composite_result(mica_composite *c, mica_value value);
bool mica_composite_begin_vjp(mica_composite *c);
void mica_composite_cotangent(mica_composite *c, mica_value value);
/* Appends the call (with `custom`, a custom_gradient: forward mode then follows the vjp too), and
 * writes as many results as were named; nulls after an error. */
void mica_composite_end(mica_composite *c, bool custom, mica_value *out, const char *config, ...)
    MICA_PRINTF(4, 5);

#endif
