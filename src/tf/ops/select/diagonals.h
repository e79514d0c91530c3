/* A band of diagonals of matrices, from `low` to `high`. */
#ifndef MICA_TF_OPS_SELECT_DIAGONALS_H
#define MICA_TF_OPS_SELECT_DIAGONALS_H

#include "tf/tf.h"

typedef struct mica_tf_band {
    int64_t low, high; /* 0 is the main diagonal, above it they are positive */
    int64_t rows, columns, longest;
    bool left_above, left_below; /* diagonals above and below begin at the left of their row */
} mica_tf_band;

/* The row's operand k, or -1: the op is of the main diagonal. */
int32_t mica_tf_band_operand(const mica_tf_op_info *info);
mica_tf_band mica_tf_band_make(const mica_tf_op_info *info, const mica_tf_attr *attrs, int64_t low,
                               int64_t high);
/* Sets the sizes; -1 is one that is not known. */
void mica_tf_band_of_matrix(mica_tf_band *b, int64_t rows, int64_t columns);
/* From the operand k; false with a sticky error. */
bool mica_tf_band_read(mica_tf_lowering *c, mica_tf_band *out);

#endif
