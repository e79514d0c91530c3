/* device/ref/: the oracle. A slow, plain interpreter of graphs.
 *
 * It says what every primitive means, in the most obvious loops over multi-indices: elements are
 * loaded as double or as 64-bit integers, computed with libm, and rounded once to their dtype;
 * sums of floats are kept in double. It shares no code with the other devices, no passes and no
 * planner, so that agreement with it means something.
 *
 * ref.h       what others may use
 * value.h     elements, arrays and lists as the interpreter holds them
 * evaluate.c  the walk over a graph; control.c: regions, lists, callbacks
 * map.c complex.c elementwise.c shape.c index.c contraction.c reduction.c window.c order.c
 * random.c: one function per primitive
 * device.c    the device "ref" around it
 */
#ifndef MICA_DEVICE_REF_REF_H
#define MICA_DEVICE_REF_REF_H

#include "ir/graph.h"

/* Runs a graph on host arrays: one per parameter, one per output, of the parameters' and outputs'
 * types. Tokens have no array (their entries are not read); lists cannot be parameters or outputs.
 * Outputs must not overlap inputs. When it fails, outputs may be partly written. */
MICA_MUST_CHECK mica_status mica_ref_evaluate(const mica_graph *g, const void *const *inputs,
                                              void *const *outputs);

/* One block of Philox 4x32-10. */
void mica_ref_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

#endif
