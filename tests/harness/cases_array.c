/* Cases of SHAPE and RANDOM rows. */
#include "harness.h"

#include <string.h>

/* A constant whose bytes are a pattern, small enough to be a number of any dtype. */
static void build_constant(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    (void)operands;
    uint64_t bytes[12] = {0};
    mica_type type = mica_type_make(dtype, MICA_INTS(2, 3));
    for (int64_t i = 0; i < 6; i++)
        ref_store(dtype, bytes, i,
                  (ref_number){.bits = (uint64_t)i, .real = 0.5 * (double)i, .imaginary = 1});
    mica_output(g, mica_constant(g, (mica_data){&type, bytes}));
}

static void build_empty_constant(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    (void)operands;
    mica_type type = mica_type_make(dtype, MICA_INTS(2, 0));
    mica_output(g, mica_constant(g, (mica_data){&type, NULL}));
}

static void build_iota(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    (void)operands;
    mica_output(g, mica_iota(g, MICA_INTS(2, 5, 3), 1, dtype));
    mica_output(g, mica_iota(g, MICA_INTS(7), 0, dtype));
    mica_output(g, mica_iota(g, MICA_INTS(0, 2), 1, dtype));
}

#define BITCAST(name_, to, dtypes_, x, ...)                                                        \
    {                                                                                              \
        .op = MICA_OP_bitcast, .name = name_, .n_operands = 1, .operands = {x},                    \
        .attributes = {A_DTYPE(to)}, .dtypes = dtypes_, __VA_ARGS__                                \
    }

static const op_case cases[] = {
    BITCAST("to 1 byte", u8, "i8 u8", OF(3, 2)),
    BITCAST("to 2 bytes", bf16, "i16 u16 f16 bf16", OF(3, 2), .flags = COARSE),
    BITCAST("to 4 bytes", i32, "i32 u32 f32", OF(3, 2)),
    BITCAST("to 8 bytes", f64, "i64 u64 c64 f64", OF(3, 2)),
    BITCAST("to 16 bytes", c128, "c128", OF(3, 2)),
    BITCAST("narrower", i8, "i16 u16 f16 bf16 i32 u32 f32 i64 u64 f64 c64 c128", OF(2, 3)),
    BITCAST("narrower, of a scalar", u16, "i32 f32 f64", SCALAR(VARIES, 0, 0)),
    BITCAST("narrower, of nothing", f32, "f64 i64", OF(0, 3), .flags = COARSE),
    BITCAST("parts of complex numbers", f32, "c64", OF(2, 3)),
    BITCAST("twice as wide", f64, "i32 u32 f32", OF(3, 2)),
    BITCAST("to a scalar", i64, "i16 f16 bf16", OF(4)),
    BITCAST("eight times as wide", u64, "i8 u8", OF(2, 3, 8)),
    {.op = MICA_OP_constant, .build = build_constant},
    {.op = MICA_OP_constant,
     .name = "of nothing",
     .build = build_empty_constant,
     .dtypes = "f32 i64"},
    {.op = MICA_OP_iota, .build = build_iota},

    {.op = MICA_OP_broadcast,
     .n_operands = 1,
     .operands = {OF(2, 1)},
     .attributes = {A_INTS(3, 2, 4), A_INTS(1, 2)}},
    {.op = MICA_OP_broadcast,
     .name = "of a scalar",
     .n_operands = 1,
     .operands = {SCALAR(VARIES, 0, 0)},
     .attributes = {A_INTS(3, 5), A_NONE}},
    {.op = MICA_OP_broadcast,
     .name = "to the front and back",
     .n_operands = 1,
     .operands = {OF(3, 5)},
     .attributes = {A_INTS(2, 3, 4, 5), A_INTS(1, 3)}},
    {.op = MICA_OP_broadcast,
     .name = "to nothing",
     .n_operands = 1,
     .operands = {OF(1)},
     .attributes = {A_INTS(3, 0), A_INTS(1)}},

    {.op = MICA_OP_reshape,
     .n_operands = 1,
     .operands = {OF(2, 6)},
     .attributes = {A_INTS(3, 4, 1)}},
    {.op = MICA_OP_reshape,
     .name = "to a scalar",
     .n_operands = 1,
     .operands = {OF(1, 1)},
     .attributes = {A_NONE}},
    {.op = MICA_OP_reshape,
     .name = "of nothing",
     .n_operands = 1,
     .operands = {OF(0, 3)},
     .attributes = {A_INTS(2, 0)}},

    {.op = MICA_OP_transpose,
     .n_operands = 1,
     .operands = {OF(2, 3, 5)},
     .attributes = {A_INTS(2, 0, 1)}},
    {.op = MICA_OP_transpose,
     .name = "of a matrix",
     .n_operands = 1,
     .operands = {OF(37, 19)},
     .attributes = {A_INTS(1, 0)}},
    {.op = MICA_OP_transpose,
     .name = "of a scalar",
     .n_operands = 1,
     .operands = {SCALAR(VARIES, 0, 0)},
     .attributes = {A_NONE}},
    {.op = MICA_OP_transpose,
     .name = "of nothing",
     .n_operands = 1,
     .operands = {OF(2, 0, 3)},
     .attributes = {A_INTS(1, 2, 0)}},
    {.op = MICA_OP_transpose,
     .name = "of five axes",
     .n_operands = 1,
     .operands = {OF(2, 1, 3, 2, 4)},
     .attributes = {A_INTS(4, 2, 0, 3, 1)}},

    {.op = MICA_OP_slice,
     .n_operands = 1,
     .operands = {OF(5, 7)},
     .attributes = {A_INTS(1, 0), A_INTS(4, 7), A_INTS(1, 3)}},
    {.op = MICA_OP_slice,
     .name = "of nothing",
     .n_operands = 1,
     .operands = {OF(5)},
     .attributes = {A_INTS(2), A_INTS(2), A_INTS(1)}},
    {.op = MICA_OP_slice,
     .name = "of a scalar",
     .n_operands = 1,
     .operands = {SCALAR(VARIES, 0, 0)},
     .attributes = {A_NONE, A_NONE, A_NONE}},

    {.op = MICA_OP_pad,
     .n_operands = 2,
     .operands = {OF(3, 4), SCALAR(VARIES, 0, 0)},
     .attributes = {A_INTS(1, 0), A_INTS(2, 1), A_INTS(0, 2)}},
    {.op = MICA_OP_pad,
     .name = "that cuts",
     .n_operands = 2,
     .operands = {OF(5, 4), SCALAR(VARIES, 0, 0)},
     .attributes = {A_INTS(-1, 2), A_INTS(-2, -1), A_INTS(0, 1)}},
    {.op = MICA_OP_pad,
     .name = "of nothing",
     .n_operands = 2,
     .operands = {OF(0), SCALAR(VARIES, 0, 0)},
     .attributes = {A_INTS(2), A_INTS(1), A_INTS(3)}},

    {.op = MICA_OP_concat,
     .n_operands = 3,
     .operands = {OF(2, 3), OF(2, 1), OF(2, 2)},
     .attributes = {A_INT(1)}},
    {.op = MICA_OP_concat,
     .name = "along the first axis",
     .n_operands = 2,
     .operands = {OF(2, 3), OF(3, 3)},
     .attributes = {A_INT(0)}},
    {.op = MICA_OP_concat,
     .name = "with nothing",
     .n_operands = 2,
     .operands = {OF(2, 0), OF(2, 3)},
     .attributes = {A_INT(1)}},
    {.op = MICA_OP_concat,
     .name = "of one",
     .n_operands = 1,
     .operands = {OF(2)},
     .attributes = {A_INT(0)}},

    {.op = MICA_OP_reverse,
     .n_operands = 1,
     .operands = {OF(2, 5, 3)},
     .attributes = {A_INTS(2, 0)}},
    {.op = MICA_OP_reverse,
     .name = "of lines of several vectors",
     .n_operands = 1,
     .operands = {OF(2, 37)},
     .attributes = {A_INTS(1)}},
    {.op = MICA_OP_reverse,
     .name = "of nothing",
     .n_operands = 1,
     .operands = {OF(0, 3)},
     .attributes = {A_INTS(0)}},
    {.op = MICA_OP_reverse,
     .name = "along no axis",
     .n_operands = 1,
     .operands = {OF(3)},
     .attributes = {A_NONE}},

    {.op = MICA_OP_dynamic_slice,
     .n_operands = 2,
     .operands = {OF(5, 7), SHAPED(MICA_DTYPE_i32, -2, 8, 2)},
     .attributes = {A_INTS(2, 3)}},
    {.op = MICA_OP_dynamic_slice,
     .name = "by u8",
     .n_operands = 2,
     .operands = {OF(5), SHAPED(MICA_DTYPE_u8, 0, 9, 1)},
     .attributes = {A_INTS(2)}},
    {.op = MICA_OP_dynamic_slice,
     .name = "by u64",
     .n_operands = 2,
     .operands = {OF(5), SHAPED(MICA_DTYPE_u64, 0, 0, 1)},
     .attributes = {A_INTS(2)}},
    {.op = MICA_OP_dynamic_slice,
     .name = "of nothing",
     .n_operands = 2,
     .operands = {OF(5, 0), SHAPED(MICA_DTYPE_i64, 0, 3, 2)},
     .attributes = {A_INTS(2, 0)}},

    {.op = MICA_OP_dynamic_update_slice,
     .n_operands = 3,
     .operands = {OF(5, 7), OF(2, 3), SHAPED(MICA_DTYPE_i32, -2, 8, 2)}},
    {.op = MICA_OP_dynamic_update_slice,
     .name = "by nothing",
     .n_operands = 3,
     .operands = {OF(5), OF(0), SHAPED(MICA_DTYPE_i64, 0, 9, 1)}},
    {.op = MICA_OP_dynamic_update_slice,
     .name = "of all",
     .n_operands = 3,
     .operands = {OF(3), OF(3), SHAPED(MICA_DTYPE_u32, 0, 9, 1)}},

    {.op = MICA_OP_rng_bits,
     .n_operands = 2,
     .operands = {SHAPED(MICA_DTYPE_u32, 0, 0, 2), SHAPED(MICA_DTYPE_u32, 0, 0, 4)},
     .attributes = {A_INTS(3, 7), A_DTYPE(u32)}},
    {.op = MICA_OP_rng_bits,
     .name = "of 64",
     .n_operands = 2,
     .operands = {SHAPED(MICA_DTYPE_u32, 0, 0, 2), SHAPED(MICA_DTYPE_u32, 0, 0, 4)},
     .attributes = {A_INTS(33), A_DTYPE(u64)}},
    {.op = MICA_OP_rng_bits,
     .name = "carrying",
     .n_operands = 2,
     .operands = {SHAPED(MICA_DTYPE_u32, 0, 0, 2),
                  SHAPED(MICA_DTYPE_u32, 4294967290.0, 4294967295.0, 4)},
     .attributes = {A_INTS(1000), A_DTYPE(u32)}},
    {.op = MICA_OP_rng_bits,
     .name = "of nothing",
     .n_operands = 2,
     .operands = {SHAPED(MICA_DTYPE_u32, 0, 0, 2), SHAPED(MICA_DTYPE_u32, 0, 0, 4)},
     .attributes = {A_INTS(0), A_DTYPE(u32)}},
};

const case_table array_cases = {cases, sizeof cases / sizeof *cases};
