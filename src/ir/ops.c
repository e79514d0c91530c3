/* The table as data: one mica_op_info per row of ops.def. */
#include <string.h>

#include "ir/graph.h"

#define NAMES_A0()
#define NAMES_A1(k, n) #n,
#define NAMES_A2(k, n, ...) #n, NAMES_A1(__VA_ARGS__)
#define NAMES_A3(k, n, ...) #n, NAMES_A2(__VA_ARGS__)
#define NAMES_A4(k, n, ...) #n, NAMES_A3(__VA_ARGS__)
#define NAMES_A5(k, n, ...) #n, NAMES_A4(__VA_ARGS__)
#define NAMES_A6(k, n, ...) #n, NAMES_A5(__VA_ARGS__)
#define NAMES_A7(k, n, ...) #n, NAMES_A6(__VA_ARGS__)
#define NAMES_A8(k, n, ...) #n, NAMES_A7(__VA_ARGS__)

#define KINDS_A0()
#define KINDS_A1(k, n) #k,
#define KINDS_A2(k, n, ...) #k, KINDS_A1(__VA_ARGS__)
#define KINDS_A3(k, n, ...) #k, KINDS_A2(__VA_ARGS__)
#define KINDS_A4(k, n, ...) #k, KINDS_A3(__VA_ARGS__)
#define KINDS_A5(k, n, ...) #k, KINDS_A4(__VA_ARGS__)
#define KINDS_A6(k, n, ...) #k, KINDS_A5(__VA_ARGS__)
#define KINDS_A7(k, n, ...) #k, KINDS_A6(__VA_ARGS__)
#define KINDS_A8(k, n, ...) #k, KINDS_A7(__VA_ARGS__)

#define ATTR_KINDS_A0()
#define ATTR_KINDS_A1(k, n) MICA_ATTR_##k,
#define ATTR_KINDS_A2(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A1(__VA_ARGS__)
#define ATTR_KINDS_A3(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A2(__VA_ARGS__)
#define ATTR_KINDS_A4(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A3(__VA_ARGS__)
#define ATTR_KINDS_A5(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A4(__VA_ARGS__)
#define ATTR_KINDS_A6(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A5(__VA_ARGS__)
#define ATTR_KINDS_A7(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A6(__VA_ARGS__)
#define ATTR_KINDS_A8(k, n, ...) MICA_ATTR_##k, ATTR_KINDS_A7(__VA_ARGS__)

#define COUNT_A0() 0
#define COUNT_A1(...) 1
#define COUNT_A2(...) 2
#define COUNT_A3(...) 3
#define COUNT_A4(...) 4
#define COUNT_A5(...) 5
#define COUNT_A6(...) 6
#define COUNT_A7(...) 7
#define COUNT_A8(...) 8

#define ARITY_0 0
#define ARITY_1 1
#define ARITY_2 2
#define ARITY_3 3
#define ARITY_N -1

#define MICA_OP(name, arity, class, dtypes, attributes, ...)                                       \
    static const char *const names_of_##name[] = {NAMES_##attributes NULL};                        \
    static const char *const kinds_of_##name[] = {KINDS_##attributes NULL};                        \
    static const mica_attr_kind attr_kinds_of_##name[] = {ATTR_KINDS_##attributes MICA_ATTR_INT};
#include "mica/ops.def"
#undef MICA_OP

static const mica_op_info table[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    {#name,                                                                                        \
     ARITY_##arity,                                                                                \
     #class,                                                                                       \
     #dtypes,                                                                                      \
     COUNT_##attributes,                                                                           \
     names_of_##name,                                                                              \
     kinds_of_##name,                                                                              \
     #shape,                                                                                       \
     #jvp,                                                                                         \
     #transpose,                                                                                   \
     #vmap,                                                                                        \
     __builtin_strcmp(#expression, "NONE") ? #expression : NULL,                                   \
     meaning},
#include "mica/ops.def"
#undef MICA_OP
};

static const mica_attr_kind *const attr_kinds[MICA_OP_COUNT] = {
#define MICA_OP(name, ...) attr_kinds_of_##name,
#include "mica/ops.def"
#undef MICA_OP
};

static const mica_op_class classes[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, ...) MICA_CLASS_##class,
#include "mica/ops.def"
#undef MICA_OP
};

static const mica_dtype_set dtype_sets[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, ...) MICA_SET_##dtypes,
#include "mica/ops.def"
#undef MICA_OP
};

const mica_op_info *mica_op_describe(mica_op op) {
    return (unsigned)op < MICA_OP_COUNT ? &table[op] : NULL;
}

bool mica_op_parse(const char *name, mica_op *out_op) {
    for (int i = 0; name && i < MICA_OP_COUNT; i++)
        if (strcmp(name, table[i].name) == 0) {
            *out_op = (mica_op)i;
            return true;
        }
    return false;
}

const char *mica_op_name(mica_op op) {
    if (op == MICA_OP_PARAMETER) return "parameter";
    return (unsigned)op < MICA_OP_COUNT ? table[op].name : "unknown";
}

/* A parameter computes nothing: the class of what no kernel does. */
mica_op_class mica_op_class_of(mica_op op) {
    return (unsigned)op < MICA_OP_COUNT ? classes[op] : MICA_CLASS_CONTROL;
}

mica_attr_kind mica_op_attr_kind(mica_op op, int32_t i) {
    return attr_kinds[op][i];
}

bool mica_dtype_in_set(mica_dtype dtype, mica_dtype_set set) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    bool integer = kind == MICA_KIND_SIGNED || kind == MICA_KIND_UNSIGNED;
    switch (set) {
    case MICA_SET_FLOATS: return kind == MICA_KIND_FLOAT;
    case MICA_SET_INTEGERS: return integer;
    case MICA_SET_NUMBERS: return integer || kind == MICA_KIND_FLOAT;
    case MICA_SET_BITS: return integer || kind == MICA_KIND_BOOLEAN;
    case MICA_SET_ANY: return kind != MICA_KIND_FLOAT8;
    case MICA_SET_STORED: return true;
    case MICA_SET_F32_F64: return dtype == MICA_DTYPE_f32 || dtype == MICA_DTYPE_f64;
    case MICA_SET_FLOATS_COMPLEX: return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
    case MICA_SET_NUMBERS_COMPLEX: return kind != MICA_KIND_BOOLEAN && kind != MICA_KIND_FLOAT8;
    case MICA_SET_F32_F64_COMPLEX: return dtype >= MICA_DTYPE_f32 && kind != MICA_KIND_FLOAT8;
    }
    return false;
}

bool mica_op_takes(mica_op op, mica_dtype dtype) {
    return (unsigned)op < MICA_OP_COUNT && (unsigned)dtype < MICA_DTYPE_COUNT &&
           mica_dtype_in_set(dtype, dtype_sets[op]);
}

mica_dtype_set mica_op_dtype_set(mica_op op) {
    return dtype_sets[op];
}
