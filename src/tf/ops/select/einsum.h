/* Equations of Einsum, read: which axis of each operand has which label.
 *
 * Labels are letters; the axes that an ellipsis stands for have labels of their own, aligned at
 * their ends as broadcasting aligns them. */
#ifndef MICA_TF_OPS_SELECT_EINSUM_H
#define MICA_TF_OPS_SELECT_EINSUM_H

#include "tf/tf.h"

enum { MICA_TF_EINSUM_OPERANDS = 16, MICA_TF_ELLIPSIS_LABEL = 128 };

typedef struct mica_tf_labels {
    int32_t rank;
    uint8_t axes[MICA_MAX_RANK]; /* an ellipsis' axis k from its end: ELLIPSIS_LABEL + k */
} mica_tf_labels;

typedef struct mica_tf_equation {
    int32_t n;
    mica_tf_labels operands[MICA_TF_EINSUM_OPERANDS], result;
} mica_tf_equation;

/* `ranks` of the operands, all known. */
MICA_MUST_CHECK mica_status mica_tf_equation_read(const char *text, const int32_t *ranks, int32_t n,
                                                  mica_tf_equation *out);

#endif
