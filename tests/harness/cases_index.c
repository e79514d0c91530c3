/* Cases of gather and scatter. Indices reach beyond the array on both sides. */
#include "harness.h"

#define NUMBERS "i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64"
#define NUMBERS_COMPLEX NUMBERS " c64 c128"
#define FLOATS "f16 bf16 f32 f64"
#define INDICES(dtype, ...) SHAPED(MICA_DTYPE_##dtype, -2, 7, __VA_ARGS__)
#define UNSIGNED(dtype, ...) SHAPED(MICA_DTYPE_##dtype, 0, 9, __VA_ARGS__)

/* Rows of a matrix: the embedding. */
#define ROWS_OF A_INTS(1), A_INTS(0), A_NONE, A_NONE, A_INTS(0), A_INT(1)
#define ELEMENTS_OF A_NONE, A_INTS(0), A_NONE, A_NONE, A_INTS(0), A_INT(1)
/* Blocks of a matrix, which overlap; the index vectors name its axes the other way round. */
#define BLOCKS_OF A_INTS(1, 2), A_NONE, A_NONE, A_NONE, A_INTS(1, 0), A_INT(1)
/* The same with the windows' axes around the positions and the vectors first. */
#define AROUND_OF A_INTS(0, 2), A_NONE, A_NONE, A_NONE, A_INTS(0, 1), A_INT(0)
/* Rows of every matrix of a batch. */
#define BATCH_OF A_INTS(2), A_INTS(1), A_INTS(0), A_INTS(0), A_INTS(1), A_INT(2)
/* One element of each row, several times, positions and batch in another order. */
#define ALONG_OF A_NONE, A_INTS(1), A_INTS(0), A_INTS(1), A_INTS(1), A_INT(2)
/* Two batch axes, crossed. */
#define CROSSED_OF A_INTS(3), A_INTS(1), A_INTS(0, 2), A_INTS(2, 0), A_INTS(1), A_INT(3)

#define SCATTER(title, names, more, kind_, x, i, u, dims, mode_)                                   \
    {                                                                                              \
        .op = MICA_OP_scatter, .name = kind_ " " title, .n_operands = 3, .operands = {x, i, u},    \
        .attributes = {A_STRING(kind_), dims, A_STRING(mode_)}, .dtypes = names, .flags = more     \
    }
#define SCATTERS(kind, names, flags)                                                               \
    SCATTER("rows", names, flags, kind, OF(5, 3), INDICES(i32, 6), OF(6, 3), ROWS_OF, "clip"),     \
        SCATTER("rows inside", names, flags, kind, OF(5, 3), INDICES(i64, 6), OF(6, 3), ROWS_OF,   \
                "fill"),                                                                           \
        SCATTER("blocks", names, flags, kind, OF(5, 7), INDICES(i8, 3, 2), OF(3, 2, 3), BLOCKS_OF, \
                "clip"),                                                                           \
        SCATTER("blocks around", names, flags, kind, OF(5, 7), INDICES(i16, 2, 3), OF(2, 3, 3),    \
                AROUND_OF, "fill"),                                                                \
        SCATTER("of a batch", names, flags, kind, OF(2, 4, 2), UNSIGNED(u16, 2, 3, 1),             \
                OF(2, 3, 2), BATCH_OF, "clip"),                                                    \
        SCATTER("along an axis", names, flags, kind, OF(3, 5), UNSIGNED(u8, 4, 3), OF(4, 3),       \
                ALONG_OF, "clip"),                                                                 \
        SCATTER("of crossed batches", names, flags, kind, OF(2, 4, 3, 2),                          \
                INDICES(i32, 3, 2, 2, 1), OF(3, 2, 2, 2), CROSSED_OF, "fill"),                     \
        SCATTER("of many rows", names, flags, kind, OF(5, 3), INDICES(i32, 300), OF(300, 3),       \
                ROWS_OF, "fill"),                                                                  \
        SCATTER("of nothing", names, flags, kind, OF(5, 3), INDICES(i32, 0), OF(0, 3), ROWS_OF,    \
                "clip")

static const op_case cases[] = {
    {.op = MICA_OP_gather,
     .name = "rows",
     .n_operands = 2,
     .operands = {OF(5, 3), INDICES(i32, 4)},
     .attributes = {ROWS_OF, A_INTS(1, 3), A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "rows inside",
     .n_operands = 2,
     .operands = {OF(5, 3), INDICES(i64, 6)},
     .attributes = {ROWS_OF, A_INTS(1, 3), A_STRING("fill")}},
    {.op = MICA_OP_gather,
     .name = "blocks",
     .n_operands = 2,
     .operands = {OF(5, 7), INDICES(i8, 3, 2)},
     .attributes = {BLOCKS_OF, A_INTS(2, 3), A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "blocks around",
     .n_operands = 2,
     .operands = {OF(5, 7), INDICES(i16, 2, 3)},
     .attributes = {AROUND_OF, A_INTS(2, 3), A_STRING("fill")}},
    {.op = MICA_OP_gather,
     .name = "of a batch",
     .n_operands = 2,
     .operands = {OF(3, 5, 2), UNSIGNED(u16, 3, 4, 1)},
     .attributes = {BATCH_OF, A_INTS(1, 1, 2), A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "along an axis",
     .n_operands = 2,
     .operands = {OF(3, 5), UNSIGNED(u8, 4, 3)},
     .attributes = {ALONG_OF, A_INTS(1, 1), A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "of crossed batches",
     .n_operands = 2,
     .operands = {OF(2, 4, 3, 2), INDICES(i32, 3, 2, 2, 1)},
     .attributes = {CROSSED_OF, A_INTS(1, 1, 1, 2), A_STRING("fill")}},
    {.op = MICA_OP_gather,
     .name = "one row",
     .n_operands = 2,
     .operands = {OF(5, 3), SCALAR(MICA_DTYPE_u32, 0, 9)},
     .attributes = {A_INTS(0), A_INTS(0), A_NONE, A_NONE, A_INTS(0), A_INT(0), A_INTS(1, 3),
                    A_STRING("fill")}},
    {.op = MICA_OP_gather,
     .name = "by u64",
     .n_operands = 2,
     .operands = {OF(5), SHAPED(MICA_DTYPE_u64, 0, 0, 3)},
     .attributes = {A_NONE, A_INTS(0), A_NONE, A_NONE, A_INTS(0), A_INT(1), A_INTS(1),
                    A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "elements, or zeros",
     .n_operands = 2,
     .operands = {OF(7), SHAPED(MICA_DTYPE_i32, -3, 9, 40)},
     .attributes = {ELEMENTS_OF, A_INTS(1), A_STRING("fill")}},
    {.op = MICA_OP_gather,
     .name = "the nearest elements",
     .n_operands = 2,
     .operands = {OF(7), SHAPED(MICA_DTYPE_i64, -3, 9, 40)},
     .attributes = {ELEMENTS_OF, A_INTS(1), A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "by empty vectors",
     .n_operands = 2,
     .operands = {OF(3), INDICES(i32, 4, 0)},
     .attributes = {A_INTS(1), A_NONE, A_NONE, A_NONE, A_NONE, A_INT(1), A_INTS(2),
                    A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "at nothing",
     .n_operands = 2,
     .operands = {OF(5, 3), INDICES(i32, 0)},
     .attributes = {ROWS_OF, A_INTS(1, 3), A_STRING("clip")}},
    {.op = MICA_OP_gather,
     .name = "of nothing",
     .n_operands = 2,
     .operands = {OF(0, 3), INDICES(i32, 4, 1)},
     .attributes = {A_INTS(1, 2), A_NONE, A_NONE, A_NONE, A_INTS(0), A_INT(1), A_INTS(0, 3),
                    A_STRING("fill")}},
    {.op = MICA_OP_gather,
     .name = "many rows",
     .n_operands = 2,
     .operands = {OF(40, 60), SHAPED(MICA_DTYPE_i32, -2, 42, 700)},
     .attributes = {ROWS_OF, A_INTS(1, 60), A_STRING("fill")},
     .dtypes = "f32 f64 i8"},
    {.op = MICA_OP_gather,
     .name = "many columns",
     .n_operands = 2,
     .operands = {OF(60, 40), SHAPED(MICA_DTYPE_i32, -2, 42, 700)},
     .attributes = {A_INTS(0), A_INTS(1), A_NONE, A_NONE, A_INTS(1), A_INT(1), A_INTS(60, 1),
                    A_STRING("clip")},
     .dtypes = "f32 f64 bf16"},

    SCATTERS("set", NULL, 0),
    SCATTERS("add", NUMBERS_COMPLEX, 0),
    SCATTERS("mul", NUMBERS_COMPLEX, 0),
    SCATTERS("min", NUMBERS, DISTINCT),
    SCATTERS("max", NUMBERS, DISTINCT),
    SCATTER("add with NaN", FLOATS, SPRINKLED, "add", OF(5, 3), INDICES(i32, 4, 1), OF(4, 3),
            ROWS_OF, "clip"),
    SCATTER("mul with NaN", FLOATS, SPRINKLED, "mul", OF(5, 3), INDICES(i32, 4, 1), OF(4, 3),
            ROWS_OF, "clip"),
    SCATTER("min with NaN", FLOATS, SPRINKLED, "min", OF(5, 3), INDICES(i32, 9, 1), OF(9, 3),
            ROWS_OF, "clip"),
    SCATTER("max with NaN", FLOATS, SPRINKLED, "max", OF(5, 3), INDICES(i32, 9, 1), OF(9, 3),
            ROWS_OF, "fill"),
    SCATTER("many rows", "f32 f64 i8 bf16", 0, "add", OF(40, 60),
            SHAPED(MICA_DTYPE_i32, -2, 42, 700), OF(700, 60), ROWS_OF, "fill"),
    SCATTER("many", "f32 f64 u8 c128", 0, "set", OF(5000), SHAPED(MICA_DTYPE_i32, -2, 5002, 40000),
            OF(40000), ELEMENTS_OF, "fill"),
};

const case_table index_cases = {cases, sizeof cases / sizeof *cases};
