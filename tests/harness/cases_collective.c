/* Cases of collectives that move parts between participants. Under vmap over "batch" there are
 * three; `expected` says the same with the axis in front. */
#include "harness.h"

/* Each participant makes something of its own of what it is given. */
static void output_own(mica_graph *g, mica_value given, mica_dtype dtype) {
    mica_value place = mica_convert(g, mica_axis_index(g, "batch"), dtype);
    mica_output(g, given);
    mica_output(g, mica_mul(g, given, place));
}

static void expect_own(mica_graph *g, mica_value given, mica_dtype dtype) {
    const mica_type *type = mica_value_type(given);
    if (!type) return;
    mica_ints shape = {type->dims, type->rank};
    mica_output(g, given);
    mica_output(g, mica_mul(g, given, mica_iota(g, shape, 0, dtype)));
}

static mica_value to_each(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    int64_t shape[MICA_MAX_RANK] = {3};
    if (!type) return x;
    for (int32_t i = 0; i < type->rank; i++) shape[i + 1] = type->dims[i];
    return mica_broadcast_to(g, x, (mica_ints){shape, type->rank + 1});
}

static void build_gather_rows(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    output_own(g, mica_all_gather(g, operands[0], "batch", 3, 0), dtype);
}
static void expect_gather_rows(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    expect_own(g, to_each(g, mica_reshape(g, operands[0], MICA_INTS(6, 2))), dtype);
}

static void build_gather_columns(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    output_own(g, mica_all_gather(g, operands[0], "batch", 3, 1), dtype);
}
static void expect_gather_columns(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_value rows = mica_transpose(g, operands[0], MICA_INTS(1, 0, 2));
    expect_own(g, to_each(g, mica_reshape(g, rows, MICA_INTS(2, 6))), dtype);
}

static void scatter_rows(mica_graph *g, mica_value x, mica_dtype dtype, const char *kind) {
    output_own(g, mica_reduce_scatter(g, x, kind, "batch", 3, 0), dtype);
}
static void expect_rows(mica_graph *g, mica_value x, mica_dtype dtype, const char *kind) {
    mica_value total = mica_reduce(g, x, kind, MICA_INTS(0));
    expect_own(g, mica_reshape(g, total, MICA_INTS(3, 2, 2)), dtype);
}
#define SCATTER_ROWS(kind)                                                                         \
    static void build_scatter_##kind(mica_graph *g, const mica_value *operands,                    \
                                     mica_dtype dtype) {                                           \
        scatter_rows(g, operands[0], dtype, #kind);                                                \
    }                                                                                              \
    static void expect_scatter_##kind(mica_graph *g, const mica_value *operands,                   \
                                      mica_dtype dtype) {                                          \
        expect_rows(g, operands[0], dtype, #kind);                                                 \
    }
SCATTER_ROWS(sum)
SCATTER_ROWS(max)
SCATTER_ROWS(min)

static void build_scatter_columns(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    output_own(g, mica_reduce_scatter(g, operands[0], "sum", "batch", 3, 1), dtype);
}
static void expect_scatter_columns(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_value total = mica_reduce(g, operands[0], "sum", MICA_INTS(0));
    total = mica_reshape(g, total, MICA_INTS(2, 3, 1));
    expect_own(g, mica_transpose(g, total, MICA_INTS(1, 0, 2)), dtype);
}

static mica_value of_participant(mica_graph *g, mica_value x, int64_t i) {
    return mica_slice(g, x, MICA_INTS(i, 0), MICA_INTS(i + 1, 2), MICA_INTS(1, 1));
}

/* 0 is heard by 2, 2 by 1, nobody by 0. */
static void build_permute(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    output_own(g, mica_permute(g, operands[0], "batch", 3, MICA_INTS(0, 2), MICA_INTS(2, 1)),
               dtype);
}
static void expect_permute(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_value zeros = mica_zeros_like(g, of_participant(g, operands[0], 0));
    mica_value parts[] = {zeros, of_participant(g, operands[0], 2),
                          of_participant(g, operands[0], 0)};
    expect_own(g, mica_concat(g, parts, 3, 0), dtype);
}

static void build_rotate(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    output_own(g, mica_permute(g, operands[0], "batch", 3, MICA_INTS(0, 1, 2), MICA_INTS(1, 2, 0)),
               dtype);
}
static void expect_rotate(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_value parts[] = {of_participant(g, operands[0], 2), of_participant(g, operands[0], 0),
                          of_participant(g, operands[0], 1)};
    expect_own(g, mica_concat(g, parts, 3, 0), dtype);
}

static void build_broadcast(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    output_own(g, mica_broadcast_from(g, operands[0], "batch", 3, 1), dtype);
}
static void expect_broadcast(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_value own = mica_reshape(g, of_participant(g, operands[0], 1), MICA_INTS(2));
    expect_own(g, to_each(g, own), dtype);
}

#define COLLECTIVE(op_, name_, x, which, more)                                                     \
    {                                                                                              \
        .op = MICA_OP_##op_, .name = name_, .n_operands = 1, .operands = {x},                      \
        .build = build_##which, .expected = expect_##which, .dtypes = "i32 f32 f64",               \
        .flags = NAMED_AXIS | (more)                                                               \
    }
static const op_case cases[] = {
    COLLECTIVE(all_gather, "rows", OF(2, 2), gather_rows, 0),
    COLLECTIVE(all_gather, "columns", OF(2, 2), gather_columns, 0),
    COLLECTIVE(reduce_scatter, "sum", OF(6, 2), scatter_sum, 0),
    COLLECTIVE(reduce_scatter, "max", OF(6, 2), scatter_max, DISTINCT),
    COLLECTIVE(reduce_scatter, "min", OF(6, 2), scatter_min, DISTINCT),
    COLLECTIVE(reduce_scatter, "sum of columns", OF(2, 3), scatter_columns, 0),
    COLLECTIVE(permute, "some", OF(2), permute, 0),
    COLLECTIVE(permute, "a rotation", OF(2), rotate, 0),
    COLLECTIVE(broadcast_from, NULL, OF(2), broadcast, 0),
};

const case_table collective_cases = {cases, sizeof cases / sizeof *cases};
