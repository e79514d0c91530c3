/* runtime/check.h: MICA_CHECK=1 runs every kernel's nodes on the reference too.
 *
 * Before a launch the operands are read back, after it the results; the device "ref" computes the
 * same node, or the body of the call that a generated kernel stands for, from these operands. The
 * first element that differs by more than rounding explains ends the run with a status that names
 * the node, the element and both values. Bounds grow with the number of terms of sums and with the
 * largest value on the way. Factorizations (lu, qr, eigh, svd, eig) are not compared. */
#ifndef MICA_RUNTIME_CHECK_H
#define MICA_RUNTIME_CHECK_H

#include "runtime/device.h"

typedef struct mica_check {
    mica_device *reference;
    const mica_node *node;
    mica_graph *graph; /* the node's, or its body's, with all values as outputs */
    void **inputs, **outputs;
    void **results; /* what the device gave, one per result of the node */
} mica_check;

/* Whether MICA_CHECK asks for it. */
bool mica_check_is_on(void);
/* Room for operands and results. NULL graph afterwards: the node is not compared. */
MICA_MUST_CHECK mica_status mica_check_begin(mica_check *check, mica_device *reference,
                                             const mica_node *node);
/* With inputs and results filled: compares. */
MICA_MUST_CHECK mica_status mica_check_compare(const mica_check *check);
void mica_check_end(mica_check *check);

#endif
