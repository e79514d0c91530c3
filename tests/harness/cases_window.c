/* Cases of running reductions and of windows. */
#include "harness.h"

#define NUMBERS "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64"
#define NUMBERS_COMPLEX NUMBERS " c64 c128"
#define FEW "i32 f32 f64"
#define FLOATS "f16 bf16 f32 f64"

#define CUMULATIVE(kind_, name_, x, axis, reverse, exclusive, ulps_, ...)                          \
    {                                                                                              \
        .op = MICA_OP_cumulative, .name = kind_ name_, .n_operands = 1, .operands = {x},           \
        .attributes = {A_STRING(kind_), A_INT(axis), A_INT(reverse), A_INT(exclusive)},            \
        .ulps = ulps_, __VA_ARGS__                                                                 \
    }
#define CUMULATIVES(kind, all, ulps, ...)                                                          \
    CUMULATIVE(kind, "", OF(5, 3), 0, 0, 0, ulps, .dtypes = all, __VA_ARGS__),                     \
        CUMULATIVE(kind, " reverse", OF(2, 4, 3), 1, 1, 0, ulps, .dtypes = all, __VA_ARGS__),      \
        CUMULATIVE(kind, " exclusive", OF(3, 7), 1, 0, 1, ulps, .dtypes = FEW, __VA_ARGS__),       \
        CUMULATIVE(kind, " reverse exclusive", OF(6), 0, 1, 1, ulps, .dtypes = FEW, __VA_ARGS__),  \
        CUMULATIVE(kind, " of one", OF(1, 2), 0, 0, 0, ulps, .dtypes = FEW, __VA_ARGS__),          \
        CUMULATIVE(kind, " of one, exclusive", OF(1), 0, 0, 1, ulps, .dtypes = FEW, __VA_ARGS__),  \
        CUMULATIVE(kind, " of nothing", OF(0, 3), 0, 0, 1, ulps, .dtypes = FEW, __VA_ARGS__)
/* Products keep their size; the bound of a sum does not hold for them. */
#define NEAR_ONE(...) SHAPED(VARIES, 0.9, 1.1, __VA_ARGS__)

#define WINDOW(kind_, name_, x, window, strides, low, high, base, dilation, ulps_, ...)            \
    {                                                                                              \
        .op = MICA_OP_reduce_window, .name = kind_ name_, .n_operands = 1, .operands = {x},        \
        .attributes = {A_STRING(kind_), window, strides, low, high, base, dilation},               \
        .ulps = ulps_, __VA_ARGS__                                                                 \
    }
#define WINDOWS(kind, all, ulps, ...)                                                              \
    WINDOW(kind, "", OF(4, 5), A_INTS(2, 3), A_INTS(1, 1), A_INTS(0, 0), A_INTS(0, 0),             \
           A_INTS(1, 1), A_INTS(1, 1), ulps, .dtypes = all, __VA_ARGS__),                          \
        WINDOW(kind, " padded and strided", OF(2, 5, 4, 2), A_INTS(1, 3, 2, 1),                    \
               A_INTS(1, 2, 2, 1), A_INTS(0, 1, 1, 0), A_INTS(0, 2, 0, 0), A_INTS(1, 1, 1, 1),     \
               A_INTS(1, 1, 1, 1), ulps, .dtypes = FEW, __VA_ARGS__),                              \
        WINDOW(kind, " dilated", OF(4, 3), A_INTS(2, 3), A_INTS(1, 2), A_INTS(1, 2), A_INTS(2, 1), \
               A_INTS(2, 3), A_INTS(2, 1), ulps, .dtypes = FEW, __VA_ARGS__),                      \
        WINDOW(kind, " steps that do not meet", OF(4), A_INTS(2), A_INTS(4), A_INTS(1), A_INTS(9), \
               A_INTS(6), A_INTS(3), ulps, .dtypes = FEW, __VA_ARGS__),                            \
        WINDOW(kind, " cut", OF(7, 5), A_INTS(2, 2), A_INTS(2, 1), A_INTS(-1, 3), A_INTS(-2, -2),  \
               A_INTS(1, 1), A_INTS(1, 1), ulps, .dtypes = FEW, __VA_ARGS__),                      \
        WINDOW(kind, " long", OF(11), A_INTS(7), A_INTS(1), A_INTS(6), A_INTS(0), A_INTS(1),       \
               A_INTS(1), ulps, .dtypes = FEW, __VA_ARGS__),                                       \
        WINDOW(kind, " of padding alone", OF(2), A_INTS(2), A_INTS(1), A_INTS(3), A_INTS(3),       \
               A_INTS(1), A_INTS(1), ulps, .dtypes = FEW, __VA_ARGS__),                            \
        WINDOW(kind, " of nothing", OF(0, 2), A_INTS(2, 1), A_INTS(1, 1), A_INTS(1, 0),            \
               A_INTS(2, 0), A_INTS(1, 1), A_INTS(1, 1), ulps, .dtypes = FEW, __VA_ARGS__),        \
        WINDOW(kind, " to nothing", OF(3), A_INTS(4), A_INTS(1), A_INTS(0), A_INTS(0), A_INTS(1),  \
               A_INTS(1), ulps, .dtypes = FEW, __VA_ARGS__),                                       \
        WINDOW(kind, " of a scalar", SCALAR(VARIES, 0, 0), A_NONE, A_NONE, A_NONE, A_NONE, A_NONE, \
               A_NONE, ulps, .dtypes = FEW, __VA_ARGS__)

#define SELECT(select_, name_, x, source, window, strides, low, high, ...)                         \
    {                                                                                              \
        .op = MICA_OP_select_and_scatter, .name = select_ name_, .n_operands = 2,                  \
        .operands = {x, source}, .attributes = {A_STRING(select_), window, strides, low, high},    \
        __VA_ARGS__                                                                                \
    }
#define SELECTS(select)                                                                            \
    SELECT(select, "", OF(4, 6), OF(2, 3), A_INTS(2, 2), A_INTS(2, 2), A_INTS(0, 0), A_INTS(0, 0), \
           .flags = DISTINCT),                                                                     \
        SELECT(select, " overlapping", OF(2, 5, 4, 2), OF(2, 3, 3, 2), A_INTS(1, 3, 2, 1),         \
               A_INTS(1, 2, 2, 1), A_INTS(0, 1, 1, 0), A_INTS(0, 2, 1, 0), .ulps = 2,              \
               .absolute = 1e-6, .flags = DISTINCT | ZEROS_ALIKE),                                 \
        SELECT(select, " cut", OF(7), OF(4), A_INTS(3), A_INTS(1), A_INTS(-1), A_INTS(0),          \
               .dtypes = FEW, .ulps = 2, .absolute = 1e-6, .flags = DISTINCT | ZEROS_ALIKE),       \
        SELECT(select, " of padding alone", OF(2), OF(7), A_INTS(2), A_INTS(1), A_INTS(3),         \
               A_INTS(3), .dtypes = FEW, .ulps = 2, .absolute = 1e-6,                              \
               .flags = DISTINCT | ZEROS_ALIKE),                                                   \
        SELECT(select, " of nothing", OF(0, 2), OF(2, 2), A_INTS(2, 1), A_INTS(1, 1),              \
               A_INTS(1, 0), A_INTS(2, 0), .dtypes = FEW),                                         \
        SELECT(select, " to nothing", OF(3), OF(0), A_INTS(4), A_INTS(1), A_INTS(0), A_INTS(0),    \
               .dtypes = FEW),                                                                     \
        SELECT(select, " of a scalar", SCALAR(VARIES, 0, 0), SCALAR(VARIES, 0, 0), A_NONE, A_NONE, \
               A_NONE, A_NONE, .dtypes = FEW),                                                     \
        SELECT(select, " with NaN", OF(9, 8), OF(4, 7), A_INTS(3, 2), A_INTS(2, 1), A_INTS(0, 0),  \
               A_INTS(0, 0), .dtypes = FLOATS, .ulps = 2, .absolute = 1e-6,                        \
               .flags = SPRINKLED | ZEROS_ALIKE),                                                  \
        SELECT(select, " with ties", SHAPED(VARIES, 1, 1, 6, 5), OF(4, 4), A_INTS(3, 2),           \
               A_INTS(1, 1), A_INTS(0, 0), A_INTS(0, 0), .dtypes = FEW, .ulps = 2,                 \
               .absolute = 1e-6, .flags = LARGE | COARSE | ZEROS_ALIKE),                           \
        SELECT(select, " large", OF(60, 40, 9), OF(30, 21, 9), A_INTS(3, 2, 1), A_INTS(2, 2, 1),   \
               A_INTS(1, 1, 0), A_INTS(0, 1, 0), .dtypes = "f32 f64 bf16 u8", .ulps = 2,           \
               .absolute = 1e-6, .flags = LARGE | COARSE | ZEROS_ALIKE)

static const op_case cases[] = {
    CUMULATIVES("sum", NUMBERS_COMPLEX, 1),
    CUMULATIVES("max", NUMBERS, 0, .flags = DISTINCT),
    CUMULATIVES("min", NUMBERS, 0, .flags = DISTINCT),
    CUMULATIVE("prod", "", OF(5, 3), 0, 0, 0, 1),
    CUMULATIVE("prod", " reverse", OF(2, 4, 3), 1, 1, 0, 1),
    CUMULATIVE("prod", " exclusive", OF(3, 7), 1, 0, 1, 1, .dtypes = FEW),
    CUMULATIVE("prod", " reverse exclusive", OF(6), 0, 1, 1, 1, .dtypes = FEW),
    CUMULATIVE("prod", " of nothing", OF(2, 0), 1, 1, 0, 1, .dtypes = FEW),
    CUMULATIVE("prod", " of zeros", SHAPED(VARIES, 0, 1e-300, 4, 2), 0, 0, 0, 1, .dtypes = "f64"),
    CUMULATIVE("sum", " with NaN", OF(9, 8), 1, 0, 0, 1, .dtypes = FLOATS, .flags = SPRINKLED),
    CUMULATIVE("max", " with NaN", OF(9, 8), 1, 0, 0, 0, .dtypes = FLOATS, .flags = SPRINKLED),
    CUMULATIVE("min", " with NaN", OF(9, 8), 0, 1, 1, 0, .dtypes = FLOATS, .flags = SPRINKLED),
    CUMULATIVE("sum", " of long lines", OF(3, 1031), 1, 0, 0, 1, .dtypes = FEW, .flags = LARGE),
    CUMULATIVE("sum", " of wide lines", OF(40, 1031), 0, 1, 0, 1, .dtypes = NUMBERS_COMPLEX,
               .flags = LARGE),
    CUMULATIVE("max", " of wide lines", OF(3, 40, 300), 1, 0, 1, 0, .dtypes = FEW,
               .flags = LARGE | COARSE),
    CUMULATIVE("prod", " of long lines", NEAR_ONE(700, 7), 0, 0, 0, 1, .dtypes = "f64 i32",
               .flags = LARGE),

    WINDOWS("sum", NUMBERS_COMPLEX, 1),
    WINDOWS("prod", NUMBERS_COMPLEX, 1),
    WINDOWS("max", NUMBERS, 0, .flags = DISTINCT),
    WINDOWS("min", NUMBERS, 0, .flags = DISTINCT),
    WINDOW("max", " with NaN", OF(9, 8), A_INTS(3, 2), A_INTS(2, 1), A_INTS(1, 0), A_INTS(0, 1),
           A_INTS(1, 1), A_INTS(1, 1), 0, .dtypes = FLOATS, .flags = SPRINKLED),
    WINDOW("min", " with NaN", OF(9, 8), A_INTS(3, 2), A_INTS(2, 1), A_INTS(1, 0), A_INTS(0, 1),
           A_INTS(1, 1), A_INTS(1, 1), 0, .dtypes = FLOATS, .flags = SPRINKLED),
    WINDOW("sum", " large", OF(50, 700), A_INTS(3, 5), A_INTS(2, 1), A_INTS(1, 2), A_INTS(0, 2),
           A_INTS(1, 1), A_INTS(1, 1), 1, .dtypes = NUMBERS_COMPLEX, .flags = LARGE),
    WINDOW("max", " of many channels", OF(3, 20, 21, 64), A_INTS(1, 2, 2, 1), A_INTS(1, 2, 2, 1),
           A_INTS(0, 0, 0, 0), A_INTS(0, 0, 1, 0), A_INTS(1, 1, 1, 1), A_INTS(1, 1, 1, 1), 0,
           .dtypes = FEW, .flags = LARGE | COARSE),
    WINDOW("sum", " of large steps", OF(20, 900), A_INTS(2, 3), A_INTS(3, 2), A_INTS(2, 2),
           A_INTS(5, 7), A_INTS(2, 3), A_INTS(3, 2), 1, .dtypes = FEW, .flags = LARGE),

    SELECTS("max"),
    SELECTS("min"),
};

const case_table window_cases = {cases, sizeof cases / sizeof *cases};
