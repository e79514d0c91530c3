/* mica/transform.h: derivatives and batching, as graphs from graphs.
 *
 * jvp and vjp work inside one graph: they append nodes that compute tangents or cotangents of
 * values already there, so they nest to any depth and in any order. The derivative is of outputs
 * as functions of `inputs`, everything else held fixed; inputs may be any values of the graph.
 * Values held stay right: of nodes already there, only those with regions change, by returning
 * more. Values of other than float or complex dtype, and tokens, have no tangents and no
 * cotangents. vmap makes a new graph from a graph. Errors stick to the graph.
 *
 * A tangent or cotangent of a complex value is complex. Nothing is conjugated: a cotangent c of z
 * stands for the change Re(c dz), so that a product's transpose is the product. The gradient of a
 * real scalar f with respect to z = x + i y is therefore df/dx - i df/dy, and its conjugate is the
 * direction of steepest ascent: z - rate * conj(gradient) descends.
 *
 * @example
 *     mica_graph *g = NULL;
 *     mica_status status = mica_graph_create("cube", &g);
 *     mica_type scalar = mica_type_scalar(MICA_DTYPE_f64);
 *     mica_value x = mica_parameter(g, &scalar), first, second;
 *     mica_gradient(g, mica_mul(g, x, mica_mul(g, x, x)), &x, 1, &first);
 *     mica_gradient(g, first, &x, 1, &second);
 *     mica_output(g, second);
 *     if (!status) status = mica_graph_verify(g);
 *     mica_graph_release(g);
 * @end
 */
#ifndef MICA_TRANSFORM_H
#define MICA_TRANSFORM_H

#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out_tangents[j] = sum_i (d outputs[j] / d inputs[i]) tangents[i]. A null tangent is zero; an
 * output that depends on no input with a tangent gets the null value. */
MICA_API void mica_jvp(mica_graph *g, const mica_value *outputs, int32_t n_outputs,
                       const mica_value *inputs, const mica_value *tangents, int32_t n_inputs,
                       mica_value *out_tangents);

/* out_cotangents[i] = sum_j (d outputs[j] / d inputs[i])^T cotangents[j]. A null cotangent is
 * zero; an input on which nothing depends gets the null value. */
MICA_API void mica_vjp(mica_graph *g, const mica_value *outputs, const mica_value *cotangents,
                       int32_t n_outputs, const mica_value *inputs, int32_t n_inputs,
                       mica_value *out_cotangents);

/* The gradient of a real scalar; zeros for an input on which it does not depend. */
MICA_API void mica_gradient(mica_graph *g, mica_value scalar, const mica_value *inputs,
                            int32_t n_inputs, mica_value *out_gradients);

#define MICA_UNMAPPED (-1)

/* A graph that applies `function` `size` times, operands mapped along in_axes[i] (MICA_UNMAPPED:
 * the same for all), results stacked along out_axes[j] (MICA_UNMAPPED: it must not vary).
 * axis_name (or NULL) is what collectives inside refer to. */
MICA_API MICA_MUST_CHECK mica_status mica_vmap(const mica_graph *function, const int32_t *in_axes,
                                               const int32_t *out_axes, int64_t size,
                                               const char *axis_name, mica_graph **out_graph);

typedef enum mica_shard_mode {
    MICA_SHARD_SCAN, /* one body, once for each shard: the same bits whatever the count */
    MICA_SHARD_VMAP, /* one body for all shards of a rank: faster, other bits */
} mica_shard_mode;

/* A graph that does the work of `count` neighbours of the `shards` participants of an axis, for one
 * of shards / count ranks. `function` is what each of them does. Parameter i with mapped[i], and
 * output j with out_mapped[j], have a first axis of size count; other parameters are the same for
 * all shards, other outputs must not vary. Collectives along the axis become collectives over the
 * ranks along it, to be compiled with a mica_dist of as many; with one rank there are none.
 *
 * Sums over shards are a binary tree: neighbours first, then neighbouring pairs, and so on. So with
 * MICA_SHARD_SCAN no bit of a result depends on how many ranks share the shards. UNSUPPORTED for
 * collectives along the axis inside loops and branches, and for tokens and lists that vary over
 * the shards. */
MICA_API MICA_MUST_CHECK mica_status mica_shard(const mica_graph *function, const uint8_t *mapped,
                                                const uint8_t *out_mapped, int64_t shards,
                                                int64_t count, const char *axis,
                                                mica_shard_mode mode, mica_graph **out_graph);

/* Cuts a graph in two that compute the same one after the other, nothing twice: a forward and a
 * backward pass. `first` has the first n_parameters parameters and gives the first n_outputs
 * outputs, which must depend on no others, then n_residuals values that the rest needs. `second`
 * gives the other outputs; its parameters are those parameters of g for which out_uses (one entry
 * for each) is then 1, in order, then the residuals. What depends on constants alone, and what is
 * merely stretched, is made again instead of kept. */
MICA_API MICA_MUST_CHECK mica_status mica_cut(const mica_graph *g, int32_t n_parameters,
                                              int32_t n_outputs, uint8_t *out_uses,
                                              mica_graph **out_first, mica_graph **out_second,
                                              int32_t *out_residuals);

#ifdef __cplusplus
}
#endif
#endif
