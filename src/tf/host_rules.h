/* Host functions, declared from the table; each is defined in its family's folder, or variable.c.
 *
 * A host function reads c->inputs and c->attrs and writes c->outputs, new references. What it has
 * written when it fails is released by its caller. */
#ifndef MICA_TF_HOST_RULES_H
#define MICA_TF_HOST_RULES_H

#include "base/interrupt.h"
#include "tf/tf.h"

#define DECLARE_HOST(f) mica_status tf_host_##f(mica_tf_host *);
#define DECLARE_BOTH(f) DECLARE_HOST(f)
#define DECLARE_ARRAY(f) DECLARE_HOST(f)
#define DECLARE_LOWER(f)
#define DECLARE_MOVE(f)
#define MICA_TF_OP(name, in, out, attrs, roles, shape, run, f, ...) DECLARE_##run(f)
#include "tf/ops/rows.def"
#undef MICA_TF_OP
#undef DECLARE_LOWER
#undef DECLARE_MOVE
#undef DECLARE_BOTH
#undef DECLARE_ARRAY
#undef DECLARE_HOST

/* Input i as one integer, one string (borrowed, not ended with 0), one string that names something
 * of the system's (without zeros, ended with one, for the caller to free). */
MICA_MUST_CHECK mica_status mica_tf_int_input(const mica_tf_host *c, int32_t i, int64_t *out);
MICA_MUST_CHECK mica_status mica_tf_text_input(const mica_tf_host *c, int32_t i, const char **out,
                                               size_t *out_n);
MICA_MUST_CHECK mica_status mica_tf_name_input(const mica_tf_host *c, int32_t i, char **out);

/* Whether the user has asked to stop: for loops over elements, `done` of which are. It is asked now
 * and then, and in time where an element takes less than 50 us. */
static inline bool mica_tf_is_interrupted(int64_t done) {
    return (done & 1023) == 1023 && mica_interrupt_poll();
}
/* Of every op that only moves elements. */
mica_status mica_tf_move_strings(mica_tf_host *c);

#endif
