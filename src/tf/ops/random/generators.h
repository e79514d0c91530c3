/* tf/random.h: the generators of stateful random ops. */
#ifndef MICA_TF_OPS_RANDOM_GENERATORS_H
#define MICA_TF_OPS_RANDOM_GENERATORS_H

#include "tf/tf.h"

/* A seed is two integers. */
MICA_MUST_CHECK mica_status mica_tf_check_seed(const mica_tf_inference *c, int32_t input);

/* How many numbers an array of this shape has: some that memory could hold. */
MICA_MUST_CHECK mica_status mica_tf_drawn(const char *op, mica_ints dims, int64_t *out);

/* Key and counter for drawing so many elements; the generator moves on. `is_shared`: that of all
 * ops with the same attributes, else the operation's own. */
MICA_MUST_CHECK mica_status mica_tf_random_reserve(mica_tf_operation *operation, bool is_shared,
                                                   int64_t elements, uint32_t out[6]);
/* The same as a tensor, u32[6]; with `runs` of so many draws, u32[runs, 6]. */
MICA_MUST_CHECK mica_status mica_tf_random_tensor(mica_device *device, mica_tf_operation *operation,
                                                  bool is_shared, int64_t elements, int64_t runs,
                                                  mica_tensor **out_tensor);
/* While lowering: key and counter of this op, u32[6], which each run provides anew; with `runs`
 * those of so many draws, one after the other, u32[runs, 6]. */
mica_value mica_tf_session_random(mica_tf_session *session, mica_graph *g,
                                  mica_tf_operation *operation, int64_t elements, int64_t runs);
void mica_tf_philox_destroy(mica_tf_philox *philox);

/* ---- drawing on the host ----------------------------------------------------------------------*/

typedef struct mica_tf_generator {
    uint32_t key[2], counter[4], block[4];
    int used; /* words of the block */
} mica_tf_generator;

mica_tf_generator mica_tf_generator_of(const uint32_t state[6]);
uint32_t mica_tf_generator_word(mica_tf_generator *r);
void mica_tf_counter_skip(uint32_t counter[4], uint64_t blocks);
double mica_tf_words_double(uint32_t x0, uint32_t x1); /* in [0, 1) */
void mica_tf_normal_pair(mica_tf_generator *r, bool is_double, double out[2]);
/* Key and counter of a stateless op: from its inputs `key` and the one after, or from a seed. */
MICA_MUST_CHECK mica_status mica_tf_key_counter_state(mica_tf_host *c, int32_t key,
                                                      uint32_t out[6]);
MICA_MUST_CHECK mica_status mica_tf_seed_state(mica_tf_host *c, int32_t seed, uint32_t out[6]);
/* The result of a host op, from doubles. */
MICA_MUST_CHECK mica_status mica_tf_give_doubles(mica_tf_host *c, const mica_type *type,
                                                 const double *data);

#endif
