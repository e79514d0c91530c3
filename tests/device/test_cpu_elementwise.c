/* Elementwise kernels against the scalar functions, one element at a time. */
#include "cpu_test.h"

static const mica_dtype reals[] = {MICA_DTYPE_bool, MICA_DTYPE_i8,  MICA_DTYPE_i16,  MICA_DTYPE_i32,
                                   MICA_DTYPE_i64,  MICA_DTYPE_u8,  MICA_DTYPE_u16,  MICA_DTYPE_u32,
                                   MICA_DTYPE_u64,  MICA_DTYPE_f16, MICA_DTYPE_bf16, MICA_DTYPE_f32,
                                   MICA_DTYPE_f64};
#define N_REALS (sizeof reals / sizeof *reals)

/* Expected values of MAP rows, from ops.def's expressions in the types that are exact for them. */
#define MAP_ROW(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(name, dtypes, expression)
#define ROW_MAP(name, dtypes, expression) ROW_##dtypes(name, expression)
#define ROW_ELEMENTWISE(...)
#define ROW_SHAPE(...)
#define ROW_CONTRACTION(...)
#define ROW_REDUCTION(...)
#define ROW_RANDOM(...)
#define ROW_SEVERAL(...)
#define ROW_CONTROL(...)
#define ROW_COLLECTIVE(...)
#define ROW_HOST(...)
#define CASE(name, expression)                                                                     \
    case MICA_OP_##name:                                                                           \
        return expression;
#define MICA_OP MAP_ROW

#define ROW_FLOATS CASE
#define ROW_NUMBERS CASE
#define ROW_FLOATS_COMPLEX CASE
#define ROW_NUMBERS_COMPLEX CASE
#define ROW_BITS(name, expression)
#define ROW_INTEGERS(name, expression)
#define M(f) mica_##f##_f32
static float expected_f32(mica_op op, float a, float b, float c) {
    switch (op) {
#include "mica/ops.def"
    default: return 0;
    }
}
#undef M
#define M(f) mica_##f##_f64
static double expected_f64(mica_op op, double a, double b, double c) {
    switch (op) {
#include "mica/ops.def"
    default: return 0;
    }
}
#undef M
#undef ROW_FLOATS
#undef ROW_FLOATS_COMPLEX
#undef ROW_BITS
#undef ROW_INTEGERS
#define ROW_FLOATS(name, expression)
#define ROW_FLOATS_COMPLEX(name, expression)
#define ROW_BITS CASE
#define ROW_INTEGERS CASE
#define INTEGER(dtype, type) static type expected_##dtype(mica_op op, type a, type b, type c)
#define M(f) mica_##f##_i8
INTEGER(i8, int8_t) {
    switch (op) {
#include "mica/ops.def"
    default: return 0;
    }
}
#undef M
#define M(f) mica_##f##_u16
INTEGER(u16, uint16_t) {
    switch (op) {
#include "mica/ops.def"
    default: return 0;
    }
}
#undef M
#define M(f) mica_##f##_i32
INTEGER(i32, int32_t) {
    switch (op) {
#include "mica/ops.def"
    default: return 0;
    }
}
#undef M
#define M(f) mica_##f##_i64
INTEGER(i64, int64_t) {
    switch (op) {
#include "mica/ops.def"
    default: return 0;
    }
}
#undef M
#undef MICA_OP

static bool same_float(double a, double b) {
    return a == b || (a != a && b != b);
}

/* true when the dtype is one that is checked here by value. */
static bool check_value(mica_op op, mica_dtype dtype, void *const *x, const void *y, int64_t i) {
#define ARGUMENT(type, k) (x[k] ? ((type *)x[k])[i] : (type)0)
#define EXPECT_INT(dtype, type)                                                                    \
    case MICA_DTYPE_##dtype:                                                                       \
        return ((const type *)y)[i] ==                                                             \
               expected_##dtype(op, ARGUMENT(type, 0), ARGUMENT(type, 1), ARGUMENT(type, 2));
#define EXPECT_HALF(dtype)                                                                         \
    case MICA_DTYPE_##dtype: {                                                                     \
        float value = expected_f32(op, mica_convert_##dtype##_f32(ARGUMENT(uint16_t, 0)),          \
                                   mica_convert_##dtype##_f32(ARGUMENT(uint16_t, 1)),              \
                                   mica_convert_##dtype##_f32(ARGUMENT(uint16_t, 2)));             \
        return same_float(mica_convert_##dtype##_f32(((const uint16_t *)y)[i]),                    \
                          mica_convert_##dtype##_f32(mica_convert_f32_##dtype(value)));            \
    }
    switch (dtype) {
        EXPECT_INT(i8, int8_t)
        EXPECT_INT(u16, uint16_t)
        EXPECT_INT(i32, int32_t)
        EXPECT_INT(i64, int64_t)
        EXPECT_HALF(f16)
        EXPECT_HALF(bf16)
    case MICA_DTYPE_f32:
        return same_float(
            ((const float *)y)[i],
            expected_f32(op, ARGUMENT(float, 0), ARGUMENT(float, 1), ARGUMENT(float, 2)));
    case MICA_DTYPE_f64:
        return same_float(
            ((const double *)y)[i],
            expected_f64(op, ARGUMENT(double, 0), ARGUMENT(double, 1), ARGUMENT(double, 2)));
    default: return true;
    }
}

static mica_value build_map(mica_graph *g, mica_op op, const mica_value *x, int32_t n) {
    mica_node *node = mica_node_create(g, op, x, n, NULL, NULL, 0);
    return node ? mica_node_result(node, 0) : MICA_NULL_VALUE;
}

static void check_map(mica_op op, mica_dtype dtype, int64_t n) {
    const mica_op_info *row = mica_op_describe(op);
    mica_graph *g = new_graph();
    mica_type type = mica_type_make(dtype, MICA_INTS(n));
    mica_value operands[3];
    void *x[3] = {NULL, NULL, NULL};
    for (int32_t i = 0; i < row->arity; i++) {
        operands[i] = mica_parameter(g, &type);
        x[i] = random_array(&type);
        if (mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT && n > 8) {
            static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -3.5, 100};
            for (int k = 0; k < 8; k++) set_element(x[i], dtype, (k * 3 + i) % n, special[k]);
        }
        if (mica_dtype_kind_of(dtype) == MICA_KIND_SIGNED && n > 4) { /* min / -1, x / 0 */
            set_element(x[i], dtype, 0, i ? -1 : -1e30);
            set_element(x[i], dtype, 1, i ? 0 : 7);
        }
    }
    void *y = run_everywhere(build_map(g, op, operands, row->arity), (const void *const *)x);
    for (int64_t i = 0; y && i < n; i++) {
        test_checks++;
        if (!check_value(op, dtype, x, y, i)) {
            test_report(__FILE__, __LINE__, "%s %s: element %lld of %lld is %.9g", row->name,
                        mica_dtype_name(dtype), (long long)i, (long long)n,
                        get_element(y, dtype, i));
            break;
        }
    }
    free(y);
    for (int32_t i = 0; i < 3; i++) free(x[i]);
    mica_graph_release(g);
}

TEST(every_map_row_gives_what_its_expression_says_for_every_dtype) {
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        const mica_op_info *row = mica_op_describe((mica_op)op);
        if (strcmp(row->op_class, "MAP")) continue;
        for (size_t d = 0; d < N_REALS; d++)
            if (mica_op_takes((mica_op)op, reals[d])) check_map((mica_op)op, reals[d], 71);
    }
}

TEST(map_rows_work_on_empty_scalar_and_large_arrays) {
    static const int64_t sizes[] = {0, 1, 2, 1023, 140003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_map(MICA_OP_add, MICA_DTYPE_f32, sizes[i]);
        check_map(MICA_OP_tanh, MICA_DTYPE_f16, sizes[i] > 9000 ? 9001 : sizes[i]);
        check_map(MICA_OP_clamp, MICA_DTYPE_i8, sizes[i]);
    }
}

/* Pieces without far arguments take another loop. */
TEST(trigonometry_of_near_and_far_arguments_has_the_same_bits) {
    static const mica_op ops[] = {MICA_OP_sin, MICA_OP_cos, MICA_OP_tan};
    static const mica_dtype dtypes[] = {MICA_DTYPE_f32, MICA_DTYPE_f64, MICA_DTYPE_bf16};
    for (int i = 0; i < 9; i++) {
        check_map(ops[i / 3], dtypes[i % 3], 8);
        check_map(ops[i / 3], dtypes[i % 3], 9001);
    }
}

TEST(compare_knows_its_six_directions_and_nan) {
    static const char *const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    for (size_t d = 0; d < N_REALS; d++)
        for (int k = 0; k < 6; k++) {
            mica_graph *g = new_graph();
            mica_type type = mica_type_make(reals[d], MICA_INTS(5, 11));
            mica_value a = mica_parameter(g, &type), b = mica_parameter(g, &type);
            void *x[2] = {random_array(&type), random_array(&type)};
            for (int64_t i = 0; i < 20; i++)
                set_element(x[1], reals[d], i, get_element(x[0], reals[d], i));
            if (dtype_epsilon(reals[d]) > 0)
                for (int64_t i = 15; i < 30; i++) set_element(x[i & 1], reals[d], i, NAN);
            uint8_t *y =
                run_everywhere(mica_compare(g, a, b, directions[k]), (const void *const *)x);
            for (int64_t i = 0; y && i < 55; i++) {
                double p = get_element(x[0], reals[d], i), q = get_element(x[1], reals[d], i);
                bool results[] = {p == q, p != q, p<q, p <= q, p> q, p >= q};
                CHECK(y[i] == results[k]);
            }
            free(y);
            free(x[0]);
            free(x[1]);
            mica_graph_release(g);
        }
}

TEST(complex_numbers_are_equal_or_not) {
    mica_graph *g = new_graph();
    mica_value a = new_parameter(g, MICA_DTYPE_c64, MICA_INTS(3));
    mica_value b = new_parameter(g, MICA_DTYPE_c64, MICA_INTS(3));
    float p[] = {1, 2, 3, 4, 5, 6}, q[] = {1, 2, 3, 5, 4, 6};
    const void *x[] = {p, q};
    uint8_t *eq = run_everywhere(mica_compare(g, a, b, "eq"), x);
    uint8_t *ne = run_everywhere(mica_compare(g, a, b, "ne"), x);
    REQUIRE(eq && ne);
    CHECK(eq[0] == 1 && eq[1] == 0 && eq[2] == 0);
    CHECK(ne[0] == 0 && ne[1] == 1 && ne[2] == 1);
    free(eq);
    free(ne);
    mica_graph_release(g);
}

/* run_everywhere compares the instruction sets: no products and sums are fused on some. */
TEST(complex_functions_have_the_same_bits_on_every_instruction_set) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_c64, MICA_DTYPE_c128};
    for (int op = 0; op < MICA_OP_COUNT; op++)
        for (int d = 0; d < 2; d++) {
            const mica_op_info *row = mica_op_describe((mica_op)op);
            if (!row->expression || !mica_op_takes((mica_op)op, dtypes[d])) continue;
            mica_graph *g = new_graph();
            mica_type type = mica_type_make(dtypes[d], MICA_INTS(131));
            mica_value operands[2] = {mica_parameter(g, &type), mica_parameter(g, &type)};
            void *x[2] = {random_array(&type), random_array(&type)};
            free(run_everywhere(mica_build(g, (mica_op)op, operands, row->arity, NULL),
                                (const void *const *)x));
            free(x[0]);
            free(x[1]);
            mica_graph_release(g);
        }
}

TEST(select_moves_elements_of_every_size) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_bool, MICA_DTYPE_f16, MICA_DTYPE_i32,
                                        MICA_DTYPE_f64,  MICA_DTYPE_c64, MICA_DTYPE_c128};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        mica_graph *g = new_graph();
        mica_type bools = mica_type_make(MICA_DTYPE_bool, MICA_INTS(7, 9));
        mica_type type = mica_type_make(dtypes[d], MICA_INTS(7, 9));
        mica_value p = mica_parameter(g, &bools);
        mica_value a = mica_parameter(g, &type), b = mica_parameter(g, &type);
        void *x[3] = {random_array(&bools), random_array(&type), random_array(&type)};
        char *y = run_everywhere(mica_select(g, p, a, b), (const void *const *)x);
        size_t bytes = mica_dtype_bytes(dtypes[d]);
        for (size_t i = 0; y && i < 63; i++) {
            const char *from = ((uint8_t *)x[0])[i] ? x[1] : x[2];
            CHECK(!memcmp(y + i * bytes, from + i * bytes, bytes));
        }
        free(y);
        for (int i = 0; i < 3; i++) free(x[i]);
        mica_graph_release(g);
    }
}

TEST(is_finite_says_no_to_infinities_and_nan) {
    for (mica_dtype d = MICA_DTYPE_f16; d <= MICA_DTYPE_f64; d++) {
        static const double values[] = {0, -1, INFINITY, -INFINITY, NAN, 60000, -0.0};
        mica_graph *g = new_graph();
        mica_value a = new_parameter(g, d, MICA_INTS(7));
        double storage[8];
        for (int i = 0; i < 7; i++) set_element(storage, d, i, values[i]);
        const void *x[] = {storage};
        uint8_t *y = run_everywhere(mica_is_finite(g, a), x);
        for (int i = 0; y && i < 7; i++) CHECK(y[i] == (isfinite(values[i]) != 0));
        free(y);
        mica_graph_release(g);
    }
}

TEST(convert_goes_from_every_real_dtype_to_every_other) {
    static const double values[] = {0,    -0.0,  1,        -1,        0.5, -0.5,     1.5,
                                    2.5,  127,   128,      -129,      255, 256,      -1.99,
                                    1e5,  65504, 3e9,      -3e9,      5e9, 1e10,     1e19,
                                    2e19, -1e19, INFINITY, -INFINITY, NAN, 16777217, 1e-8};
    enum { N = sizeof values / sizeof *values };
    for (size_t f = 0; f < N_REALS; f++)
        for (size_t t = 0; t < N_REALS; t++) {
            mica_graph *g = new_graph();
            mica_value a = new_parameter(g, reals[f], MICA_INTS(N));
            double storage[N];
            memset(storage, 0, sizeof storage);
            for (int i = 0; i < N; i++) set_element(storage, reals[f], i, values[i]);
            const void *x[] = {storage};
            void *y = run_everywhere(mica_convert(g, a, reals[t]), x);
            mica_dtype_kind from = mica_dtype_kind_of(reals[f]), to = mica_dtype_kind_of(reals[t]);
            for (int i = 0; y && i < N; i++) {
                double value = get_element(storage, reals[f], i), want[2] = {0};
                bool wraps = from != MICA_KIND_FLOAT && to != MICA_KIND_FLOAT;
                if (wraps && to != MICA_KIND_BOOLEAN) { /* the low bits */
                    int64_t low = reals[f] == MICA_DTYPE_u64   ? (int64_t)((uint64_t *)storage)[i]
                                  : reals[f] == MICA_DTYPE_i64 ? ((int64_t *)storage)[i]
                                                               : (int64_t)value;
                    CHECK(!memcmp((char *)y + i * (int)mica_dtype_bytes(reals[t]), &low,
                                  mica_dtype_bytes(reals[t])));
                    continue;
                }
                set_element(want, reals[t], 0, value);
                double got = get_element(y, reals[t], i), wanted = get_element(want, reals[t], 0);
                test_checks++;
                /* A 64-bit integer has more bits than the double it goes through here. */
                double slack = fabs(value) > 9e15 && from != MICA_KIND_FLOAT
                                   ? fabs(value) * dtype_epsilon(reals[t])
                                   : 0;
                if (!same_float(got, wanted) && !(fabs(got - wanted) <= slack))
                    test_report(__FILE__, __LINE__, "%s to %s: %.17g gives %.17g, not %.17g",
                                mica_dtype_name(reals[f]), mica_dtype_name(reals[t]), value, got,
                                wanted);
            }
            free(y);
            mica_graph_release(g);
        }
}
