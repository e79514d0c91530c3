/* Reductions, argmax and random bits against plain loops. */
#include "cpu_test.h"

static const char *const kinds[] = {"sum", "prod", "max", "min", "and", "or"};

/* Reduces x over the axes in `set` in double or, for bits, in uint64; fills out[result elements].
 */
static void plain_reduce(const mica_type *type, const void *x, uint32_t set, int kind, double *out,
                         uint64_t *bits, int64_t n_out) {
    static const double start[] = {0, 1, -INFINITY, INFINITY, 0, 0};
    for (int64_t i = 0; i < n_out; i++) out[i] = start[kind], bits[i] = kind == 4 ? ~0ull : 0;
    for (int64_t i = 0; i < mica_type_elements(type); i++) {
        int64_t rest = i, place = 0, stride = 1;
        for (int32_t d = type->rank - 1; d >= 0; d--) {
            int64_t digit = rest % type->dims[d];
            rest /= type->dims[d];
            if (set >> d & 1) continue;
            place += digit * stride;
            stride *= type->dims[d];
        }
        double value = get_element(x, type->dtype, i);
        if (kind == 0) out[place] += value;
        if (kind == 1) out[place] *= value;
        if (kind == 2) out[place] = value > out[place] ? value : out[place];
        if (kind == 3) out[place] = value < out[place] ? value : out[place];
        if (kind == 4) bits[place] &= (uint64_t)(int64_t)value;
        if (kind == 5) bits[place] |= (uint64_t)(int64_t)value;
    }
}

static bool takes(int kind, mica_dtype dtype) {
    if (kind >= 4) return dtype < MICA_DTYPE_f16;
    return dtype != MICA_DTYPE_bool;
}

static void check_reduce(mica_dtype dtype, mica_ints dims, uint32_t set, int kind) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, dims);
    int64_t axes[MICA_MAX_RANK];
    int32_t n_axes = 0;
    for (int32_t d = 0; d < dims.n; d++)
        if (set >> d & 1) axes[n_axes++] = d;
    mica_value y = mica_reduce(g, x, kinds[kind], (mica_ints){axes, n_axes});
    void *data = random_array(mica_value_type(x));
    const void *operands[] = {data};
    void *result = run_everywhere(y, operands);
    int64_t n = mica_type_elements(mica_value_type(y)),
            all = mica_type_elements(mica_value_type(x));
    double *want = calloc((size_t)n + 1, 8);
    uint64_t *bits = calloc((size_t)n + 1, 8);
    plain_reduce(mica_value_type(x), data, set, kind, want, bits, n);
    double each = n ? (double)all / (double)n : 0, epsilon = dtype_epsilon(dtype);
    double working = epsilon > 0x1p-24 ? 0x1p-24 : epsilon;
    /* Pairwise: far better than the n epsilon of adding one by one. */
    double tolerance = epsilon == 0 ? 0 : working * (40 + sqrt(each)) * fmax(1, sqrt(each));
    if (kind >= 2) tolerance = 0;
    for (int64_t i = 0; result && i < n; i++) {
        double got = get_element(result, dtype, i), rounded[1] = {0};
        set_element(rounded, dtype, 0, want[i]);
        double expected = epsilon ? get_element(rounded, dtype, 0) : want[i];
        bool right;
        if (kind >= 4) {
            uint64_t mask = dtype == MICA_DTYPE_bool ? 1 : ~0ull;
            uint64_t value = 0, size = mica_dtype_bytes(dtype);
            memcpy(&value, (char *)result + (size_t)i * size, size);
            right = !memcmp(
                &value, &(uint64_t){(size == 8 ? ~0ull : (1ull << 8 * size) - 1) & mask & bits[i]},
                8);
        } else if (epsilon == 0 && kind < 2) { /* wraps */
            int64_t wide = 0;
            right = fabs(want[i]) > 9e15 ||
                    (wide = (int64_t)want[i],
                     !memcmp(&wide, (char *)result + (size_t)i * mica_dtype_bytes(dtype),
                             mica_dtype_bytes(dtype)));
        } else if (epsilon == 0 && all == 0) {
            right = true; /* the lowest or highest integer; tested by name below */
        } else {
            right =
                got == expected || fabs(got - expected) <= tolerance + 2 * epsilon * fabs(expected);
        }
        test_checks++;
        if (!right) {
            test_report(__FILE__, __LINE__, "%s %s of %lld axes %x: %.17g, not %.17g", kinds[kind],
                        mica_dtype_name(dtype), (long long)all, set, got, expected);
            break;
        }
    }
    free(want);
    free(bits);
    free(result);
    free(data);
    mica_graph_release(g);
}

TEST(every_kind_and_dtype_reduces_every_set_of_three_axes) {
    for (int kind = 0; kind < 6; kind++)
        for (mica_dtype d = MICA_DTYPE_bool; d <= MICA_DTYPE_f64; d++)
            for (uint32_t set = 0; set < 8; set++)
                if (takes(kind, d)) check_reduce(d, MICA_INTS(3, 5, 18), set, kind);
}

TEST(rows_of_every_length_are_right_in_every_dtype) {
    for (int kind = 0; kind < 6; kind++)
        for (mica_dtype d = MICA_DTYPE_bool; d <= MICA_DTYPE_f64; d++)
            for (int64_t n = 1; n < 100; n += kind == 0 ? 3 : 13)
                if (takes(kind, d)) check_reduce(d, MICA_INTS(2, n), 2, kind);
}

TEST(large_sums_are_accurate_along_rows_columns_and_between) {
    check_reduce(MICA_DTYPE_f32, MICA_INTS(300007), 1, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(5, 70001), 2, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(20011, 7), 1, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(40, 50, 60), 5, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(3, 4099, 2, 5), 10, 0);
    check_reduce(MICA_DTYPE_f16, MICA_INTS(1000, 10), 1, 0);
    check_reduce(MICA_DTYPE_f64, MICA_INTS(2, 513, 129), 2, 0);
    check_reduce(MICA_DTYPE_i32, MICA_INTS(129, 1030), 3, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(1), 1, 0);
    check_reduce(MICA_DTYPE_f32, MICA_NO_INTS, 0, 0);
}

TEST(wide_lines_are_reduced_part_by_part) {
    check_reduce(MICA_DTYPE_f32, MICA_INTS(129, 4500), 1, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(70, 9, 1100), 3, 0);
    check_reduce(MICA_DTYPE_f64, MICA_INTS(2, 200, 2700), 2, 0);
    check_reduce(MICA_DTYPE_f16, MICA_INTS(130, 4200), 1, 2);
    check_reduce(MICA_DTYPE_i8, MICA_INTS(65, 8100), 1, 0);
    check_reduce(MICA_DTYPE_f32, MICA_INTS(40, 7, 300), 2, 0);
}

TEST(sums_of_many_small_numbers_keep_their_digits) {
    mica_graph *g = new_graph();
    enum { N = 1 << 20 };
    mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(N));
    float *data = malloc(N * sizeof *data);
    for (int i = 0; i < N; i++) data[i] = 0.1f;
    const void *operands[] = {data};
    float *y = run_everywhere(mica_reduce(g, x, "sum", MICA_INTS(0)), operands);
    REQUIRE(y);
    CHECK_NEAR(*y, (double)0.1f * N, 0.05); /* one by one it would be off by hundreds */
    free(y);
    free(data);
    mica_graph_release(g);
}

TEST(reductions_of_nothing_are_identities) {
    static const double want[] = {0, 1, -INFINITY, INFINITY};
    for (int kind = 0; kind < 4; kind++) {
        mica_graph *g = new_graph();
        mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(3, 0));
        mica_value i = new_parameter(g, MICA_DTYPE_i8, MICA_INTS(0, 2));
        const void *operands[] = {""};
        float *y = run_everywhere(mica_reduce(g, x, kinds[kind], MICA_INTS(1)), operands);
        int8_t *z = run_everywhere(mica_reduce(g, i, kinds[kind], MICA_INTS(0)), operands);
        float *none = run_everywhere(mica_reduce(g, x, kinds[kind], MICA_INTS(0)), operands);
        REQUIRE(y && z && none);
        static const int8_t integers[] = {0, 1, -128, 127};
        for (int k = 0; k < 3; k++) CHECK((double)y[k] == want[kind]);
        for (int k = 0; k < 2; k++) CHECK(z[k] == integers[kind]);
        free(y);
        free(z);
        free(none);
        mica_graph_release(g);
    }
    check_reduce(MICA_DTYPE_bool, MICA_INTS(2, 0), 2, 4);
    check_reduce(MICA_DTYPE_u16, MICA_INTS(2, 0), 2, 4);
    check_reduce(MICA_DTYPE_u16, MICA_INTS(2, 0), 2, 5);
}

TEST(a_maximum_with_a_nan_is_nan) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, MICA_DTYPE_f32, MICA_INTS(4, 33));
    float *data = random_array(mica_value_type(x));
    data[2 * 33 + 17] = NAN;
    const void *operands[] = {data};
    float *rows = run_everywhere(mica_reduce(g, x, "max", MICA_INTS(1)), operands);
    float *columns = run_everywhere(mica_reduce(g, x, "min", MICA_INTS(0)), operands);
    REQUIRE(rows && columns);
    for (int i = 0; i < 4; i++) CHECK((rows[i] != rows[i]) == (i == 2));
    for (int i = 0; i < 33; i++) CHECK((columns[i] != columns[i]) == (i == 17));
    free(rows);
    free(columns);
    free(data);
    mica_graph_release(g);
}

static void check_argmax(mica_dtype dtype, int64_t axis, bool largest, mica_dtype index,
                         bool with_nan) {
    mica_graph *g = new_graph();
    int64_t dims[] = {4, 21, 3};
    mica_value x = new_parameter(g, dtype, (mica_ints){dims, 3});
    void *data = random_array(mica_value_type(x));
    if (with_nan)
        for (int64_t i = 0; i < 252; i += 37) set_element(data, dtype, i, NAN);
    const void *operands[] = {data};
    mica_value y = largest ? mica_argmax(g, x, axis, index) : mica_argmin(g, x, axis, index);
    void *result = run_everywhere(y, operands);
    int64_t inner = axis == 0 ? 63 : axis == 1 ? 3 : 1, size = dims[axis];
    for (int64_t i = 0; result && i < 252 / size; i++) {
        int64_t first = i / inner * size * inner + i % inner, best = 0;
        for (int64_t k = 1; k < size; k++) {
            double a = get_element(data, dtype, first + k * inner);
            double b = get_element(data, dtype, first + best * inner);
            if ((a != a && b == b) || (largest ? a > b : a < b)) best = k;
        }
        CHECK(get_element(result, index, i) == (double)best);
    }
    free(result);
    free(data);
    mica_graph_release(g);
}

TEST(argmax_and_argmin_find_the_first_and_prefer_nan) {
    for (mica_dtype d = MICA_DTYPE_i8; d <= MICA_DTYPE_f64; d++)
        for (int64_t axis = 0; axis < 3; axis++)
            for (int largest = 0; largest < 2; largest++)
                check_argmax(d, axis, largest, d % 2 ? MICA_DTYPE_i32 : MICA_DTYPE_i64,
                             d >= MICA_DTYPE_f16 && axis != 1);
    check_argmax(MICA_DTYPE_f32, 1, true, MICA_DTYPE_u8, true);
}

/* Known answers of Random123's kat_vectors for philox4x32, 10 rounds. */
TEST(random_bits_match_the_published_vectors) {
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        mica_graph *g = new_graph();
        mica_value key = new_parameter(g, MICA_DTYPE_u32, MICA_INTS(2));
        mica_value counter = new_parameter(g, MICA_DTYPE_u32, MICA_INTS(4));
        const void *operands[] = {vectors[i].key, vectors[i].counter};
        uint32_t *y =
            run_everywhere(mica_rng_bits(g, key, counter, MICA_INTS(4), MICA_DTYPE_u32), operands);
        REQUIRE(y);
        for (int k = 0; k < 4; k++) CHECK(y[k] == vectors[i].want[k]);
        free(y);
        mica_graph_release(g);
    }
}

TEST(random_bits_carry_the_counter_and_cut_the_last_block) {
    mica_graph *g = new_graph();
    mica_value key = new_parameter(g, MICA_DTYPE_u32, MICA_INTS(2));
    mica_value counter = new_parameter(g, MICA_DTYPE_u32, MICA_INTS(4));
    static const uint32_t keys[2] = {7, 9}, start[4] = {0xfffffffe, 0xffffffff, 0xffffffff, 5};
    const void *operands[] = {keys, start};
    uint32_t *y =
        run_everywhere(mica_rng_bits(g, key, counter, MICA_INTS(20005), MICA_DTYPE_u32), operands);
    uint64_t *wide =
        run_everywhere(mica_rng_bits(g, key, counter, MICA_INTS(33, 3), MICA_DTYPE_u64), operands);
    REQUIRE(y && wide);
    for (int i = 0; i < 99; i++) CHECK(wide[i] == ((uint64_t)y[2 * i + 1] << 32 | y[2 * i]));
    static const uint32_t later[4] = {1, 0, 0, 6}; /* start + 3 */
    const void *others[] = {keys, later};
    uint32_t *z =
        run_everywhere(mica_rng_bits(g, key, counter, MICA_INTS(9), MICA_DTYPE_u32), others);
    REQUIRE(z);
    for (int i = 0; i < 9; i++) CHECK(z[i] == y[12 + i]);
    free(y);
    free(wide);
    free(z);
    mica_graph_release(g);
}
