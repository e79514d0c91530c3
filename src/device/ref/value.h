/* device/ref/value.h: elements, arrays and lists as the interpreter holds them. */
#ifndef MICA_DEVICE_REF_VALUE_H
#define MICA_DEVICE_REF_VALUE_H

#include "device/ref/ref.h"

/* One element. Integers and bool use `bits`, extended to 64 (with the sign where there is one);
 * floats use `real`; complex numbers both. */
typedef struct ref_number {
    uint64_t bits;
    double real, imaginary;
} ref_number;

ref_number ref_load(mica_dtype dtype, const void *data, int64_t i);
/* Integers are cut to the dtype's width; floats round to nearest even, once. */
void ref_store(mica_dtype dtype, void *data, int64_t i, ref_number number);
ref_number ref_from_double(double real);
ref_number ref_from_bits(uint64_t bits);
/* The product: of bits, and of complex numbers, whose imaginary parts are 0 when they are real. */
ref_number ref_product(mica_dtype dtype, ref_number a, ref_number b);
static inline ref_number ref_sum(ref_number a, ref_number b) {
    return (ref_number){
        .bits = a.bits + b.bits, .real = a.real + b.real, .imaginary = a.imaginary + b.imaginary};
}

/* A value of the graph while it lives. Values never change once made, so they are shared by
 * counting references; an evaluation is one thread's own, so the count is plain.
 * A list is a chain: its top element and the list below it; the empty list has neither. */
typedef struct ref_value {
    int32_t references;
    mica_type type;
    bool borrowed; /* the data belongs to the caller */
    void *data;    /* of a tensor */
    struct ref_value *top, *below;
} ref_value;

MICA_MUST_CHECK mica_status ref_value_create(const mica_type *type, ref_value **out_value);
ref_value *ref_value_retain(ref_value *value);
void ref_value_release(ref_value *value); /* NULL is allowed */
static inline bool ref_list_is_empty(const ref_value *list) {
    return list->top == NULL;
}

/* Row-major position of a multi-index. */
int64_t ref_position(const mica_type *type, const int64_t *index);
/* The next multi-index in row-major order; false after the last. Begin with zeros, and only when
 * there are elements at all. */
bool ref_advance(const mica_type *type, int64_t *index);
void ref_copy_element(mica_dtype dtype, void *target, int64_t i, const void *source, int64_t j);

/* One primitive: reads its operands and fills results, which it makes itself when the row is
 * CONTROL, COLLECTIVE or HOST, and finds made for it otherwise. */
typedef mica_status (*ref_function)(const mica_node *n, ref_value *const *operands,
                                    ref_value **results);
/* MAP rows share ref_run_map; every other row has ref_<name>, and a missing one is a link error. */
#define REF_DECLARE(name)                                                                          \
    mica_status ref_##name(const mica_node *n, ref_value *const *operands, ref_value **results);
#define REF_DECLARE_MAP(name)
#define REF_DECLARE_ELEMENTWISE(name) REF_DECLARE(name)
#define REF_DECLARE_SHAPE(name) REF_DECLARE(name)
#define REF_DECLARE_CONTRACTION(name) REF_DECLARE(name)
#define REF_DECLARE_REDUCTION(name) REF_DECLARE(name)
#define REF_DECLARE_RANDOM(name) REF_DECLARE(name)
#define REF_DECLARE_SEVERAL(name) REF_DECLARE(name)
#define REF_DECLARE_CONTROL(name) REF_DECLARE(name)
#define REF_DECLARE_COLLECTIVE(name) REF_DECLARE(name)
#define REF_DECLARE_HOST(name) REF_DECLARE(name)
#define MICA_OP(name, arity, class, ...) REF_DECLARE_##class(name)
#include "mica/ops.def"
#undef MICA_OP
mica_status ref_run_map(const mica_node *n, ref_value *const *operands, ref_value **results);

/* MAP rows that take complex numbers: the function, in complex.c. abs leaves its result in real. */
typedef ref_number (*ref_complex_function)(const ref_number *x);
#define REF_COMPLEX_MAP(name, dtypes) REF_COMPLEX_##dtypes(name)
#define REF_COMPLEX_ELEMENTWISE(name, dtypes)
#define REF_COMPLEX_SHAPE(name, dtypes)
#define REF_COMPLEX_CONTRACTION(name, dtypes)
#define REF_COMPLEX_REDUCTION(name, dtypes)
#define REF_COMPLEX_RANDOM(name, dtypes)
#define REF_COMPLEX_SEVERAL(name, dtypes)
#define REF_COMPLEX_CONTROL(name, dtypes)
#define REF_COMPLEX_COLLECTIVE(name, dtypes)
#define REF_COMPLEX_HOST(name, dtypes)
#define REF_COMPLEX_FLOATS(name)
#define REF_COMPLEX_INTEGERS(name)
#define REF_COMPLEX_NUMBERS(name)
#define REF_COMPLEX_BITS(name)
#define REF_COMPLEX_FLOATS_COMPLEX(name) ref_number ref_complex_##name(const ref_number *x);
#define REF_COMPLEX_NUMBERS_COMPLEX(name) ref_number ref_complex_##name(const ref_number *x);
#define MICA_OP(name, arity, class, dtypes, ...) REF_COMPLEX_##class(name, dtypes)
#include "mica/ops.def"
#undef MICA_OP

/* Runs a graph on values; results receives one new reference per output. */
MICA_MUST_CHECK mica_status ref_run_graph(const mica_graph *g, ref_value *const *arguments,
                                          ref_value **results);
/* The larger (sign 1) or smaller (sign -1) of two floats: NaN wins, then +0 is above -0. */
double ref_extreme(double a, double b, int sign);
/* Where a reduction begins, and one step of it. kind: sum prod max min and or. */
ref_number ref_reduce_start(const char *kind, mica_dtype dtype);
ref_number ref_reduce_step(const char *kind, mica_dtype dtype, ref_number a, ref_number b);
/* Whether a beats the best so far, as largest (sign 1) or smallest (-1): NaN beats all but another
 * NaN. */
bool ref_beats(mica_dtype dtype, ref_number a, ref_number best, int sign);
/* -1, 0 or 1 as a is below, equal to or above b; 2 when they cannot be ordered (NaN). */
int ref_order(mica_dtype dtype, ref_number a, ref_number b);

#endif
