/* Integers that arithmetic refuses: divisors that are 0, negative powers. */
#include "tf/refusals.h"

static bool find_division(const mica_tf_checked *l, mica_tf_bounds *b) {
    (void)l;
    b->width = 0; /* all but zero */
    return true;
}

static mica_status say_division(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] Integer division by zero", r->op);
}

const mica_tf_refusal tf_refuses_division = {1, find_division, say_division};

static bool find_power(const mica_tf_checked *l, mica_tf_bounds *b) {
    mica_tf_one_bound(b, 0, INT64_MAX);
    return mica_dtype_kind_of(l->integers->dtype) == MICA_KIND_SIGNED;
}

static mica_status say_power(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] Integers to negative integer powers are not allowed", r->op);
}

const mica_tf_refusal tf_refuses_power = {1, find_power, say_power};
