/* tf/recurrence.h: loops that are an LSTM or a GRU. */
#ifndef MICA_TF_RECURRENCE_H
#define MICA_TF_RECURRENCE_H

#include "tf/tf.h"

/* Lowers the While if it is the loop of such a layer: true, with c->outputs set. Otherwise nothing
 * has happened, apart from values in c->g that nothing uses. */
bool mica_tf_lower_recurrence(mica_tf_lowering *c, mica_tf_graph *cond, mica_tf_graph *body);

#endif
