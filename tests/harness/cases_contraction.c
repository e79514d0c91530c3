/* Cases of CONTRACTION and REDUCTION rows. `ulps` above 0 says that the op sums: its tolerance is
 * then a bound in the number of terms. */
#include "harness.h"

#define DOT(name_, lhs, rhs, lc, rc, lb, rb, ...)                                                  \
    {                                                                                              \
        .op = MICA_OP_dot, .name = name_, .n_operands = 2, .operands = {lhs, rhs},                 \
        .attributes = {lc, rc, lb, rb}, .ulps = 1, __VA_ARGS__                                     \
    }
#define CONV(name_, x, k, layout, strides, low, high, lhs, rhs, groups, batch_groups, ...)         \
    {                                                                                              \
        .op = MICA_OP_conv, .name = name_, .n_operands = 2, .operands = {x, k},                    \
        .attributes = {A_STRING(layout),   strides, low, high, lhs, rhs, A_INT(groups),            \
                       A_INT(batch_groups)},                                                       \
        .ulps = 1, __VA_ARGS__                                                                     \
    }
#define REDUCE(kind_, name_, x, axes, dtypes_, ulps_, ...)                                         \
    {                                                                                              \
        .op = MICA_OP_reduce, .name = kind_ name_, .n_operands = 1, .operands = {x},               \
        .attributes = {A_STRING(kind_), axes}, .dtypes = dtypes_, .ulps = ulps_, __VA_ARGS__       \
    }
#define NUMBERS "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64"
#define BITS "bool i8 i16 i32 i64 u8 u16 u32 u64"
#define FEW "i32 f32 f64"

static const op_case cases[] = {
    DOT("of matrices", OF(3, 5), OF(5, 4), A_INTS(1), A_INTS(0), A_NONE, A_NONE),
    DOT("of vectors", OF(7), OF(7), A_INTS(0), A_INTS(0), A_NONE, A_NONE),
    DOT("outer", OF(3), OF(4), A_NONE, A_NONE, A_NONE, A_NONE),
    DOT("of scalars", SCALAR(VARIES, 0, 0), SCALAR(VARIES, 0, 0), A_NONE, A_NONE, A_NONE, A_NONE),
    DOT("transposed", OF(5, 3), OF(4, 5), A_INTS(0), A_INTS(1), A_NONE, A_NONE, .dtypes = FEW),
    DOT("batched", OF(2, 3, 5), OF(2, 5, 4), A_INTS(2), A_INTS(1), A_INTS(0), A_INTS(0)),
    DOT("batched inside", OF(3, 2, 5), OF(5, 4, 2), A_INTS(2), A_INTS(0), A_INTS(1), A_INTS(2),
        .dtypes = FEW),
    DOT("over two axes", OF(3, 2, 5), OF(5, 4, 3), A_INTS(0, 2), A_INTS(2, 0), A_NONE, A_NONE,
        .dtypes = FEW),
    DOT("over nothing", OF(3, 0), OF(0, 4), A_INTS(1), A_INTS(0), A_NONE, A_NONE, .dtypes = FEW),
    DOT("to nothing", OF(0, 3), OF(3, 4), A_INTS(1), A_INTS(0), A_NONE, A_NONE, .dtypes = FEW),
    DOT("of odd sizes", OF(37, 65), OF(65, 19), A_INTS(1), A_INTS(0), A_NONE, A_NONE,
        .dtypes = "f32 f64 i32"),
    DOT("of long rows", OF(2, 1031), OF(1031, 3), A_INTS(1), A_INTS(0), A_NONE, A_NONE,
        .dtypes = "f32 f16", .flags = LARGE),
    DOT("of large matrices", OF(131, 301), OF(301, 67), A_INTS(1), A_INTS(0), A_NONE, A_NONE,
        .dtypes = "f32", .flags = LARGE),

    CONV("plain", OF(2, 5, 6, 3), OF(3, 2, 3, 4), "N01C,01IO,N01C", A_INTS(1, 1), A_INTS(0, 0),
         A_INTS(0, 0), A_INTS(1, 1), A_INTS(1, 1), 1, 1),
    CONV("strided and padded", OF(2, 5, 6, 2), OF(3, 2, 2, 3), "N01C,01IO,N01C", A_INTS(2, 1),
         A_INTS(1, 0), A_INTS(2, 1), A_INTS(1, 1), A_INTS(1, 1), 1, 1),
    CONV("cut", OF(1, 6, 7, 2), OF(2, 2, 2, 2), "N01C,01IO,N01C", A_INTS(1, 2), A_INTS(-1, 1),
         A_INTS(0, -2), A_INTS(1, 1), A_INTS(1, 1), 1, 1, .dtypes = "f32 f64"),
    CONV("channels first", OF(2, 3, 5, 4), OF(4, 3, 2, 3), "NC01,OI01,NC01", A_INTS(1, 2),
         A_INTS(1, 1), A_INTS(1, 1), A_INTS(1, 1), A_INTS(1, 1), 1, 1, .dtypes = "f32 f64"),
    CONV("dilated", OF(1, 4, 3, 2), OF(2, 2, 2, 2), "N01C,01IO,N01C", A_INTS(1, 1), A_INTS(1, 2),
         A_INTS(1, 1), A_INTS(2, 3), A_INTS(2, 1), 1, 1, .dtypes = "f32 f64"),
    CONV("strided and dilated", OF(1, 6, 5, 2), OF(2, 2, 2, 3), "N01C,01IO,N01C", A_INTS(2, 3),
         A_INTS(2, 1), A_INTS(0, 3), A_INTS(1, 2), A_INTS(3, 2), 1, 1, .dtypes = "f32 f64"),
    CONV("in groups", OF(2, 4, 4), OF(2, 2, 6), "N0C,0IO,N0C", A_INTS(1), A_INTS(1), A_INTS(0),
         A_INTS(1), A_INTS(1), 2, 1),
    CONV("depthwise", OF(2, 4, 3, 3), OF(2, 2, 1, 6), "N01C,01IO,N01C", A_INTS(1, 1), A_INTS(0, 0),
         A_INTS(1, 1), A_INTS(1, 1), A_INTS(1, 1), 3, 1, .dtypes = "f32 f64"),
    CONV("in groups of the batch", OF(4, 5, 2), OF(2, 2, 6), "N0C,0IO,N0C", A_INTS(2), A_INTS(1),
         A_INTS(0), A_INTS(1), A_INTS(1), 1, 2, .dtypes = "f32 f64"),
    CONV("of one axis", OF(2, 7, 3), OF(3, 3, 2), "N0C,0IO,N0C", A_INTS(1), A_INTS(1), A_INTS(1),
         A_INTS(1), A_INTS(1), 1, 1),
    CONV("of three axes", OF(1, 3, 4, 3, 2), OF(2, 2, 2, 2, 2), "N012C,012IO,N012C",
         A_INTS(1, 2, 1), A_INTS(0, 1, 0), A_INTS(0, 0, 1), A_INTS(1, 1, 1), A_INTS(1, 1, 1), 1, 1,
         .dtypes = "f32 f64"),
    CONV("in mixed layouts", OF(3, 2, 5, 2), OF(2, 3, 2, 4), "C0N1,1IO0,10CN", A_INTS(1, 1),
         A_INTS(3, 1), A_INTS(0, 0), A_INTS(1, 1), A_INTS(1, 1), 1, 1, .dtypes = "f32 f64"),
    CONV("of nothing", OF(0, 5, 2), OF(2, 2, 3), "N0C,0IO,N0C", A_INTS(1), A_INTS(0), A_INTS(0),
         A_INTS(1), A_INTS(1), 1, 1, .dtypes = "f32 f64"),
    CONV("to nothing", OF(1, 1, 2), OF(3, 2, 3), "N0C,0IO,N0C", A_INTS(1), A_INTS(0), A_INTS(0),
         A_INTS(1), A_INTS(1), 1, 1, .dtypes = "f32 f64"),
    CONV("without channels", OF(1, 4, 0), OF(2, 0, 3), "N0C,0IO,N0C", A_INTS(1), A_INTS(0),
         A_INTS(0), A_INTS(1), A_INTS(1), 1, 1, .dtypes = "f32 f64"),
    CONV("as in images", OF(2, 9, 9, 4), OF(5, 5, 4, 9), "N01C,01IO,N01C", A_INTS(1, 1),
         A_INTS(2, 2), A_INTS(2, 2), A_INTS(1, 1), A_INTS(1, 1), 1, 1, .dtypes = "f32",
         .flags = LARGE),

    REDUCE("sum", "", OF(3, 4, 5), A_INTS(1), NUMBERS, 1),
    REDUCE("sum", " of rows", OF(37, 129), A_INTS(1), FEW, 1),
    REDUCE("sum", " of columns", OF(129, 37), A_INTS(0), FEW, 1),
    REDUCE("sum", " of all", OF(3, 4, 5), A_INTS(0, 1, 2), NUMBERS, 1),
    REDUCE("sum", " of ends", OF(3, 4, 5), A_INTS(2, 0), FEW, 1),
    REDUCE("sum", " along no axis", OF(3, 4), A_NONE, FEW, 1),
    REDUCE("sum", " of a scalar", SCALAR(VARIES, 0, 0), A_NONE, FEW, 1),
    REDUCE("sum", " of nothing", OF(3, 0), A_INTS(1), NUMBERS, 1),
    REDUCE("sum", " to nothing", OF(0, 3), A_INTS(1), FEW, 1),
    REDUCE("sum", " of many", OF(70001), A_INTS(0), "f32", 1, .flags = LARGE),
    REDUCE("sum", " of many rows", OF(301, 517), A_INTS(1), "f32", 1, .flags = LARGE),
    REDUCE("sum", " of many columns", OF(517, 301), A_INTS(0), "f32", 1, .flags = LARGE),
    REDUCE("prod", "", SHAPED(VARIES, 0.5, 1.5, 3, 4, 5), A_INTS(1), NUMBERS, 8),
    REDUCE("prod", " of all", SHAPED(VARIES, 0.5, 1.5, 3, 7), A_INTS(0, 1), FEW, 24),
    REDUCE("prod", " of nothing", OF(3, 0), A_INTS(1), NUMBERS, 1),
    REDUCE("max", "", OF(3, 4, 5), A_INTS(1), NUMBERS, 0, .flags = DISTINCT),
    REDUCE("max", " of rows", OF(7, 129), A_INTS(1), FEW, 0, .flags = DISTINCT),
    REDUCE("max", " of nothing", OF(3, 0), A_INTS(1), NUMBERS, 0, .flags = COARSE),
    REDUCE("min", "", OF(3, 4, 5), A_INTS(0, 2), NUMBERS, 0, .flags = DISTINCT),
    REDUCE("min", " of columns", OF(129, 7), A_INTS(0), FEW, 0, .flags = DISTINCT),
    REDUCE("min", " of nothing", OF(3, 0), A_INTS(1), NUMBERS, 0, .flags = COARSE),
    REDUCE("max", " with NaN", OF(8, 9), A_INTS(1), "f16 bf16 f32 f64", 0, .flags = SPRINKLED),
    REDUCE("min", " with NaN", OF(8, 9), A_INTS(0), "f16 bf16 f32 f64", 0, .flags = SPRINKLED),
    REDUCE("and", "", OF(3, 4), A_INTS(1), BITS, 0),
    REDUCE("and", " of nothing", OF(3, 0), A_INTS(1), BITS, 0),
    REDUCE("or", "", OF(3, 4), A_INTS(0), BITS, 0),
    REDUCE("or", " of nothing", OF(3, 0), A_INTS(1), BITS, 0),

    {.op = MICA_OP_argmax,
     .n_operands = 1,
     .operands = {OF(3, 5)},
     .attributes = {A_INT(1), A_DTYPE(i32)}},
    {.op = MICA_OP_argmax,
     .name = "first axis",
     .n_operands = 1,
     .operands = {OF(5, 3, 2)},
     .attributes = {A_INT(0), A_DTYPE(i64)},
     .dtypes = FEW},
    {.op = MICA_OP_argmax,
     .name = "with ties",
     .n_operands = 1,
     .operands = {SHAPED(VARIES, 1, 1, 4, 9)},
     .attributes = {A_INT(1), A_DTYPE(u8)},
     .dtypes = FEW},
    {.op = MICA_OP_argmax,
     .name = "of a long row",
     .n_operands = 1,
     .operands = {OF(2, 1031)},
     .attributes = {A_INT(1), A_DTYPE(i32)},
     .dtypes = FEW},
    {.op = MICA_OP_argmax,
     .name = "with NaN",
     .n_operands = 1,
     .operands = {OF(9, 8)},
     .attributes = {A_INT(1), A_DTYPE(i32)},
     .dtypes = "f16 bf16 f32 f64",
     .flags = SPRINKLED},
    {.op = MICA_OP_argmin,
     .name = "with NaN",
     .n_operands = 1,
     .operands = {OF(9, 8)},
     .attributes = {A_INT(0), A_DTYPE(i32)},
     .dtypes = "f16 bf16 f32 f64",
     .flags = SPRINKLED},
    {.op = MICA_OP_argmin,
     .n_operands = 1,
     .operands = {OF(3, 5)},
     .attributes = {A_INT(1), A_DTYPE(i32)}},
    {.op = MICA_OP_argmin,
     .name = "middle axis",
     .n_operands = 1,
     .operands = {OF(2, 5, 3)},
     .attributes = {A_INT(1), A_DTYPE(i16)},
     .dtypes = FEW},
    {.op = MICA_OP_argmin,
     .name = "to nothing",
     .n_operands = 1,
     .operands = {OF(0, 3)},
     .attributes = {A_INT(1), A_DTYPE(i32)},
     .dtypes = FEW},
};

const case_table contraction_cases = {cases, sizeof cases / sizeof *cases};
