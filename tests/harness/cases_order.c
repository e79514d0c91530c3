/* Cases of sort and top_k. */
#include "harness.h"

#define FLOATS "f16 bf16 f32 f64"
#define NUMBERS "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64"
#define REALS "bool " NUMBERS
#define FEW "i32 f32 f64"
/* Few values, so that many are equal. */
#define TIED(...) SHAPED(VARIES, 0, 3, __VA_ARGS__)
#define COUNTED(...) SHAPED(MICA_DTYPE_i32, 0, 1000, __VA_ARGS__)
#define TIED_BYTES(...) SHAPED(MICA_DTYPE_i8, 0, 2, __VA_ARGS__)

#define SORT(name_, axis, keys, descending, n, more, ...)                                          \
    {                                                                                              \
        .op = MICA_OP_sort, .name = name_, .n_operands = n, .operands = {__VA_ARGS__},             \
        .attributes = {A_INT(axis), A_INT(keys), A_INT(descending)}, more                          \
    }
#define TOP_K(name_, x, k, ...)                                                                    \
    {                                                                                              \
        .op = MICA_OP_top_k, .name = name_, .n_operands = 1, .operands = {x},                      \
        .attributes = {A_INT(k)}, __VA_ARGS__                                                      \
    }
#define MORE(...) __VA_ARGS__

static const op_case cases[] = {
    SORT("a row", 0, 1, 0, 1, MORE(.dtypes = REALS, .flags = DISTINCT), OF(7)),
    SORT("descending", 0, 1, 1, 1, MORE(.dtypes = REALS, .flags = DISTINCT), OF(7)),
    SORT("columns", 0, 1, 0, 1, MORE(.dtypes = REALS, .flags = DISTINCT), OF(5, 6)),
    SORT("middle axis", 1, 1, 1, 1, MORE(.dtypes = FEW, .flags = DISTINCT), OF(2, 5, 3)),
    SORT("of one", 1, 1, 0, 1, MORE(.dtypes = FEW), OF(3, 1)),
    SORT("of nothing", 1, 1, 0, 2, MORE(.dtypes = FEW), OF(3, 0), OF(3, 0)),
    SORT("no lines", 1, 1, 0, 2, MORE(.dtypes = FEW), OF(0, 4), OF(0, 4)),
    SORT("two operands", 1, 1, 0, 2, MORE(.flags = DISTINCT), OF(3, 6), OF(3, 6)),
    SORT("two operands, descending", 0, 1, 1, 2, MORE(.dtypes = FEW, .flags = DISTINCT), OF(6, 3),
         OF(6, 3)),
    SORT("two keys", 0, 2, 0, 3, MORE(.dtypes = FEW), TIED_BYTES(9), OF(9), OF(9)),
    SORT("two keys, descending", 1, 2, 1, 3, MORE(.dtypes = REALS, .flags = COARSE),
         TIED_BYTES(3, 9), TIED(3, 9), COUNTED(3, 9)),
    SORT("all keys", 1, 3, 0, 3, MORE(.dtypes = NUMBERS, .flags = COARSE), TIED(6, 40),
         TIED_BYTES(6, 40), COUNTED(6, 40)),
    SORT("stable", 0, 1, 0, 2, MORE(.dtypes = REALS, .flags = COARSE), TIED(50), COUNTED(50)),
    SORT("stable, descending", 1, 1, 1, 2, MORE(.dtypes = REALS, .flags = COARSE), TIED(2, 100),
         COUNTED(2, 100)),
    SORT("with NaN", 1, 1, 0, 1, MORE(.dtypes = FLOATS, .flags = SPRINKLED), TIED(3, 40)),
    SORT("with NaN, descending", 1, 1, 1, 1, MORE(.dtypes = FLOATS, .flags = SPRINKLED),
         TIED(20, 40)),
    SORT("with NaN and places", 0, 1, 0, 2, MORE(.dtypes = FLOATS, .flags = SPRINKLED), OF(60, 2),
         COUNTED(60, 2)),
    SORT("with NaN and places, descending", 0, 1, 1, 2, MORE(.dtypes = FLOATS, .flags = SPRINKLED),
         OF(60, 9), COUNTED(60, 9)),
    SORT("complex", 0, 1, 0, 2, MORE(.dtypes = "c64 c128", .flags = DISTINCT), OF(30), COUNTED(30)),
    SORT("complex, alone", 1, 1, 1, 1, MORE(.dtypes = "c64 c128", .flags = DISTINCT), OF(5, 12)),
    SORT("complex beside", 1, 1, 1, 2, MORE(.dtypes = "c64 c128"), TIED_BYTES(5, 12), OF(5, 12)),
    SORT("many short lines", 1, 1, 0, 1, MORE(.dtypes = REALS, .flags = LARGE | COARSE),
         OF(1001, 37)),
    SORT("many short columns", 0, 1, 1, 1, MORE(.dtypes = REALS, .flags = LARGE | COARSE),
         OF(130, 1001)),
    SORT("many short lines, two operands", 1, 1, 0, 2,
         MORE(.dtypes = REALS, .flags = LARGE | COARSE), TIED(501, 33), COUNTED(501, 33)),
    SORT("lines", 1, 1, 1, 1, MORE(.dtypes = REALS, .flags = LARGE | COARSE), OF(5, 3000)),
    SORT("lines, two keys", 1, 2, 0, 3, MORE(.dtypes = FEW, .flags = LARGE | COARSE),
         TIED_BYTES(5, 3000), OF(5, 3000), COUNTED(5, 3000)),
    SORT("a long line", 0, 1, 0, 1, MORE(.dtypes = REALS, .flags = LARGE | COARSE), OF(150001)),
    SORT("a long line with NaN", 0, 1, 1, 1, MORE(.dtypes = FLOATS, .flags = LARGE | SPRINKLED),
         OF(70001)),
    SORT("a long line, two operands", 0, 1, 0, 2, MORE(.dtypes = FEW, .flags = LARGE | COARSE),
         OF(150001), COUNTED(150001)),
    SORT("long columns", 0, 2, 1, 3, MORE(.dtypes = FEW, .flags = LARGE | COARSE),
         TIED_BYTES(70001, 2), OF(70001, 2), COUNTED(70001, 2)),

    TOP_K(NULL, OF(3, 6), 2, .flags = DISTINCT),
    TOP_K("of a row", OF(9), 4, .dtypes = FEW, .flags = DISTINCT),
    TOP_K("none", OF(3, 6), 0, .dtypes = FEW, .flags = DISTINCT),
    TOP_K("all", OF(2, 2, 6), 6, .flags = DISTINCT),
    TOP_K("of nothing", OF(2, 0), 0, .dtypes = FEW),
    TOP_K("no lines", OF(0, 4), 2, .dtypes = FEW),
    TOP_K("with ties", TIED(3, 50), 20, .flags = COARSE),
    TOP_K("with NaN", TIED(7, 50), 20, .dtypes = FLOATS, .flags = SPRINKLED),
    TOP_K("of many lines", OF(700, 90), 7, .flags = LARGE | COARSE),
    TOP_K("of many lines, with ties", TIED(60, 2000), 70, .flags = LARGE | COARSE),
    TOP_K("of a long line", OF(150001), 100, .dtypes = FEW, .flags = LARGE | COARSE),
    TOP_K("of long lines, with ties", TIED(2, 150001), 3000, .dtypes = FEW,
          .flags = LARGE | COARSE),
    TOP_K("most of a long line", OF(70001), 60000, .dtypes = FEW, .flags = LARGE | COARSE),
};

const case_table order_cases = {cases, sizeof cases / sizeof *cases};
